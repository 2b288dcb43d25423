// The planner: gives every buffer of a problem an offset, and says how far from optimal that is.
//
// No dependencies but the standard library. Thread-safe: calls share nothing.
#ifndef ONEARENA_PLANNER_H_
#define ONEARENA_PLANNER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "onearena/problem.h"

namespace onearena {

// The problem contradicts itself in its form: an index out of range, a negative size, ...
class MalformedProblem : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

enum class Status : int32_t {
  kOptimal,     // a plan; none is better
  kFeasible,    // a plan; time or nodes ran out before it was proven best
  kInfeasible,  // proven: no plan satisfies the constraints; see Plan::conflict
  kTimeout,     // no plan was found within the limits, none was proven impossible
};

struct Options {
  double time_limit_s = 1.0;
  int32_t threads = 1;
  uint64_t seed = 0;
  // Stop at the first plan that fits every capacity, instead of minimising.
  bool fit_only = false;
  // Work that may be done, in nodes of the exact search; bounds the effort deterministically.
  int64_t node_limit = INT64_MAX;
  // Polled every few milliseconds from the calling thread's workers; true: stop.
  const std::atomic<bool>* stop = nullptr;
  // For tests and benchmarks: parts of the planner to leave out (see `Switch` in src/valley.h).
  uint32_t switched_off = 0;
};

struct Plan {
  Status status = Status::kTimeout;
  std::vector<int64_t> offsets;       // per buffer; empty without a plan
  std::vector<int32_t> memories;      // per buffer
  std::vector<int64_t> heights;       // per memory
  std::vector<int64_t> lower_bounds;  // per memory: no plan has a smaller height there (with more
                                      // than one memory: given nothing about the others)
  int64_t cost = 0;                   // sum of weight x height
  int64_t cost_bound = 0;             // no plan costs less
  std::string method;                 // what found it
  int64_t nodes = 0;                  // of the exact search
  std::vector<int32_t> conflict;      // infeasible: few buffers that already make it so
};

// Throws MalformedProblem.
Plan plan(const Problem& problem, const Options& options = {});

// The best proven lower bound on the height of a memory that held all buffers allowed there and
// nowhere else. Throws MalformedProblem.
int64_t lower_bound(const Problem& problem, int32_t memory = 0);

// Plans one structure again and again with other sizes: one memory, lifetimes, groups and pairs
// stay; sizes change (all byte spans of gaps and groups must be whole multiples of what changes,
// so problems with windows or groups are refused).
class Replanner {
 public:
  // Plans once, as `plan` does, and keeps what it learned. Throws MalformedProblem, also for a
  // structure that cannot be re-planned.
  Replanner(const Problem& problem, const Options& options, Plan* first);
  ~Replanner();
  Replanner(Replanner&&) noexcept;
  Replanner& operator=(Replanner&&) noexcept;

  // `sizes` and `offsets` have one entry per buffer, both are the caller's. Returns the height in
  // bytes, or -1 when a size is negative or the capacity or a pin cannot be kept. Allocates
  // nothing, takes no lock, throws nothing.
  int64_t replan(const int64_t* sizes, int64_t* offsets) noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace onearena

#endif  // ONEARENA_PLANNER_H_
