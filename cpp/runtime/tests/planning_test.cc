// Plans for live sizes: every layout is checked here by comparing all pairs, and the check that the
// runtime relies on must notice an overlap. Run by tests/engine/test_shapes_native.py.
#include "planning.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "blocks.h"
#include "layout.h"
#include "mapping.h"
#include "onearena/runtime.h"
#include "placements.h"

namespace {

using namespace onearena::runtime;

void check(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::exit(1);
}

bool fails(const std::function<void()>& action, ErrorKind kind) {
  try {
    action();
  } catch (const Error& error) {
    return error.kind() == kind;
  }
  return false;
}

constexpr uint32_t kSteps = 24, kStepsOfInstruction = 2;

// A method whose tensors have random lifetimes; some are static, some views of others, some may
// share. Bounds are one kilobyte and more.
MethodDescription random_method(std::mt19937& random, uint32_t count) {
  MethodDescription method;
  method.arena_bytes = {0, uint64_t{1} << 30};
  method.memory.steps = kSteps;
  for (uint32_t i = 0; i < count; ++i) {
    TensorValue tensor;
    tensor.kind = TensorKind::kPlanned;
    tensor.dynamism = random() % 4 == 0 ? Dynamism::kStatic : Dynamism::kBound;
    tensor.memory_id = 1;
    tensor.size_bytes = 64 * (16 + random() % 64);
    method.values.emplace_back(tensor);
    PlanBuffer buffer;
    buffer.value = i;
    buffer.size_bytes = tensor.size_bytes;
    buffer.alignment = random() % 2 ? 64 : 16;
    const uint32_t start = random() % (kSteps - 1);
    const uint32_t end = start + 1 + random() % (kSteps - start);
    buffer.lifetime.push_back({start, end});
    if (end + 3 < kSteps && random() % 3 == 0) buffer.lifetime.push_back({end + 2, end + 3});
    method.memory.buffers.push_back(buffer);
  }
  for (uint32_t i = 0; i + 1 < count; i += 7) {
    method.memory.groups.push_back({{i, 0}, {i + 1, i % 2 ? 0u : 64u}});
  }
  for (uint32_t i = 3; i + 1 < count; i += 7) method.memory.may_share.emplace_back(i, i + 1);
  for (uint32_t step = 0; step < kSteps; step += kStepsOfInstruction) {
    method.memory.first_step.push_back(step);
  }
  return method;
}

std::vector<uint64_t> random_sizes(std::mt19937& random, const MethodDescription& method,
                                   const std::vector<PlannedUnit>& units) {
  std::vector<uint64_t> sizes;
  for (const PlannedUnit& unit : units) {
    const auto& tensor = std::get<TensorValue>(method.values[unit.value]);
    const bool is_static = tensor.dynamism == Dynamism::kStatic;
    sizes.push_back(is_static ? unit.bound_bytes : 4 * (random() % (unit.bound_bytes / 4 + 1)));
  }
  for (const auto& [first, second] : method.memory.may_share) {
    const bool both = random() % 2;  // of one size, or not
    if (both && std::get<TensorValue>(method.values[second]).dynamism != Dynamism::kStatic) {
      sizes[second] = sizes[first];
    }
  }
  return sizes;
}

// What some instructions need besides values.
std::vector<Scratch> random_scratch(std::mt19937& random) {
  std::vector<Scratch> scratch;
  for (uint32_t i = 0; i + 1 < kSteps / kStepsOfInstruction; ++i) {
    for (const bool is_asked_for : {false, true}) {
      if (random() % 3 == 0) scratch.push_back({i, is_asked_for, 1 + random() % 4096});
    }
  }
  return scratch;
}

// Scratch overlaps nothing that is alive during its instruction.
void check_scratch(const Blocks& blocks, const Placement& placement,
                   const std::vector<uint64_t>& sizes, const std::vector<Scratch>& wanted) {
  const std::vector<uint64_t> bytes = blocks.bytes(sizes);
  check(placement.scratch.size() == wanted.size(), "all scratch is placed");
  for (size_t s = 0; s < wanted.size(); ++s) {
    const uint64_t start = placement.scratch_offsets[s], end = start + wanted[s].size_bytes;
    check(start % kAlignment == 0, "scratch is aligned");
    check(end + kGuardBytes <= placement.size_bytes, "scratch is inside");
    const auto apart = [&](uint64_t other, uint64_t size) {
      return size == 0 || end <= other || other + size <= start;
    };
    const std::vector<Interval> lifetime = {blocks.instructions[wanted[s].instruction]};
    for (size_t b = 0; b < bytes.size(); ++b) {
      if (!meet(lifetime, blocks.all[b].lifetime)) continue;
      check(apart(placement.offsets[blocks.all[b].units[0]] - blocks.all[b].deltas[0], bytes[b]),
            "scratch is apart from values");
    }
    for (size_t other = 0; other < s; ++other) {
      if (wanted[other].instruction != wanted[s].instruction) continue;
      check(apart(placement.scratch_offsets[other], wanted[other].size_bytes),
            "scratch of one instruction is apart");
    }
  }
}

// All pairs of blocks, without the planner's and the verifier's code.
void check_placement(const Blocks& blocks, const Placement& placement,
                     const std::vector<uint64_t>& sizes) {
  const std::vector<uint64_t> bytes = blocks.bytes(sizes);
  const auto start = [&](size_t b) {
    return placement.offsets[blocks.all[b].units[0]] - blocks.all[b].deltas[0];
  };
  for (size_t a = 0; a < bytes.size(); ++a) {
    check(start(a) % blocks.all[a].alignment == 0, "aligned");
    check(start(a) + bytes[a] + kGuardBytes <= placement.size_bytes, "inside");
    for (size_t b = a + 1; b < bytes.size(); ++b) {
      const bool apart = start(a) + bytes[a] <= start(b) || start(b) + bytes[b] <= start(a);
      if (apart || bytes[a] == 0 || bytes[b] == 0) continue;
      if (!meet(blocks.all[a].lifetime, blocks.all[b].lifetime)) continue;
      bool may_share = false;
      for (const auto& [first, second] : blocks.pairs) {
        may_share = may_share || (first == a && second == b) || (first == b && second == a);
      }
      check(may_share && start(a) == start(b) && bytes[a] == bytes[b], "apart");
    }
  }
  check(placement.capacities == sizes, "room for exactly these sizes");
}

void layouts_are_sound() {
  std::mt19937 random(1);
  for (int round = 0; round < 10; ++round) {
    const MethodDescription method = random_method(random, 1 + random() % 60);
    const std::vector<PlannedUnit> units = planned_units(method);
    const Blocks blocks(method, units);
    std::vector<uint64_t> bounds;
    for (const PlannedUnit& unit : units) bounds.push_back(unit.bound_bytes);
    PlannedLayout planned(blocks);
    SimpleLayout simple(blocks, bounds);
    for (int k = 0; k < 4; ++k) {
      const std::vector<uint64_t> sizes = random_sizes(random, method, units);
      const std::vector<Scratch> scratch = k == 0 ? std::vector<Scratch>() : random_scratch(random);
      const auto of_file = static_layout(method, units);
      check_scratch(blocks, of_file->place({}, scratch), bounds, scratch);
      for (Layout* const layout : {static_cast<Layout*>(&planned), static_cast<Layout*>(&simple)}) {
        const Placement placement = layout->place(sizes, scratch);
        check_placement(blocks, placement, sizes);
        check_scratch(blocks, placement, sizes, scratch);
      }
    }
    check(fails([&] { planned.place(std::vector<uint64_t>(units.size(), uint64_t{1} << 62), {}); },
                ErrorKind::kLimit),
          "too large");
  }
}

void an_overlap_is_noticed() {
  std::mt19937 random(2);
  int noticed = 0;
  for (int round = 0; round < 60; ++round) {
    MethodDescription method = random_method(random, 20);
    method.memory.may_share.clear();
    const std::vector<PlannedUnit> units = planned_units(method);
    const Blocks blocks(method, units);
    const std::vector<uint64_t> sizes = random_sizes(random, method, units);
    const Placement placement = PlannedLayout(blocks).place(sizes, {});
    onearena::Problem problem = blocks.problem();
    const std::vector<uint64_t> bytes = blocks.bytes(sizes);
    std::vector<int64_t> offsets;
    for (size_t b = 0; b < bytes.size(); ++b) {
      problem.buffers[b].size = static_cast<int64_t>(bytes[b]);
      offsets.push_back(static_cast<int64_t>(placement.offsets[blocks.all[b].units[0]] -
                                             blocks.all[b].deltas[0]));
    }
    const int64_t height = static_cast<int64_t>(placement.size_bytes);
    check_offsets(problem, offsets, height);
    const size_t a = random() % bytes.size(), b = random() % bytes.size();
    const bool meets = a != b && meet(blocks.all[a].lifetime, blocks.all[b].lifetime);
    if (!meets || bytes[a] == 0 || bytes[b] == 0) continue;
    offsets[a] = offsets[b];  // the planted fault
    check(fails([&] { check_offsets(problem, offsets, height); }, ErrorKind::kExecution),
          "the overlap is noticed");
    ++noticed;
  }
  check(noticed > 10, "faults were planted");
}

void placements_are_kept_and_dropped() {
  std::mt19937 random(3);
  const MethodDescription method = random_method(random, 30);
  const std::vector<PlannedUnit> units = planned_units(method);
  Placements placements(method, units, Planning::kShapes, 2);
  const std::vector<uint64_t> sizes = random_sizes(random, method, units);
  const uint64_t first = placements.add({1}, sizes, {}).version;
  const uint64_t second = placements.add({2}, sizes, {}).version;
  check(first != second, "versions differ");
  check(placements.find({1})->version == first, "kept");
  placements.add({3}, sizes, {});
  check(placements.find({2}) == nullptr, "not used for longest");
  check(placements.find({1})->version == first && placements.count() == 2, "still kept");
  placements.remove({1});
  placements.remove({1});
  check(placements.find({1}) == nullptr && placements.count() == 1, "removed");
  const Placement& apart = placements.apart(1);
  check(placements.apart(1).version == apart.version, "made once");
  const std::vector<uint64_t> bytes = placements.blocks().bytes(apart.capacities);
  uint64_t total = 0;
  for (const uint64_t size : bytes) total += whole_pages(size);
  check(apart.size_bytes == total + kGuardBytes, "in pages of their own");
  check(fails([&] { placements.apart(1e18); }, ErrorKind::kLimit), "too large");
}

void scratch_grows() {
  const std::vector<Scratch> first = {{1, false, 64}, {4, true, 10}};
  check(!grown_scratch(first, {{4, true, 10}, {1, false, 3}}), "nothing more is needed");
  const auto grown = grown_scratch(first, {{0, true, 5}, {4, false, 7}, {4, true, 11}});
  check(grown.has_value() && grown->size() == 4, "what is new is added");
  check(std::is_sorted(grown->begin(), grown->end()), "in order");
  check(grown->back().size_bytes == 11 && grown->at(1).size_bytes == 64, "the larger need counts");
}

void nothing_to_plan() {
  const MethodDescription method;
  const std::vector<PlannedUnit> units;
  Placements placements(method, units, Planning::kSimple, 1);
  check(placements.add({}, {}, {}).size_bytes == 0, "no units, no memory");
  check(placements.find({}) != nullptr, "kept");
}

}  // namespace

int main() {
  layouts_are_sound();
  an_overlap_is_noticed();
  placements_are_kept_and_dropped();
  scratch_grows();
  nothing_to_plan();
  std::puts("ok");
  return 0;
}
