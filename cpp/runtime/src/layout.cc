#include "layout.h"

namespace onearena::runtime {
namespace {

class StaticLayout final : public Layout {
 public:
  StaticLayout(const MethodDescription& method, const std::vector<PlannedUnit>& units) {
    std::vector<uint64_t> starts(method.arena_bytes.size());
    uint64_t end = 0;
    for (size_t i = 1; i < starts.size(); ++i) {
      starts[i] = end;
      end += (method.arena_bytes[i] + kAlignment - 1) / kAlignment * kAlignment;
    }
    for (const PlannedUnit& unit : units) {
      const auto& tensor = std::get<TensorValue>(method.values[unit.value]);
      placement_.offsets.push_back(starts[tensor.memory_id] + tensor.offset);
    }
    placement_.size_bytes = units.empty() ? 0 : end + kGuardBytes;
  }

  Placement place(const std::vector<uint64_t>&) override { return placement_; }

 private:
  Placement placement_;
};

}  // namespace

std::vector<PlannedUnit> planned_units(const MethodDescription& method) {
  std::vector<PlannedUnit> units;
  for (uint32_t i = 0; i < method.values.size(); ++i) {
    const auto* tensor = std::get_if<TensorValue>(&method.values[i]);
    if (tensor == nullptr || tensor->kind != TensorKind::kPlanned) continue;
    if (tensor->state_block == kNone32) units.push_back({i, tensor->size_bytes});
  }
  return units;
}

std::unique_ptr<Layout> static_layout(const MethodDescription& method,
                                      const std::vector<PlannedUnit>& units) {
  return std::make_unique<StaticLayout>(method, units);
}

}  // namespace onearena::runtime
