#include "allocators.h"

#include <algorithm>
#include <cstdlib>

namespace onearena::runtime {

MethodAllocator::MethodAllocator(size_t chunk_bytes)
    : MemoryAllocator(0, nullptr), chunk_bytes_(chunk_bytes) {}

void MethodAllocator::Free::operator()(void* memory) const { std::free(memory); }

void* MethodAllocator::allocate(size_t size, size_t alignment) {
  if (!isPowerOf2(alignment) || size > SIZE_MAX / 4 || alignment > SIZE_MAX / 4) return nullptr;
  if (uint8_t* found = from_chunk(size, alignment)) return found;
  const size_t capacity = std::max(chunk_bytes_, size + alignment);
  std::unique_ptr<uint8_t, Free> chunk(static_cast<uint8_t*>(std::malloc(capacity)));
  if (!chunk) return nullptr;
  chunks_.push_back(std::move(chunk));
  capacity_ = capacity;
  at_ = 0;
  return from_chunk(size, alignment);
}

uint8_t* MethodAllocator::from_chunk(size_t size, size_t alignment) {
  if (chunks_.empty()) return nullptr;
  uint8_t* const begin = chunks_.back().get();
  const size_t start = static_cast<size_t>(alignPointer(begin + at_, alignment) - begin);
  if (start > capacity_ || size > capacity_ - start) return nullptr;
  used_ += start + size - at_;
  at_ = start + size;
  return begin + start;
}

void MethodAllocator::clear(size_t bytes) {
  if (chunks_.size() > 1) {  // next time one chunk shall do
    chunks_.clear();
    capacity_ = 0;
    chunk_bytes_ = std::max(chunk_bytes_, bytes);
  }
  at_ = used_ = 0;
}

void TempAllocator::reset() {
  last_ = used_size();
  if (last_ == 0) return;
  peak_ = std::max(peak_, last_);
  clear(2 * last_);
}

}  // namespace onearena::runtime
