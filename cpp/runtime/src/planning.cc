#include "planning.h"

#include <algorithm>
#include <numeric>

#include "onearena/verify.h"

namespace onearena::runtime {
namespace {

// A plan for sizes seen for the first time must not hold up the run for long.
constexpr double kPlanSeconds = 0.1;
// A re-plan within this of the best ratio reached before is good enough.
constexpr double kGoodEnough = 1.005;
constexpr uint64_t kMostBytes = uint64_t{1} << 46;

void set_problem_sizes(Problem& problem, const std::vector<uint64_t>& bytes) {
  uint64_t total = 0;
  for (size_t b = 0; b < bytes.size(); ++b) {
    if (bytes[b] > kMostBytes || (total += bytes[b]) > kMostBytes) {
      throw Error(ErrorKind::kLimit, "needs more than 2^46 bytes at these shapes");
    }
    problem.buffers[b].size = static_cast<int64_t>(bytes[b]);
  }
}

bool is_same_structure(const std::vector<Scratch>& a, const std::vector<Scratch>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Scratch& x, const Scratch& y) {
    return x.instruction == y.instruction && x.is_asked_for == y.is_asked_for;
  });
}

// What the blocks need, then the scratch.
std::vector<uint64_t> all_bytes(const Blocks& blocks, const std::vector<uint64_t>& unit_bytes,
                                const std::vector<Scratch>& scratch) {
  std::vector<uint64_t> bytes = blocks.bytes(unit_bytes);
  for (const Scratch& item : scratch) bytes.push_back(item.size_bytes);
  return bytes;
}

std::vector<uint64_t> unsigned_offsets(const std::vector<int64_t>& offsets) {
  return {offsets.begin(), offsets.end()};
}

// `offsets`: of the blocks, then of the scratch.
Placement placement_of(const Blocks& blocks, const std::vector<uint64_t>& offsets, uint64_t height,
                       const std::vector<uint64_t>& unit_bytes,
                       const std::vector<Scratch>& scratch) {
  Placement placement;
  placement.offsets = blocks.unit_offsets(offsets);
  placement.capacities = unit_bytes;
  placement.scratch = scratch;
  placement.scratch_offsets.assign(offsets.begin() + static_cast<std::ptrdiff_t>(blocks.all.size()),
                                   offsets.end());
  placement.size_bytes = offsets.empty() ? 0 : height + kGuardBytes;
  return placement;
}

}  // namespace

void check_offsets(const Problem& problem, const std::vector<int64_t>& offsets, int64_t height) {
  const std::vector<int32_t> memories(offsets.size());
  const std::vector<Fault> faults = verify(problem, {offsets.data(), memories.data(), &height}, 1);
  if (faults.empty()) return;
  throw Error(ErrorKind::kExecution, "the plan made for these shapes is wrong (blocks " +
                                         std::to_string(faults[0].first) + " and " +
                                         std::to_string(faults[0].second) + "); nothing ran");
}

PlannedLayout::PlannedLayout(const Blocks& blocks)
    : blocks_(blocks), problem_(blocks.problem()), shared_(blocks.pairs.size()) {
  offsets_.resize(blocks.all.size());
  uint32_t steps = 0;
  for (const Block& block : blocks.all) {
    if (!block.lifetime.empty()) steps = std::max(steps, block.lifetime.back().end);
  }
  for (const Interval& instruction : blocks.instructions) steps = std::max(steps, instruction.end);
  change_.resize(steps + size_t{1});
}

void PlannedLayout::set_structure(const std::vector<Scratch>& scratch) {
  if (!is_same_structure(scratch, scratch_)) {
    std::vector<Pair> pairs = std::move(problem_.pairs);
    problem_ = blocks_.problem_with(scratch);
    problem_.pairs = std::move(pairs);
    offsets_.assign(problem_.buffers.size(), 0);
    replanner_.reset();
    reachable_ = 0;
  }
  scratch_ = scratch;
}

void PlannedLayout::set_sizes(const std::vector<uint64_t>& bytes) {
  set_problem_sizes(problem_, bytes);
  sizes_.assign(bytes.begin(), bytes.end());
  std::vector<bool> shared(blocks_.pairs.size());
  for (size_t k = 0; k < shared.size(); ++k) {
    const auto& [first, second] = blocks_.pairs[k];
    // what is smaller is broadcast: it must stay readable while the larger one is written
    shared[k] = sizes_[first] == sizes_[second] && sizes_[first] > 0;
  }
  if (replanner_ && shared == shared_) return;
  replanner_.reset();  // in its structure other pairs share
  shared_ = std::move(shared);
  problem_.pairs.clear();
  for (size_t k = 0; k < shared_.size(); ++k) {
    if (!shared_[k]) continue;
    problem_.pairs.push_back({static_cast<int32_t>(blocks_.pairs[k].first),
                              static_cast<int32_t>(blocks_.pairs[k].second)});
  }
}

