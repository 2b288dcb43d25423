// Where a method's planned memory lies: the seam between the executor and how it is planned.
#ifndef ONEARENA_RUNTIME_LAYOUT_H_
#define ONEARENA_RUNTIME_LAYOUT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "description.h"

namespace onearena::runtime {

// A planned value that is not state: it has memory only while the method runs.
struct PlannedUnit {
  uint32_t value = 0;
  uint64_t bound_bytes = 0;  // what its sizes in the file need
};

// The units of a method, by value.
std::vector<PlannedUnit> planned_units(const MethodDescription& method);

// Memory that an instruction needs while it runs and no value has: what a delegate takes for
// itself, and what kernels and delegates ask for.
struct Scratch {
  uint32_t instruction = 0;
  bool is_asked_for = false;
  uint64_t size_bytes = 0;
};

// By instruction, then what a delegate takes first.
inline bool operator<(const Scratch& a, const Scratch& b) {
  return a.instruction != b.instruction ? a.instruction < b.instruction
                                        : a.is_asked_for < b.is_asked_for;
}

// Offsets of the units, from the beginning of the method's memory.
struct Placement {
  uint64_t version = 1;  // another one for other offsets, positive
  std::vector<uint64_t> offsets;
  std::vector<uint64_t> capacities;  // what each unit may take, in bytes; empty: the bounds
  std::vector<Scratch> scratch;      // in order; all else finds its memory elsewhere
  std::vector<uint64_t> scratch_offsets;
  uint64_t size_bytes = 0;
};

// Decides where the units lie. One object per method. A method binds its tensors anew when a run
// has a placement of another version than the run before.
class Layout {
 public:
  virtual ~Layout() = default;
  // `unit_bytes`: what each unit needs; empty where the layout does not depend on it. `scratch`:
  // in order, each once, none of them empty.
  virtual Placement place(const std::vector<uint64_t>& unit_bytes,
                          const std::vector<Scratch>& scratch) = 0;
};

// What a placement must have so that both fit; nothing when the first does already.
std::optional<std::vector<Scratch>> grown_scratch(const std::vector<Scratch>& first,
                                                  const std::vector<Scratch>& second);
// The most that a delegate has for itself in a placement.
uint64_t bytes_of_delegates(const Placement& placement);

// The plan in the file: each unit at its offset in its arena, one arena after the other.
std::unique_ptr<Layout> static_layout(const MethodDescription& method,
                                      const std::vector<PlannedUnit>& units);

// Bytes behind a method's memory that kernels may read (never write): XNNPACK reads up to 16
// bytes past a tensor's end.
constexpr uint64_t kGuardBytes = 64;
constexpr uint64_t kAlignment = 64;

constexpr uint64_t round_up(uint64_t bytes, uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_LAYOUT_H_
