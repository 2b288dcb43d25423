#include "allocators.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

namespace onearena::runtime {

MethodAllocator::MethodAllocator(size_t chunk_bytes)
    : MemoryAllocator(0, nullptr), chunk_bytes_(chunk_bytes) {}

MethodAllocator::~MethodAllocator() { free_chunks(); }

void* MethodAllocator::allocate(size_t size, size_t alignment) {
  if (!isPowerOf2(alignment) || size > SIZE_MAX / 4 || alignment > SIZE_MAX / 4) return nullptr;
  if (uint8_t* found = from_chunk(size, alignment)) return found;
  const size_t needed = size + alignment;
  if (!add_chunk(std::max(chunk_bytes_, needed)) && !add_chunk(needed)) return nullptr;
  return from_chunk(size, alignment);
}

bool MethodAllocator::add_chunk(size_t bytes) {
  void* const memory = std::malloc(sizeof(Chunk) + bytes);
  if (memory == nullptr) return false;
  newest_ = new (memory) Chunk{newest_, bytes};
  at_ = 0;
  return true;
}

void MethodAllocator::free_chunks() {
  while (newest_ != nullptr) std::free(std::exchange(newest_, newest_->before));
}

uint8_t* MethodAllocator::from_chunk(size_t size, size_t alignment) {
  if (newest_ == nullptr) return nullptr;
  uint8_t* const begin = reinterpret_cast<uint8_t*>(newest_ + 1);
  const size_t start = static_cast<size_t>(alignPointer(begin + at_, alignment) - begin);
  if (start > newest_->bytes || size > newest_->bytes - start) return nullptr;
  used_ += start + size - at_;
  at_ = start + size;
  return begin + start;
}

void MethodAllocator::clear(size_t bytes) {
  if (newest_ != nullptr && newest_->before != nullptr) {  // next time one chunk shall do
    free_chunks();
    chunk_bytes_ = std::max(chunk_bytes_, bytes);
  }
  at_ = used_ = 0;
}

}  // namespace onearena::runtime
