// Runs the instructions of a method.
#ifndef ONEARENA_RUNTIME_EXECUTOR_H_
#define ONEARENA_RUNTIME_EXECUTOR_H_

#include <executorch/runtime/kernel/operator_registry.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "delegates.h"
#include "description.h"
#include "layout.h"
#include "scratch_allocator.h"
#include "values.h"

namespace onearena::runtime {

class Executor {
 public:
  // Looks up the kernels. The arguments outlive this object. Throws `Error`.
  Executor(const MethodDescription& method, ValueTable& values, const Delegates& delegates);

  // Runs all instructions; `after` is called after each. Throws `Error` (kExecution), naming the
  // instruction.
  void run(const std::function<void(size_t)>& after = {});

  // Gives instructions the regions of a placement; all others find their memory elsewhere.
  void bind(const Placement& placement, uint8_t* base);
  // What delegates need for themselves, as far as they can tell before anything ran.
  std::vector<Scratch> ask();
  // What instructions needed besides values in the last run, in order; none of them empty.
  std::vector<Scratch> scratch() const;
  // By instruction, the most temporary memory that it asked for so far.
  const std::vector<uint64_t>& temp_bytes() const { return temp_bytes_; }
  // The most that an instruction of the last run had outside its regions: a delegate for itself,
  // and what was asked for.
  uint64_t delegate_elsewhere_bytes() const { return delegate_elsewhere_; }
  uint64_t temp_elsewhere_bytes() const { return temp_elsewhere_; }
  // What the last instruction that ran needed besides values.
  uint64_t besides_bytes() const { return besides_; }
  uint64_t size_bytes() const;
  // Whether `FreeCall`s take tensors' memory away, which the next run needs again.
  bool frees() const { return frees_; }

 private:
  using EValue = ::executorch::runtime::EValue;
  struct Step {
    InstructionKind kind;
    uint32_t a, b;
    ::executorch::runtime::OpFunction kernel;
    const Delegates::Delegate* delegate;
    EValue** args;
    size_t arg_count;
    Region own, asked_for;  // of the arena: for a delegate itself, for what it asks for
  };
  // What an instruction needed besides values, in the last run.
  struct Needs {
    uint64_t own = 0, asked_for = 0;
  };

  void resolve(size_t index, Step& step);
  // Does what others have written; what that throws becomes an `Error`, but for a want of memory.
  template <class Action>
  void from_outside(size_t index, Action&& action) const;
  ::executorch::runtime::Error call(size_t index, const Step& step);
  ::executorch::runtime::Error invoke(size_t index, const Step& step);
  ::executorch::runtime::Error call_delegate(size_t index, const Step& step);
  ::executorch::runtime::Error jump(const Step& step, size_t& next) const;
  void note_temp(size_t index);
  [[noreturn]] void fail(size_t index, ::executorch::runtime::Error error) const;
  std::string label(size_t index) const;

  const MethodDescription& method_;
  ValueTable& values_;
  ScratchAllocator temp_;
  std::vector<EValue*> args_;
  std::vector<Step> steps_;
  std::vector<Needs> needs_;
  std::vector<uint64_t> temp_bytes_;
  uint64_t delegate_elsewhere_ = 0, temp_elsewhere_ = 0, besides_ = 0;
  bool frees_ = false;
};

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_EXECUTOR_H_
