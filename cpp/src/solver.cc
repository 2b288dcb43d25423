#include "solver.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>

#include "bounds.h"
#include "capacity_search.h"
#include "conflicts.h"
#include "fill.h"
#include "first_fit.h"
#include "local_search.h"
#include "orders.h"
#include "tight.h"

namespace onearena::internal {
namespace {

constexpr int64_t kMaxMeetings = 40'000'000;
constexpr size_t kMaxPeeledUnits = 200'000;
constexpr size_t kMaxExactUnits = 6'000;
// The orders of first fit that win most often; see benchmarks/planner.
constexpr const char* kFillOrders[] = {"alp", "lap", "pls", "sal", "bs"};
constexpr const char* kOrders[] = {"pls", "ps", "as", "sl", "ds", "ls", "pa", "bs"};

class Solver {
 public:
  Solver(const Layout& layout, const SolverOptions& options, const Limits& limits)
      : layout_(layout),
        options_(options),
        limits_(limits),
        capacity_(std::min(options.capacity, height_that_suffices(layout))),
        features_(layout, section_loads(layout)) {
    result_.height = kInfinity;
    result_.bound = height_bound(layout);
  }

  Solved run() {
    if (result_.bound > capacity_) return decide();
    if (ValleyFill::suits(layout_)) fill_.emplace(layout_);
    if (fill_) fill_valleys();
    if (is_done() || (has_plan() && limits_.reached())) return decide();
    if (count_meetings(layout_) > kMaxMeetings) {
      if (fill_) fill_at_random(limits_.deadline);
      return decide();
    }
    conflicts_ = find_conflicts(layout_);
    first_fit_.emplace(layout_, conflicts_);
    try_orders();
    if (!is_done()) result_.bound = round_to_reachable(layout_, result_.bound);
    if (!is_done()) search();
    return decide();
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

  bool has_plan() const { return !result_.origins.empty(); }
  int64_t target() const { return options_.fit_only ? capacity_ : result_.bound; }
  bool is_done() const { return result_.bound > capacity_ || result_.height <= target(); }

  Solved decide() {
    if (has_plan()) {
      result_.status = result_.height <= result_.bound ? Status::kOptimal : Status::kFeasible;
      return result_;
    }
    result_.status = result_.bound > capacity_ ? Status::kInfeasible : Status::kTimeout;
    result_.height = 0;
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
    try_hints();
    if (is_done()) return;
    for (const char* keys : kOrders) {
      std::vector<int32_t> order = features_.order(keys);
      // nothing may be put above a last unit later on, so these come last
      std::stable_partition(order.begin(), order.end(),
                            [&](int32_t unit) { return !layout_.units[unit].is_last; });
      for (bool best_fit : {false, true}) {
        if (has_plan() && !is_bounded_) bound_first_fit();
        try_order(order, best_fit, keys);
        // even without any time there should be a plan
        if (is_done() || (has_plan() && limits_.reached())) return;
      }
      if (options_.switched_off & kNoFirstFit) return;
    }
  }

  // From the bottom of an earlier plan upwards.
  void try_hints() {
    std::vector<int32_t> order;
    for (size_t u = 0; u < layout_.units.size(); ++u) {
      if (layout_.units[u].hint != kFree) order.push_back(static_cast<int32_t>(u));
    }
    if (order.empty()) return;
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return layout_.units[a].hint < layout_.units[b].hint;
    });
    for (int32_t unit : features_.order("as")) {
      if (layout_.units[unit].hint == kFree) order.push_back(unit);
    }
    std::stable_partition(order.begin(), order.end(),
                          [&](int32_t unit) { return !layout_.units[unit].is_last; });
    try_order(order, false, "hint");
  }

  // The first plan takes the time that it takes, all others what is left.
  void bound_first_fit() {
    first_fit_.emplace(layout_, conflicts_, &limits_);
    is_bounded_ = true;
  }

  void try_order(const std::vector<int32_t>& order, bool best_fit, const char* keys) {
    const int64_t height = first_fit_->place(order, best_fit, capacity_ + 1);
    orders_.push_back({height < 0 ? kInfinity : height, order, best_fit});
    if (height < 0) return;
    offer(first_fit_->origins(), std::string(best_fit ? "best" : "first") + " fit by " + keys);
  }

  bool may_search_exactly() const {
    if ((options_.switched_off & kNoValley) || layout_.units.size() > kMaxPeeledUnits) return false;
    return is_searchable(layout_);
  }

  void search() {
    if (may_search_exactly()) {
      search_exactly();
    } else if (!(options_.switched_off & kNoTight)) {
      search_tightly();
    }
    if (is_done() || (options_.switched_off & kNoLocalSearch)) return;
    // with many units, a new plan from nothing is quicker than first fit's answer to a change
    if (fill_ && layout_.units.size() > kMaxExactUnits) {
      const auto now = Clock::now();
      if (now < limits_.deadline) fill_at_random(now + (limits_.deadline - now) / 4);
    }
    if (!is_done() && !is_over()) search_locally();
  }

