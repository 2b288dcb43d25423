#include "blocks.h"

#include <algorithm>
#include <numeric>

namespace onearena::runtime {
namespace {

// In order and apart, whatever they were before.
std::vector<Interval> merged(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.start < b.start; });
  std::vector<Interval> result;
  for (const Interval& interval : intervals) {
    if (!result.empty() && interval.start <= result.back().end) {
      result.back().end = std::max(result.back().end, interval.end);
    } else {
      result.push_back(interval);
    }
  }
  return result;
}

// By value, its unit.
std::vector<uint32_t> unit_by_value(const MethodDescription& method,
                                    const std::vector<PlannedUnit>& units) {
  std::vector<uint32_t> found(method.values.size(), kNone32);
  for (uint32_t i = 0; i < units.size(); ++i) found[units[i].value] = i;
  return found;
}

}  // namespace

Blocks::Blocks(const MethodDescription& method, const std::vector<PlannedUnit>& units)
    : unit_count(units.size()) {
  const std::vector<uint32_t>& first_step = method.memory.first_step;
  for (size_t i = 0; i + 1 < first_step.size(); ++i) {
    instructions.push_back({first_step[i], first_step[i + 1]});
  }
  const std::vector<PlanBuffer>& buffers = method.memory.buffers;
  const std::vector<uint32_t> unit_of = unit_by_value(method, units);
  std::vector<uint32_t> block_of(buffers.size(), kNone32);
  std::vector<bool> has_buffer(units.size());
  const auto add = [&](Block& block, uint32_t number, uint64_t delta) {
    const PlanBuffer& buffer = buffers[number];
    const uint32_t unit = unit_of[buffer.value];
    if (unit == kNone32 || has_buffer[unit]) return;
    has_buffer[unit] = true;
    block_of[number] = static_cast<uint32_t>(all.size());
    block.units.push_back(unit);
    block.deltas.push_back(delta);
    // a member's alignment is what its distance leaves of the whole group's
    block.alignment = std::lcm(block.alignment, std::min<uint32_t>(buffer.alignment, kAlignment));
    block.lifetime.insert(block.lifetime.end(), buffer.lifetime.begin(), buffer.lifetime.end());
    const auto& tensor = std::get<TensorValue>(method.values[buffer.value]);
    block.is_static = block.is_static && tensor.dynamism == Dynamism::kStatic;
  };
  const auto keep = [&](Block&& block) {
    if (block.units.empty()) return;
    block.lifetime = merged(std::move(block.lifetime));
    all.push_back(std::move(block));
  };
  for (const std::vector<GroupMember>& group : method.memory.groups) {
    Block block;
    for (const GroupMember& member : group) add(block, member.buffer, member.delta);
    keep(std::move(block));
  }
  for (uint32_t i = 0; i < buffers.size(); ++i) {
    Block block;
    add(block, i, 0);
    keep(std::move(block));
  }
  // units without a byte, which nothing plans
  for (uint32_t i = 0; i < units.size(); ++i) {
    if (has_buffer[i]) continue;
    Block block;
    block.units = {i};
    block.deltas = {0};
    block.alignment = kAlignment;
    block.lifetime = {{0, method.memory.steps}};
    const auto& tensor = std::get<TensorValue>(method.values[units[i].value]);
    block.is_static = tensor.dynamism == Dynamism::kStatic;
    all.push_back(std::move(block));
  }
  for (const auto& [first, second] : method.memory.may_share) {
    const uint32_t a = block_of[first], b = block_of[second];
    // only of blocks that are one unit: what a larger one holds is written by several instructions
    if (a == kNone32 || b == kNone32 || a == b) continue;
    if (all[a].units.size() == 1 && all[b].units.size() == 1) pairs.emplace_back(a, b);
  }
}

std::vector<uint64_t> Blocks::bytes(const std::vector<uint64_t>& unit_bytes) const {
  std::vector<uint64_t> result(all.size());
  for (size_t b = 0; b < all.size(); ++b) {
    for (size_t k = 0; k < all[b].units.size(); ++k) {
      const uint64_t size = unit_bytes[all[b].units[k]];
      if (size > 0) result[b] = std::max(result[b], all[b].deltas[k] + size);
    }
  }
  return result;
}

std::vector<uint64_t> Blocks::unit_offsets(const std::vector<uint64_t>& block_offsets) const {
  std::vector<uint64_t> result(unit_count);
  for (size_t b = 0; b < all.size(); ++b) {
    for (size_t k = 0; k < all[b].units.size(); ++k) {
      result[all[b].units[k]] = block_offsets[b] + all[b].deltas[k];
    }
  }
  return result;
}

Problem Blocks::problem() const {
  Problem problem;
  for (const Block& block : all) {
    Buffer buffer;
    buffer.alignment = block.alignment;
    if (!block.lifetime.empty()) {
      buffer.life = {block.lifetime.front().start, block.lifetime.back().end};
    }
    for (size_t k = 1; k < block.lifetime.size(); ++k) {
      buffer.gaps.push_back({{block.lifetime[k - 1].end, block.lifetime[k].start}, {}});
    }
    problem.buffers.push_back(buffer);
  }
  return problem;
}

Problem Blocks::problem_with(const std::vector<Scratch>& scratch) const {
  Problem problem = this->problem();
  for (const Scratch& item : scratch) {
    Buffer buffer;
    buffer.alignment = static_cast<int64_t>(kAlignment);
    buffer.life = {instructions[item.instruction].start, instructions[item.instruction].end};
    problem.buffers.push_back(buffer);
  }
  return problem;
}

bool meet(const std::vector<Interval>& first, const std::vector<Interval>& second) {
  for (const Interval& a : first) {
    for (const Interval& b : second) {
      if (a.start < b.end && b.start < a.end) return true;
    }
  }
  return false;
}

}  // namespace onearena::runtime
