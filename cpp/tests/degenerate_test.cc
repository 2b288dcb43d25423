// Problems with hardly anything in them, and with far too much.
#include "check.h"

namespace onearena::testing {
namespace {

void test_no_buffers() {
  const Plan plan = plan_and_check(Problem{}, 1);
  CHECK(plan.status == Status::kOptimal && plan.cost == 0 && plan.heights[0] == 0);
  CHECK(lower_bound(Problem{}) == 0);
  Problem many;
  many.memories.resize(3);
  CHECK(plan_and_check(many, 1).status == Status::kOptimal);
}

void test_one_buffer() {
  Problem problem;
  problem.buffers = {buffer(10, 0, 1)};
  problem.buffers[0].alignment = 7;
  problem.buffers[0].region = {3, 40};
  Plan plan = plan_and_check(problem, 1);
  CHECK(plan.status == Status::kOptimal && plan.offsets[0] == 7 && plan.cost == 17);
  problem.buffers[0].region = {8, 20};
  plan = plan_and_check(problem, 1);
  CHECK(plan.status == Status::kInfeasible && plan.conflict == std::vector<int32_t>{0});
  problem.buffers[0].region = {8, 24};
  CHECK(plan_and_check(problem, 1).cost == 24);
  problem.memories[0].capacity = 23;
  CHECK(plan_and_check(problem, 1).status == Status::kInfeasible);
}

void test_bytes_that_hold_nothing() {
  Problem problem;
  problem.buffers = {buffer(0, 0, 9), buffer(0, 0, 9), buffer(8, 5, 5), buffer(8, 7, 3)};
  Plan plan = plan_and_check(problem, 1);
  CHECK(plan.status == Status::kOptimal && plan.cost == 8);
  problem.buffers[0].offset = 20;
  plan = plan_and_check(problem, 1);
  CHECK(plan.status == Status::kOptimal && plan.cost == 20);
}

void test_one_step_each() {
  Problem problem;
  for (int k = 0; k < 300; ++k) problem.buffers.push_back(buffer(k, k, k + 1));
  const Plan plan = plan_and_check(problem, 1);
  CHECK(plan.status == Status::kOptimal && plan.cost == 299);
}

void test_all_equal() {
  Problem problem;
  for (int k = 0; k < 300; ++k) problem.buffers.push_back(buffer(64, 3, 4));
  const Plan plan = plan_and_check(problem, 1);
  CHECK(plan.status == Status::kOptimal && plan.cost == 300 * 64);
  problem.memories[0].capacity = 300 * 64 - 1;
  CHECK(plan_and_check(problem, 1).status == Status::kInfeasible);
}

// Whatever does not fit into 64 bits is refused or infeasible, without overflow on the way.
void test_huge_sizes() {
  constexpr int64_t kHuge = int64_t{1} << 62;
  for (const int64_t size : {kHuge, kHuge - 1, kHuge / 2, kHuge / 4 + 1, kHuge / 16}) {
    for (const int64_t alignment : {int64_t{1}, int64_t{3}, int64_t{4096}, kHuge}) {
      for (const int count : {1, 2, 3, 9}) {
        Problem problem;
        for (int k = 0; k < count; ++k) {
          problem.buffers.push_back(buffer(size, k / 2, k + 2));
          problem.buffers.back().alignment = alignment;
        }
        try {
          plan_and_check(problem, 0.05);
          lower_bound(problem);
        } catch (const MalformedProblem&) {
        }
      }
    }
  }
  Problem problem;
  problem.buffers = {buffer(kHuge / 8, 0, 2), buffer(kHuge / 8, 1, 3)};
  CHECK(plan_and_check(problem, 1).cost == kHuge / 4);
}

void test_huge_numbers_elsewhere() {
  constexpr int64_t kHuge = int64_t{1} << 62;
  for (const int64_t value : {kHuge, -kHuge, INT64_MAX, INT64_MIN}) {
    for (int field = 0; field < 8; ++field) {
      Problem problem;
      problem.buffers = {buffer(8, 0, 2), buffer(8, 1, 3), buffer(8, 2, 4)};
      Buffer& changed = problem.buffers[1];
      if (field == 0) changed.life.begin = value;
      if (field == 1) changed.life.end = value;
      if (field == 2) changed.offset = value;
      if (field == 3) changed.hint = value;
      if (field == 4) changed.region.begin = value;
      if (field == 5) changed.region.end = value;
      if (field == 6) problem.groups = {{{0, 3}, {1, value}}};
      if (field == 7) problem.memories[0] = {value, value};
      try {
        plan_and_check(problem, 0.05);
      } catch (const MalformedProblem&) {
      }
    }
  }
}

void test_malformed_problems() {
  const auto refused = [](auto change) {
    Problem problem;
    problem.buffers = {buffer(8, 0, 2), buffer(4, 1, 3)};
    change(problem);
    CHECK(throws<MalformedProblem>([&] { plan(problem); }));
    CHECK(throws<MalformedProblem>([&] { lower_bound(problem); }));
    CHECK(throws<std::invalid_argument>([&] { verify(problem, {}); }));
  };
  refused([](Problem& p) { p.memories.clear(); });
  refused([](Problem& p) { p.memories[0].capacity = -1; });
  refused([](Problem& p) { p.memories[0].weight = -1; });
  refused([](Problem& p) { p.buffers[1].size = -1; });
  refused([](Problem& p) { p.buffers[1].alignment = 0; });
  refused([](Problem& p) { p.buffers[1].offset = -2; });
  refused([](Problem& p) { p.buffers[1].region = {-1, 5}; });
  refused([](Problem& p) { p.buffers[1].region = {5, 4}; });
  refused([](Problem& p) { p.buffers[1].memories = {1}; });
  refused([](Problem& p) { p.buffers[1].gaps = {{{0, 2}, {0, 0}}}; });
  refused([](Problem& p) { p.buffers[1].gaps = {{{1, 2}, {0, 5}}}; });
  refused([](Problem& p) { p.buffers[1].gaps = {{{1, 3}, {0, 0}}, {{2, 3}, {0, 0}}}; });
  refused([](Problem& p) { p.groups = {{{2, 0}}}; });
  refused([](Problem& p) { p.groups = {{{1, 0}}, {{1, 0}}}; });
  refused([](Problem& p) { p.groups = {{{1, 0}, {1, 0}}}; });
  refused([](Problem& p) { p.pairs = {{0, -1}}; });
  refused([](Problem& p) { p.pairs = {{1, 1}}; });
  refused([](Problem& p) { p.pairs = {{0, 1}}; });
  CHECK(throws<MalformedProblem>([] { lower_bound(Problem{}, 1); }));
  CHECK(throws<MalformedProblem>([] { lower_bound(Problem{}, -1); }));
}

void test_very_many_buffers() {
  Random random(11);
  Problem problem;
  for (int k = 0; k < 100000; ++k) {
    const int64_t begin = random.in(0, 100000);
    problem.buffers.push_back(buffer(random.in(0, 1 << 20), begin, begin + random.in(0, 40)));
    if (random.once_in(4)) problem.buffers.back().alignment = 64;
  }
  const Plan plan = plan_and_check(problem, 2);
  CHECK(plan.status == Status::kOptimal || plan.status == Status::kFeasible);
  CHECK(lower_bound(problem) <= plan.heights[0]);
}

void test_stopping() {
  const std::atomic<bool> stop{true};
  Options options;
  options.stop = &stop;
  options.time_limit_s = 1000;
  Problem problem;
  Random random(12);
  for (int k = 0; k < 300; ++k) {
    const int64_t begin = random.in(0, 100);
    problem.buffers.push_back(buffer(random.in(1, 1000), begin, begin + random.in(1, 40)));
  }
  check_plan(problem, plan(problem, options));
}

}  // namespace
}  // namespace onearena::testing

int main() {
  using namespace onearena::testing;
  test_no_buffers();
  test_one_buffer();
  test_bytes_that_hold_nothing();
  test_one_step_each();
  test_all_equal();
  test_huge_sizes();
  test_huge_numbers_elsewhere();
  test_malformed_problems();
  test_very_many_buffers();
  test_stopping();
}
