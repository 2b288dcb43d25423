// How a backend gets its memory planned together with the tensors of a method.
//
// A backend that allocates for itself goes on to do so: nothing here is needed to run. One that
// wants its scratch in the arena implements `BackendMemory` beside ExecuTorch's
// `BackendInterface`, and the application names it in `ProgramOptions::backend_memory`. There is
// no step of its own for new shapes: the question is put before a call whose arguments have other
// sizes than those of the call before, and the answer may be that nothing changed.
#ifndef ONEARENA_BACKEND_MEMORY_H_
#define ONEARENA_BACKEND_MEMORY_H_

#include <executorch/runtime/backend/interface.h>

#include <cstdint>
#include <vector>

namespace onearena::runtime {

enum class MemoryLifetime : uint8_t {
  kPersistent,  // keeps its bytes from call to call; is never planned into the arena
  kDuringCall,  // holds nothing before a call and nothing after it
};

struct MemoryNeed {
  uint64_t size_bytes = 0;
  uint32_t alignment = 16;  // a power of two, at the most 4096
  MemoryLifetime lifetime = MemoryLifetime::kDuringCall;
};

class BackendMemory {
 public:
  using Args = ::executorch::runtime::Span<::executorch::runtime::EValue*>;

  virtual ~BackendMemory() = default;

  // What `handle`, which the backend's `init` returned, needs for a call with these arguments.
  // The inputs have their sizes, not yet their data; the outputs have the sizes of the call
  // before. Asked before the first call, and before a call whose arguments have other sizes than
  // those of the last call. The list has the same length and the same lifetimes every time.
  virtual std::vector<MemoryNeed> needs(::executorch::runtime::DelegateHandle* handle,
                                        Args args) = 0;

  // The addresses, one for each need, in order; null where no bytes were wanted. Told before a
  // call when one of them is another than before. Persistent memory that had to grow brings its
  // bytes along; it begins with zeros.
  virtual void bind(::executorch::runtime::DelegateHandle* handle,
                    const std::vector<void*>& addresses) = 0;

  // Whether the sizes of a call's outputs follow from those of its inputs alone. Where they do
  // not, methods with dynamic tensors run without a plan.
  virtual bool sizes_follow_shapes() const { return true; }
};

}  // namespace onearena::runtime

#endif  // ONEARENA_BACKEND_MEMORY_H_
