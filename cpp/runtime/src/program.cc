#include <executorch/runtime/platform/runtime.h>

#include <map>
#include <mutex>

#include "boundary.h"
#include "embedded.h"
#include "method.h"
#include "onearena/runtime.h"

namespace onearena::runtime {
namespace {

class LoadedProgram final : public Program {
 public:
  LoadedProgram(const std::string& path, std::string_view description, Arena& arena,
                const ProgramOptions& options) {
    context_.path = path;
    context_.options = options;
    context_.file = options.early != nullptr ? options.early->file()
                                             : std::make_shared<const Mapping>(Mapping::file(path));
    const std::string_view file = context_.file->view();
    try {
      if (description.empty()) description = embedded_description(file);
      context_.description = decode_description(description, file.size());
      context_.data =
          std::make_unique<NamedData>(context_.description.named_data, file, options.data_files);
      context_.state = std::make_unique<StateMemory>(context_.description, file, *context_.data);
    } catch (const Error& error) {
      throw Error(error.kind(), path + ": " + error.what());
    }
    context_.arena = arena.impl();
  }

  std::vector<std::string> method_names() const override {
    return at_boundary(context_.path, [&] {
      std::vector<std::string> names;
      for (const MethodDescription& method : context_.description.methods) {
        names.push_back(method.name);
      }
      return names;
    });
  }

  Method& method(const std::string& name) override {
    return at_boundary(context_.path, [&]() -> Method& { return load(name); });
  }

  void reset_state() override {
    at_boundary(context_.path, [&] {
      const Arena::Impl::Lease lease(*context_.arena, true);  // no run while the state changes
      context_.state->reset();
    });
  }

 private:
  Method& load(const std::string& name) {
    const std::lock_guard guard(mutex_);
    const auto known = methods_.find(name);
    if (known != methods_.end()) return *known->second;
    for (const MethodDescription& method : context_.description.methods) {
      if (method.name != name) continue;
      try {
        return *methods_.emplace(name, std::make_unique<LoadedMethod>(context_, method))
                    .first->second;
      } catch (const Error& error) {
        throw Error(error.kind(), context_.path + ": method '" + name + "': " + error.what());
      }
    }
    throw Error(ErrorKind::kUsage,
                context_.path + ": no method '" + name + "', it has: " + names());
  }

  std::string names() const {
    std::string text;
    for (const std::string& name : method_names()) text += (text.empty() ? "" : ", ") + name;
    return text.empty() ? "none" : text;
  }

  ProgramContext context_;
  std::mutex mutex_;                                              // guards `methods_`
  std::map<std::string, std::unique_ptr<LoadedMethod>> methods_;  // last: they use the context
};

}  // namespace

std::unique_ptr<Program> Program::load(const std::string& path, std::string_view description,
                                       Arena& arena, const ProgramOptions& options) {
  ::executorch::runtime::runtime_init();
  return at_boundary(
      path, [&] { return std::make_unique<LoadedProgram>(path, description, arena, options); });
}

}  // namespace onearena::runtime
