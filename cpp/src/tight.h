// Exact search for small layouts of any kind.
#ifndef ONEARENA_SRC_TIGHT_H_
#define ONEARENA_SRC_TIGHT_H_

#include <cstdint>
#include <vector>

#include "conflicts.h"
#include "limits.h"
#include "units.h"

namespace onearena::internal {

struct TightResult {
  std::vector<int64_t> origins;  // of the best plan found, or empty
  int64_t bound = 0;             // when complete: no plan is lower
  bool is_complete = false;
  int64_t nodes = 0;
};

// Looks for the lowest plan of at most `limit`, and stops at `bound`. In a plan in which no unit,
// and no set of units that touch, can be moved down (with one alignment for all), every unit lies
// at its lowest origin or right above an end of another one; so it is enough to try these origins,
// in every order in which units can rest on units placed before them.
TightResult search_tight(const Layout& layout, const Conflicts& conflicts, int64_t limit,
                         int64_t bound, int64_t node_limit, const Limits& limits);

}  // namespace onearena::internal

#endif  // ONEARENA_SRC_TIGHT_H_
