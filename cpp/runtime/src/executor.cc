#include "executor.h"

#include <executorch/runtime/backend/backend_execution_context.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>

#include <algorithm>
#include <new>

#include "boundary.h"

namespace onearena::runtime {

namespace et = ::executorch::runtime;

namespace {

// A loop without an end is told by this; the stock runtime has the same number.
constexpr size_t kMaxInstructions = 10'000'000;

}  // namespace

Executor::Executor(const MethodDescription& method, ValueTable& values, const Delegates& delegates)
    : method_(method),
      values_(values),
      needs_(method.instructions.size()),
      temp_bytes_(method.instructions.size()) {
  size_t arg_count = 0;
  for (const Instruction& instruction : method.instructions) arg_count += instruction.args.size();
  args_.reserve(arg_count);  // the steps point into it
  steps_.reserve(method.instructions.size());
  for (size_t i = 0; i < method.instructions.size(); ++i) {
    const Instruction& instruction = method.instructions[i];
    Step step{instruction.kind, instruction.a, instruction.b, nullptr, nullptr, nullptr, 0, {}, {}};
    step.args = args_.data() + args_.size();
    step.arg_count = instruction.args.size();
    for (const uint32_t value : instruction.args) args_.push_back(&values[value]);
    if (step.kind == InstructionKind::kKernel) resolve(i, step);
    if (step.kind == InstructionKind::kDelegate) step.delegate = &delegates[instruction.a];
    if (step.kind == InstructionKind::kFree) frees_ = true;
    steps_.push_back(step);
  }
}

void Executor::resolve(size_t index, Step& step) {
  // kernels may be registered for certain types and dimension orders of the tensor arguments
  std::vector<et::TensorMeta> types;
  for (size_t i = 0; i < step.arg_count; ++i) {
    if (!step.args[i]->isTensor()) continue;
    const auto& tensor = step.args[i]->toTensor();
    auto* order = const_cast<uint8_t*>(tensor.dim_order().data());
    types.emplace_back(tensor.scalar_type(),
                       et::Span<uint8_t>(order, static_cast<size_t>(tensor.dim())));
  }
  const std::string& name = method_.operators[step.a];
  const auto found = et::get_op_function_from_registry(name.c_str(), {types.data(), types.size()});
  if (!found.ok()) {
    throw Error(ErrorKind::kUnsupported,
                label(index) + ": no such kernel is registered in this process");
  }
  step.kernel = *found;
}

void Executor::bind(const Placement& placement, uint8_t* base) {
  for (Step& step : steps_) step.own = step.asked_for = {};
  for (size_t i = 0; i < placement.scratch.size(); ++i) {
    const Scratch& scratch = placement.scratch[i];
    Step& step = steps_[scratch.instruction];
    (scratch.is_asked_for ? step.asked_for : step.own) = {base + placement.scratch_offsets[i],
                                                          scratch.size_bytes};
  }
}

// Kernels and delegates are written by others: one that throws has failed, too.
template <class Action>
void Executor::from_outside(size_t index, Action&& action) const {
  try {
    action();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(ErrorKind::kExecution, label(index) + ": failed: " + error.what());
  } catch (...) {
    throw Error(ErrorKind::kExecution, label(index) + ": failed: " + kUnknownException);
  }
}

std::vector<Scratch> Executor::ask() {
  needs_.assign(steps_.size(), {});
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    if (step.kind != InstructionKind::kDelegate || !step.delegate->memory) continue;
    from_outside(i, [&] { step.delegate->memory->ask({step.args, step.arg_count}); });
    needs_[i].own = step.delegate->memory->needed_bytes();
  }
  return scratch();
}

std::vector<Scratch> Executor::scratch() const {
  const std::vector<uint32_t>& first_step = method_.memory.first_step;
  std::vector<Scratch> found;
  for (uint32_t i = 0; i < needs_.size(); ++i) {
    if (first_step[i] == first_step[i + 1]) continue;  // no time that anything could be kept free
    if (needs_[i].own > 0) found.push_back({i, false, needs_[i].own});
    if (needs_[i].asked_for > 0) found.push_back({i, true, needs_[i].asked_for});
  }
  return found;
}

