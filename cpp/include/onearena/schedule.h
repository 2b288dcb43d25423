// The scheduler: the order of operations in which the most that is alive at once is least.
//
// No dependencies but the standard library, no randomness, no clock: the same problem gives the
// same order everywhere. Thread-safe: calls share nothing.
#ifndef ONEARENA_SCHEDULE_H_
#define ONEARENA_SCHEDULE_H_

#include <cstdint>
#include <utility>
#include <vector>

namespace onearena {

// Memory is alive from the first operation that touches it to the last one. In a problem, numbers
// are positions in its vectors.
struct ScheduleProblem {
  struct Memory {
    int64_t size = 0;
    bool from_start = false;  // alive before the first operation
    bool to_end = false;      // alive behind the last one
  };
  // In one step, `born` may take the place of `dying` if that is what happens to them there.
  struct Overlay {
    int32_t dying = 0, born = 0;
  };
  struct Step {
    std::vector<int32_t> touched;
    std::vector<Overlay> overlays;
  };
  // Its steps run one after another; nothing else runs between them.
  struct Operation {
    std::vector<Step> steps;
    int32_t block = -1;  // operations of one block run one after another; -1: of none
  };
  std::vector<Memory> memories;
  std::vector<Operation> operations;                  // in an order that may be kept
  std::vector<std::pair<int32_t, int32_t>> precedes;  // the first before the second
};

struct ScheduleOptions {
  // States of the exact search, in each direction. A state is a set of operations that have run.
  int64_t state_limit = 60000;
  int32_t beam_width = 48;  // states that are kept per operation where the exact search gives up
  // Operations of a stretch around the peak that is searched anew when the peak is not proven.
  int32_t window = 40;
};

struct Schedule {
  std::vector<int32_t> order;  // positions of the operations
  int64_t peak = 0;            // the most that is alive at a step of this order
  int64_t lower_bound = 0;     // no order has a lower peak
  int64_t states = 0;          // that were looked at
};

// Throws MalformedProblem (planner.h): an index out of range, a negative size, operations that are
// not in an order that may be kept, or blocks that are not in one piece.
Schedule schedule(const ScheduleProblem& problem, const ScheduleOptions& options = {});

// The most that is alive at a step of a given order. Throws MalformedProblem, also for an order
// that may not be.
int64_t peak_of(const ScheduleProblem& problem, const std::vector<int32_t>& order);

}  // namespace onearena

#endif  // ONEARENA_SCHEDULE_H_
