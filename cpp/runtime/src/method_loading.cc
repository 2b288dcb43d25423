// Loading a method, and what it tells about itself; running it is in method.cc.
#include <string>

#include "conversion.h"
#include "input_shapes.h"
#include "method.h"
#include "method_facts.h"
#include "peak.h"

namespace onearena::runtime {
namespace {

std::unique_ptr<Delegates> delegates_of(const ProgramContext& program,
                                        const MethodDescription& method, bool is_planned) {
  std::unique_ptr<Delegates> found;
  if (program.options.early != nullptr) found = program.options.early->take(method, is_planned);
  if (found == nullptr) {
    found = std::make_unique<Delegates>(method, program.file->view(), *program.data, is_planned);
  }
  found->plan(method, program.options.backend_memory);
  return found;
}

}  // namespace

LoadedMethod::LoadedMethod(const ProgramContext& program, const MethodDescription& method)
    : program_(program),
      method_(method),
      units_(planned_units(method)),
      is_private_(has_pinned(method)),
      is_dynamic_(has_dynamic(method, units_)),
      is_unbounded_(program.options.unbounded && !is_private_),
      has_state_(has_state(method)),
      planning_(
          chosen(program.options.planning, is_private_,
                 is_dynamic_ || Delegates::can_be_planned(method, program.options.backend_memory))),
      placements_(method, units_, planning_, program.options.cached_plans),
      values_(method, program.file->view(), *program.data, *program.state),
      delegates_(delegates_of(program, method, planning_ != Planning::kStatic)),
      executor_(method, values_, *delegates_),
      observer_(method, units_, placements_.blocks(), values_),
      has_sizes_of_data_(has_sizes_of_data(method, program.options.backend_memory)),
      input_values_(recorded_inputs(method, is_unbounded_)),
      temp_bytes_(method.instructions.size()) {
  infos(method.inputs, "input");  // lists are refused here, before anything runs
  infos(method.outputs, "output");
  const uint64_t bytes = placements_.is_static() ? placements_.in_file().size_bytes : 0;
  if (is_unbounded_ && placements_.is_static() && is_dynamic_) {
    throw Error(ErrorKind::kUsage, "the plan in the file has no room beyond the exported bounds");
  }
  if (is_private_) {
    private_ = Mapping::zeros(bytes);
    if (!private_) {
      throw Error(ErrorKind::kLimit, "the machine has no " + std::to_string(bytes) + " bytes");
    }
  } else {
    if (placements_.is_static()) check_limit(placements_.in_file());
    program.arena->note(bytes);
  }
  report_.program_bytes = program.file->bytes();
  report_.planned_bytes = planned_bytes(method);
  report_.arena_bytes = is_private_ ? 0 : bytes;
  report_.private_bytes = is_private_ ? bytes : 0;
  report_.state_bytes = program.state->size_bytes();
  report_.method_allocator_bytes = delegates_->allocated_bytes();
  report_.loaded_bytes = values_.size_bytes();
  report_.executor_bytes = executor_.size_bytes();
  report_.input_bytes = input_bytes(method);
  report_.workspace_bytes = delegates_->has_own_workspace() ? method.workspace_bytes : 0;
  report_.planning = planning_;
}

namespace {

// What the largest need of a delegate is, besides tensors; empty when there is none.
std::string delegates_text(const Placement& placement, uint64_t workspace_bytes) {
  const Scratch* largest = nullptr;
  for (const Scratch& item : placement.scratch) {
    if (largest == nullptr || item.size_bytes > largest->size_bytes) largest = &item;
  }
  if (largest != nullptr) {
    return "; instruction " + std::to_string(largest->instruction) + " needs " +
           std::to_string(largest->size_bytes) + " bytes besides tensors";
  }
  if (workspace_bytes == 0) return {};
  return "; XNNPACK's workspace needs " + std::to_string(workspace_bytes);
}

}  // namespace

void LoadedMethod::check_limit(const Placement& placement) const {
  // a workspace that stays with XNNPACK counts as if it were in the arena
  const uint64_t own = delegates_->has_own_workspace() ? method_.workspace_bytes : 0;
  const uint64_t bytes = placement.size_bytes + own;
  if (program_.arena->allows(bytes)) return;
  throw Error(ErrorKind::kLimit, "needs " + std::to_string(bytes) +
                                     " bytes of the arena, its limit is " +
                                     std::to_string(program_.arena->limit_bytes()) +
                                     largest_text(placement) + delegates_text(placement, own));
}

std::string LoadedMethod::largest_text(const Placement& placement) const {
  MethodDescription sized = method_;  // with the sizes of this placement, to name the largest
  for (size_t u = 0; u < placement.capacities.size(); ++u) {
    for (PlanBuffer& buffer : sized.memory.buffers) {
      if (buffer.value == units_[u].value) buffer.size_bytes = placement.capacities[u];
    }
  }
  return "; largest at the peak: " + peak_text(sized);
}

bool LoadedMethod::is_callers(uint32_t value) const {
  const auto* tensor = std::get_if<TensorValue>(&method_.values[value]);
  return tensor != nullptr && tensor->kind == TensorKind::kCaller;
}

std::vector<ValueInfo> LoadedMethod::infos(const std::vector<uint32_t>& values,
                                           const char* what) const {
  std::vector<ValueInfo> found;
  for (size_t i = 0; i < values.size(); ++i) {
    try {
      found.push_back(value_info(method_.values[values[i]]));
    } catch (const Error& error) {
      throw Error(error.kind(), std::string(what) + " " + std::to_string(i) + " " + error.what());
    }
  }
  return found;
}

MemoryReport LoadedMethod::memory() const {
  MemoryReport report;
  {
    const std::lock_guard guard(report_mutex_);
    report = report_;
  }
  report.arena_resident_bytes = program_.arena->resident_bytes();
  return report;
}

std::vector<uint64_t> LoadedMethod::temp_bytes_by_instruction() const {
  return at_boundary(program_.path, [&] {
    const std::lock_guard guard(report_mutex_);
    return temp_bytes_;
  });
}

std::string LoadedMethod::label() const {
  return program_.path + ": method '" + method_.name + "'";
}

}  // namespace onearena::runtime
