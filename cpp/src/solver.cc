#include "solver.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>

#include "bounds.h"
#include "capacity_search.h"
#include "conflicts.h"
#include "first_fit.h"
#include "local_search.h"
#include "orders.h"
#include "skyline.h"
#include "tight.h"

namespace onearena::internal {
namespace {

constexpr int64_t kMaxMeetings = 40'000'000;
constexpr size_t kMaxExactUnits = 6'000;
// The orders of first fit that win most often; see benchmarks/planner.
constexpr const char* kOrders[] = {"pls", "ps", "as", "sl", "ls", "pa", "b", "d"};

class Solver {
 public:
  Solver(const Layout& layout, const SolverOptions& options, const Limits& limits)
      : layout_(layout),
        options_(options),
        limits_(limits),
        bound_(height_bound(layout)),
        features_(layout, section_loads(layout)) {
    result_.height = kInfinity;
  }

  Solved run() {
    result_.bound = bound_;
    if (bound_ > options_.capacity) return decide(Status::kInfeasible);
    if (count_meetings(layout_) > kMaxMeetings) {
      plan_large();
      return decide();
    }
    conflicts_ = find_conflicts(layout_);
    first_fit_.emplace(layout_, conflicts_);
    try_orders();
    if (!is_done()) round_bound();
    if (!is_done()) search();
    return decide();
  }

 private:
  bool is_done() const {
    return result_.height <= (options_.fit_only ? options_.capacity : result_.bound);
  }

  Solved decide() {
    if (result_.height > options_.capacity) {
      const bool proven = result_.bound > options_.capacity;
      return decide(proven ? Status::kInfeasible : Status::kTimeout);
    }
    return decide(result_.height <= result_.bound ? Status::kOptimal : Status::kFeasible);
  }

  Solved decide(Status status) {
    result_.status = status;
    if (status == Status::kInfeasible || status == Status::kTimeout) {
      result_.origins.clear();
      result_.height = 0;
    }
    return result_;
  }

  // Keeps a plan that is better.
  void offer(const std::vector<int64_t>& origins, const std::string& method) {
    int64_t height = 0;
    for (size_t u = 0; u < origins.size(); ++u) {
      height = std::max(height, origins[u] + layout_.units[u].size);
    }
    if (height >= result_.height) return;
    result_.height = height;
    result_.origins = origins;
    result_.method = method;
  }

  void try_orders() {
    for (const char* keys : kOrders) {
      try_order(keys);
      if (is_done() || limits_.reached() || (options_.switched_off & kNoFirstFit)) return;
    }
  }

  void try_order(const char* keys) {
    std::vector<int32_t> order = features_.order(keys);
    // nothing may be put above a last unit later on, so these come last
    std::stable_partition(order.begin(), order.end(),
                          [&](int32_t unit) { return !layout_.units[unit].is_last; });
    for (bool best_fit : {false, true}) {
      const int64_t limit = std::min(result_.height, options_.capacity + 1);
      if (first_fit_->place(order, best_fit, limit) >= 0) {
        offer(first_fit_->origins(),
              std::string(best_fit ? "best" : "first") + " fit by " + keys);
        orders_.push_back({result_.height, order, best_fit});
      } else if (orders_.empty()) {
        spare_orders_.push_back({kInfinity, order, best_fit});
      }
      if (is_done()) return;
    }
  }

  void round_bound() { result_.bound = round_to_reachable(layout_, result_.bound); }

  bool may_search_exactly() const {
    if ((options_.switched_off & kNoValley) || layout_.units.size() > kMaxExactUnits) return false;
    for (const Unit& unit : layout_.units) {
      if (!unit.is_flat) return false;
    }
    return true;
  }

  void search() {
    if (may_search_exactly()) {
      search_exactly();
    } else if (!(options_.switched_off & kNoTight)) {
      search_tightly();
    }
    if (!is_done() && result_.bound <= options_.capacity &&
        !(options_.switched_off & kNoLocalSearch)) {
      search_locally();
    }
  }

