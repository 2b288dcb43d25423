#include "scratch_allocator.h"

#include "layout.h"

namespace onearena::runtime {

void* ScratchAllocator::allocate(size_t size, size_t alignment) {
  if (!isPowerOf2(alignment) || size > SIZE_MAX / 4 || alignment > SIZE_MAX / 4) return nullptr;
  // a region is aligned to `kAlignment`: more than that takes room to find such an address
  const uint64_t most = alignment > kAlignment ? alignment - kAlignment : 0;
  const uint64_t unit = alignment > kAlignment ? kAlignment : alignment;
  const uint64_t before = wanted_;
  const uint64_t start = round_up(wanted_, unit);
  wanted_ = start + most + size;
  if (region_.data != nullptr && wanted_ <= region_.bytes)
    return alignPointer(region_.data + start, alignment);
  void* const memory = MethodAllocator::allocate(size, alignment);
  if (memory == nullptr) wanted_ = before;  // what nobody has is no need
  return memory;
}

void ScratchAllocator::reset() {
  last_ = wanted_;
  elsewhere_ = used_size();
  wanted_ = 0;
  region_ = {};
  if (elsewhere_ > 0) clear(2 * elsewhere_);
}

}  // namespace onearena::runtime
