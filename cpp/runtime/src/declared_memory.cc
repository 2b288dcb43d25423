#include "declared_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "layout.h"
#include "onearena/runtime.h"

namespace onearena::runtime {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 46;
constexpr uint32_t kMostAlignment = 4096;

}  // namespace

void DeclaredMemory::Freed::operator()(uint8_t* memory) const { std::free(memory); }

DeclaredMemory::DeclaredMemory(BackendMemory& backend, void* handle, std::string what)
    : backend_(backend), handle_(handle), what_(std::move(what)) {}

void DeclaredMemory::begin(CallArgs args, const Region& region) {
  ask(args);
  elsewhere_ = 0;
  uint8_t* base = region.data;
  // a region is aligned as what lies in the arena is; the rest of the alignment is in the need
  if (need_ > 0 && (base == nullptr || region.bytes < need_)) {
    lent_ = allocate(need_, kAlignment);
    elsewhere_ = need_;
    base = lent_.get();
  }
  if (alignment_ > kAlignment) {
    const auto at = reinterpret_cast<uintptr_t>(base);
    base += round_up(at, alignment_) - at;
  }
  addresses_.assign(needs_.size(), nullptr);
  for (size_t i = 0; i < needs_.size(); ++i) {
    if (needs_[i].size_bytes == 0) continue;
    const bool persists = needs_[i].lifetime == MemoryLifetime::kPersistent;
    addresses_[i] = persists ? kept_[i].memory.get() : base + offsets_[i];
  }
  if (is_bound_ && addresses_ == bound_) return;
  is_bound_ = false;  // until the backend has taken them
  backend_.bind(handle_, addresses_);
  bound_ = addresses_;
  is_bound_ = true;
}

void DeclaredMemory::end(bool) {
  if (lent_ == nullptr) return;
  lent_.reset();
  is_bound_ = false;  // another allocation may have the same address
}

DeclaredMemory::Shapes DeclaredMemory::shapes_of(CallArgs args) {
  Shapes shapes;
  for (size_t i = 0; i < args.size(); ++i) {
    if (!args[i]->isTensor()) continue;
    const auto sizes = args[i]->toTensor().sizes();
    shapes.push_back(static_cast<int64_t>(sizes.size()));
    shapes.insert(shapes.end(), sizes.begin(), sizes.end());
  }
  return shapes;
}

void DeclaredMemory::ask(CallArgs args) {
  Shapes shapes = shapes_of(args);
  if (is_current_ && shapes == shapes_) return;
  is_current_ = false;  // should anything fail in the middle, the next call asks again
  std::vector<MemoryNeed> needs = backend_.needs(handle_, args);
  check(needs);
  kept_.resize(needs.size());
  offsets_.assign(needs.size(), 0);
  uint64_t end = 0;
  alignment_ = 1;
  for (size_t i = 0; i < needs.size(); ++i) {
    if (needs[i].lifetime == MemoryLifetime::kPersistent) {
      keep(i, needs[i]);
      continue;
    }
    if (needs[i].size_bytes == 0) continue;
    alignment_ = std::max<uint64_t>(alignment_, needs[i].alignment);
    offsets_[i] = round_up(end, needs[i].alignment);
    end = offsets_[i] + needs[i].size_bytes;
    if (end > kMostBytes) refuse("needs more than 2^46 bytes");
  }
  // room to find an address that is aligned to more than the region is
  need_ = end + (end > 0 && alignment_ > kAlignment ? alignment_ - kAlignment : 0);
  needs_ = std::move(needs);
  shapes_ = std::move(shapes);
  was_asked_ = is_current_ = true;
}

void DeclaredMemory::check(const std::vector<MemoryNeed>& needs) const {
  if (was_asked_ && needs.size() != needs_.size()) refuse("declares other needs than before");
  for (size_t i = 0; i < needs.size(); ++i) {
    const uint32_t alignment = needs[i].alignment;
    if (alignment == 0 || alignment > kMostAlignment || (alignment & (alignment - 1)) != 0) {
      refuse("declares an alignment of " + std::to_string(alignment));
    }
    if (needs[i].size_bytes > kMostBytes) refuse("needs more than 2^46 bytes");
    if (was_asked_ && needs[i].lifetime != needs_[i].lifetime) {
      refuse("declares other needs than before");
    }
  }
}

void DeclaredMemory::keep(size_t index, const MemoryNeed& need) {
  Kept& kept = kept_[index];
  if (need.size_bytes <= kept.bytes) return;
  Memory larger = allocate(need.size_bytes, need.alignment);
  if (kept.bytes > 0) std::memcpy(larger.get(), kept.memory.get(), kept.bytes);
  std::memset(larger.get() + kept.bytes, 0, need.size_bytes - kept.bytes);
  persistent_ += need.size_bytes - kept.bytes;
  kept.memory = std::move(larger);
  kept.bytes = need.size_bytes;
}

DeclaredMemory::Memory DeclaredMemory::allocate(uint64_t bytes, uint64_t alignment) const {
  alignment = std::max<uint64_t>(alignment, sizeof(void*));
  Memory memory(static_cast<uint8_t*>(std::aligned_alloc(alignment, round_up(bytes, alignment))));
  if (!memory) {
    throw Error(ErrorKind::kLimit,
                what_ + ": the machine has no " + std::to_string(bytes) + " bytes");
  }
  return memory;
}

void DeclaredMemory::refuse(const std::string& why) const {
  throw Error(ErrorKind::kExecution, what_ + ": the backend " + why);
}

}  // namespace onearena::runtime
