#include "method.h"

#include <algorithm>
#include <chrono>
#include <new>

#include "conversion.h"
#include "input_shapes.h"

namespace onearena::runtime {
namespace {

constexpr double kMostOutput = 1ull << 46;  // bytes
constexpr const char* kHalfUpdated = "; the state may be half updated";

}  // namespace
std::vector<Output> LoadedMethod::run(const std::vector<Input>& inputs, const RunOptions& options) {
  try {
    check_inputs(inputs);  // first of all: plans are kept by the shapes of the inputs
    Arena::Impl::Lease lease(*program_.arena, options.wait);
    const Choice choice = choose(inputs, options);
    try {
      return run_at(choice, lease, inputs);
    } catch (const Error& error) {
      const bool ran = error.kind() == ErrorKind::kExecution || error.kind() == ErrorKind::kLimit;
      if (choice.is_lazy && ran) throw Error(error.kind(), error.what() + circumstances(inputs));
      const bool planned = !choice.is_lazy && !placements_.is_static();
      if (!planned || error.kind() != ErrorKind::kExecution) throw;
      // a tensor may have outgrown the plan: then its size depends on more than shapes
      placements_.remove(key_);
      if (has_state_) {
        throw Error(error.kind(), std::string(error.what()) +
                                      "; if a tensor outgrew the plan for these shapes, the next "
                                      "run has room for it; the state may be half updated");
      }
      std::vector<Output> outputs;
      try {
        outputs = run_at({&placements_.apart(scale_), true}, lease, inputs);
      } catch (const Error& again) {
        throw Error(again.kind(), again.what() + circumstances(inputs));
      }
      has_sizes_of_data_ = is_outgrown_ = true;
      placements_.remove(key_);
      return outputs;
    }
  } catch (const Error& error) {
    throw Error(error.kind(), label() + ": " + error.what());
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::kLimit, label() + ": out of memory");
  }
}

LoadedMethod::Choice LoadedMethod::choose(const std::vector<Input>& inputs,
                                          const RunOptions& options) {
  if (placements_.is_static()) return {&placements_.in_file(), false};
  key_ = shape_key(inputs);
  scale_ = is_unbounded_ ? scale_of(inputs, input_values_) : 1;
  if (const Placement* known = placements_.find(key_)) return {known, false};
  if (!is_dynamic_) {  // what delegates need depends on nothing else
    return {&placements_.add(key_, unit_bytes(inputs, {}), executor_.ask()), false};
  }
  if (options.sizes && !is_outgrown_) {
    const std::vector<ValueBytes> sizes = options.sizes();
    const std::vector<uint64_t> bytes = unit_bytes(inputs, sizes);
    if (bytes.size() == units_.size()) return {&placements_.add(key_, bytes, ask(sizes)), false};
  }
  return {&placements_.apart(scale_), true};
}

// Delegates look at the sizes of their arguments only. Whoever cannot tell yet, tells afterwards.
std::vector<Scratch> LoadedMethod::ask(const std::vector<ValueBytes>& sizes) {
  widen();
  bound_base_ = nullptr;  // the run binds again, also when this fails in the middle
  values_.set_bounds(units_, placements_.apart(scale_));
  for (const ValueBytes& item : sizes) values_.resize(item.value, item.sizes);
  return executor_.ask();
}

// What may have to do with a failure in a run without a plan.
std::string LoadedMethod::circumstances(const std::vector<Input>& inputs) const {
  return beyond_text(inputs, input_values_) + (has_state_ ? kHalfUpdated : "");
}

std::vector<uint64_t> LoadedMethod::unit_bytes(const std::vector<Input>& inputs,
                                               const std::vector<ValueBytes>& given) const {
  std::vector<uint64_t> by_value(method_.values.size(), kNone64);
  for (const ValueBytes& item : given) {
    if (item.value < by_value.size()) by_value[item.value] = item.size_bytes;
  }
  for (size_t i = 0; i < std::min(inputs.size(), method_.inputs.size()); ++i) {
    const auto* tensor = std::get_if<TensorInput>(&inputs[i]);
    if (tensor != nullptr) by_value[method_.inputs[i]] = tensor->size_bytes;
  }
  std::vector<uint64_t> bytes;
  for (const PlannedUnit& unit : units_) {
    const auto& tensor = std::get<TensorValue>(method_.values[unit.value]);
    const bool is_static = tensor.dynamism == Dynamism::kStatic;
    bytes.push_back(is_static ? unit.bound_bytes : by_value[unit.value]);
    if (bytes.back() == kNone64) return {};
  }
  return bytes;
}

