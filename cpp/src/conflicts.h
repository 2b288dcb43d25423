// Which units meet, and where they must not be relative to each other.
#ifndef ONEARENA_SRC_CONFLICTS_H_
#define ONEARENA_SRC_CONFLICTS_H_

#include <cstdint>
#include <vector>

#include "units.h"

namespace onearena::internal {

// Unit k must not be at x with other + low < x < other + high, where `other` is the origin of the
// unit others[j], for all j in [starts[k], starts[k + 1]).
struct Conflicts {
  std::vector<int64_t> starts;
  std::vector<int32_t> others;
  // Empty for flat layouts, where low is -(own size) and high is the other's size.
  std::vector<int64_t> lows;
  std::vector<int64_t> highs;

  // Of the j-th conflict, which is one of `unit`.
  int64_t low(const Layout& layout, int32_t unit, int64_t j) const {
    return lows.empty() ? -layout.units[unit].size : lows[j];
  }
  int64_t high(const Layout& layout, int64_t j) const {
    return highs.empty() ? layout.units[others[j]].size : highs[j];
  }
};

// How many pairs of pieces meet in time: what find_conflicts would store.
int64_t count_meetings(const Layout& layout);

Conflicts find_conflicts(const Layout& layout);

}  // namespace onearena::internal

#endif  // ONEARENA_SRC_CONFLICTS_H_