  // From below: the smallest height that is not proven impossible. From above: something between
  // it and the best plan. Both in turn, with growing effort.
  void search_exactly() {
    std::unique_ptr<CapacitySearch> low, high;
    int32_t low_round = 0, high_round = 0;
    while (!is_done() && !limits_.reached() && nodes_ < options_.node_limit) {
      const int64_t target = options_.fit_only ? options_.capacity : result_.bound;
      if (!low || low->capacity() != target) {
        low = make_search(target);
        low_round = 0;
      }
      if (advance(*low, low_round++)) continue;
      if (low_round <= kHeadStart || options_.fit_only) continue;
      const int64_t top = std::min(result_.height - 1, options_.capacity);
      if (top <= result_.bound) continue;
      const int64_t middle = result_.bound + (top - result_.bound + 1) / 2;
      const int64_t aim = high_round < kPatience ? middle : top;
      if (!high || high->capacity() != aim) {
        if (high && high->capacity() > top) high_round = 0;
        high = make_search(high_round < kPatience ? middle : top);
      }
      if (advance(*high, high_round++)) high_round = 0;
    }
  }

  static constexpr int32_t kHeadStart = 5;
  static constexpr int32_t kPatience = 8;

  std::unique_ptr<CapacitySearch> make_search(int64_t capacity) {
    return std::make_unique<CapacitySearch>(layout_, conflicts_, features_, capacity, options_,
                                            limits_);
  }

  // True when the search is over: a plan was found, or none is possible.
  bool advance(CapacitySearch& search, int32_t round) {
    const int64_t before = search.nodes();
    const Outcome outcome = search.advance(round, options_.node_limit - nodes_);
    nodes_ += search.nodes() - before;
    result_.nodes = nodes_;
    if (outcome == Outcome::kFound) offer(search.origins(), search.method());
    if (outcome == Outcome::kNone) {
      result_.bound = std::max(result_.bound, search.capacity() + 1);
      round_bound();
    }
    return outcome != Outcome::kStopped;
  }

  void search_tightly() {
    const TightResult found =
        search_tight(layout_, conflicts_, std::min(result_.height - 1, options_.capacity),
                     result_.bound, options_.node_limit, limits_);
    result_.nodes = nodes_ = found.nodes;
    if (!found.origins.empty()) offer(found.origins, "tight search");
    if (found.is_complete) result_.bound = std::max(result_.bound, found.bound);
  }

  void search_locally() {
    auto& starts = orders_.empty() ? spare_orders_ : orders_;
    if (starts.empty() || layout_.units.size() < 2) return;
    LocalSearch local(layout_, conflicts_, options_.seed, options_.node_limit, limits_);
    const int64_t target = options_.fit_only ? options_.capacity : result_.bound;
    local.run(starts, std::min(result_.height, options_.capacity + 1), target);
    if (!local.origins().empty()) offer(local.origins(), "local search");
  }

  void plan_large() {
    for (const char* keys : kOrders) {
      std::vector<int64_t> origins =
          place_by_skyline(layout_, features_.order(keys), result_.height, limits_);
      if (!origins.empty()) offer(origins, std::string("skyline by ") + keys);
      if (is_done() || limits_.reached()) return;
    }
  }

  const Layout& layout_;
  const SolverOptions& options_;
  const Limits& limits_;
  const int64_t bound_;
  Features features_;
  Conflicts conflicts_;
  std::optional<FirstFit> first_fit_;
  std::vector<StartOrder> orders_, spare_orders_;
  Solved result_;
  int64_t nodes_ = 0;
};

}  // namespace

Solved solve(const Layout& layout, const SolverOptions& options, const Limits& limits) {
  if (layout.units.empty()) {
    Solved empty;
    empty.status = Status::kOptimal;
    empty.method = "empty";
    return empty;
  }
  return Solver(layout, options, limits).run();
}

}  // namespace onearena::internal
