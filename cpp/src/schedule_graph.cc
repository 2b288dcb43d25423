#include "schedule_graph.h"

#include <algorithm>
#include <map>
#include <utility>

#include "schedule_check.h"

namespace onearena::internal {
namespace {

void sort_unique(std::vector<int32_t>* list) {
  std::sort(list->begin(), list->end());
  list->erase(std::unique(list->begin(), list->end()), list->end());
}

}  // namespace

ScheduleGraph::ScheduleGraph(const ScheduleProblem& problem, bool backwards) {
  check_schedule_problem(problem);
  for (const auto& memory : problem.memories) {
    memories_.push_back({memory.size, memory.from_start, memory.to_end, {}});
    if (backwards) std::swap(memories_.back().from_start, memories_.back().to_end);
  }
  words_ = (problem.operations.size() + 63) / 64;
  add_operations(problem, backwards);
  for (Memory& memory : memories_) {
    // nobody touches it: it is alive all the time if at all
    if (memory.users.empty()) memory.from_start = memory.from_start || memory.to_end;
    if (memory.from_start) live_at_start_ += memory.size;
  }
  add_dependences(problem, backwards);
  add_gates();
}

void ScheduleGraph::add_operations(const ScheduleProblem& problem, bool backwards) {
  const auto count = static_cast<int32_t>(problem.operations.size());
  std::vector<int32_t> position(memories_.size(), -1);
  block_sizes_.assign(problem.operations.size(), 0);
  for (int32_t op = 0; op < count; ++op) {
    const auto& source = problem.operations[backwards ? count - 1 - op : op];
    Operation made;
    made.block = source.block;
    made.steps = static_cast<int32_t>(source.steps.size());
    for (int32_t step = 0; step < made.steps; ++step) {
      const auto& from = source.steps[backwards ? made.steps - 1 - step : step];
      for (int32_t memory : from.touched) {
        if (position[memory] < 0) {
          position[memory] = static_cast<int32_t>(made.touches.size());
          made.touches.push_back({memory, step, step});
        }
        made.touches[position[memory]].last = step;
      }
      for (const auto& overlay : from.overlays) {
        made.overlays.push_back({step, backwards ? overlay.born : overlay.dying,
                                 backwards ? overlay.dying : overlay.born});
      }
    }
    const auto is_impossible = [&](const Overlay& overlay) {
      return made.touches[position[overlay.dying]].last != overlay.step ||
             made.touches[position[overlay.born]].first != overlay.step;
    };
    auto& overlays = made.overlays;
    overlays.erase(std::remove_if(overlays.begin(), overlays.end(), is_impossible), overlays.end());
    find_contested(&overlays);
    for (const Touch& touch : made.touches) {
      position[touch.memory] = -1;
      memories_[touch.memory].users.push_back(op);
    }
    if (made.block >= 0) ++block_sizes_[made.block];
    operations_.push_back(std::move(made));
  }
}

// Overlays of one step that name the same memory: only one of them comes true.
void ScheduleGraph::find_contested(std::vector<Overlay>* overlays) {
  std::map<std::pair<int32_t, int32_t>, int32_t> uses;
  for (const Overlay& overlay : *overlays) {
    ++uses[{overlay.step, overlay.dying}];
    ++uses[{overlay.step, overlay.born}];
  }
  for (Overlay& overlay : *overlays) {
    overlay.is_contested =
        uses[{overlay.step, overlay.dying}] > 1 || uses[{overlay.step, overlay.born}] > 1;
  }
}

void ScheduleGraph::add_dependences(const ScheduleProblem& problem, bool backwards) {
  const auto last = static_cast<int32_t>(operations_.size()) - 1;
  for (auto [first, second] : problem.precedes) {
    if (backwards) {
      std::swap(first, second);
      first = last - first;
      second = last - second;
    }
    operations_[second].before.push_back(first);
  }
}

// A block begins when all that its operations wait for has run; then it never has to stop.
void ScheduleGraph::add_gates() {
  std::vector<std::vector<int32_t>> gates(block_sizes_.size());
  for (const Operation& operation : operations_) {
    for (int32_t other : operation.before) {
      const bool outside = operations_[other].block != operation.block;
      if (operation.block >= 0 && outside) gates[operation.block].push_back(other);
    }
  }
  for (auto& gate : gates) sort_unique(&gate);
  for (int32_t op = 0; op < size(); ++op) {
    Operation& operation = operations_[op];
    if (operation.block >= 0) {
      const auto& gate = gates[operation.block];
      operation.before.insert(operation.before.end(), gate.begin(), gate.end());
    }
    sort_unique(&operation.before);
    for (int32_t other : operation.before) operations_[other].behind.push_back(op);
  }
}

bool ScheduleGraph::is_born(const Word* done, int32_t memory) const {
  const Memory& found = memories_[memory];
  if (found.from_start) return true;
  for (int32_t user : found.users) {
    if (has(done, user)) return true;
  }
  return false;
}

bool ScheduleGraph::dies(const Word* done, int32_t memory, int32_t op) const {
  const Memory& found = memories_[memory];
  if (found.to_end) return false;
  for (int32_t user : found.users) {
    if (user != op && !has(done, user)) return false;
  }
  return true;
}

int64_t ScheduleGraph::saved(const Word* done, int32_t op, int32_t step) const {
  int64_t result = 0;
  thread_local std::vector<int32_t> used;  // kept: this is called for every state of the search
  used.clear();
  const auto is_used = [](int32_t memory) {
    return std::find(used.begin(), used.end(), memory) != used.end();
  };
  for (const Overlay& overlay : operations_[op].overlays) {
    if (overlay.step != step) continue;
    if (overlay.is_contested && (is_used(overlay.dying) || is_used(overlay.born))) continue;
    if (!dies(done, overlay.dying, op) || is_born(done, overlay.born)) continue;
    if (overlay.is_contested) used.insert(used.end(), {overlay.dying, overlay.born});
    result += memories_[overlay.born].size;
  }
  return result;
}

Effect ScheduleGraph::run(const Word* done, int64_t live, int32_t op) const {
  const Operation& operation = operations_[op];
  Effect result{live, live};
  for (int32_t step = 0; step < operation.steps; ++step) {
    int64_t freed = 0;
    for (const Touch& touch : operation.touches) {
      if (touch.first == step && !is_born(done, touch.memory)) {
        result.live += memories_[touch.memory].size;
      }
      if (touch.last == step && dies(done, touch.memory, op)) {
        freed += memories_[touch.memory].size;
      }
    }
    const int64_t shared = operation.overlays.empty() ? 0 : saved(done, op, step);
    result.peak = std::max(result.peak, result.live - shared);
    result.live -= freed;
  }
  return result;
}

std::vector<int64_t> ScheduleGraph::peaks(const std::vector<int32_t>& order) const {
  std::vector<Word> done(words_);
  std::vector<int64_t> result;
  int64_t live = live_at_start_;
  for (int32_t op : order) {
    const Effect effect = run(done.data(), live, op);
    result.push_back(effect.peak);
    live = effect.live;
    add(done.data(), op);
  }
  return result;
}

int64_t ScheduleGraph::peak(const std::vector<int32_t>& order) const {
  const auto found = peaks(order);
  return found.empty() ? live_at_start_ : *std::max_element(found.begin(), found.end());
}

bool ScheduleGraph::is_allowed(const std::vector<int32_t>& order) const {
  if (order.size() != operations_.size()) return false;
  std::vector<Word> done(words_);
  int32_t open = -1, left = 0;
  for (int32_t op : order) {
    if (op < 0 || op >= size() || has(done.data(), op) || !is_ready(done.data(), op)) return false;
    if (left > 0 && block(op) != open) return false;
    if (left == 0) {
      open = block(op);
      left = open < 0 ? 0 : block_sizes_[open];
    }
    if (left > 0) --left;
    add(done.data(), op);
  }
  return true;
}

}  // namespace onearena::internal
