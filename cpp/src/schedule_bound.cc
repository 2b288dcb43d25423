// A bound on the peak of every order.
#include <algorithm>

#include "schedule_graph.h"

namespace onearena::internal {

// Gives every operation all that come before it in any order.
void ScheduleGraph::close(std::vector<Word>* sets) const {
  sets->assign(operations_.size() * words_, 0);
  for (int32_t op = 0; op < size(); ++op) {  // in an order that may be kept
    Word* own = sets->data() + op * words_;
    for (int32_t other : operations_[op].before) {
      const Word* more = sets->data() + other * words_;
      for (size_t k = 0; k < words_; ++k) own[k] |= more[k];
      add(own, other);
    }
  }
}

namespace {

bool precedes(const std::vector<Word>& ancestors, size_t words, int32_t first, int32_t second) {
  return has(ancestors.data() + second * words, first);
}

}  // namespace

// What an operation touches, and no other needs for sure before and behind it.
int64_t ScheduleGraph::own_bytes(int32_t op, const std::vector<Word>& ancestors) const {
  const Operation& operation = operations_[op];
  std::vector<int64_t> alive(operation.steps, 0);
  for (const Touch& touch : operation.touches) {
    const Memory& memory = memories_[touch.memory];
    bool born = memory.from_start, needed = memory.to_end;
    for (int32_t user : memory.users) {
      born = born || precedes(ancestors, words_, user, op);
      needed = needed || precedes(ancestors, words_, op, user);
    }
    if (born && needed) continue;  // counted as held
    const int32_t first = born ? 0 : touch.first;
    const int32_t last = needed ? operation.steps - 1 : touch.last;
    for (int32_t step = first; step <= last; ++step) alive[step] += memory.size;
  }
  std::vector<int32_t> saved;
  for (const Overlay& overlay : operation.overlays) {
    if (std::find(saved.begin(), saved.end(), overlay.born) != saved.end()) continue;
    saved.push_back(overlay.born);
    alive[overlay.step] -= memories_[overlay.born].size;
  }
  return *std::max_element(alive.begin(), alive.end());
}

int64_t ScheduleGraph::lower_bound() const {
  std::vector<Word> ancestors;
  close(&ancestors);
  std::vector<int64_t> held(operations_.size(), 0);
  int64_t untouched = 0;
  for (const Memory& memory : memories_) {
    if (memory.users.empty() && memory.from_start) untouched += memory.size;
    for (int32_t op = 0; op < size() && !memory.users.empty(); ++op) {
      bool born = memory.from_start, needed = memory.to_end;
      for (int32_t user : memory.users) {
        born = born || precedes(ancestors, words_, user, op);
        needed = needed || precedes(ancestors, words_, op, user);
      }
      if (born && needed) held[op] += memory.size;
    }
  }
  int64_t result = live_at_start_;
  for (int32_t op = 0; op < size(); ++op) {
    result = std::max(result, untouched + held[op] + own_bytes(op, ancestors));
  }
  return result;
}

}  // namespace onearena::internal