void Executor::run(const std::function<void(size_t)>& after) {
  size_t next = 0, left = kMaxInstructions;
  std::fill(needs_.begin(), needs_.end(), Needs{});
  delegate_elsewhere_ = temp_elsewhere_ = 0;
  for (size_t at = 0; at < steps_.size(); at = next) {
    if (left-- == 0) throw Error(ErrorKind::kExecution, label(at) + ": the method does not end");
    const Step& step = steps_[at];
    next = at + 1;
    besides_ = 0;
    et::Error error = et::Error::Ok;
    switch (step.kind) {
      case InstructionKind::kKernel:
      case InstructionKind::kDelegate:
        error = call(at, step);
        note_temp(at);
        break;
      case InstructionKind::kMove:
        values_[step.b] = values_[step.a];
        break;
      case InstructionKind::kJumpFalse:
        error = jump(step, next);
        break;
      case InstructionKind::kFree:
        if (values_[step.a].isTensor()) {
          values_[step.a].toTensor().unsafeGetTensorImpl()->set_data(nullptr);
        }
        break;
    }
    if (error != et::Error::Ok) fail(at, error);
    if (after) after(at);
  }
}

et::Error Executor::call(size_t index, const Step& step) {
  et::Error error = et::Error::Ok;
  try {
    from_outside(index, [&] { error = invoke(index, step); });
  } catch (const std::bad_alloc&) {
    return et::Error::MemoryAllocationFailed;
  }
  return error;
}

et::Error Executor::invoke(size_t index, const Step& step) {
  temp_.reset();  // what an instruction that threw has left
  temp_.lend(step.asked_for);
  if (step.kind == InstructionKind::kKernel) {
    et::KernelRuntimeContext context(nullptr, &temp_);
    step.kernel(context, {step.args, step.arg_count});
    return context.failure_state();
  }
  return call_delegate(index, step);
}

et::Error Executor::call_delegate(size_t index, const Step& step) {
  const Delegates::Delegate& delegate = *step.delegate;
  const CallArgs args{step.args, step.arg_count};
  for (size_t i = 0; i < args.size(); ++i) {  // delegates do not look
    if (!args[i]->isTensor()) continue;
    const auto& tensor = args[i]->toTensor();
    if (tensor.nbytes() > 0 && tensor.const_data_ptr() == nullptr) return et::Error::InvalidState;
  }
  et::BackendExecutionContext context(nullptr, &temp_, method_.name.c_str());
  if (!delegate.memory) return delegate.backend->execute(context, delegate.handle, args);
  struct Ended {
    CallMemory& memory;
    bool succeeded = false;
    ~Ended() { memory.end(succeeded); }
  };
  et::Error error = et::Error::Ok;
  {
    Ended ended{*delegate.memory};
    try {
      delegate.memory->begin(args, step.own);
    } catch (const Error& refused) {
      throw Error(refused.kind(), label(index) + ": " + refused.what());
    }
    error = delegate.backend->execute(context, delegate.handle, args);
    ended.succeeded = error == et::Error::Ok;
  }
  besides_ = delegate.memory->needed_bytes();
  needs_[index].own = std::max(needs_[index].own, besides_);
  delegate_elsewhere_ = std::max(delegate_elsewhere_, delegate.memory->elsewhere_bytes());
  return error;
}

// A tensor is true when all of its elements are.
et::Error Executor::jump(const Step& step, size_t& next) const {
  const EValue& condition = values_[step.a];
  bool holds = true;
  if (condition.isBool()) {
    holds = condition.toBool();
  } else if (condition.isTensor()) {
    const auto& tensor = condition.toTensor();
    if (tensor.scalar_type() != ::executorch::aten::ScalarType::Bool) {
      return et::Error::InvalidType;
    }
    const bool* elements = tensor.const_data_ptr<bool>();
    holds = std::all_of(elements, elements + tensor.numel(), [](bool element) { return element; });
  } else {
    return et::Error::InvalidType;
  }
  if (!holds) next = step.b;
  return et::Error::Ok;
}

void Executor::note_temp(size_t index) {
  temp_.reset();
  if (temp_.last_bytes() == 0) return;
  besides_ += temp_.last_bytes();
  needs_[index].asked_for = std::max(needs_[index].asked_for, temp_.last_bytes());
  temp_bytes_[index] = std::max(temp_bytes_[index], temp_.last_bytes());
  temp_elsewhere_ = std::max(temp_elsewhere_, temp_.elsewhere_bytes());
}

void Executor::fail(size_t index, et::Error error) const {
  const bool is_memory = error == et::Error::MemoryAllocationFailed;
  throw Error(is_memory ? ErrorKind::kLimit : ErrorKind::kExecution,
              label(index) + ": failed: " + et::to_string(error));
}

std::string Executor::label(size_t index) const {
  const Instruction& instruction = method_.instructions[index];
  std::string name = "jump or free";
  if (instruction.kind == InstructionKind::kKernel) name = method_.operators[instruction.a];
  if (instruction.kind == InstructionKind::kDelegate) name = method_.delegates[instruction.a].id;
  return "instruction " + std::to_string(index) + " (" + name + ")";
}

uint64_t Executor::size_bytes() const {
  return steps_.size() * sizeof(Step) + args_.size() * sizeof(EValue*);
}

}  // namespace onearena::runtime
