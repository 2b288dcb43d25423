#include "solver.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "conflicts.h"
#include "fill.h"
#include "first_fit.h"
#include "knowledge.h"
#include "ladder.h"
#include "local_search.h"
#include "orders.h"
#include "tight.h"
#include "valley.h"

namespace onearena::internal {
namespace {

// More pairs of units that meet would take too much memory and time.
constexpr int64_t kMaxMeetings = 20'000'000;
constexpr int64_t kManyMeetings = 100'000;
// So many are found in a second; with a fallback at hand, what would take too long is not begun.
// Those of pieces are also sorted.
constexpr double kMeetingsPerSecond = 3'000'000, kPieceMeetingsPerSecond = 1'000'000;
// From here on, local search is too slow to begin with.
constexpr size_t kManyUnits = 6'000;
// The orders that win most often; see benchmarks/planner.
constexpr const char* kFillOrders[] = {"alp", "lap", "pls", "sal", "bs"};
constexpr const char* kOrders[] = {"pls", "ps", "as", "sl", "ds", "ls", "pa", "bs"};

// Each of two last units that meet would have to lie above the other.
bool last_ones_meet(const Layout& layout) {
  std::vector<int32_t> owner(layout.section_count, -1);
  for (size_t u = 0; u < layout.units.size(); ++u) {
    if (!layout.units[u].is_last) continue;
    for (const Piece& piece : layout.units[u].pieces) {
      if (!piece.is_last) continue;
      for (int32_t s = piece.begin; s < piece.end; ++s) {
        if (owner[s] >= 0 && owner[s] != static_cast<int32_t>(u)) return true;
        owner[s] = static_cast<int32_t>(u);
      }
    }
  }
  return false;
}

class Solver {
 public:
  Solver(const Layout& layout, const SolverOptions& options, const Limits& limits)
      : layout_(layout),
        options_(options),
        limits_(limits),
        features_(layout, section_loads(layout)),
        knowledge_(layout, options, limits) {}

  Solved run() {
    if (!knowledge_.is_done()) plan();
    return knowledge_.answer();
  }

 private:
  bool is_on(Switch part) const { return !(options_.switched_off & part); }
  // Even without any time there should be a plan.
  bool must_stop() const {
    return knowledge_.is_done() || (knowledge_.has_plan() && limits_.reached());
  }

  double seconds_left() const {
    return std::chrono::duration<double>(limits_.deadline - Clock::now()).count();
  }

  void plan() {
    if (last_ones_meet(layout_)) {
      knowledge_.raise_bound(knowledge_.capacity() + 1);
      return;
    }
    if (ValleyFill::suits(layout_)) fill_.emplace(layout_, limits_);
    if (fill_) fill_valleys();
    if (must_stop()) return;
    const int64_t meetings = count_meetings(layout_);
    // so that there is something to fall back on when first fit takes too long
    if (!fill_ && meetings > kManyMeetings) fall_back();
    if (must_stop()) return;
    const double rate = layout_.is_flat ? kMeetingsPerSecond : kPieceMeetingsPerSecond;
    const bool is_too_long = static_cast<double>(meetings) > rate * seconds_left();
    if (meetings > kMaxMeetings || (knowledge_.has_plan() && is_too_long)) {
      if (fill_) fill_at_random(limits_.deadline);
      return;
    }
    conflicts_ = find_conflicts(layout_);
    try_orders();
    if (must_stop()) return;
    if (!fill_) fill_hulls();
    if (must_stop()) return;
    knowledge_.round_bound();
    search();
  }

  // -- valley fill ----------------------------------------------------------------------------

  void fill_valleys() {
    for (const char* keys : kFillOrders) {
      fill(features_.order(keys), keys);
      if (must_stop() || !is_on(kNoFill)) return;
    }
  }

  void fill(const std::vector<int32_t>& order, const char* keys) {
    if (fill_->run(order, knowledge_.limit()) >= 0) {
      const char* how = fill_->is_cut_short() ? "stopped valley fill by " : "valley fill by ";
      knowledge_.offer(fill_->origins(), std::string(how) + keys);
    }
  }

  // From orders that differ a little, until then.
  void fill_at_random(Clock::time_point end) {
    for (int64_t turn = 0; !knowledge_.is_done() && !knowledge_.is_over() && Clock::now() < end;
         ++turn) {
      const char* keys = kFillOrders[turn % std::size(kFillOrders)];
      const double noise = 0.02 * static_cast<double>(1 + turn % 7);
      fill(features_.order(keys, noise, options_.seed * 1'000'003 + uint64_t(turn)), keys);
    }
  }

  // Plans that need no pairs.
  void fall_back() {
    fill_hulls();
    if (!must_stop()) stack_up();
  }

  void fill_hulls() {
    hulls_ = hulls_of(layout_);
    if (!ValleyFill::suits(hulls_)) return;
    fill_.emplace(hulls_, limits_);
    fill_valleys();
  }

  // Every unit onto all that lie under it.
  void stack_up() {
    for (const char* keys : kOrders) {
      const std::vector<int64_t> origins =
          stacked(pinned_first(last_ones_last(features_.order(keys))));
      if (origins.empty()) return;
      knowledge_.offer(origins, std::string("stacked by ") + keys);
      if (must_stop()) return;
    }
  }