std::vector<Output> LoadedMethod::run_at(const Choice& choice, Arena::Impl::Lease& lease,
                                         const std::vector<Input>& inputs) {
  if (!choice.is_lazy) check_limit(*choice.placement);
  uint8_t* const base = place(*choice.placement, lease);
  const struct Forgotten {
    LoadedMethod& method;
    ~Forgotten() { method.forget_callers(); }
  } forgotten{*this};  // also when the run fails
  Lent lent = lend_outputs();
  std::vector<Output> outputs;
  if (choice.is_lazy) {
    struct Returned {
      Observer& observer;
      ~Returned() { observer.end(); }
    } const returned{observer_};
    observer_.begin(*choice.placement, base, program_.arena->limit_bytes());
    set_inputs(inputs);  // after the outputs: a value may be both
    run_lazily();
    outputs = take_outputs(lent);
  } else {
    set_inputs(inputs);
    run_planned(*choice.placement);
    outputs = take_outputs(lent);
  }
  const uint64_t in_arena = bytes_of_delegates(*choice.placement);
  const uint64_t bytes = choice.is_lazy ? observer_.peak_bytes() : choice.placement->size_bytes;
  program_.arena->note(is_private_ ? 0 : bytes);
  if (!choice.is_lazy) plan_scratch(*choice.placement);
  const std::lock_guard guard(report_mutex_);
  if (!is_private_) report_.arena_bytes = bytes;
  const std::vector<uint64_t>& temp = executor_.temp_bytes();
  report_.temp_bytes = temp.empty() ? 0 : *std::max_element(temp.begin(), temp.end());
  report_.temp_elsewhere_bytes = executor_.temp_elsewhere_bytes();
  report_.delegate_bytes = in_arena;
  report_.persistent_bytes = delegates_->persistent_bytes();
  if (!delegates_->has_own_workspace()) {
    report_.workspace_bytes = executor_.delegate_elsewhere_bytes();
  }
  report_.method_allocator_bytes = delegates_->allocated_bytes();
  report_.lazy_runs += choice.is_lazy;
  report_.cached_plans = placements_.count();
  report_.plans = placements_.plans();
  report_.plan_us = placements_.plan_us();
  report_.bind_us = bind_us_;
  ++report_.runs;
  temp_bytes_ = temp;
  return outputs;
}

// What a placement has no room for counts as if it were in the arena.
void LoadedMethod::run_planned(const Placement& placement) {
  const uint64_t limit = program_.arena->limit_bytes();
  if (limit == 0 || is_private_) return executor_.run();
  executor_.run([&](size_t instruction) {
    const uint64_t elsewhere =
        executor_.delegate_elsewhere_bytes() + executor_.temp_elsewhere_bytes();
    if (placement.size_bytes + elsewhere <= limit) return;
    throw Error(ErrorKind::kLimit, "at instruction " + std::to_string(instruction) + " " +
                                       std::to_string(placement.size_bytes + elsewhere) +
                                       " bytes are in use, the arena's limit is " +
                                       std::to_string(limit) + largest_text(placement) +
                                       (has_state_ ? kHalfUpdated : ""));
  });
}

void LoadedMethod::run_lazily() {
  observer_.note_inputs();
  executor_.run(
      [&](size_t instruction) { observer_.after(instruction, executor_.besides_bytes()); });
  if (has_sizes_of_data_) return;
  try {
    placements_.add(key_, observer_.unit_bytes(), executor_.scratch());
  } catch (const Error&) {
    // the run itself went well; without a plan the next one is as this one
  } catch (const std::bad_alloc&) {
  }
}

