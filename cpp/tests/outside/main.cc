#include <onearena/planner.h>
#include <onearena/verify.h>

#include <cstdio>

int main() {
  onearena::Problem problem;
  problem.buffers.resize(2);
  problem.buffers[0].size = 64;
  problem.buffers[0].life = {0, 2};
  problem.buffers[1].size = 32;
  problem.buffers[1].life = {1, 3};
  const onearena::Plan plan = onearena::plan(problem);
  const auto faults =
      onearena::verify(problem, {plan.offsets.data(), plan.memories.data(), plan.heights.data()});
  std::printf("%lld\n", static_cast<long long>(plan.cost));
  return faults.empty() && plan.cost == 96 ? 0 : 1;
}
