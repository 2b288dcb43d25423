// The states of a search: sets of operations that have run, each once.
#ifndef ONEARENA_SRC_SCHEDULE_STATES_H_
#define ONEARENA_SRC_SCHEDULE_STATES_H_

#include <cstdint>
#include <vector>

#include "schedule_graph.h"

namespace onearena::internal {

struct State {
  int64_t peak = 0;   // on the way here from the root
  int64_t live = 0;   // depends on the set alone
  int64_t moved = 0;  // how many times an operation ran before one that comes first in the problem
  uint64_t hash = 0;
  int32_t parent = -1, op = -1;  // the way here
  int32_t level = 0;             // operations since the root
  int32_t open = -1;             // a block of which some operations have run,
  int32_t open_left = 0;         // and how many have not
  uint32_t ready_begin = 0, ready_end = 0;
};

class States {
 public:
  // Starts with one state, number 0. `inside` limits the operations that may run; empty: all.
  States(const ScheduleGraph& graph, const std::vector<Word>& done, int64_t live,
         const std::vector<int32_t>& inside);

  size_t size() const { return states_.size(); }
  const State& operator[](int32_t k) const { return states_[k]; }
  const Word* done(int32_t k) const { return sets_.data() + static_cast<size_t>(k) * words_; }
  int32_t goal() const { return goal_; }  // operations from the root to the end

  // The operations that may run next, one of which must.
  void choices(int32_t state, std::vector<int32_t>* result) const;

  // What is new, or reached in a better way, is worth going on from.
  struct Reached {
    int32_t state = -1;
    bool is_better = false;
  };
  Reached reach(int32_t from, int32_t op, Effect effect);

  // The operations from the root to a state.
  std::vector<int32_t> way_to(int32_t state) const;

  // True where the problem from here is one of the same kind as from the root.
  bool can_end(int32_t state) const {
    return states_[state].open < 0 || states_[state].open == states_[0].open;
  }

 private:
  int32_t find(uint64_t hash, const Word* set) const;
  void insert(int32_t state);
  void grow();
  bool may_run(int32_t op) const { return inside_.empty() || has(inside_.data(), op); }
  int64_t overtaken(int32_t op, const Word* set) const;
  void add_ready(const State& from, int32_t op, const Word* set);

  const ScheduleGraph& graph_;
  size_t words_;
  int32_t goal_ = 0;
  std::vector<State> states_;
  std::vector<Word> sets_, inside_, scratch_;
  std::vector<int32_t> ready_;
  std::vector<int32_t> table_;  // open addressing; -1: empty
};

}  // namespace onearena::internal

#endif  // ONEARENA_SRC_SCHEDULE_STATES_H_
