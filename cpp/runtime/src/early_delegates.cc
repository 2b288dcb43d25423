#include "early_delegates.h"

#include <executorch/runtime/platform/runtime.h>

#include <exception>

#include "boundary.h"
#include "embedded.h"

namespace onearena::runtime {

EarlyDelegates::EarlyDelegates(const std::string& path, std::string_view outline,
                               const ProgramOptions& options)
    : file_(std::make_shared<const Mapping>(Mapping::file(path))) {
  ::executorch::runtime::runtime_init();
  try {
    if (outline.empty()) outline = embedded_description(file_->view());
    outline_ = decode_description(outline, file_->bytes());
    if (outline_.methods.size() != 1) {
      throw Error(ErrorKind::kUsage, "an outline is of one method");
    }
    data_ = std::make_unique<NamedData>(outline_.named_data, file_->view(), options.data_files);
  } catch (const Error& error) {
    throw Error(error.kind(), path + ": " + error.what());
  }
  const bool is_planned = options.planning != Planning::kStatic;
  try {
    thread_ = std::thread([this, is_planned] {
      try {
        delegates_ = std::make_unique<Delegates>(outline_.methods.front(), file_->view(), *data_,
                                                 is_planned);
      } catch (...) {  // the method tries again, and says what is wrong
      }
    });
  } catch (const std::exception&) {  // no thread to be had: the method does it
  }
}

EarlyDelegates::~EarlyDelegates() { join(); }

void EarlyDelegates::join() {
  const std::lock_guard guard(mutex_);
  if (thread_.joinable()) thread_.join();
}

std::unique_ptr<Delegates> EarlyDelegates::take(const MethodDescription& method, bool is_planned) {
  join();
  const std::lock_guard guard(mutex_);
  std::unique_ptr<Delegates> found = std::move(delegates_);
  if (found == nullptr || !found->fits(method, is_planned)) return nullptr;
  return found;
}

std::shared_ptr<EarlyDelegates> initialise_early(const std::string& path, std::string_view outline,
                                                 const ProgramOptions& options) {
  return at_boundary(path,
                     [&] { return std::make_shared<EarlyDelegates>(path, outline, options); });
}

}  // namespace onearena::runtime