// What instructions needed besides values is known now: the next run at these shapes has it in
// the arena.
void LoadedMethod::plan_scratch(const Placement& used) {
  if (placements_.is_static()) return;
  try {
    const std::vector<Scratch> needed = executor_.scratch();
    std::optional<std::vector<Scratch>> grown = grown_scratch(used.scratch, needed);
    if (!grown) return;
    const std::vector<uint64_t> unit_bytes = used.capacities;  // the plan goes when another comes
    placements_.add(key_, unit_bytes, *grown);
  } catch (const Error&) {
    // the run itself went well; the next one is as this one
  } catch (const std::bad_alloc&) {
  }
}

uint8_t* LoadedMethod::place(const Placement& placement, Arena::Impl::Lease& lease) {
  widen();
  uint8_t* const base = is_private_ ? private_.data() : lease.ensure(placement.size_bytes);
  if (base == bound_base_ && placement.version == bound_version_ && !executor_.frees()) return base;
  const auto start = std::chrono::steady_clock::now();
  bound_base_ = nullptr;  // should binding fail in the middle, the next run binds again
  values_.bind(units_, placement, base);
  executor_.bind(placement, base);
  bind_us_ =
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  bound_base_ = base;
  bound_version_ = placement.version;
  return base;
}

void LoadedMethod::widen() {
  if (scale_ == widened_) return;
  widened_ = 0;  // unknown, should widening fail in the middle
  values_.widen(scale_);
  widened_ = scale_;
}

namespace {

// Does something for each input; an `Error` then says for which.
template <class Action>
void for_each_input(size_t count, Action&& action) {
  for (size_t i = 0; i < count; ++i) {
    try {
      action(i);
    } catch (const Error& error) {
      throw Error(error.kind(), "input " + std::to_string(i) + " " + error.what());
    }
  }
}

}  // namespace

void LoadedMethod::check_inputs(const std::vector<Input>& inputs) const {
  if (inputs.size() != method_.inputs.size()) {
    throw Error(ErrorKind::kUsage, "takes " + std::to_string(method_.inputs.size()) + " inputs, " +
                                       std::to_string(inputs.size()) + " were given");
  }
  for_each_input(inputs.size(), [&](size_t i) { check_input(inputs[i], input_values_[i]); });
}

void LoadedMethod::set_inputs(const std::vector<Input>& inputs) {
  for_each_input(inputs.size(), [&](size_t i) {
    set_input(inputs[i], input_values_[i], values_, method_.inputs[i]);
  });
}

LoadedMethod::Lent LoadedMethod::lend_outputs() {
  Lent lent(method_.outputs.size());
  for (size_t i = 0; i < lent.size(); ++i) {
    const uint32_t value = method_.outputs[i];
    if (!is_callers(value)) continue;
    const auto& tensor = std::get<TensorValue>(method_.values[value]);
    const double bytes = static_cast<double>(tensor.size_bytes) * scale_;
    if (bytes > kMostOutput) {
      throw Error(ErrorKind::kLimit, "output " + std::to_string(i) + " needs more than 2^46 bytes");
    }
    lent[i].reset(new uint8_t[static_cast<uint64_t>(bytes) + kGuardBytes]);
    values_.own_tensor(value)->set_data(lent[i].get());
  }
  return lent;
}

std::vector<Output> LoadedMethod::take_outputs(Lent& lent) const {
  std::vector<Output> outputs;
  outputs.reserve(lent.size());
  for (size_t i = 0; i < lent.size(); ++i) {
    try {
      outputs.push_back(get_output(values_[method_.outputs[i]], lent[i]));
    } catch (const Error& error) {
      throw Error(error.kind(), "output " + std::to_string(i) + " " + error.what());
    }
  }
  return outputs;
}

// The caller's memory may be gone after the run.
void LoadedMethod::forget_callers() {
  for (const std::vector<uint32_t>* list : {&method_.inputs, &method_.outputs}) {
    for (const uint32_t value : *list) {
      if (is_callers(value)) values_.own_tensor(value)->set_data(nullptr);
    }
  }
}

}  // namespace onearena::runtime
