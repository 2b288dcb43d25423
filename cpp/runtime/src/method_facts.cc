#include "method_facts.h"

#include <algorithm>

namespace onearena::runtime {

bool has_pinned(const MethodDescription& method) {
  const auto& buffers = method.memory.buffers;
  return std::any_of(buffers.begin(), buffers.end(),
                     [](const PlanBuffer& buffer) { return buffer.is_pinned; });
}

uint64_t planned_bytes(const MethodDescription& method) {
  uint64_t bytes = 0;
  for (size_t i = 1; i < method.arena_bytes.size(); ++i) bytes += method.arena_bytes[i];
  return bytes;
}

bool has_dynamic(const MethodDescription& method, const std::vector<PlannedUnit>& units) {
  return std::any_of(units.begin(), units.end(), [&](const PlannedUnit& unit) {
    return std::get<TensorValue>(method.values[unit.value]).dynamism != Dynamism::kStatic;
  });
}

bool has_state(const MethodDescription& method) {
  return std::any_of(method.values.begin(), method.values.end(), [](const Value& value) {
    const auto* tensor = std::get_if<TensorValue>(&value);
    return tensor != nullptr && tensor->state_block != kNone32;
  });
}

Planning chosen(Planning wanted, bool is_pinned, bool is_worth_it) {
  if (wanted == Planning::kAuto) {
    return is_worth_it && !is_pinned ? Planning::kShapes : Planning::kStatic;
  }
  if (wanted != Planning::kStatic && is_pinned) {
    throw Error(ErrorKind::kUnsupported,
                "some of its memory is not understood; only the plan in the file will do");
  }
  return wanted;
}

uint64_t input_bytes(const MethodDescription& method) {
  uint64_t bytes = 0;
  for (const uint32_t value : method.inputs) {
    const auto* tensor = std::get_if<TensorValue>(&method.values[value]);
    if (tensor != nullptr && tensor->kind == TensorKind::kPlanned) bytes += tensor->size_bytes;
  }
  return bytes;
}

}  // namespace onearena::runtime
