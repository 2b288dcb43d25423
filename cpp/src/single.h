// One memory: from buffers to offsets, whether or not pairs of them share.
#ifndef ONEARENA_SRC_SINGLE_H_
#define ONEARENA_SRC_SINGLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "limits.h"
#include "onearena/planner.h"

namespace onearena::internal {

struct SinglePlan {
  Status status = Status::kTimeout;
  std::vector<int64_t> offsets;  // by position among the chosen buffers
  int64_t height = 0;
  int64_t bound = 0;
  int64_t nodes = 0;
  std::string method;
  std::vector<int32_t> conflict;  // of a contradiction
};

// Plans the buffers `chosen` (ascending, whole groups), all in one memory of `capacity` bytes.
SinglePlan plan_single(const Problem& problem, const std::vector<int32_t>& chosen, int64_t capacity,
                       const Options& options, const Limits& limits);

// A bound for the same, whichever pairs share.
int64_t bound_single(const Problem& problem, const std::vector<int32_t>& chosen);

}  // namespace onearena::internal

#endif  // ONEARENA_SRC_SINGLE_H_
