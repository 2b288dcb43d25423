// Memory that a delegate takes for itself while it is called: the seam between the executor and
// what is known of a backend.
#ifndef ONEARENA_RUNTIME_CALL_MEMORY_H_
#define ONEARENA_RUNTIME_CALL_MEMORY_H_

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/span.h>

#include <cstdint>

namespace onearena::runtime {

using CallArgs = ::executorch::runtime::Span<::executorch::runtime::EValue*>;

// A place in the arena, free while an instruction runs.
struct Region {
  uint8_t* data = nullptr;
  uint64_t bytes = 0;
};

class CallMemory {
 public:
  virtual ~CallMemory() = default;
  // What a call with these arguments needs, where that can be told without it; throws `Error`.
  virtual void ask(CallArgs args) = 0;
  // Before a call. Where `region` is too small, the delegate gets its memory elsewhere. Throws
  // `Error`.
  virtual void begin(CallArgs args, const Region& region) = 0;
  // After it, however it went. Does not throw.
  virtual void end(bool succeeded) = 0;
  // What the last call needed, or the one that was asked about; a region of so many bytes does.
  virtual uint64_t needed_bytes() const = 0;
  // Of that, what was not in the region; none of it is kept after the call.
  virtual uint64_t elsewhere_bytes() const = 0;
  // What is kept from call to call.
  virtual uint64_t persistent_bytes() const = 0;
};

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_CALL_MEMORY_H_
