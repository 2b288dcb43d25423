// Memory that kernels and delegates ask for while they run.
#ifndef ONEARENA_RUNTIME_SCRATCH_ALLOCATOR_H_
#define ONEARENA_RUNTIME_SCRATCH_ALLOCATOR_H_

#include "allocators.h"
#include "call_memory.h"

namespace onearena::runtime {

// Hands out a region of the arena, in order, and memory of its own where that is too small. Knows
// what a region must have so that nothing else is needed. Not thread-safe.
class ScratchAllocator final : public MethodAllocator {
 public:
  // Begins an instruction.
  void lend(const Region& region) { region_ = region; }
  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override;
  // Ends an instruction: nothing that it was given is used any more.
  void reset() override;

  // What the instruction that `reset` ended last needed, and what of it was not in its region.
  uint64_t last_bytes() const { return last_; }
  uint64_t elsewhere_bytes() const { return elsewhere_; }

 private:
  Region region_;
  uint64_t wanted_ = 0;  // of a region that is aligned as the arena's are
  uint64_t last_ = 0, elsewhere_ = 0;
};

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_SCRATCH_ALLOCATOR_H_
