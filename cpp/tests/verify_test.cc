// The verifier at the ends of what 64 bits hold, its limit of faults, and its speed.
#include <chrono>

#include "check.h"

namespace onearena::testing {
namespace {

constexpr int64_t kMax = INT64_MAX;

std::vector<Fault> judge(const Problem& problem, const std::vector<int64_t>& offsets,
                         size_t max_faults = SIZE_MAX) {
  const std::vector<int32_t> memories(offsets.size(), 0);
  const std::vector<int64_t> heights(problem.memories.size(), kMax);
  return verify(problem, {offsets.data(), memories.data(), heights.data()}, max_faults);
}

void test_nothing() {
  CHECK(verify(Problem{}, {nullptr, nullptr, std::vector<int64_t>{0}.data()}).empty());
}

void test_far_ends() {
  Problem problem;
  problem.buffers = {buffer(kMax, INT64_MIN, kMax), buffer(kMax, INT64_MIN, kMax)};
  problem.buffers[0].is_last = problem.buffers[1].is_last = true;
  const std::vector<int64_t> places{INT64_MIN, INT64_MIN + 1, -1, 0, 1, kMax - 1, kMax};
  for (int64_t first : places) {
    for (int64_t second : places) judge(problem, {first, second});
  }
  CHECK(judge(problem, {INT64_MIN, 0}).size() == 2);  // negative, and the other lies above
}

void test_limit_of_faults() {
  Problem problem;
  for (int k = 0; k < 50; ++k) {
    problem.buffers.push_back(buffer(4, 0, 9));
    problem.buffers.back().gaps = {{{1, 2}, {0, 1}}, {{3, 4}, {0, 1}}, {{5, 6}, {0, 1}}};
  }
  const std::vector<int64_t> offsets(50, 0);
  const size_t all = 50 * 49 / 2;
  CHECK(judge(problem, offsets).size() == all);
  for (size_t limit : {size_t{0}, size_t{1}, size_t{7}, all - 1, all, all + 1}) {
    CHECK(judge(problem, offsets, limit).size() == std::min(limit, all));
  }
}

// Stacks `alive` buffers on each other at every step; now and then one has a gap or is in a group.
Problem tall_problem(int count, int alive, std::vector<int64_t>& offsets) {
  Problem problem;
  Random random(7);
  std::vector<int64_t> free_at(static_cast<size_t>(alive), 0);
  for (int k = 0; k < count; ++k) {
    const size_t row = static_cast<size_t>(k % alive);
    const int64_t end = free_at[row] + random.in(3, 9);
    problem.buffers.push_back(buffer(random.in(1, 1000), free_at[row], end));
    if (random.once_in(10)) problem.buffers.back().gaps = {{{end - 2, end - 1}, {0, 1}}};
    if (random.once_in(10)) problem.groups.push_back({{k, 0}});
    offsets.push_back(static_cast<int64_t>(row) * 1000);
    free_at[row] = end;
  }
  return problem;
}

void test_speed() {
  std::vector<int64_t> offsets;
  const Problem problem = tall_problem(100000, 20000, offsets);
  const auto start = std::chrono::steady_clock::now();
  CHECK(judge(problem, offsets).empty());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  // About 0.2 s; wide enough for sanitizers on a busy machine, too narrow for all pairs.
  CHECK(took.count() < 15);
  std::fill(offsets.begin(), offsets.end(), 0);
  CHECK(judge(problem, offsets, 1000).size() == 1000);
}

}  // namespace
}  // namespace onearena::testing

int main() {
  onearena::testing::test_nothing();
  onearena::testing::test_far_ends();
  onearena::testing::test_limit_of_faults();
  onearena::testing::test_speed();
}