// The most bytes that are alive at a step; at least one.
int64_t PlannedLayout::load() {
  std::fill(change_.begin(), change_.end(), 0);
  for (size_t b = 0; b < blocks_.all.size(); ++b) {
    for (const Interval& interval : blocks_.all[b].lifetime) {
      change_[interval.start] += sizes_[b];
      change_[interval.end] -= sizes_[b];
    }
  }
  for (size_t s = 0; s < scratch_.size(); ++s) {
    const Interval& steps = blocks_.instructions[scratch_[s].instruction];
    change_[steps.start] += sizes_[blocks_.all.size() + s];
    change_[steps.end] -= sizes_[blocks_.all.size() + s];
  }
  int64_t alive = 0, most = 1;
  for (const int64_t change : change_) most = std::max(most, alive += change);
  return most;
}

int64_t PlannedLayout::plan_anew() {
  Options options;
  options.time_limit_s = kPlanSeconds;
  Plan plan;
  replanner_.emplace(problem_, options, &plan);
  if (plan.offsets.empty()) {
    return replanner_->replan(sizes_.data(), offsets_.data());
  }
  offsets_ = plan.offsets;
  return plan.heights[0];
}

Placement PlannedLayout::place(const std::vector<uint64_t>& unit_bytes,
                               const std::vector<Scratch>& scratch) {
  if (blocks_.all.empty() && scratch.empty()) return {};
  set_structure(scratch);
  set_sizes(all_bytes(blocks_, unit_bytes, scratch));
  int64_t height = -1;
  const double alive = static_cast<double>(load());
  if (replanner_) height = replanner_->replan(sizes_.data(), offsets_.data());
  if (height < 0 || static_cast<double>(height) > reachable_ * kGoodEnough * alive) {
    const std::vector<int64_t> before = offsets_;
    const int64_t anew = plan_anew();
    if (anew < 0 || (height >= 0 && height < anew)) {
      offsets_ = before;
    } else {
      height = anew;
    }
    reachable_ = static_cast<double>(height) / alive;
  }
  check_offsets(problem_, offsets_, height);
  return placement_of(blocks_, unsigned_offsets(offsets_), static_cast<uint64_t>(height),
                      unit_bytes, scratch);
}

SimpleLayout::SimpleLayout(const Blocks& blocks, const std::vector<uint64_t>& unit_bounds)
    : blocks_(blocks), fixed_(blocks.all.size()) {
  if (blocks.all.empty()) return;
  std::vector<uint64_t> bytes = blocks.bytes(unit_bounds);
  Problem problem = blocks.problem();
  for (size_t b = 0; b < bytes.size(); ++b) {
    if (!blocks.all[b].is_static) bytes[b] = 0;
  }
  set_problem_sizes(problem, bytes);
  for (const auto& [first, second] : blocks.pairs) {
    if (bytes[first] != bytes[second] || bytes[first] == 0) continue;
    problem.pairs.push_back({static_cast<int32_t>(first), static_cast<int32_t>(second)});
  }
  Options options;
  options.time_limit_s = kPlanSeconds;
  const Plan found = plan(problem, options);
  if (found.offsets.empty()) {
    throw Error(ErrorKind::kExecution, "no plan was found for the static tensors");
  }
  check_offsets(problem, found.offsets, found.heights[0]);
  fixed_ = unsigned_offsets(found.offsets);
  fixed_end_ = round_up(static_cast<uint64_t>(found.heights[0]), kAlignment);
}

Placement SimpleLayout::place(const std::vector<uint64_t>& unit_bytes,
                              const std::vector<Scratch>& scratch) {
  const std::vector<uint64_t> bytes = all_bytes(blocks_, unit_bytes, scratch);
  Problem problem = blocks_.problem_with(scratch);
  set_problem_sizes(problem, bytes);
  std::vector<std::vector<Interval>> lifetimes;
  for (const Block& block : blocks_.all) lifetimes.push_back(block.lifetime);
  for (const Scratch& item : scratch) lifetimes.push_back({blocks_.instructions[item.instruction]});
  std::vector<uint32_t> order, placed;
  for (uint32_t b = 0; b < bytes.size(); ++b) {
    if (b >= blocks_.all.size() || !blocks_.all[b].is_static) order.push_back(b);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return bytes[a] > bytes[b]; });
  std::vector<uint64_t> offsets = fixed_;
  offsets.resize(bytes.size());
  uint64_t end = fixed_end_;
  for (const uint32_t b : order) {
    uint64_t at = fixed_end_;
    for (const uint32_t other : placed) {  // in order of their offsets
      if (!meet(lifetimes[b], lifetimes[other])) continue;
      if (at + bytes[b] <= offsets[other]) break;
      at = std::max(at, round_up(offsets[other] + bytes[other], kAlignment));
    }
    offsets[b] = at;
    end = std::max(end, at + bytes[b]);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), b,
                                   [&](uint32_t x, uint32_t y) { return offsets[x] < offsets[y]; }),
                  b);
  }
  for (const auto& [first, second] : blocks_.pairs) {
    const bool same = offsets[first] == offsets[second] && bytes[first] == bytes[second];
    if (!same || bytes[first] == 0) continue;
    problem.pairs.push_back({static_cast<int32_t>(first), static_cast<int32_t>(second)});
  }
  check_offsets(problem, {offsets.begin(), offsets.end()}, static_cast<int64_t>(end));
  return placement_of(blocks_, offsets, end, unit_bytes, scratch);
}

}  // namespace onearena::runtime
