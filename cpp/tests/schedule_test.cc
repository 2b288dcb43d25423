// The scheduler: against all orders of small problems, on large ones, and on what has no sense.
#include "onearena/schedule.h"

#include <algorithm>
#include <numeric>

#include "check.h"

namespace onearena {
namespace {

using testing::Random;

ScheduleProblem::Step step(Random& random, const ScheduleProblem& problem) {
  ScheduleProblem::Step made;
  const auto last = static_cast<int64_t>(problem.memories.size()) - 1;
  for (int64_t k = random.in(0, 3); k > 0; --k) {
    const auto memory = static_cast<int32_t>(random.in(0, last));
    auto& touched = made.touched;
    if (std::find(touched.begin(), touched.end(), memory) == touched.end()) {
      touched.push_back(memory);
    }
  }
  for (int32_t a : made.touched) {
    for (int32_t b : made.touched) {
      const bool is_equal = problem.memories[a].size == problem.memories[b].size;
      if (a != b && is_equal && random.once_in(2)) made.overlays.push_back({a, b});
    }
  }
  return made;
}

ScheduleProblem small_problem(Random& random) {
  ScheduleProblem problem;
  for (int64_t k = random.in(1, 7); k > 0; --k) {
    problem.memories.push_back({random.in(0, 6), random.once_in(4), random.once_in(4)});
  }
  const auto count = static_cast<size_t>(random.in(1, 6));
  while (problem.operations.size() < count) {
    const bool is_block = random.once_in(3);
    const auto block = static_cast<int32_t>(problem.operations.size());
    for (int64_t k = is_block ? random.in(1, 2) : 1; k > 0 && problem.operations.size() < count;
         --k) {
      ScheduleProblem::Operation made;
      made.block = is_block ? block : -1;
      for (int64_t s = random.in(1, 2); s > 0; --s) made.steps.push_back(step(random, problem));
      problem.operations.push_back(made);
    }
  }
  for (int32_t b = 0; b < static_cast<int32_t>(count); ++b) {
    for (int32_t a = 0; a < b; ++a) {
      if (random.once_in(4)) problem.precedes.emplace_back(a, b);
    }
  }
  return problem;
}

// The least peak of all permutations that are orders.
int64_t best_peak(const ScheduleProblem& problem) {
  std::vector<int32_t> order(problem.operations.size());
  std::iota(order.begin(), order.end(), 0);
  int64_t best = INT64_MAX;
  do {
    try {
      best = std::min(best, peak_of(problem, order));
    } catch (const MalformedProblem&) {
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

void check(const ScheduleProblem& problem, const Schedule& found) {
  CHECK(peak_of(problem, found.order) == found.peak);
  CHECK(found.lower_bound <= found.peak);
  std::vector<int32_t> as_it_is(problem.operations.size());
  std::iota(as_it_is.begin(), as_it_is.end(), 0);
  CHECK(found.peak <= peak_of(problem, as_it_is));
}

void small_problems_are_solved() {
  Random random(1);
  for (int k = 0; k < 400; ++k) {
    const ScheduleProblem problem = small_problem(random);
    const Schedule found = schedule(problem);
    check(problem, found);
    CHECK(found.peak == best_peak(problem));
    CHECK(found.lower_bound == found.peak);
    ScheduleOptions little;
    little.state_limit = random.in(0, 6);
    little.beam_width = static_cast<int32_t>(random.in(0, 2));
    little.window = static_cast<int32_t>(random.in(0, 5));
    const Schedule guessed = schedule(problem, little);
    check(problem, guessed);
    CHECK(guessed.lower_bound <= found.peak);
  }
}

// A randomly wired network; what nobody reads is read by the last operation.
ScheduleProblem wired(Random& random, int32_t count, int32_t reach, int32_t per_block) {
  ScheduleProblem problem;
  std::vector<bool> is_read(count + 1, false);
  problem.memories.push_back({random.in(1, 64), true, false});
  for (int32_t k = 0; k < count; ++k) {
    problem.memories.push_back({random.in(1, 64), false, k + 1 == count});
    ScheduleProblem::Operation made;
    made.block = per_block > 0 && k % (2 * per_block) < per_block ? k / per_block : -1;
    made.steps.push_back({{k + 1}, {}});
    const auto read = [&](int32_t memory) {
      auto& touched = made.steps[0].touched;
      if (std::find(touched.begin(), touched.end(), memory) != touched.end()) return;
      touched.push_back(memory);
      is_read[memory] = true;
      if (memory > 0) problem.precedes.emplace_back(memory - 1, k);
    };
    for (int64_t n = random.in(1, 2); n > 0; --n) {
      read(static_cast<int32_t>(random.in(std::max(0, k + 1 - reach), k)));
    }
    for (int32_t m = 0; k + 1 == count && m <= k; ++m) {
      if (!is_read[m]) read(m);
    }
    problem.operations.push_back(made);
  }
  return problem;
}

void large_problems_end() {
  Random random(2);
  for (const int32_t reach : {1, 3, 30, 300}) {
    for (const int32_t per_block : {0, 7}) {
      const ScheduleProblem problem = wired(random, 300, reach, per_block);
      const Schedule found = schedule(problem);
      check(problem, found);
      CHECK(schedule(problem).order == found.order);
    }
  }
}

void nothing_at_all() {
  ScheduleProblem problem;
  CHECK(schedule(problem).peak == 0);
  problem.memories.push_back({5, false, true});
  CHECK(schedule(problem).peak == 5);
  CHECK(schedule(problem).order.empty());
  problem.operations.resize(2);
  for (auto& operation : problem.operations) operation.steps.resize(1);
  CHECK((schedule(problem).order == std::vector<int32_t>{0, 1}));
}

template <typename Change>
void refused(Change change) {
  ScheduleProblem problem;
  problem.memories = {{4, false, false}, {8, false, false}};
  problem.operations.resize(3);
  for (auto& operation : problem.operations) operation.steps.push_back({{0, 1}, {}});
  change(problem);
  CHECK(testing::throws<MalformedProblem>([&] { schedule(problem); }));
  CHECK(testing::throws<MalformedProblem>([&] { peak_of(problem, {0, 1, 2}); }));
}

void what_has_no_sense_is_refused() {
  refused([](ScheduleProblem& p) { p.memories[0].size = -1; });
  refused([](ScheduleProblem& p) { p.memories[0].size = INT64_MAX; });
  refused([](ScheduleProblem& p) { p.operations[0].steps.clear(); });
  refused([](ScheduleProblem& p) { p.operations[0].steps[0].touched.push_back(2); });
  refused([](ScheduleProblem& p) { p.operations[0].steps[0].touched.push_back(-1); });
  refused([](ScheduleProblem& p) { p.operations[0].steps[0].overlays.push_back({0, 1}); });
  refused([](ScheduleProblem& p) { p.operations[0].steps[0].overlays.push_back({0, 0}); });
  refused([](ScheduleProblem& p) { p.operations[0].steps[0].overlays.push_back({7, -7}); });
  refused([](ScheduleProblem& p) { p.operations[0].block = 3; });
  refused([](ScheduleProblem& p) { p.operations[0].block = -2; });
  refused([](ScheduleProblem& p) { p.operations[0].block = p.operations[2].block = 1; });
  refused([](ScheduleProblem& p) { p.precedes.emplace_back(1, 0); });
  refused([](ScheduleProblem& p) { p.precedes.emplace_back(1, 1); });
  refused([](ScheduleProblem& p) { p.precedes.emplace_back(0, 3); });
  refused([](ScheduleProblem& p) { p.precedes.emplace_back(-1, 0); });
  ScheduleProblem problem;
  problem.operations.resize(2);
  for (auto& operation : problem.operations) operation.steps.resize(1);
  problem.precedes.emplace_back(0, 1);
  for (const std::vector<int32_t>& order :
       std::vector<std::vector<int32_t>>{{}, {0}, {1, 0}, {0, 0}, {0, 2}, {-1, 0}, {0, 1, 1}}) {
    CHECK(testing::throws<MalformedProblem>([&] { peak_of(problem, order); }));
  }
}

}  // namespace
}  // namespace onearena

int main() {
  onearena::small_problems_are_solved();
  onearena::large_problems_end();
  onearena::nothing_at_all();
  onearena::what_has_no_sense_is_refused();
  return 0;
}
