// The exact search.
//
// What is alive behind a set of operations depends on the set alone, and is submodular in it:
// live(A or B) + live(A and B) <= live(A) + live(B). So if, among all sets that can be reached
// from D, X is a smallest one of those that can be reached with the lowest peak and live(X) <=
// live(D), no subset of X that contains D has less alive than X, and every order that goes on from
// D stays as good when the operations of X come first: behind them, no more is alive at any of its
// steps than without. A problem falls apart into stretches from one such set to the next; the
// search goes through the sets of one stretch in the order of their peaks, and of equal peaks the
// smaller sets first.
//
// The same argument for one operation: if it frees at least what it needs, and running it does not
// raise the peak on the way here, it can run at once.
#include <queue>
#include <tuple>

#include "schedule_search.h"

namespace onearena::internal {
namespace {

class Exact {
 public:
  Exact(const ScheduleGraph& graph, States* states, int64_t limit, int64_t max_states)
      : graph_(graph), states_(*states), limit_(limit), max_states_(max_states) {}

  // Args:
  //   stops_early: at a set behind which no more is alive than at the root.
  Stretch run(bool stops_early) {
    push(0);
    Stretch result;
    result.lower_bound = states_[0].peak;
    while (!queue_.empty()) {
      const auto [peak, level, moved, number] = queue_.top();
      queue_.pop();
      const State& state = states_[number];
      if (state.peak != peak || state.moved != moved) continue;  // reached in a better way
      result.lower_bound = std::max(result.lower_bound, peak);
      const bool fell = level > 0 && state.live <= states_[0].live && states_.can_end(number);
      if (level == states_.goal() || (stops_early && fell)) {
        result.order = states_.way_to(number);
        result.peak = peak;
        break;
      }
      if (static_cast<int64_t>(states_.size()) >= max_states_) break;
      expand(number);
    }
    result.states = static_cast<int64_t>(states_.size());
    return result;
  }

 private:
  // Smallest first: peak, level, moved; then the state that was made first.
  using Entry = std::tuple<int64_t, int32_t, int64_t, int32_t>;

  void push(int32_t number) {
    const State& state = states_[number];
    queue_.push({state.peak, state.level, state.moved, number});
  }

  void expand(int32_t number) {
    states_.choices(number, &choices_);
    const int64_t peak = states_[number].peak, live = states_[number].live;
    const bool is_open = states_[number].open >= 0;
    effects_.clear();
    for (int32_t op : choices_) {
      effects_.push_back(graph_.run(states_.done(number), live, op));
      const Effect& effect = effects_.back();
      // the first operation of a block brings the others with it
      if (!is_open && graph_.block(op) >= 0) continue;
      if (effect.peak <= peak && effect.live <= live) return reach(number, op, effect);
    }
    for (size_t k = 0; k < choices_.size(); ++k) reach(number, choices_[k], effects_[k]);
  }

  void reach(int32_t number, int32_t op, const Effect& effect) {
    if (effect.peak > limit_) return;
    const auto reached = states_.reach(number, op, effect);
    if (reached.is_better) push(reached.state);
  }

  const ScheduleGraph& graph_;
  States& states_;
  int64_t limit_, max_states_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
  std::vector<int32_t> choices_;
  std::vector<Effect> effects_;
};

}  // namespace

Stretch next_stretch(const ScheduleGraph& graph, const std::vector<Word>& done, int64_t live,
                     int64_t limit, int64_t max_states) {
  States states(graph, done, live, {});
  return Exact(graph, &states, limit, max_states).run(true);
}

Stretch best_window(const ScheduleGraph& graph, const std::vector<Word>& done, int64_t live,
                    const std::vector<int32_t>& inside, int64_t limit, int64_t max_states) {
  States states(graph, done, live, inside);
  return Exact(graph, &states, limit, max_states).run(false);
}

}  // namespace onearena::internal