  std::vector<int32_t> pinned_first(std::vector<int32_t> order) const {
    const auto rest = std::stable_partition(order.begin(), order.end(), [&](int32_t unit) {
      return layout_.units[unit].lowest == layout_.units[unit].highest;
    });
    std::sort(order.begin(), rest, [&](int32_t a, int32_t b) {
      return layout_.units[a].lowest < layout_.units[b].lowest;
    });
    return order;
  }

  // Empty when some unit lands above where it may lie, or above one that must be last.
  std::vector<int64_t> stacked(const std::vector<int32_t>& order) const {
    std::vector<int64_t> floors(layout_.section_count), origins(layout_.units.size());
    for (int32_t u : order) {
      const Unit& unit = layout_.units[u];
      int64_t origin = unit.lowest;
      for_sections(unit, [&](int32_t s, const Piece& piece) {
        origin = std::max(origin, floors[s] - piece.low);
      });
      origin = align_up(origin, unit.modulus, unit.residue);
      if (origin > unit.highest) return {};
      for_sections(unit, [&](int32_t s, const Piece& piece) {
        floors[s] = std::max(floors[s], origin + piece.high);
      });
      origins[u] = origin;
    }
    for (int32_t u : order) {
      bool is_covered = false;
      for_sections(layout_.units[u], [&](int32_t s, const Piece& piece) {
        is_covered = is_covered || (piece.is_last && floors[s] > origins[u] + piece.high);
      });
      if (is_covered) return {};
    }
    return origins;
  }

  template <class F>
  static void for_sections(const Unit& unit, F f) {
    for (const Piece& piece : unit.pieces) {
      for (int32_t s = piece.begin; s < piece.end; ++s) f(s, piece);
    }
  }

  // -- first fit --------------------------------------------------------------------------------

  void try_orders() {
    try_hints();
    for (const char* keys : kOrders) {
      if (must_stop()) return;
      const std::vector<int32_t> order = last_ones_last(features_.order(keys));
      for (bool best_fit : {false, true}) {
        try_order(order, best_fit, keys);
        if (must_stop()) return;
      }
      if (!is_on(kNoFirstFit)) return;
    }
  }

  // Nothing may be put above a last unit later on.
  std::vector<int32_t> last_ones_last(std::vector<int32_t> order) const {
    std::stable_partition(order.begin(), order.end(),
                          [&](int32_t unit) { return !layout_.units[unit].is_last; });
    return order;
  }

  // From the bottom of an earlier plan upwards.
  void try_hints() {
    std::vector<int32_t> order, others;
    for (int32_t unit : features_.order("as")) {
      (layout_.units[unit].hint == kFree ? others : order).push_back(unit);
    }
    if (order.empty()) return;
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return layout_.units[a].hint < layout_.units[b].hint;
    });
    order.insert(order.end(), others.begin(), others.end());
    try_order(last_ones_last(order), false, "hint");
  }

  void try_order(const std::vector<int32_t>& order, bool best_fit, const char* keys) {
    if (!first_fit_) first_fit_.emplace(layout_, conflicts_);
    // the first plan takes the time that it takes, all others what is left
    if (knowledge_.has_plan() && !is_bounded_) {
      first_fit_.emplace(layout_, conflicts_, &limits_);
      is_bounded_ = true;
    }
    const int64_t height = first_fit_->place(order, best_fit, knowledge_.capacity() + 1);
    orders_.push_back({height < 0 ? kInfinity : height, order, best_fit});
    if (height < 0) return;
    knowledge_.offer(first_fit_->origins(),
                     std::string(best_fit ? "best" : "first") + " fit by " + keys);
  }

  // -- searches -----------------------------------------------------------------------------------

  void search() {
    std::optional<LocalSearch> local;
    if (is_on(kNoLocalSearch) && layout_.units.size() > 1) {
      local.emplace(layout_, conflicts_, orders_, options_.seed, limits_);
    }
    LocalSearch* const in_between = local && layout_.units.size() <= kManyUnits ? &*local : nullptr;
    if (is_on(kNoValley) && is_searchable(layout_)) {
      Ladder(layout_, conflicts_, features_, options_, limits_, knowledge_, in_between).climb();
    } else if (is_on(kNoTight)) {
      search_tightly();
    }
    if (!local || knowledge_.is_done() || knowledge_.is_over()) return;
    // with many units, a new plan from nothing is quicker than first fit's answer to a change
    if (fill_ && layout_.units.size() > kManyUnits) {
      const auto now = Clock::now();
      fill_at_random(now + (limits_.deadline - now) / 4);
    }
    if (knowledge_.is_done()) return;
    local->run(knowledge_.nodes_left(), knowledge_.limit(), knowledge_.target());
    if (!local->origins().empty()) knowledge_.offer(local->origins(), "local search");
  }

  void search_tightly() {
    const TightResult found = search_tight(layout_, conflicts_, knowledge_.limit() - 1,
                                           knowledge_.bound(), options_.node_limit, limits_);
    knowledge_.count_nodes(found.nodes);
    if (!found.origins.empty()) knowledge_.offer(found.origins, "tight search");
    if (found.is_complete) knowledge_.raise_bound(found.bound);
  }

  const Layout& layout_;
  const SolverOptions& options_;
  const Limits& limits_;
  const Features features_;
  Knowledge knowledge_;
  Layout hulls_;
  Conflicts conflicts_;
  std::optional<FirstFit> first_fit_;
  std::optional<ValleyFill> fill_;
  std::vector<StartOrder> orders_;
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
