// What the searches of one layout have found out together: the best plan, and the best bound.
#ifndef ONEARENA_SRC_KNOWLEDGE_H_
#define ONEARENA_SRC_KNOWLEDGE_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "bounds.h"
#include "limits.h"
#include "solver.h"
#include "units.h"

namespace onearena::internal {

class Knowledge {
 public:
  Knowledge(const Layout& layout, const SolverOptions& options, const Limits& limits)
      : layout_(layout),
        options_(options),
        limits_(limits),
        capacity_(std::min(options.capacity, height_that_suffices(layout))) {
    result_.height = kInfinity;
    result_.bound = height_bound(layout);
  }

  bool has_plan() const { return !result_.origins.empty(); }
  int64_t height() const { return result_.height; }
  int64_t bound() const { return result_.bound; }
  int64_t capacity() const { return capacity_; }
  int64_t nodes() const { return result_.nodes; }
  int64_t nodes_left() const { return options_.node_limit - result_.nodes; }
  // A plan of this height ends the search.
  int64_t target() const { return options_.fit_only ? capacity_ : result_.bound; }
  // Plans must stay below this to be of any use.
  int64_t limit() const { return std::min(result_.height, capacity_ + 1); }

  bool is_done() const { return result_.bound > capacity_ || result_.height <= target(); }
  bool is_over() const { return limits_.reached() || nodes_left() <= 0; }

  // Keeps a plan that is better.
  void offer(const std::vector<int64_t>& origins, const std::string& method) {
    int64_t height = 0;
    for (size_t u = 0; u < origins.size(); ++u) {
      height = std::max(height, origins[u] + layout_.units[u].size);
    }
    if (height >= limit()) return;
    result_.height = height;
    result_.origins = origins;
    result_.method = method;
  }

  // No plan is lower than `bound`.
  void raise_bound(int64_t bound) {
    if (bound <= result_.bound) return;
    result_.bound = round_to_reachable(layout_, bound);
  }
  void round_bound() { result_.bound = round_to_reachable(layout_, result_.bound); }

  void count_nodes(int64_t nodes) { result_.nodes += nodes; }

  Solved answer() const {
    Solved result = result_;
    if (has_plan()) {
      result.status = result.height <= result.bound ? Status::kOptimal : Status::kFeasible;
    } else {
      result.status = result.bound > capacity_ ? Status::kInfeasible : Status::kTimeout;
      result.height = 0;
    }
    return result;
  }

 private:
  // If there is a plan at all, there is one of this height: everything stacked above the highest
  // place where something must be.
  static int64_t height_that_suffices(const Layout& layout) {
    int64_t start = 0, sum = 0;
    for (const Unit& unit : layout.units) {
      start = std::max(start, unit.lowest + unit.size);
      sum += unit.size + unit.modulus;
    }
    return start + sum;
  }

  const Layout& layout_;
  const SolverOptions& options_;
  const Limits& limits_;
  const int64_t capacity_;
  Solved result_;
};

}  // namespace onearena::internal

#endif  // ONEARENA_SRC_KNOWLEDGE_H_
