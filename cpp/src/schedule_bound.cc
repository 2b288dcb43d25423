// A bound on the peak of every order: what surely is alive while an operation runs.
#include <algorithm>

#include "schedule_graph.h"

namespace onearena::internal {

// By operation, all that run before it in any order, or behind it.
std::vector<Word> ScheduleGraph::closure(bool behind) const {
  std::vector<Word> sets(operations_.size() * words_, 0);
  for (int32_t k = 0; k < size(); ++k) {
    const int32_t op = behind ? size() - 1 - k : k;  // the problem's order may be kept
    Word* own = sets.data() + op * words_;
    for (int32_t other : behind ? operations_[op].behind : operations_[op].before) {
      const Word* more = sets.data() + other * words_;
      for (size_t w = 0; w < words_; ++w) own[w] |= more[w];
      add(own, other);
    }
  }
  return sets;
}

// By memory, the operations of which in any order some user runs before them (behind them).
std::vector<Word> ScheduleGraph::surely(bool behind) const {
  const std::vector<Word> closed = closure(!behind);
  std::vector<Word> sets(memories_.size() * words_, 0);
  for (size_t m = 0; m < memories_.size(); ++m) {
    Word* own = sets.data() + m * words_;
    const bool always = behind ? memories_[m].to_end : memories_[m].from_start;
    if (always) std::fill(own, own + words_, ~Word{0});
    for (int32_t user : memories_[m].users) {
      const Word* more = closed.data() + user * words_;
      for (size_t w = 0; w < words_; ++w) own[w] |= more[w];
    }
  }
  return sets;
}

// What an operation touches, and no other needs for sure both before and behind it.
int64_t ScheduleGraph::own_bytes(int32_t op, const std::vector<Word>& born,
                                 const std::vector<Word>& needed) const {
  const Operation& operation = operations_[op];
  std::vector<int64_t> alive(operation.steps, 0);
  for (const Touch& touch : operation.touches) {
    const bool is_born = has(born.data() + touch.memory * words_, op);
    const bool is_needed = has(needed.data() + touch.memory * words_, op);
    if (is_born && is_needed) continue;  // held, see below
    const int32_t first = is_born ? 0 : touch.first;
    const int32_t last = is_needed ? operation.steps - 1 : touch.last;
    for (int32_t step = first; step <= last; ++step) {
      alive[step] += memories_[touch.memory].size;
    }
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
  const std::vector<Word> born = surely(false), needed = surely(true);
  std::vector<int64_t> held(operations_.size(), 0);
  int64_t untouched = 0;
  for (size_t m = 0; m < memories_.size(); ++m) {
    const Memory& memory = memories_[m];
    if (memory.users.empty()) {
      untouched += memory.from_start ? memory.size : 0;
      continue;
    }
    for (size_t w = 0; w < words_; ++w) {
      Word both = born[m * words_ + w] & needed[m * words_ + w];
      for (size_t op = 64 * w; both != 0 && op < operations_.size(); ++op, both >>= 1) {
        if (both & 1) held[op] += memory.size;
      }
    }
  }
  int64_t result = live_at_start_;
  for (int32_t op = 0; op < size(); ++op) {
    result = std::max(result, untouched + held[op] + own_bytes(op, born, needed));
  }
  return result;
}

}  // namespace onearena::internal
