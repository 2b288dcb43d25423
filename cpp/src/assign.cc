#include "assign.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "clusters.h"
#include "single.h"
#include "spread.h"

namespace onearena::internal {
namespace {

// So many assignments are all tried.
constexpr int64_t kMaxAssignments = 20'000;
constexpr int32_t kMaxRepairs = 200;

class Assigner {
 public:
  Assigner(const Problem& problem, const Options& options, const Limits& limits)
      : problem_(problem), options_(options), limits_(limits), clusters_(find_clusters(problem)) {}

  Plan run() {
    best_.lower_bounds = bounds_of_memories();
    best_.cost_bound = cost_bound(problem_, clusters_);
    if (!clusters_.conflict.empty()) {
      best_.status = Status::kInfeasible;
      best_.conflict = clusters_.conflict;
      return best_;
    }
    if (exceeds_capacities(problem_, clusters_)) {
      best_.status = Status::kInfeasible;
      return best_;
    }
    where_.assign(clusters_.all.size(), -1);
    spread();
    if (is_done()) return finish();
    Loads loads(problem_, clusters_);
    if (count_assignments() <= kMaxAssignments) {
      is_proven_ = true;
      try_all(0, loads);
    } else {
      improve(loads);
      repair(loads);
    }
    return finish();
  }

 private:
  int64_t count_assignments() const {
    int64_t count = 1;
    for (const Cluster& cluster : clusters_.all) {
      count *= static_cast<int64_t>(cluster.allowed.size());
      if (count > kMaxAssignments) break;
    }
    return count;
  }

  // What only one memory may hold must fit there in any case.
  std::vector<int64_t> bounds_of_memories() const {
    std::vector<int64_t> bounds;
    for (size_t m = 0; m < problem_.memories.size(); ++m) {
      bounds.push_back(lower_bound(problem_, static_cast<int32_t>(m)));
    }
    return bounds;
  }

  std::vector<int64_t> heights_of(Loads& loads) const {
    std::vector<int64_t> heights;
    for (size_t m = 0; m < problem_.memories.size(); ++m) {
      heights.push_back(loads.height(static_cast<int32_t>(m)));
    }
    return heights;
  }

  int64_t cost_of(const std::vector<int64_t>& heights) const {
    int64_t cost = 0;
    for (size_t m = 0; m < heights.size(); ++m) {
      cost = capped_sum(cost, capped_product(problem_.memories[m].weight, heights[m]));
    }
    return cost;
  }

  bool overflows(const std::vector<int64_t>& heights) const {
    for (size_t m = 0; m < heights.size(); ++m) {
      if (heights[m] > problem_.memories[m].capacity) return true;
    }
    return false;
  }

  bool is_over() const { return limits_.reached() || nodes_ >= options_.node_limit; }

  bool is_done() const {
    return has_plan_ && (options_.fit_only || best_.cost <= best_.cost_bound);
  }

  // Depth first; loads are bounds, so a branch that is too costly already is left.
  void try_all(size_t next, Loads& loads) {
    if (is_done()) return;
    if (is_over() && !known_.empty()) {  // one assignment is tried in any case
      is_proven_ = false;
      return;
    }
    std::vector<int64_t> heights = heights_of(loads);
    if (overflows(heights) || (has_plan_ && cost_of(heights) >= best_.cost)) return;
    if (next == clusters_.all.size()) {
      evaluate();
      return;
    }
    const int32_t cluster = static_cast<int32_t>(next);
    std::vector<std::pair<int64_t, int32_t>> choices;
    for (int32_t memory : clusters_.all[next].allowed) {
      const int64_t height = std::exchange(heights[memory], loads.height_with(cluster, memory));
      choices.emplace_back(cost_of(heights), memory);
      heights[memory] = height;
    }
    std::sort(choices.begin(), choices.end());
    for (const auto& [cost, memory] : choices) {
      loads.put(cluster, memory);
      where_[next] = memory;
      try_all(next + 1, loads);
      loads.take(cluster, memory);
    }
  }

