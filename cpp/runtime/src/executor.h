// Runs the instructions of a method.
#ifndef ONEARENA_RUNTIME_EXECUTOR_H_
#define ONEARENA_RUNTIME_EXECUTOR_H_

#include <executorch/runtime/kernel/operator_registry.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "allocators.h"
#include "delegates.h"
#include "description.h"
#include "values.h"

namespace onearena::runtime {

class Executor {
 public:
  // Looks up the kernels. The arguments outlive this object. Throws `Error`.
  Executor(const MethodDescription& method, ValueTable& values, const Delegates& delegates);

  // Runs all instructions; `after` is called after each. Throws `Error` (kExecution), naming the
  // instruction.
  void run(const std::function<void(size_t)>& after = {});

  const TempAllocator& temp() const { return temp_; }
  // By instruction, the most temporary memory that it took so far.
  const std::vector<uint64_t>& temp_bytes() const { return temp_bytes_; }
  uint64_t size_bytes() const;
  // Whether `FreeCall`s take tensors' memory away, which the next run needs again.
  bool frees() const { return frees_; }

 private:
  using EValue = ::executorch::runtime::EValue;
  struct Step {
    InstructionKind kind;
    uint32_t a, b;
    ::executorch::runtime::OpFunction kernel;
    Delegates::Delegate delegate;
    EValue** args;
    size_t arg_count;
  };

  void resolve(size_t index, Step& step);
  ::executorch::runtime::Error call(const Step& step);
  ::executorch::runtime::Error jump(const Step& step, size_t& next) const;
  void note_temp(size_t index);
  [[noreturn]] void fail(size_t index, ::executorch::runtime::Error error) const;
  std::string label(size_t index) const;

  const MethodDescription& method_;
  ValueTable& values_;
  TempAllocator temp_;
  std::vector<EValue*> args_;
  std::vector<Step> steps_;
  std::vector<uint64_t> temp_bytes_;
  bool frees_ = false;
};

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_EXECUTOR_H_
