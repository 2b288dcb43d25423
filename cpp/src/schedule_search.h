// Searches for the next operations to run, over sets of operations that have run.
#ifndef ONEARENA_SRC_SCHEDULE_SEARCH_H_
#define ONEARENA_SRC_SCHEDULE_SEARCH_H_

#include <cstdint>
#include <vector>

#include "schedule_graph.h"
#include "schedule_states.h"

namespace onearena::internal {

// Operations to run next, and what that takes.
struct Stretch {
  std::vector<int32_t> order;  // empty: the limit was reached
  int64_t peak = 0;
  // Whoever goes on from the same set has at least this peak.
  int64_t lower_bound = 0;
  int64_t states = 0;
};

// The stretch with the lowest peak from a set `done` to the next one behind which no more is alive
// than now, or to the end. To run it next is never worse than anything else: see schedule_exact.cc.
// States with a peak above `limit` are left out.
Stretch next_stretch(const ScheduleGraph& graph, const std::vector<Word>& done, int64_t live,
                     int64_t limit, int64_t max_states);

// The order of the operations in `inside`, all of which can run behind `done`, with the lowest
// peak; empty if there is none below `limit`, or none was found in time.
Stretch best_window(const ScheduleGraph& graph, const std::vector<Word>& done, int64_t live,
                    const std::vector<int32_t>& inside, int64_t limit, int64_t max_states);

// Like `next_stretch`, with the `width` best states after each operation only: a stretch that ends
// where no more is alive than now, or at the end. Its lower bound means nothing. Behind
// `max_states`, only the best one is kept.
Stretch beam_stretch(const ScheduleGraph& graph, const std::vector<Word>& done, int64_t live,
                     int32_t width, int64_t max_states);

}  // namespace onearena::internal

#endif  // ONEARENA_SRC_SCHEDULE_SEARCH_H_
