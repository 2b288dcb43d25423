#include "single.h"

#include <algorithm>

#include "bounds.h"
#include "solver.h"
#include "units.h"

namespace onearena::internal {
namespace {

// All 2^k ways to share are tried up to here.
constexpr size_t kMaxEnumeratedPairs = 8;
// More are tried one after the other, each in so small a part of the time left.
constexpr int32_t kMaxVariations = 10'000;
constexpr int32_t kShareOfTime = 16;

class Single {
 public:
  Single(const Problem& problem, const std::vector<int32_t>& chosen, int64_t capacity,
         const Options& options, const Limits& limits)
      : problem_(problem),
        chosen_(chosen),
        capacity_(capacity),
        options_(options),
        limits_(limits) {
    std::vector<bool> is_chosen(problem.buffers.size());
    for (int32_t buffer : chosen) is_chosen[buffer] = true;
    const std::vector<bool> possible = possible_pairs(problem, chosen);
    for (size_t k = 0; k < problem.pairs.size(); ++k) {
      const Pair& pair = problem.pairs[k];
      if (is_chosen[pair.first] && is_chosen[pair.second] && possible[k]) pairs_.push_back(k);
    }
  }

  SinglePlan run() {
    result_.bound = bound_single(problem_, chosen_);
    try_sharing(pairs_, pairs_.empty() ? 1 : 2);
    if (is_done() || pairs_.empty()) return finish(pairs_.empty());
    const int64_t shared_height = has_plan_ ? result_.height : INT64_MAX;
    try_sharing({}, 2);
    best_shares_ = !has_plan_ || result_.height == shared_height;
    if (is_done() || pairs_.size() == 1) return finish(pairs_.size() == 1);
    if (pairs_.size() > kMaxEnumeratedPairs) {
      vary_sharing();
      return finish(false);
    }
    const size_t all = (size_t{1} << pairs_.size()) - 1;
    for (size_t mask = 1; mask < all && !is_done(); ++mask) {
      std::vector<size_t> shared;
      for (size_t k = 0; k < pairs_.size(); ++k) {
        if (mask >> k & 1) shared.push_back(pairs_[k]);
      }
      try_sharing(shared);
    }
    return finish(true);
  }

 private:
  // With or without single pairs, from the best way found so far, as long as there is time.
  void vary_sharing() {
    Random random(options_.seed);
    std::vector<bool> best(pairs_.size(), best_shares_);
    const uint32_t count = static_cast<uint32_t>(pairs_.size());
    for (int32_t turn = 0; turn < kMaxVariations && !is_done() && !limits_.reached() &&
                           result_.nodes < options_.node_limit;
         ++turn) {
      std::vector<bool> changed = best;
      for (uint32_t flips = 1 + random.below(1 + count / 16); flips > 0; --flips) {
        changed[random.below(count)].flip();
      }
      std::vector<size_t> shared;
      for (size_t k = 0; k < pairs_.size(); ++k) {
        if (changed[k]) shared.push_back(pairs_[k]);
      }
      const int64_t before = result_.height;
      try_sharing(shared, kShareOfTime);
      if (has_plan_ && result_.height < before) best = std::move(changed);
    }
  }

  bool is_done() const {
    return has_plan_ && (options_.fit_only || result_.height <= result_.bound);
  }

  // `is_exhaustive`: every way to share was tried, so the smallest of their bounds holds.
  SinglePlan finish(bool is_exhaustive) {
    if (is_exhaustive) result_.bound = std::max(result_.bound, smallest_bound_);
    if (has_plan_) {
      result_.bound = std::min(result_.bound, result_.height);
      result_.status = result_.height == result_.bound ? Status::kOptimal : Status::kFeasible;
    } else {
      const bool is_impossible = (is_exhaustive && !may_be_possible_) || result_.bound > capacity_;
      result_.status = is_impossible ? Status::kInfeasible : Status::kTimeout;
      result_.bound = std::min(result_.bound, kInfinity);
    }
    return result_;
  }

  // Plans with these pairs at one offset each, in one part out of `parts` of the time left.
  void try_sharing(const std::vector<size_t>& shared, int32_t parts = 1) {
    std::vector<bool> merged(problem_.pairs.size());
    for (size_t k : shared) merged[k] = true;
    Contradiction contradiction;
    const Layout layout = build_layout(problem_, chosen_, merged, contradiction);
    if (!contradiction.buffers.empty()) {
      if (result_.conflict.empty()) result_.conflict = contradiction.buffers;
      return;
    }
    SolverOptions options;
    const int64_t limit = has_plan_ ? std::min(capacity_, result_.height - 1) : capacity_;
    options.capacity = std::min(limit / layout.scale, kInfinity);
    options.fit_only = options_.fit_only;
    options.threads = options_.threads;
    options.seed = options_.seed;
    options.node_limit = std::max<int64_t>(0, options_.node_limit - result_.nodes);
    options.switched_off = options_.switched_off;
    Limits part = limits_;
    const auto now = Clock::now();
    if (parts > 1 && now < limits_.deadline) part.deadline = now + (limits_.deadline - now) / parts;
    const Solved solved = solve(layout, options, part);
    result_.nodes += solved.nodes;
    may_be_possible_ = may_be_possible_ || solved.status != Status::kInfeasible;
    keep(layout, solved);
    smallest_bound_ = std::min(smallest_bound_, in_bytes(solved.bound, layout.scale));
  }

  void keep(const Layout& layout, const Solved& solved) {
    if (solved.origins.empty() && !layout.units.empty()) return;
    const int64_t height = in_bytes(solved.height, layout.scale);
    if (height == INT64_MAX) throw MalformedProblem("the sizes add up to too much");
    if (has_plan_ && height >= result_.height) return;
    has_plan_ = true;
    result_.height = height;
    result_.method = solved.method;
    result_.offsets.assign(chosen_.size(), 0);
    std::vector<int64_t> offset_of(problem_.buffers.size());
    for (size_t u = 0; u < layout.units.size(); ++u) {
      for (const Member& member : layout.units[u].members) {
        offset_of[member.buffer] = (solved.origins[u] + member.delta) * layout.scale;
      }
    }
    for (size_t k = 0; k < chosen_.size(); ++k) result_.offsets[k] = offset_of[chosen_[k]];
  }

  const Problem& problem_;
  const std::vector<int32_t>& chosen_;
  const int64_t capacity_;
  const Options& options_;
  const Limits& limits_;
  std::vector<size_t> pairs_;
  SinglePlan result_;
  bool has_plan_ = false;
  bool may_be_possible_ = false;
  bool best_shares_ = true;
  int64_t smallest_bound_ = INT64_MAX;
};

}  // namespace

SinglePlan plan_single(const Problem& problem, const std::vector<int32_t>& chosen, int64_t capacity,
                       const Options& options, const Limits& limits) {
  return Single(problem, chosen, capacity, options, limits).run();
}

int64_t bound_single(const Problem& problem, const std::vector<int32_t>& chosen) {
  std::vector<bool> none(problem.pairs.size());
  Contradiction contradiction;
  const Layout layout = build_layout(problem, chosen, none, contradiction);
  if (!contradiction.buffers.empty()) return 0;
  const UnitPairs pairs = unit_pairs(problem, layout, possible_pairs(problem, chosen));
  return in_bytes(height_bound(layout, pairs), layout.scale);
}

}  // namespace onearena::internal
