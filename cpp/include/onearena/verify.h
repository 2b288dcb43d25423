// Checks a plan against its problem. Shares the problem's definition with the planner, no code.
#ifndef ONEARENA_VERIFY_H_
#define ONEARENA_VERIFY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "onearena/problem.h"

namespace onearena {

enum class FaultKind : int32_t {
  kBounds,     // negative offset, or beyond the stated height of its memory
  kAlignment,  // the alignment does not divide the offset
  kPinned,     // not where it must be
  kRegion,     // outside its region
  kMemory,     // in a memory that it must not be in, or that does not exist
  kCapacity,   // the height of a memory exceeds its capacity (first: the memory, second: -1)
  kAlias,      // members of a group (second: the first member) do not keep their distance
  kOverlap,    // two buffers occupy one byte at one step
  kLast,       // `first` is last, but `second` lies above it while both occupy bytes
};

struct Fault {
  FaultKind kind;
  int32_t first = -1;   // buffer
  int32_t second = -1;  // the other buffer, where there is one
};

// A plan as the verifier sees it.
struct Placed {
  const int64_t* offsets = nullptr;   // per buffer
  const int32_t* memories = nullptr;  // per buffer: index into Problem::memories
  const int64_t* heights = nullptr;   // per memory: the end of the last byte used
};

// All faults, buffers in ascending order within a kind; empty: the plan is valid. At most
// `max_faults` are returned. O(n log n + pairs that are alive together).
//
// Throws std::invalid_argument when the problem itself is malformed (index out of range, negative
// size, a buffer in two groups, ...).
std::vector<Fault> verify(const Problem& problem, const Placed& placed,
                          size_t max_faults = SIZE_MAX);

}  // namespace onearena

#endif  // ONEARENA_VERIFY_H_
