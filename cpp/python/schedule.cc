// Python's view of the scheduler.
#include "onearena/schedule.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "schedule.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Memory = std::tuple<int64_t, bool, bool>;
using Pair = std::tuple<int32_t, int32_t>;
using Step = std::tuple<std::vector<int32_t>, std::vector<Pair>>;
using Operation = std::tuple<int32_t, std::vector<Step>>;
using Result = std::tuple<std::vector<int32_t>, int64_t, int64_t, int64_t>;

onearena::ScheduleProblem problem_of(const std::vector<Memory>& memories,
                                     const std::vector<Operation>& operations,
                                     const std::vector<Pair>& precedes) {
  onearena::ScheduleProblem problem;
  for (const auto& [size, from_start, to_end] : memories) {
    problem.memories.push_back({size, from_start, to_end});
  }
  for (const auto& [block, steps] : operations) {
    onearena::ScheduleProblem::Operation operation;
    operation.block = block;
    for (const auto& [touched, overlays] : steps) {
      onearena::ScheduleProblem::Step step{touched, {}};
      for (const auto& [dying, born] : overlays) step.overlays.push_back({dying, born});
      operation.steps.push_back(std::move(step));
    }
    problem.operations.push_back(std::move(operation));
  }
  for (const auto& [first, second] : precedes) problem.precedes.emplace_back(first, second);
  return problem;
}

Result schedule(const std::vector<Memory>& memories, const std::vector<Operation>& operations,
                const std::vector<Pair>& precedes, int64_t state_limit, int32_t beam_width,
                int32_t window) {
  const auto problem = problem_of(memories, operations, precedes);
  onearena::ScheduleOptions options;
  options.state_limit = state_limit;
  options.beam_width = beam_width;
  options.window = window;
  nb::gil_scoped_release release;
  const onearena::Schedule found = onearena::schedule(problem, options);
  return {found.order, found.peak, found.lower_bound, found.states};
}

int64_t peak_of(const std::vector<Memory>& memories, const std::vector<Operation>& operations,
                const std::vector<Pair>& precedes, const std::vector<int32_t>& order) {
  return onearena::peak_of(problem_of(memories, operations, precedes), order);
}

}  // namespace

void bind_schedule(nb::module_& m) {
  const onearena::ScheduleOptions normal;
  m.def("schedule", &schedule, "memories"_a, "operations"_a, "precedes"_a,
        "state_limit"_a = normal.state_limit, "beam_width"_a = normal.beam_width,
        "window"_a = normal.window);
  m.def("peak_of", &peak_of, "memories"_a, "operations"_a, "precedes"_a, "order"_a);
}