  // First fit over all memories: a plan to begin with, and where capacities are tight often the
  // only one.
  void spread() {
    for (const Spread& found : spread_buffers(problem_)) {
      Plan plan;
      plan.offsets = found.offsets;
      plan.memories = found.memories;
      plan.heights = found.heights;
      plan.method = "first fit over memories";
      plan.cost = cost_of(plan.heights);
      keep(plan);
      if (is_done()) return;
    }
  }

  // -- many clusters: place them one by one where they cost least, then move them ----------------

  // Bytes too many count more than any cost.
  std::pair<int64_t, int64_t> score(const std::vector<int64_t>& heights) const {
    int64_t excess = 0;
    for (size_t m = 0; m < heights.size(); ++m) {
      excess = capped_sum(excess, std::max<int64_t>(0, heights[m] - allowed_height_[m]));
    }
    return {excess, cost_of(heights)};
  }

  void improve(Loads& loads) {
    for (const Memory& memory : problem_.memories) allowed_height_.push_back(memory.capacity);
    for (size_t k = 0; k < clusters_.all.size(); ++k) move(loads, static_cast<int32_t>(k));
    for (bool changed = true; changed && !is_over();) {
      changed = false;
      for (size_t k = 0; k < clusters_.all.size() && !is_over(); ++k) {
        changed = move(loads, static_cast<int32_t>(k)) || changed;
      }
    }
  }

  // Puts a cluster where the score is best; true when that is somewhere else and better.
  bool move(Loads& loads, int32_t cluster) {
    const int32_t from = where_[cluster];
    std::pair<int64_t, int64_t> best{INT64_MAX, INT64_MAX};
    if (from >= 0) {
      best = score(heights_of(loads));
      loads.take(cluster, from);
    }
    std::vector<int64_t> heights = heights_of(loads);
    int32_t to = from;
    for (int32_t memory : clusters_.all[cluster].allowed) {
      if (memory == from) continue;
      const int64_t height = std::exchange(heights[memory], loads.height_with(cluster, memory));
      const auto found = score(heights);
      heights[memory] = height;
      if (found < best) {
        best = found;
        to = memory;
      }
    }
    loads.put(cluster, to);
    where_[cluster] = to;
    return to != from;
  }

  // Where the buffers of a memory do not fit although their loads do, less is allowed there.
  void repair(Loads& loads) {
    for (int32_t turn = 0; turn < kMaxRepairs && !is_done() && (turn == 0 || !is_over()); ++turn) {
      const int32_t tight = evaluate();
      if (tight < 0) return;
      const int64_t height = loads.height(tight);
      allowed_height_[tight] = std::min(allowed_height_[tight] - 1, height - 1);
      bool changed = false;
      for (size_t k = 0; k < clusters_.all.size() && !is_over(); ++k) {
        changed = move(loads, static_cast<int32_t>(k)) || changed;
      }
      if (!changed && allowed_height_[tight] < best_.lower_bounds[tight]) return;
    }
  }

  // -- one assignment ---------------------------------------------------------------------------

  // Plans every memory; returns the first one that has no plan, or -1.
  int32_t evaluate() {
    Plan plan;
    plan.offsets.resize(problem_.buffers.size());
    plan.memories.resize(problem_.buffers.size());
    std::vector<std::vector<int32_t>> held(problem_.memories.size());
    for (size_t k = 0; k < where_.size(); ++k) {
      for (int32_t buffer : clusters_.all[k].buffers) {
        held[where_[k]].push_back(buffer);
        plan.memories[buffer] = where_[k];
      }
    }
    bool is_optimal = true;
    for (size_t m = 0; m < held.size(); ++m) {
      std::sort(held[m].begin(), held[m].end());
      const SinglePlan& single = plan_memory(static_cast<int32_t>(m), held[m], held.size() - m);
      if (single.status == Status::kInfeasible || single.status == Status::kTimeout) {
        is_proven_ = is_proven_ && single.status == Status::kInfeasible;
        if (!has_plan_) best_.conflict = single.conflict;
        return static_cast<int32_t>(m);
      }
      is_optimal = is_optimal && single.status == Status::kOptimal;
      for (size_t k = 0; k < held[m].size(); ++k) plan.offsets[held[m][k]] = single.offsets[k];
      plan.heights.push_back(single.height);
      if (!held[m].empty() || plan.method.empty()) plan.method = single.method;
    }
    is_proven_ = is_proven_ && is_optimal;
    plan.cost = cost_of(plan.heights);
    keep(plan);
    return -1;
  }

