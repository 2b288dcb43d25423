#include <algorithm>

#include "assign.h"
#include "explain.h"
#include "limits.h"
#include "onearena/planner.h"
#include "single.h"
#include "units.h"

namespace onearena {
namespace {

using internal::Limits;

Limits limits_of(const Options& options) {
  Limits limits;
  const double seconds = std::min(std::max(options.time_limit_s, 0.0), 1e9);
  limits.deadline = internal::Clock::now() + std::chrono::duration_cast<internal::Clock::duration>(
                                                 std::chrono::duration<double>(seconds));
  limits.stop = options.stop;
  return limits;
}

}  // namespace

Plan plan(const Problem& problem, const Options& options) {
  internal::check(problem);
  const Limits limits = limits_of(options);
  Plan result = internal::plan_memories(problem, options, limits);
  if (result.status == Status::kInfeasible) {
    result.conflict = internal::explain(problem, options, result.conflict);
  }
  return result;
}

int64_t lower_bound(const Problem& problem, int32_t memory) {
  internal::check(problem);
  if (memory < 0 || static_cast<size_t>(memory) >= problem.memories.size()) {
    throw MalformedProblem("there is no such memory");
  }
  std::vector<bool> is_confined(problem.buffers.size());
  for (size_t k = 0; k < problem.buffers.size(); ++k) {
    const auto& allowed = problem.buffers[k].memories;
    is_confined[k] = (allowed.empty() && problem.memories.size() == 1) ||
                     (allowed.size() == 1 && allowed[0] == memory);
  }
  for (const Group& group : problem.groups) {
    bool any = false;
    for (const Member& member : group) any = any || is_confined[member.buffer];
    for (const Member& member : group) is_confined[member.buffer] = any;
  }
  std::vector<int32_t> chosen;
  for (size_t k = 0; k < is_confined.size(); ++k) {
    if (is_confined[k]) chosen.push_back(static_cast<int32_t>(k));
  }
  return internal::bound_single(problem, chosen);
}

}  // namespace onearena
