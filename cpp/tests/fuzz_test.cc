// Random problems with every feature: whatever the planner answers, it is true as far as it can be
// seen without knowing the best plan.
//
// Arguments: how many problems (300), the first seed (1).
#include "check.h"

namespace onearena::testing {
namespace {

void add_gaps(Buffer& buffer, Random& random) {
  int64_t step = buffer.life.begin;
  while (true) {
    const int64_t begin = step + random.in(0, 6);
    const int64_t end = begin + random.in(1, 4);
    if (end > buffer.life.end) return;
    Gap gap{{begin, end}, {0, 0}};
    if (random.once_in(2)) {
      gap.bytes.begin = random.in(0, buffer.size);
      gap.bytes.end = random.in(gap.bytes.begin, buffer.size);
    }
    buffer.gaps.push_back(gap);
    step = end;
  }
}

Buffer any_buffer(Random& random, int64_t memories, int64_t rarity) {
  const int64_t begin = random.in(0, 60);
  Buffer result = buffer(random.in(0, 400), begin, begin + random.in(0, 25));
  if (random.once_in(3)) result.alignment = random.in(1, 64);
  if (random.once_in(rarity)) add_gaps(result, random);
  if (random.once_in(rarity * 8)) result.offset = random.in(0, 3000);
  if (random.once_in(rarity * 2)) {
    const int64_t low = random.in(0, 3000);
    result.region = {low, random.once_in(2) ? kUnlimited : low + random.in(0, 4000)};
  }
  if (random.once_in(rarity * 12)) result.is_last = true;
  if (random.once_in(2)) result.hint = random.in(0, 3000);
  while (random.once_in(2)) {
    result.memories.push_back(static_cast<int32_t>(random.in(0, memories - 1)));
  }
  return result;
}

void add_groups(Problem& problem, Random& random) {
  Group group;
  for (size_t k = 0; k < problem.buffers.size(); ++k) {
    if (!random.once_in(6)) continue;
    group.push_back({static_cast<int32_t>(k), random.in(-200, 500)});
    if (!random.once_in(3)) continue;
    problem.groups.push_back(std::move(group));
    group.clear();
  }
}

void add_pairs(Problem& problem, Random& random) {
  const int64_t last = static_cast<int64_t>(problem.buffers.size()) - 1;
  for (int64_t k = 0; k < last; ++k) {
    Buffer& buffer = problem.buffers[static_cast<size_t>(k + 1)];
    if (!random.once_in(6) || !buffer.gaps.empty()) continue;
    buffer.size = problem.buffers[static_cast<size_t>(k)].size;
    problem.pairs.push_back({static_cast<int32_t>(k), static_cast<int32_t>(k + 1)});
  }
}

// Capacities that may be too small, and that half of the problems do not have.
void add_memories(Problem& problem, Random& random) {
  problem.memories.resize(static_cast<size_t>(random.in(1, 3)));
  for (Memory& memory : problem.memories) {
    memory.weight = random.in(1, 3);
    if (random.once_in(4)) memory.capacity = random.in(500, 6000);
  }
}

Problem any_problem(uint64_t seed) {
  Random random(seed);
  Problem problem;
  add_memories(problem, random);
  const int64_t count = random.in(0, 60);
  const int64_t rarity = random.in(2, 40);
  for (int64_t k = 0; k < count; ++k) {
    const int64_t memories = static_cast<int64_t>(problem.memories.size());
    problem.buffers.push_back(any_buffer(random, memories, rarity));
  }
  if (random.once_in(2)) add_pairs(problem, random);
  if (random.once_in(2)) add_groups(problem, random);
  return problem;
}

void test_options(const Problem& problem, uint64_t seed) {
  Options options;
  options.time_limit_s = 0.02;
  options.seed = seed;
  options.threads = static_cast<int32_t>(1 + seed % 3);
  options.fit_only = seed % 2 == 1;
  options.node_limit = seed % 5 == 0 ? 0 : INT64_MAX;
  check_plan(problem, plan(problem, options));
}

// The answers to one problem do not contradict each other.
void test_problem(const Problem& problem, uint64_t seed) {
  const Plan first = plan_and_check(problem, 0.05);
  test_options(problem, seed);
  Problem roomy = problem;
  for (Memory& memory : roomy.memories) memory.capacity = kUnlimited;
  const Plan second = plan_and_check(roomy, 0.05);
  if (second.status == Status::kInfeasible) CHECK(first.status != Status::kOptimal);
  if (second.status == Status::kInfeasible) CHECK(first.status != Status::kFeasible);
  if (second.status == Status::kOptimal && !first.offsets.empty()) CHECK(second.cost <= first.cost);
  if (problem.memories.size() == 1 && !second.offsets.empty()) {
    CHECK(lower_bound(roomy) <= second.heights[0]);
  }
}

}  // namespace
}  // namespace onearena::testing

int main(int argc, char** argv) {
  const uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 300;
  const uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    std::fprintf(stderr, "\rseed %llu", static_cast<unsigned long long>(seed));
    onearena::testing::test_problem(onearena::testing::any_problem(seed), seed);
  }
  std::fprintf(stderr, "\n");
}
