#include "tight.h"

#include <algorithm>
#include <unordered_set>

#include "first_fit.h"

namespace onearena::internal {
namespace {

constexpr size_t kMaxUnits = 64;
constexpr int64_t kMaxNodes = 3'000'000;
// Units that hold each other in a circle can be moved down together only by what all alignments
// divide. Where these differ, all origins are tried, if they are so few.
constexpr int64_t kMaxOrigins = 256;
constexpr size_t kMaxKnown = 1 << 20;

class Tight {
 public:
  Tight(const Layout& layout, const Conflicts& conflicts, int64_t limit, int64_t bound,
        int64_t node_limit, const Limits& limits)
      : layout_(layout), conflicts_(conflicts), limit_(limit), bound_(bound), limits_(limits) {
    node_limit_ = std::min(node_limit, kMaxNodes);
    for (const Unit& unit : layout.units) {
      has_one_modulus_ = has_one_modulus_ && unit.modulus == layout.units[0].modulus;
    }
    tries_all_ = !has_one_modulus_ && limit <= kMaxOrigins;
    origins_.assign(layout.units.size(), kNowhere);
  }

  TightResult run() {
    TightResult result;
    if (layout_.units.size() > kMaxUnits) return result;
    place(0, 0);
    result.nodes = nodes_;
    result.is_complete = !is_stopped_ && (has_one_modulus_ || tries_all_);
    result.origins = best_;
    // the last plan found is the best one, or there is none within the limit
    result.bound = limit_ + 1;
    return result;
  }

 private:
  // False when the search is over.
  bool place(size_t placed, int64_t height) {
    if (placed == layout_.units.size()) {
      best_ = origins_;
      limit_ = height - 1;
      return limit_ >= bound_;
    }
    if (nodes_ >= node_limit_ || (nodes_ % 256 == 0 && limits_.reached())) {
      is_stopped_ = true;
      return false;
    }
    ++nodes_;
    if (!fits() || !known_.insert(key()).second) return true;
    if (known_.size() > kMaxKnown) known_.clear();
    for (size_t u = 0; u < layout_.units.size(); ++u) {
      if (origins_[u] != kNowhere) continue;
      for (int64_t origin : candidates(static_cast<int32_t>(u))) {
        const int64_t top = std::max(height, origin + layout_.units[u].size);
        if (top > limit_) break;
        origins_[u] = origin;
        const bool go_on = place(placed + 1, top);
        origins_[u] = kNowhere;
        if (!go_on) return false;
      }
    }
    return true;
  }

  bool is_free(int32_t unit, int64_t origin) const {
    for (int64_t j = conflicts_.starts[unit]; j < conflicts_.starts[unit + 1]; ++j) {
      const int64_t at = origins_[conflicts_.others[j]];
      if (at != kNowhere && at + low(unit, j) < origin && origin < at + high(j)) return false;
    }
    return true;
  }

  int64_t low(int32_t unit, int64_t j) const { return conflicts_.low(layout_, unit, j); }
  int64_t high(int64_t j) const { return conflicts_.high(layout_, j); }

  // Free origins that touch the ground or a unit that is placed, ascending.
  std::vector<int64_t> candidates(int32_t unit) const {
    const Unit& it = layout_.units[unit];
    if (tries_all_) return all_origins(unit);
    std::vector<int64_t> found{it.lowest};
    for (int64_t j = conflicts_.starts[unit]; j < conflicts_.starts[unit + 1]; ++j) {
      const int64_t at = origins_[conflicts_.others[j]];
      if (at == kNowhere || high(j) >= kInfinity) continue;
      found.push_back(align_up(std::max(at + high(j), it.lowest), it.modulus, it.residue));
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    const int64_t highest = std::min(it.highest, limit_ - it.size);
    found.erase(std::remove_if(found.begin(), found.end(),
                               [&](int64_t x) { return x > highest || !is_free(unit, x); }),
                found.end());
    return found;
  }

  std::vector<int64_t> all_origins(int32_t unit) const {
    const Unit& it = layout_.units[unit];
    const int64_t highest = std::min(it.highest, limit_ - it.size);
    std::vector<int64_t> found;
    for (int64_t origin = it.lowest; origin <= highest; origin += it.modulus) {
      if (is_free(unit, origin)) found.push_back(origin);
    }
    return found;
  }

  // False when some unit has no place any more, wherever the others that are to come lie.
  bool fits() const {
    for (size_t u = 0; u < layout_.units.size(); ++u) {
      if (origins_[u] == kNowhere && !has_place(static_cast<int32_t>(u))) return false;
    }
    return true;
  }

  bool has_place(int32_t unit) const {
    const Unit& it = layout_.units[unit];
    const int64_t highest = std::min(it.highest, limit_ - it.size);
    int64_t position = it.lowest;
    for (bool moved = true; moved && position <= highest;) {
      moved = false;
      for (int64_t j = conflicts_.starts[unit]; j < conflicts_.starts[unit + 1]; ++j) {
        const int64_t at = origins_[conflicts_.others[j]];
        if (at == kNowhere || at + low(unit, j) >= position || position >= at + high(j)) continue;
        if (high(j) >= kInfinity) return false;
        position = align_up(at + high(j), it.modulus, it.residue);
        moved = true;
      }
    }
    return position <= highest;
  }

  uint64_t key() const {
    uint64_t key = static_cast<uint64_t>(limit_) * 0x9E3779B97F4A7C15ULL;
    for (size_t u = 0; u < origins_.size(); ++u) {
      if (origins_[u] == kNowhere) continue;
      Random random(static_cast<uint64_t>(origins_[u]) * 0x100000001B3ULL + u);
      key += random.next();
    }
    return key;
  }

  const Layout& layout_;
  const Conflicts& conflicts_;
  int64_t limit_;
  const int64_t bound_;
  const Limits& limits_;
  int64_t node_limit_ = 0, nodes_ = 0;
  std::vector<int64_t> origins_, best_;
  std::unordered_set<uint64_t> known_;
  bool is_stopped_ = false;
  bool has_one_modulus_ = true;
  bool tries_all_ = false;
};

}  // namespace

TightResult search_tight(const Layout& layout, const Conflicts& conflicts, int64_t limit,
                         int64_t bound, int64_t node_limit, const Limits& limits) {
  return Tight(layout, conflicts, limit, bound, node_limit, limits).run();
}

}  // namespace onearena::internal
