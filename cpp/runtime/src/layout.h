// Where a method's planned memory lies: the seam between the executor and how it is planned.
#ifndef ONEARENA_RUNTIME_LAYOUT_H_
#define ONEARENA_RUNTIME_LAYOUT_H_

#include <cstdint>
#include <memory>
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

// Offsets of the units, from the beginning of the method's memory.
struct Placement {
  uint64_t version = 1;  // another one for other offsets, positive
  std::vector<uint64_t> offsets;
  std::vector<uint64_t> capacities;  // what each unit may take, in bytes; empty: the bounds
  uint64_t size_bytes = 0;
};

// Decides where the units lie. One object per method. A method binds its tensors anew when a run
// has a placement of another version than the run before.
class Layout {
 public:
  virtual ~Layout() = default;
  // `unit_bytes`: what each unit needs; empty where the layout does not depend on it.
  virtual Placement place(const std::vector<uint64_t>& unit_bytes) = 0;
};

// The plan in the file: each unit at its offset in its arena, one arena after the other.
std::unique_ptr<Layout> static_layout(const MethodDescription& method,
                                      const std::vector<PlannedUnit>& units);

// Bytes behind a method's memory that kernels may read (never write): XNNPACK reads up to 16
// bytes past a tensor's end.
constexpr uint64_t kGuardBytes = 64;
constexpr uint64_t kAlignment = 64;

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_LAYOUT_H_
