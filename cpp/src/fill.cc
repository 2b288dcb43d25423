#include "fill.h"

#include <algorithm>
#include <iterator>

namespace onearena::internal {
namespace {

// Looking at the clock costs about as much as placing a unit.
constexpr size_t kUnitsPerLook = 32;

}  // namespace

Layout hulls_of(const Layout& layout) {
  Layout hulls = layout;
  hulls.is_flat = true;
  for (Unit& unit : hulls.units) {
    if (unit.pieces.empty()) continue;
    Piece hull = unit.pieces[0];
    for (const Piece& piece : unit.pieces) {
      hull.begin = std::min(hull.begin, piece.begin);
      hull.end = std::max(hull.end, piece.end);
    }
    hull.low = 0;
    hull.high = unit.size;
    unit.pieces = {hull};
    unit.is_flat = true;
    hulls.is_flat = hulls.is_flat && !unit.is_last;
  }
  return hulls;
}

bool ValleyFill::suits(const Layout& layout) {
  for (const Unit& unit : layout.units) {
    if (!unit.is_flat || unit.is_last || unit.pieces.size() > 1 || unit.lowest > 0 ||
        unit.highest < kInfinity) {
      return false;
    }
  }
  return true;
}

ValleyFill::ValleyFill(const Layout& layout, const Limits& limits)
    : layout_(layout), limits_(limits) {
  for (const Unit& unit : layout.units) {
    begins_.push_back(unit.pieces.empty() ? 0 : unit.pieces[0].begin);
    ends_.push_back(unit.pieces.empty() ? 0 : unit.pieces[0].end);
  }
  rank_.resize(layout.units.size());
  origins_.resize(layout.units.size());
  stretches_.resize(layout.section_count);
  crossing_.resize(layout.section_count + 1);
}

int64_t ValleyFill::run(const std::vector<int32_t>& order, int64_t limit) {
  int64_t height = 0;
  size_t left = 0;
  is_cut_short_ = false;
  is_placed_.assign(order.size(), false);
  lowest_.clear();
  for (auto& units : crossing_) units.clear();
  for (size_t k = 0; k < order.size(); ++k) rank_[order[k]] = static_cast<int32_t>(k);
  if (layout_.section_count > 0) add_stretch(0, layout_.section_count, -1, 0);
  for (auto unit = order.rbegin(); unit != order.rend(); ++unit) {
    origins_[*unit] = layout_.units[*unit].lowest;
    if (begins_[*unit] == ends_[*unit]) {
      height = std::max(height, origins_[*unit] + layout_.units[*unit].size);
      is_placed_[*unit] = true;
    } else {
      stretches_[0].units.push_back(*unit);
      ++left;
    }
  }
  while (left > 0) {
    const int32_t begin = lowest_.begin()->second;
    Stretch& stretch = stretches_[begin];
    if (stretch.units.empty()) {
      if (!raise(begin)) return -1;
      continue;
    }
    if (left % kUnitsPerLook == 0 && limits_.reached()) {
      height = stack_rest(order, height);
      break;
    }
    const int32_t unit = stretch.units.back();
    stretch.units.pop_back();
    is_placed_[unit] = true;
    const Unit& it = layout_.units[unit];
    origins_[unit] = align_up(stretch.level, it.modulus, it.residue);
    height = std::max(height, origins_[unit] + it.size);
    if (height >= limit) return -1;
    place(begin, unit, origins_[unit] + it.size);
    --left;
  }
  return height < limit ? height : -1;
}

// Every unit that is left onto the highest floor under it.
int64_t ValleyFill::stack_rest(const std::vector<int32_t>& order, int64_t height) {
  is_cut_short_ = true;
  std::vector<int64_t> floors(layout_.section_count);
  for (int32_t s = 0; s < layout_.section_count; s = stretches_[s].end) {
    std::fill(floors.begin() + s, floors.begin() + stretches_[s].end, stretches_[s].level);
  }
  for (int32_t unit : order) {
    if (is_placed_[unit]) continue;
    const auto begin = floors.begin() + begins_[unit], end = floors.begin() + ends_[unit];
    const Unit& it = layout_.units[unit];
    origins_[unit] = align_up(*std::max_element(begin, end), it.modulus, it.residue);
    std::fill(begin, end, origins_[unit] + it.size);
    height = std::max(height, origins_[unit] + it.size);
  }
  return height;
}

int32_t ValleyFill::add_stretch(int32_t begin, int32_t end, int32_t before, int64_t level) {
  stretches_[begin].end = end;
  stretches_[begin].before = before;
  stretches_[begin].level = level;
  stretches_[begin].units.clear();
  lowest_.emplace(level, begin);
  return begin;
}

// Splits the stretch into what is left of the unit, over it, and right of it.
void ValleyFill::place(int32_t begin, int32_t unit, int64_t top) {
  if (begins_[unit] == begin && ends_[unit] == stretches_[begin].end) {
    lowest_.erase({stretches_[begin].level, begin});
    stretches_[begin].level = top;
    lowest_.emplace(top, begin);
    return;
  }
  const Stretch old = std::move(stretches_[begin]);
  lowest_.erase({old.level, begin});
  const int32_t from = begins_[unit], to = ends_[unit];
  int32_t before = old.before;
  if (begin < from) before = add_stretch(begin, from, before, old.level);
  before = add_stretch(from, to, before, top);
  if (to < old.end) before = add_stretch(to, old.end, before, old.level);
  if (old.end < layout_.section_count) stretches_[old.end].before = before;
  for (int32_t other : old.units) {
    if (ends_[other] <= from) {
      stretches_[begin].units.push_back(other);
    } else if (begins_[other] >= to) {
      stretches_[to].units.push_back(other);
    } else if (begins_[other] < from) {
      crossing_[from].push_back(other);
    } else if (ends_[other] > to) {
      crossing_[to].push_back(other);
    } else {
      stretches_[from].units.push_back(other);
    }
  }
}

// Raises a stretch to its lower neighbour, and joins them. False when it has none.
bool ValleyFill::raise(int32_t begin) {
  Stretch& stretch = stretches_[begin];
  const int32_t before = stretch.before, end = stretch.end;
  const bool has_next = end < layout_.section_count;
  int64_t level = INT64_MAX;
  if (before >= 0) level = stretches_[before].level;
  if (has_next) level = std::min(level, stretches_[end].level);
  if (level == INT64_MAX) return false;
  lowest_.erase({stretch.level, begin});
  stretch.level = level;
  lowest_.emplace(level, begin);
  if (has_next && stretches_[end].level == level) join_next(begin);
  if (before >= 0 && stretches_[before].level == level) join_next(before);
  return true;
}

// Joins a stretch with the next one, which has the same level. Units that waited at their border
// fit now, or wait at another one.
void ValleyFill::join_next(int32_t begin) {
  Stretch& stretch = stretches_[begin];
  const int32_t border = stretch.end;
  Stretch& next = stretches_[border];
  const int32_t end = next.end;
  freed_.clear();
  for (int32_t unit : crossing_[border]) {
    if (begins_[unit] < begin) {
      crossing_[begin].push_back(unit);
    } else if (ends_[unit] > end) {
      crossing_[end].push_back(unit);
    } else {
      freed_.push_back(unit);
    }
  }
  crossing_[border].clear();
  const auto later = [&](int32_t a, int32_t b) { return rank_[a] > rank_[b]; };
  std::sort(freed_.begin(), freed_.end(), later);
  merged_.clear();
  std::merge(stretch.units.begin(), stretch.units.end(), next.units.begin(), next.units.end(),
             std::back_inserter(merged_), later);
  stretch.units.clear();
  std::merge(merged_.begin(), merged_.end(), freed_.begin(), freed_.end(),
             std::back_inserter(stretch.units), later);
  lowest_.erase({next.level, border});
  next.units.clear();
  stretch.end = end;
  if (end < layout_.section_count) stretches_[end].before = begin;
}

}  // namespace onearena::internal
