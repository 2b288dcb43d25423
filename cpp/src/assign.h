// Several memories: which buffers go where, and a plan for each memory.
#ifndef ONEARENA_SRC_ASSIGN_H_
#define ONEARENA_SRC_ASSIGN_H_

#include "limits.h"
#include "onearena/planner.h"

namespace onearena::internal {

Plan plan_memories(const Problem& problem, const Options& options, const Limits& limits);

}  // namespace onearena::internal

#endif  // ONEARENA_SRC_ASSIGN_H_
