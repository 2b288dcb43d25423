// The allocators that kernels and delegates are given: they grow, and count.
#ifndef ONEARENA_RUNTIME_ALLOCATORS_H_
#define ONEARENA_RUNTIME_ALLOCATORS_H_

#include <executorch/runtime/core/memory_allocator.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace onearena::runtime {

// Hands out memory from chunks of its own, in order; gives nothing back before it is destroyed.
// For what delegates keep. Not thread-safe.
class MethodAllocator : public ::executorch::runtime::MemoryAllocator {
 public:
  explicit MethodAllocator(size_t chunk_bytes = 16 << 10);
  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override;
  // The chunks are not one buffer; a size that is not zero says that there is memory.
  uint32_t size() const override { return UINT32_MAX; }
  size_t used_size() const override { return used_; }
  size_t free_size() const override { return SIZE_MAX - used_; }
  void reset() override {}

 protected:
  struct Free {
    void operator()(void* memory) const;
  };
  // Leaves one empty chunk of at least `bytes`, if anything was used.
  void clear(size_t bytes);

 private:
  uint8_t* from_chunk(size_t size, size_t alignment);

  size_t chunk_bytes_;
  std::vector<std::unique_ptr<uint8_t, Free>> chunks_;
  size_t capacity_ = 0;  // of the last chunk
  size_t at_ = 0;        // in the last chunk
  size_t used_ = 0;
};

// Memory during one instruction. Knows the most that any took.
class TempAllocator final : public MethodAllocator {
 public:
  // Ends an instruction.
  void reset() override;
  // What the instruction that `reset` ended last took.
  size_t last_bytes() const { return last_; }
  size_t peak_bytes() const { return peak_; }

 private:
  size_t last_ = 0, peak_ = 0;
};

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_ALLOCATORS_H_
