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

// Goes on from a state in all ways, or in the one that looks best.
void expand(const ScheduleGraph& graph, int32_t number, bool only_best, States* states,
            std::vector<int32_t>* next) {
  std::vector<int32_t> choices;
  states->choices(number, &choices);
  const int64_t live = (*states)[number].live, peak = (*states)[number].peak;
  const bool is_open = (*states)[number].open >= 0;
  std::vector<Effect> effects;
  size_t best = 0;
  for (size_t k = 0; k < choices.size(); ++k) {
    effects.push_back(graph.run(states->done(number), live, choices[k]));
    Effect& effect = effects.back();
    effect.peak = std::max(effect.peak, peak);
    const bool may_be_safe = is_open || graph.block(choices[k]) < 0;
    if (may_be_safe && effect.peak == peak && effect.live <= live) {
      next->push_back(states->reach(number, choices[k], effect).state);
      return;
    }
    const Effect& other = effects[best];
    if (std::tie(effect.peak, effect.live) < std::tie(other.peak, other.live)) best = k;
  }
  for (size_t k = 0; k < choices.size(); ++k) {
    if (!only_best || k == best) {
      next->push_back(states->reach(number, choices[k], effects[k]).state);
    }
  }
}

}  // namespace

Stretch beam_stretch(const ScheduleGraph& graph, const std::vector<Word>& done, int64_t live,
                     int32_t width, int64_t max_states) {
  States states(graph, done, live, {});
  std::vector<int32_t> level{0};
  for (int32_t depth = 0; depth < states.goal(); ++depth) {
    std::vector<int32_t> next;
    const bool is_too_much = static_cast<int64_t>(states.size()) > max_states;
    for (int32_t number : level) expand(graph, number, is_too_much, &states, &next);
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
