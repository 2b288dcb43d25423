#include "spread.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "bounds.h"
#include "clusters.h"
#include "conflicts.h"
#include "orders.h"
#include "units.h"

namespace onearena::internal {
namespace {

constexpr int64_t kMaxMeetings = 10'000'000;
constexpr const char* kOrders[] = {"sl", "as", "ls", "pls", "bs"};

class Spreader {
 public:
  Spreader(const Problem& problem, const Layout& layout, const Conflicts& conflicts)
      : problem_(problem), layout_(layout), conflicts_(conflicts) {
    for (const Unit& unit : layout.units) {
      std::vector<int32_t> buffers;
      for (const Member& member : unit.members) buffers.push_back(member.buffer);
      allowed_.push_back(allowed_memories(problem, buffers));
      std::stable_sort(allowed_.back().begin(), allowed_.back().end(), [&](int32_t a, int32_t b) {
        return problem.memories[a].weight < problem.memories[b].weight;
      });
    }
  }

  bool place(std::vector<int32_t> order, Spread& result) {
    // what is pinned comes first, what must be last, last
    const auto rank = [&](int32_t u) {
      const Unit& unit = layout_.units[u];
      return unit.is_last ? 2 : unit.lowest == unit.highest ? 0 : 1;
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return rank(a) < rank(b); });
    memories_.assign(layout_.units.size(), -1);
    origins_.assign(layout_.units.size(), 0);
    for (int32_t unit : order) {
      if (!place_unit(unit)) return false;
    }
    result = to_buffers();
    return true;
  }

 private:
  bool place_unit(int32_t unit) {
    for (int32_t memory : allowed_[unit]) {
      const int64_t capacity =
          std::min(kInfinity, problem_.memories[memory].capacity / layout_.scale);
      const int64_t origin = lowest(unit, memory);
      const Unit& it = layout_.units[unit];
      if (origin > std::min(it.highest, capacity - it.size)) continue;
      memories_[unit] = memory;
      origins_[unit] = origin;
      return true;
    }
    return false;
  }

  int64_t lowest(int32_t unit, int32_t memory) {
    const Unit& it = layout_.units[unit];
    taken_.clear();
    for (int64_t j = conflicts_.starts[unit]; j < conflicts_.starts[unit + 1]; ++j) {
      const int32_t other = conflicts_.others[j];
      if (memories_[other] != memory) continue;
      const int64_t low = conflicts_.low(layout_, unit, j);
      const int64_t high = conflicts_.high(layout_, j);
      taken_.emplace_back(origins_[other] + low, origins_[other] + high);
    }
    std::sort(taken_.begin(), taken_.end());
    int64_t position = it.lowest;
    for (const auto& [low, high] : taken_) {
      if (position <= low) break;
      if (high > position) position = align_up(high, it.modulus, it.residue);
    }
    return position;
  }

  Spread to_buffers() const {
    Spread result;
    result.offsets.resize(problem_.buffers.size());
    result.memories.resize(problem_.buffers.size());
    result.heights.resize(problem_.memories.size());
    for (size_t u = 0; u < layout_.units.size(); ++u) {
      for (const Member& member : layout_.units[u].members) {
        const int64_t offset = in_bytes(origins_[u] + member.delta, layout_.scale);
        result.offsets[member.buffer] = offset;
        result.memories[member.buffer] = memories_[u];
        int64_t& height = result.heights[memories_[u]];
        height = std::max(height, offset + problem_.buffers[member.buffer].size);
      }
    }
    return result;
  }

  const Problem& problem_;
  const Layout& layout_;
  const Conflicts& conflicts_;
  std::vector<std::vector<int32_t>> allowed_;
  std::vector<int32_t> memories_;
  std::vector<int64_t> origins_;
  std::vector<std::pair<int64_t, int64_t>> taken_;
};

}  // namespace

std::vector<Spread> spread_buffers(const Problem& problem) {
  std::vector<int32_t> all(problem.buffers.size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<bool> none(problem.pairs.size());
  Contradiction contradiction;
  const Layout layout = build_layout(problem, all, none, contradiction);
  if (!contradiction.buffers.empty() || count_meetings(layout) > kMaxMeetings) return {};
  const Conflicts conflicts = find_conflicts(layout);
  const Features features(layout, section_loads(layout));
  Spreader spreader(problem, layout, conflicts);
  std::vector<Spread> found;
  for (const char* keys : kOrders) {
    Spread spread;
    if (spreader.place(features.order(keys), spread)) found.push_back(std::move(spread));
  }
  return found;
}

}  // namespace onearena::internal
