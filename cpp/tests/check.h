// What the tests share: checks that say where they failed, and random problems.
#ifndef ONEARENA_TESTS_CHECK_H_
#define ONEARENA_TESTS_CHECK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

#include "onearena/planner.h"
#include "onearena/verify.h"

#define CHECK(condition)                                                   \
  do {                                                                     \
    if (!(condition)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                        \
    }                                                                      \
  } while (false)

namespace onearena::testing {

template <typename Error, typename Call>
bool throws(Call call) {
  try {
    call();
  } catch (const Error&) {
    return true;
  }
  return false;
}

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  // low, ..., high. Not std::uniform_int_distribution, which differs between libraries.
  int64_t in(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine_() % static_cast<uint64_t>(high - low + 1));
  }

  bool once_in(int64_t count) { return in(1, count) == count; }

 private:
  std::mt19937_64 engine_;
};

inline Buffer buffer(int64_t size, int64_t begin, int64_t end) {
  Buffer result;
  result.size = size;
  result.life = {begin, end};
  return result;
}

inline std::vector<Fault> faults(const Problem& problem, const Plan& plan) {
  CHECK(plan.offsets.size() == problem.buffers.size());
  CHECK(plan.memories.size() == problem.buffers.size());
  CHECK(plan.heights.size() == problem.memories.size());
  CHECK(plan.lower_bounds.size() == problem.memories.size());
  return verify(problem, {plan.offsets.data(), plan.memories.data(), plan.heights.data()});
}

// Everything that can be seen of a plan without knowing the best one.
inline void check_plan(const Problem& problem, const Plan& plan) {
  if (plan.status == Status::kInfeasible) {
    CHECK(!plan.conflict.empty());
    for (int32_t k : plan.conflict) {
      CHECK(k >= 0 && static_cast<size_t>(k) < problem.buffers.size());
    }
  }
  if (plan.status == Status::kInfeasible || plan.status == Status::kTimeout) {
    CHECK(plan.offsets.empty());
    return;
  }
  CHECK(faults(problem, plan).empty());
  CHECK(plan.cost_bound <= plan.cost);
  CHECK(plan.status != Status::kOptimal || plan.cost_bound == plan.cost);
  for (size_t m = 0; m < problem.memories.size(); ++m) {
    CHECK(0 <= plan.lower_bounds[m] && plan.lower_bounds[m] <= plan.heights[m]);
  }
}

inline Plan plan_and_check(const Problem& problem, double time_limit_s) {
  Options options;
  options.time_limit_s = time_limit_s;
  Plan result = plan(problem, options);
  check_plan(problem, result);
  return result;
}

}  // namespace onearena::testing

#endif  // ONEARENA_TESTS_CHECK_H_
