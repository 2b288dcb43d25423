// Which buffers occupy the same bytes, or lie above one that must be last, at some step.
#ifndef ONEARENA_VERIFY_MEETINGS_H_
#define ONEARENA_VERIFY_MEETINGS_H_

#include <cstdint>
#include <vector>

#include "faults.h"
#include "onearena/problem.h"
#include "onearena/verify.h"

namespace onearena::verifying {

// Adds kOverlap and kLast. The problem is well-formed; `group_of` is -1 for buffers in no group.
// Buffers in memories that do not exist, or that end beyond what 64 bits can address, are left
// out: they have faults already, and bytes that do not exist meet nothing.
void find_meetings(const Problem& problem, const Placed& placed,
                   const std::vector<int32_t>& group_of, Faults& faults);

}  // namespace onearena::verifying

#endif  // ONEARENA_VERIFY_MEETINGS_H_
