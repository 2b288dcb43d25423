// A scheduling problem, prepared: what happens when an operation runs behind a set of others.
#ifndef ONEARENA_SRC_SCHEDULE_GRAPH_H_
#define ONEARENA_SRC_SCHEDULE_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "onearena/schedule.h"

namespace onearena::internal {

// Sets of operations, one bit each.
using Word = uint64_t;

inline bool has(const Word* set, int32_t op) { return set[op >> 6] >> (op & 63) & 1; }
inline void add(Word* set, int32_t op) { set[op >> 6] |= Word{1} << (op & 63); }

// What is alive while an operation runs, at most, and behind it.
struct Effect {
  int64_t peak = 0, live = 0;
};

class ScheduleGraph {
 public:
  // The problem, or the problem that runs backwards: operations are numbered from its end, what
  // was born dies. Its orders, read backwards, are those of the problem and have the same peaks.
  // Throws MalformedProblem.
  ScheduleGraph(const ScheduleProblem& problem, bool backwards);

  int32_t size() const { return static_cast<int32_t>(operations_.size()); }
  size_t words() const { return words_; }
  int64_t live_at_start() const { return live_at_start_; }
  int32_t block(int32_t op) const { return operations_[op].block; }
  int32_t block_size(int32_t block) const { return block_sizes_[block]; }
  const std::vector<int32_t>& before(int32_t op) const { return operations_[op].before; }
  const std::vector<int32_t>& behind(int32_t op) const { return operations_[op].behind; }

  bool is_ready(const Word* done, int32_t op) const {
    for (int32_t other : operations_[op].before) {
      if (!has(done, other)) return false;
    }
    return true;
  }

  // `live` is what is alive when the operations in `done` have run.
  Effect run(const Word* done, int64_t live, int32_t op) const;

  // The peaks of every operation in an order, one after another.
  std::vector<int64_t> peaks(const std::vector<int32_t>& order) const;
  int64_t peak(const std::vector<int32_t>& order) const;
  bool is_allowed(const std::vector<int32_t>& order) const;

  // At each operation at least what it touches is alive, and what every order needs later.
  int64_t lower_bound() const;

 private:
  struct Touch {
    int32_t memory, first, last;  // steps of the operation
  };
  struct Overlay {
    int32_t step, dying, born;
    bool is_contested = false;  // another one of its step names one of its memories
  };
  struct Operation {
    int32_t block = -1, steps = 1;
    std::vector<Touch> touches;
    std::vector<Overlay> overlays;
    std::vector<int32_t> before, behind;
  };
  struct Memory {
    int64_t size = 0;
    bool from_start = false, to_end = false;
    std::vector<int32_t> users;
  };

  void add_operations(const ScheduleProblem& problem, bool backwards);
  static void find_contested(std::vector<Overlay>* overlays);
  void add_dependences(const ScheduleProblem& problem, bool backwards);
  void add_gates();
  bool is_born(const Word* done, int32_t memory) const;
  bool dies(const Word* done, int32_t memory, int32_t op) const;
  int64_t saved(const Word* done, int32_t op, int32_t step) const;
  int64_t own_bytes(int32_t op, const std::vector<Word>& born,
                    const std::vector<Word>& needed) const;
  std::vector<Word> closure(bool behind) const;
  std::vector<Word> surely(bool behind) const;

  std::vector<Operation> operations_;
  std::vector<Memory> memories_;
  std::vector<int32_t> block_sizes_;
  size_t words_ = 0;
  int64_t live_at_start_ = 0;
};

}  // namespace onearena::internal

#endif  // ONEARENA_SRC_SCHEDULE_GRAPH_H_
