#ifndef ONEARENA_SRC_SCHEDULE_CHECK_H_
#define ONEARENA_SRC_SCHEDULE_CHECK_H_

#include "onearena/schedule.h"

namespace onearena::internal {

// Throws MalformedProblem.
void check_schedule_problem(const ScheduleProblem& problem);

}  // namespace onearena::internal

#endif  // ONEARENA_SRC_SCHEDULE_CHECK_H_
