// The delegates of a program's only method, initialised while the program is still described.
#ifndef ONEARENA_RUNTIME_EARLY_DELEGATES_H_
#define ONEARENA_RUNTIME_EARLY_DELEGATES_H_

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "delegates.h"
#include "description.h"
#include "mapping.h"
#include "named_data.h"

namespace onearena::runtime {

class EarlyDelegates {
 public:
  // Starts a thread that initialises them. Throws `Error`.
  EarlyDelegates(const std::string& path, std::string_view outline, const ProgramOptions& options);
  ~EarlyDelegates();
  EarlyDelegates(const EarlyDelegates&) = delete;
  EarlyDelegates& operator=(const EarlyDelegates&) = delete;

  // The program is run from the same bytes.
  const std::shared_ptr<const Mapping>& file() const { return file_; }
  // Waits for them; null when it failed, or when the method would have other ones. They point into
  // this object. Once only.
  std::unique_ptr<Delegates> take(const MethodDescription& method, bool is_planned);

 private:
  void join();

  const std::shared_ptr<const Mapping> file_;
  ProgramDescription outline_;
  std::unique_ptr<NamedData> data_;
  std::unique_ptr<Delegates> delegates_;  // the thread's until it has ended
  std::mutex mutex_;                      // guards `thread_`, and `delegates_` after it
  std::thread thread_;
};

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_EARLY_DELEGATES_H_
