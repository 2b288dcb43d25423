// One memory: from a layout to origins.
#ifndef ONEARENA_SRC_SOLVER_H_
#define ONEARENA_SRC_SOLVER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "limits.h"
#include "onearena/planner.h"
#include "units.h"

namespace onearena::internal {

// What a search knows so far; origins are empty until a plan was found.
struct Solved {
  Status status = Status::kTimeout;
  std::vector<int64_t> origins;
  int64_t height = 0;
  int64_t bound = 0;
  int64_t nodes = 0;
  std::string method;
};

struct SolverOptions {
  int64_t capacity = kInfinity;  // scaled
  bool fit_only = false;
  int32_t threads = 1;
  uint64_t seed = 0;
  int64_t node_limit = INT64_MAX;
  uint32_t switched_off = 0;
};

Solved solve(const Layout& layout, const SolverOptions& options, const Limits& limits);

}  // namespace onearena::internal

#endif  // ONEARENA_SRC_SOLVER_H_
