#include "first_fit.h"

#include <algorithm>

namespace onearena::internal {

FirstFit::FirstFit(const Layout& layout, const Conflicts& conflicts, const Limits* limits)
    : layout_(layout), conflicts_(conflicts), limits_(limits) {
  origins_.resize(layout.units.size());
  size_t most = 0;
  for (size_t u = 0; u < layout.units.size(); ++u) {
    if (layout.units[u].lowest == layout.units[u].highest) pinned_.push_back(int32_t(u));
    most = std::max<size_t>(most, conflicts.starts[u + 1] - conflicts.starts[u]);
  }
  taken_.reserve(most);
}

int64_t FirstFit::place(const std::vector<int32_t>& order, bool best_fit, int64_t limit) {
  std::fill(origins_.begin(), origins_.end(), kNowhere);
  height_ = 0;
  highest_ = -1;
  return continue_with(order, best_fit, limit);
}

int64_t FirstFit::complete(const std::vector<int64_t>& start, const std::vector<int32_t>& order,
                           int64_t limit) {
  std::fill(origins_.begin(), origins_.end(), kNowhere);
  height_ = 0;
  highest_ = -1;
  for (size_t unit = 0; unit < start.size(); ++unit) {
    if (start[unit] != kNowhere) put(static_cast<int32_t>(unit), start[unit]);
  }
  return continue_with(order, false, limit);
}

int64_t FirstFit::continue_with(const std::vector<int32_t>& order, bool best_fit, int64_t limit) {
  for (int32_t unit : pinned_) {
    if (origins_[unit] != kNowhere) continue;
    const int64_t origin = lowest(unit, false, limit);
    if (origin == kNowhere) return -1;
    put(unit, origin);
  }
  if (height_ >= limit) return -1;
  int32_t polls = 0;
  for (int32_t unit : order) {
    if (origins_[unit] != kNowhere) continue;
    if (limits_ != nullptr && ++polls % 256 == 0 && limits_->reached()) return -1;
    const int64_t origin = lowest(unit, best_fit, limit);
    if (origin == kNowhere) return -1;
    put(unit, origin);
  }
  return height_;
}

void FirstFit::put(int32_t unit, int64_t origin) {
  origins_[unit] = origin;
  const int64_t top = origin + layout_.units[unit].size;
  if (top > height_) {
    height_ = top;
    highest_ = unit;
  }
}

int64_t FirstFit::lowest(int32_t unit, bool best_fit, int64_t limit) {
  const Unit& it = layout_.units[unit];
  const int64_t highest = std::min(it.highest, limit - 1 - it.size);
  taken_.clear();
  for (int64_t j = conflicts_.starts[unit]; j < conflicts_.starts[unit + 1]; ++j) {
    const int64_t at = origins_[conflicts_.others[j]];
    if (at == kNowhere) continue;
    const int64_t low = conflicts_.low(layout_, unit, j);
    const int64_t high = conflicts_.high(layout_, j);
    if (at + high > it.lowest) taken_.emplace_back(at + low, at + high);
  }
  std::sort(taken_.begin(), taken_.end());
  int64_t position = it.lowest, best = kNowhere, best_room = INT64_MAX;
  for (const auto& [low, high] : taken_) {
    if (position <= low) {
      if (!best_fit) break;
      if (position <= highest && low - position < best_room) {
        best = position;
        best_room = low - position;
      }
    }
    if (high > position) position = align_up(high, it.modulus, it.residue);
    if (position > highest) return best;
  }
  if (best != kNowhere) return best;
  return position <= highest ? position : kNowhere;
}

}  // namespace onearena::internal
