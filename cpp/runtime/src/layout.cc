#include "layout.h"

#include <algorithm>

namespace onearena::runtime {
namespace {

class StaticLayout final : public Layout {
 public:
  StaticLayout(const MethodDescription& method, const std::vector<PlannedUnit>& units) {
    std::vector<uint64_t> starts(method.arena_bytes.size());
    for (size_t i = 1; i < starts.size(); ++i) {
      starts[i] = end_;
      end_ += round_up(method.arena_bytes[i], kAlignment);
    }
    for (const PlannedUnit& unit : units) {
      const auto& tensor = std::get<TensorValue>(method.values[unit.value]);
      placement_.offsets.push_back(starts[tensor.memory_id] + tensor.offset);
    }
    placement_.size_bytes = units.empty() ? 0 : end_ + kGuardBytes;
  }

  Placement place(const std::vector<uint64_t>&, const std::vector<Scratch>& scratch) override {
    // each lives during its instruction only: one region behind the plan does for all
    Placement placement = placement_;
    placement.scratch = scratch;
    std::vector<uint64_t> ends;  // of what an instruction needs, in that region
    uint64_t largest = 0;
    for (size_t i = 0; i < scratch.size(); ++i) {
      const bool follows = i > 0 && scratch[i].instruction == scratch[i - 1].instruction;
      const uint64_t start = follows ? ends.back() : 0;
      placement.scratch_offsets.push_back(end_ + start);
      ends.push_back(round_up(start + scratch[i].size_bytes, kAlignment));
      largest = std::max(largest, ends.back());
    }
    if (largest > 0) placement.size_bytes = end_ + largest + kGuardBytes;
    return placement;
  }

 private:
  Placement placement_;
  uint64_t end_ = 0;
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

std::optional<std::vector<Scratch>> grown_scratch(const std::vector<Scratch>& first,
                                                  const std::vector<Scratch>& second) {
  std::vector<Scratch> all = first;
  bool is_grown = false;
  for (const Scratch& item : second) {
    const auto at = std::lower_bound(all.begin(), all.end(), item);
    if (at == all.end() || item < *at) {
      all.insert(at, item);
    } else if (at->size_bytes < item.size_bytes) {
      at->size_bytes = item.size_bytes;
    } else {
      continue;
    }
    is_grown = true;
  }
  if (!is_grown) return std::nullopt;
  return all;
}

uint64_t bytes_of_delegates(const Placement& placement) {
  uint64_t most = 0;
  for (const Scratch& item : placement.scratch) {
    if (!item.is_asked_for) most = std::max(most, item.size_bytes);
  }
  return most;
}

std::unique_ptr<Layout> static_layout(const MethodDescription& method,
                                      const std::vector<PlannedUnit>& units) {
  return std::make_unique<StaticLayout>(method, units);
}

}  // namespace onearena::runtime