  // Heights are tried from below, where a plan would be optimal, and in the middle, where one is
  // easier to find, in turn and with growing effort. What has no plan raises the bound.
  void search_exactly() {
    if (!has_plan() && !find_any()) return;
    std::unique_ptr<CapacitySearch> low, high;
    int32_t low_round = 0, high_round = 0, patience = kPatience;
    int64_t step = 0, aim = 0;
    while (!is_done() && !is_over()) {
      const int64_t top = result_.height - 1;
      const int64_t wanted = std::min(result_.bound + step, top);
      if (!low || low->capacity() != wanted) {
        low = make_search(wanted);
        low_round = 0;
      }
      if (low->core_size() > kMaxExactUnits) return;
      const Outcome outcome = advance(*low, low_round++);
      // bounds that are easy to raise are raised in larger and larger steps
      if (outcome == Outcome::kNone) step = 2 * step + 1;
      if (outcome == Outcome::kFound || (step > 0 && low_round > kSteps)) step = 0;
      if (outcome != Outcome::kStopped || low_round < kHeadStart || top <= wanted) continue;

      if (!high || aim > top || aim <= result_.bound || high_round >= patience) {
        const bool is_late = high && high_round >= patience && aim < top;
        if (high && high_round >= patience && aim >= top) patience *= 2;
        const int64_t from = is_late ? aim : result_.bound;
        aim = from + (top - from + 1) / 2;
        high = make_search(aim);
        high_round = 0;
      }
      if (advance(*high, high_round++) != Outcome::kStopped) high.reset();
    }
  }

  // Is there a plan at all?
  bool find_any() {
    const std::unique_ptr<CapacitySearch> search = make_search(capacity_);
    if (search->core_size() > kMaxExactUnits) return false;
    for (int32_t round = 0; !is_done() && !is_over(); ++round) {
      if (advance(*search, round) != Outcome::kStopped) break;
    }
    return has_plan();
  }

  static constexpr int32_t kHeadStart = 3;
  static constexpr int32_t kPatience = 15;
  static constexpr int32_t kSteps = 3;

  bool is_over() const { return limits_.reached() || nodes_ >= options_.node_limit; }

  std::unique_ptr<CapacitySearch> make_search(int64_t capacity) {
    return std::make_unique<CapacitySearch>(layout_, conflicts_, features_, capacity, options_,
                                            limits_);
  }

  Outcome advance(CapacitySearch& search, int32_t round) {
    const int64_t before = search.nodes();
    const Outcome outcome = search.advance(round, options_.node_limit - nodes_);
    nodes_ += search.nodes() - before;
    result_.nodes = nodes_;
    if (outcome == Outcome::kFound) offer(search.origins(), search.method());
    if (outcome == Outcome::kNone && search.capacity() >= result_.bound) {
      result_.bound = round_to_reachable(layout_, search.capacity() + 1);
    }
    return outcome;
  }

  void search_tightly() {
    const TightResult found =
        search_tight(layout_, conflicts_, std::min(result_.height - 1, capacity_), result_.bound,
                     options_.node_limit, limits_);
    result_.nodes = nodes_ = found.nodes;
    if (!found.origins.empty()) offer(found.origins, "tight search");
    if (found.is_complete) result_.bound = std::max(result_.bound, found.bound);
  }

  void search_locally() {
    if (orders_.empty() || layout_.units.size() < 2) return;
    LocalSearch local(layout_, conflicts_, options_.seed, options_.node_limit, limits_);
    local.run(orders_, std::min(result_.height, capacity_ + 1), target());
    if (!local.origins().empty()) offer(local.origins(), "local search");
  }

  void fill_valleys() {
    for (const char* keys : kFillOrders) {
      fill(features_.order(keys), keys);
      if (is_done() || limits_.reached() || (options_.switched_off & kNoFill)) return;
    }
  }

  void fill(const std::vector<int32_t>& order, const char* keys) {
    const int64_t limit = std::min(result_.height, capacity_ + 1);
    if (fill_->run(order, limit) >= 0) {
      offer(fill_->origins(), std::string("valley fill by ") + keys);
    }
  }

  // From orders that differ a little, until then.
  void fill_at_random(Clock::time_point end) {
    for (int64_t turn = 0; !is_done() && !is_over() && Clock::now() < end; ++turn) {
      const char* keys = kFillOrders[turn % std::size(kFillOrders)];
      const double noise = 0.02 * static_cast<double>(1 + turn % 7);
      fill(features_.order(keys, noise, options_.seed * 1'000'003 + uint64_t(turn)), keys);
    }
  }

  const Layout& layout_;
  const SolverOptions& options_;
  const Limits& limits_;
  const int64_t capacity_;
  Features features_;
  Conflicts conflicts_;
  std::optional<FirstFit> first_fit_;
  std::optional<ValleyFill> fill_;
  std::vector<StartOrder> orders_;
  Solved result_;
  int64_t nodes_ = 0;
  bool is_bounded_ = false;
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
