// Where there are too many sets to look at all of them: the best few after each operation.
#include <algorithm>
#include <tuple>

#include "schedule_search.h"

namespace onearena::internal {
namespace {

// The states to go on from, the best first.
void keep_best(const States& states, int32_t width, std::vector<int32_t>* level) {
  std::sort(level->begin(), level->end());
  level->erase(std::unique(level->begin(), level->end()), level->end());
  std::sort(level->begin(), level->end(), [&](int32_t a, int32_t b) {
    const State &x = states[a], &y = states[b];
    return std::tie(x.peak, x.live, x.moved, a) < std::tie(y.peak, y.live, y.moved, b);
  });
  if (static_cast<int32_t>(level->size()) > width) level->resize(static_cast<size_t>(width));
}

void expand(const ScheduleGraph& graph, int32_t number, States* states,
            std::vector<int32_t>* next) {
  std::vector<int32_t> choices;
  states->choices(number, &choices);
  const int64_t live = (*states)[number].live, peak = (*states)[number].peak;
  const bool is_open = (*states)[number].open >= 0;
  const size_t before = next->size();
  for (int32_t op : choices) {
    const Effect effect = graph.run(states->done(number), live, op);
    const bool is_safe =
        (is_open || graph.block(op) < 0) && effect.peak <= peak && effect.live <= live;
    if (is_safe) next->resize(before);
    next->push_back(states->reach(number, op, effect).state);
    if (is_safe) return;
  }
}

}  // namespace

Stretch beam_stretch(const ScheduleGraph& graph, const std::vector<Word>& done, int64_t live,
                     int32_t width, int64_t max_states) {
  States states(graph, done, live, {});
  std::vector<int32_t> level{0};
  for (int32_t depth = 0; depth < states.goal(); ++depth) {
    std::vector<int32_t> next;
    for (int32_t number : level) expand(graph, number, &states, &next);
    const bool is_too_much = static_cast<int64_t>(states.size()) > max_states;
    keep_best(states, is_too_much ? 1 : width, &next);
    level = std::move(next);
    // the best state of all has to be one that fell: others may lead to something better
    const State& best = states[level.front()];
    if (best.live <= live && states.can_end(level.front())) break;
  }
  Stretch result;
  result.order = states.way_to(level.front());
  result.peak = states[level.front()].peak;
  result.states = static_cast<int64_t>(states.size());
  return result;
}

}  // namespace onearena::internal
