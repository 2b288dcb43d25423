#include "schedule_states.h"

#include <algorithm>

namespace onearena::internal {
namespace {

// The finalizer of SplitMix64 (Steele, Lea and Flood, 2014): spreads numbers over 64 bits.
uint64_t spread(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

int32_t bits_in(Word word) {
  int32_t count = 0;
  for (; word != 0; word &= word - 1) ++count;
  return count;
}

}  // namespace

States::States(const ScheduleGraph& graph, const std::vector<Word>& done, int64_t live,
               const std::vector<int32_t>& inside)
    : graph_(graph), words_(graph.words()), sets_(done), scratch_(graph.words()), table_(64, -1) {
  if (!inside.empty()) inside_.assign(words_, 0);
  for (int32_t op : inside) add(inside_.data(), op);
  State root;
  root.peak = root.live = live;
  for (int32_t op = 0; op < graph.size(); ++op) {
    if (has(done.data(), op)) continue;
    if (may_run(op)) ++goal_;
    if (may_run(op) && graph.is_ready(done.data(), op)) ready_.push_back(op);
  }
  std::vector<int32_t> left(static_cast<size_t>(graph.size()), 0);  // by block
  for (int32_t op = 0; op < graph.size(); ++op) {
    if (graph.block(op) >= 0 && !has(done.data(), op)) ++left[graph.block(op)];
  }
  for (int32_t op = 0; op < graph.size(); ++op) {
    if (graph.block(op) < 0 || !has(done.data(), op) || left[graph.block(op)] == 0) continue;
    root.open = graph.block(op);
    root.open_left = left[root.open];
  }
  root.ready_end = static_cast<uint32_t>(ready_.size());
  states_.push_back(root);
  insert(0);
}

void States::choices(int32_t state, std::vector<int32_t>* result) const {
  const State& from = states_[state];
  result->clear();
  for (uint32_t k = from.ready_begin; k < from.ready_end; ++k) {
    if (from.open < 0 || graph_.block(ready_[k]) == from.open) result->push_back(ready_[k]);
  }
}

int64_t States::overtaken(int32_t op, const Word* set) const {
  int64_t count = op;
  for (size_t k = 0; k < static_cast<size_t>(op) / 64; ++k) count -= bits_in(set[k]);
  if (op % 64 != 0) count -= bits_in(set[op / 64] & ((Word{1} << (op % 64)) - 1));
  return count;
}

States::Reached States::reach(int32_t from, int32_t op, Effect effect) {
  const State& parent = states_[from];
  std::copy_n(done(from), words_, scratch_.begin());
  const int64_t peak = std::max(parent.peak, effect.peak);
  const int64_t moved = parent.moved + overtaken(op, scratch_.data());
  add(scratch_.data(), op);
  const uint64_t hash = parent.hash ^ spread(static_cast<uint64_t>(op));
  const int32_t known = find(hash, scratch_.data());
  if (known >= 0) {
    State& state = states_[known];
    if (peak > state.peak || (peak == state.peak && moved >= state.moved)) return {known, false};
    state.peak = peak;
    state.moved = moved;
    state.parent = from;
    state.op = op;
    return {known, true};
  }
  State made;
  made.peak = peak;
  made.live = effect.live;
  made.moved = moved;
  made.hash = hash;
  made.parent = from;
  made.op = op;
  made.level = parent.level + 1;
  const int32_t block = graph_.block(op);
  if (block >= 0) {
    made.open_left = (parent.open == block ? parent.open_left : graph_.block_size(block)) - 1;
    made.open = made.open_left > 0 ? block : -1;
  }
  made.ready_begin = static_cast<uint32_t>(ready_.size());
  add_ready(parent, op, scratch_.data());
  made.ready_end = static_cast<uint32_t>(ready_.size());
  sets_.insert(sets_.end(), scratch_.begin(), scratch_.end());
  states_.push_back(made);
  const auto number = static_cast<int32_t>(states_.size()) - 1;
  insert(number);
  return {number, true};
}

void States::add_ready(const State& from, int32_t op, const Word* set) {
  for (uint32_t k = from.ready_begin; k < from.ready_end; ++k) {
    if (ready_[k] != op) ready_.push_back(ready_[k]);
  }
  for (int32_t next : graph_.behind(op)) {
    if (may_run(next) && graph_.is_ready(set, next)) ready_.push_back(next);
  }
}

std::vector<int32_t> States::way_to(int32_t state) const {
  std::vector<int32_t> result;
  for (; states_[state].parent >= 0; state = states_[state].parent) {
    result.push_back(states_[state].op);
  }
  std::reverse(result.begin(), result.end());
  return result;
}

int32_t States::find(uint64_t hash, const Word* set) const {
  for (size_t k = hash & (table_.size() - 1); table_[k] >= 0; k = (k + 1) & (table_.size() - 1)) {
    const int32_t state = table_[k];
    if (states_[state].hash == hash && std::equal(set, set + words_, done(state))) return state;
  }
  return -1;
}

void States::insert(int32_t state) {
  if (2 * states_.size() > table_.size()) return grow();
  size_t k = states_[state].hash & (table_.size() - 1);
  while (table_[k] >= 0) k = (k + 1) & (table_.size() - 1);
  table_[k] = state;
}

void States::grow() {
  table_.assign(4 * table_.size(), -1);
  for (size_t state = 0; state < states_.size(); ++state) insert(static_cast<int32_t>(state));
}

}  // namespace onearena::internal