  const SinglePlan& plan_memory(int32_t memory, const std::vector<int32_t>& held, size_t left) {
    const auto [at, is_new] = known_.try_emplace({memory, held});
    if (is_new) {
      // what is left of the time is shared by the memories that are left
      Limits part = limits_;
      if (count_assignments() == 1 && left > 1) {
        const auto now = Clock::now();
        part.deadline = now + (limits_.deadline - now) / static_cast<int64_t>(left);
      }
      Options left_over = options_;
      left_over.node_limit = std::max<int64_t>(0, options_.node_limit - nodes_);
      at->second = plan_single(problem_, held, problem_.memories[memory].capacity, left_over, part);
      nodes_ += at->second.nodes;
    }
    return at->second;
  }

  void keep(const Plan& plan) {
    if (has_plan_ && plan.cost >= best_.cost) return;
    has_plan_ = true;
    best_.offsets = plan.offsets;
    best_.memories = plan.memories;
    best_.heights = plan.heights;
    best_.cost = plan.cost;
    best_.method = plan.method;
  }

  Plan finish() {
    best_.nodes = nodes_;
    if (!has_plan_) {
      best_.status = is_proven_ ? Status::kInfeasible : Status::kTimeout;
      return best_;
    }
    best_.conflict.clear();
    // with one way to assign, the memories' own bounds say more
    if (count_assignments() == 1) {
      int64_t bound = 0;
      for (const auto& [key, single] : known_) {
        int64_t& lower = best_.lower_bounds[key.first];
        lower = std::max(lower, single.bound);
        const int64_t weight = problem_.memories[key.first].weight;
        bound = capped_sum(bound, capped_product(weight, single.bound));
      }
      best_.cost_bound = std::max(best_.cost_bound, bound);
    }
    if (is_proven_ && !options_.fit_only) best_.cost_bound = best_.cost;
    best_.status = best_.cost <= best_.cost_bound ? Status::kOptimal : Status::kFeasible;
    return best_;
  }

  const Problem& problem_;
  const Options& options_;
  const Limits& limits_;
  const Clusters clusters_;
  std::vector<int32_t> where_;
  std::vector<int64_t> allowed_height_;
  std::map<std::pair<int32_t, std::vector<int32_t>>, SinglePlan> known_;
  Plan best_;
  int64_t nodes_ = 0;
  bool has_plan_ = false;
  bool is_proven_ = false;
};

// One memory needs none of this.
Plan plan_one(const Problem& problem, const Options& options, const Limits& limits) {
  std::vector<int32_t> all(problem.buffers.size());
  std::iota(all.begin(), all.end(), 0);
  const int64_t weight = problem.memories[0].weight;
  SinglePlan single = plan_single(problem, all, problem.memories[0].capacity, options, limits);
  Plan plan;
  plan.status = single.status;
  plan.nodes = single.nodes;
  plan.conflict = single.conflict;
  plan.lower_bounds = {single.bound};
  plan.cost_bound = capped_product(weight, single.bound);
  if (single.status == Status::kInfeasible || single.status == Status::kTimeout) return plan;
  plan.offsets = std::move(single.offsets);
  plan.memories.assign(all.size(), 0);
  plan.heights = {single.height};
  plan.cost = capped_product(weight, single.height);
  plan.method = single.method;
  return plan;
}

}  // namespace

Plan plan_memories(const Problem& problem, const Options& options, const Limits& limits) {
  if (problem.memories.size() == 1) return plan_one(problem, options, limits);
  return Assigner(problem, options, limits).run();
}

}  // namespace onearena::internal
