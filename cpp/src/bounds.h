// Lower bounds on the height of a layout.
#ifndef ONEARENA_SRC_BOUNDS_H_
#define ONEARENA_SRC_BOUNDS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "units.h"

namespace onearena::internal {

// Units (first, second) that may lie over each other: the second counts for nothing while the
// first is alive.
using UnitPairs = std::vector<std::pair<int32_t, int32_t>>;

// The pairs of a problem that are possible, as pairs of different units.
UnitPairs unit_pairs(const Problem& problem, const Layout& layout,
                     const std::vector<bool>& possible);

// The layout without what the second unit of each pair occupies while the first is alive.
Layout without_shared(const Layout& layout, const UnitPairs& pairs);

// Occupied bytes per section.
std::vector<int64_t> section_loads(const Layout& layout, const UnitPairs& pairs = {});

// The largest of: the load of a section, on sizes rounded up to the common alignment; the ends
// that regions and pins enforce; for every section, the best one-machine bound with release times
// (bytes that cannot start below some offset are stacked from there).
int64_t height_bound(const Layout& layout, const UnitPairs& pairs = {});

// Rounds a bound up to a height that stacked buffers can have at all (a sum of sizes of some of
// them). Only for flat layouts without alignments, regions and pins; returns the bound itself
// where that does not hold or would take too long.
int64_t round_to_reachable(const Layout& layout, int64_t bound);

}  // namespace onearena::internal

#endif  // ONEARENA_SRC_BOUNDS_H_
