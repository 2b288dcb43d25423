#ifndef ONEARENA_SRC_SCHEDULE_SETTLE_H_
#define ONEARENA_SRC_SCHEDULE_SETTLE_H_

#include <cstdint>
#include <vector>

#include "schedule_graph.h"

namespace onearena::internal {

// Moves operations back to where they are in the problem, as far as that costs nothing: neighbours
// change places if neither their peak nor the sum of their peaks rises.
void settle(const ScheduleGraph& graph, std::vector<int32_t>* order);

}  // namespace onearena::internal

#endif  // ONEARENA_SRC_SCHEDULE_SETTLE_H_
