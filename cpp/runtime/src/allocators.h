// The allocators that kernels and delegates are given: they grow, and count.
#ifndef ONEARENA_RUNTIME_ALLOCATORS_H_
#define ONEARENA_RUNTIME_ALLOCATORS_H_

#include <executorch/runtime/core/memory_allocator.h>

#include <cstdint>

namespace onearena::runtime {

// Hands out memory from chunks of its own, in order; gives nothing back before it is destroyed.
// For what delegates keep. Not thread-safe.
class MethodAllocator : public ::executorch::runtime::MemoryAllocator {
 public:
  explicit MethodAllocator(size_t chunk_bytes = 16 << 10);
  ~MethodAllocator() override;
  // Null when there is no memory: kernels and delegates cannot be sent an exception.
  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override;
  // The chunks are not one buffer; a size that is not zero says that there is memory.
  uint32_t size() const override { return UINT32_MAX; }
  size_t used_size() const override { return used_; }
  size_t free_size() const override { return SIZE_MAX - used_; }
  void reset() override {}

 protected:
  // Leaves one empty chunk, or none if there were several; the next one has at least `bytes`.
  void clear(size_t bytes);

 private:
  // The beginning of a chunk; what it has to give follows.
  struct Chunk {
    Chunk* before;
    size_t bytes;
  };
  bool add_chunk(size_t bytes);
  void free_chunks();
  uint8_t* from_chunk(size_t size, size_t alignment);

  size_t chunk_bytes_;
  Chunk* newest_ = nullptr;
  size_t at_ = 0;  // in the newest chunk
  size_t used_ = 0;
};

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_ALLOCATORS_H_
