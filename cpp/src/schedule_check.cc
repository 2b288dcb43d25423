// The form of a scheduling problem.
#include "schedule_check.h"

#include <string>

#include "onearena/planner.h"

namespace onearena::internal {
namespace {

constexpr int64_t kMaxTotal = int64_t{1} << 61;

void refuse(const std::string& what) { throw MalformedProblem(what); }

void check_memories(const ScheduleProblem& problem) {
  int64_t total = 0;
  for (size_t k = 0; k < problem.memories.size(); ++k) {
    const int64_t size = problem.memories[k].size;
    if (size < 0) refuse("memory " + std::to_string(k) + ": its size is negative");
    if (size > kMaxTotal - total) refuse("the memories are too large together");
    total += size;
  }
}

void check_steps(const ScheduleProblem& problem, size_t number) {
  const std::string name = "operation " + std::to_string(number);
  const auto& operation = problem.operations[number];
  const auto count = static_cast<int64_t>(problem.memories.size());
  if (operation.steps.empty()) refuse(name + ": it has no step");
  if (operation.block < -1 || operation.block >= static_cast<int64_t>(problem.operations.size())) {
    refuse(name + ": there is no block " + std::to_string(operation.block));
  }
  for (const auto& step : operation.steps) {
    for (int32_t memory : step.touched) {
      if (memory < 0 || memory >= count) refuse(name + ": it touches a memory that is not there");
    }
    for (const auto& overlay : step.overlays) {
      bool dying = false, born = false;
      for (int32_t memory : step.touched) {
        dying = dying || memory == overlay.dying;
        born = born || memory == overlay.born;
      }
      if (!dying || !born || overlay.dying == overlay.born) {
        refuse(name + ": an overlay of what the step does not touch");
      }
      if (problem.memories[overlay.dying].size != problem.memories[overlay.born].size) {
        refuse(name + ": an overlay of two sizes");
      }
    }
  }
}

void check_blocks(const ScheduleProblem& problem) {
  std::vector<bool> seen(problem.operations.size());
  int32_t last = -1;
  for (const auto& operation : problem.operations) {
    if (operation.block == last) continue;
    last = operation.block;
    if (last < 0) continue;
    if (seen[last]) refuse("block " + std::to_string(last) + " is not in one piece");
    seen[last] = true;
  }
}

}  // namespace

void check_schedule_problem(const ScheduleProblem& problem) {
  check_memories(problem);
  const auto count = static_cast<int64_t>(problem.operations.size());
  for (size_t k = 0; k < problem.operations.size(); ++k) check_steps(problem, k);
  check_blocks(problem);
  for (const auto& [first, second] : problem.precedes) {
    if (first < 0 || second >= count || first >= second) {
      refuse("operation " + std::to_string(first) + " cannot precede " + std::to_string(second));
    }
  }
}

}  // namespace onearena::internal
