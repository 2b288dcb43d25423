#include "injection.h"

#include <execinfo.h>
#include <link.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

extern "C" {
extern const char __executable_start, etext;  // the executable's code, from the linker
void* __real_malloc(size_t size);
void __real_free(void* memory);
void* __real_aligned_alloc(size_t alignment, size_t size);
void* __real_mmap(void* address, size_t length, int protection, int flags, int file, off_t offset);
int __real_munmap(void* address, size_t length);
int __real_mprotect(void* address, size_t length, int protection);
}

namespace onearena::runtime::testing {
namespace {

struct Range {
  uintptr_t begin = 0, end = 0;
  bool has(const void* address) const {
    const auto at = reinterpret_cast<uintptr_t>(address);
    return begin <= at && at < end;
  }
};

std::atomic<int64_t> objects{0}, blocks{0}, mappings{0}, mapped_bytes{0};
uint64_t fails_at = 0, count = 0;  // the tests that inject have one thread
Failing failing = Failing::kOnce;
Source failed = Source::kNone;
int inside = 0;
bool is_looking = false;  // at the stack, which may allocate

int find_library(dl_phdr_info* info, size_t, void* found) {
  if (std::strstr(info->dlpi_name, "libstdc++") == nullptr) return 0;
  Range& range = *static_cast<Range*>(found);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    const uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    range.begin = range.begin == 0 ? begin : std::min<uintptr_t>(range.begin, begin);
    range.end = std::max<uintptr_t>(range.end, begin + part.p_memsz);
  }
  return 1;
}

const Range& cpp_library() {
  static const Range range = [] {
    Range found;
    dl_iterate_phdr(find_library, &found);
    return found;
  }();
  return range;
}

// Whether onearena asks: directly, or through the C++ library's compiled parts (strings).
bool is_ours(const void* caller) {
  static const Range executable{reinterpret_cast<uintptr_t>(&__executable_start),
                                reinterpret_cast<uintptr_t>(&etext)};
  if (executable.has(caller)) return true;
  if (!cpp_library().has(caller)) return false;
  void* frames[24];
  const int depth = backtrace(frames, 24);
  bool is_above = false;
  for (int i = 0; i < depth; ++i) {
    is_above = is_above || frames[i] == caller;
    if (is_above && !cpp_library().has(frames[i])) return executable.has(frames[i]);
  }
  return false;
}

bool must_fail(Source source, const void* caller) {
  if (inside == 0 || fails_at == 0 || is_looking) return false;
  is_looking = true;
  const bool ours = is_ours(caller);
  is_looking = false;
  if (!ours) return false;
  ++count;
  const bool now = failing == Failing::kOnce ? count == fails_at : count >= fails_at;
  if (now && failed == Source::kNone) failed = source;
  return now;
}

void* make(size_t size, size_t alignment, const void* caller) {
  if (must_fail(Source::kNew, caller)) return nullptr;
  size = size == 0 ? 1 : size;
  void* memory = alignment == 0 ? __real_malloc(size)
                                : __real_aligned_alloc(
                                      alignment, (size + alignment - 1) / alignment * alignment);
  if (memory != nullptr) ++objects;
  return memory;
}

void* make_or_throw(size_t size, size_t alignment, const void* caller) {
  void* memory = make(size, alignment, caller);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void end(void* memory) {
  if (memory == nullptr) return;
  --objects;
  __real_free(memory);
}

}  // namespace

void arm(uint64_t nth, Failing mode) {
  void* warm[1];
  backtrace(warm, 1);  // loads what it needs now, not in the middle
  cpp_library();
  fails_at = nth;
  failing = mode;
  count = 0;
  failed = Source::kNone;
}

Source disarm() {
  fails_at = 0;
  return failed;
}

uint64_t asked() { return count; }

Inside::Inside() { ++inside; }
Inside::~Inside() { --inside; }

Live live() { return {objects, blocks, mappings, mapped_bytes}; }

bool operator==(const Live& a, const Live& b) {
  return a.objects == b.objects && a.blocks == b.blocks && a.mappings == b.mappings &&
         a.mapped_bytes == b.mapped_bytes;
}

std::string to_text(const Live& live) {
  return std::to_string(live.objects) + " objects, " + std::to_string(live.blocks) + " blocks, " +
         std::to_string(live.mappings) + " mappings of " + std::to_string(live.mapped_bytes) +
         " bytes";
}

}  // namespace onearena::runtime::testing

namespace injected = onearena::runtime::testing;

extern "C" {

void* __wrap_malloc(size_t size) {
  if (injected::must_fail(injected::Source::kMalloc, __builtin_return_address(0))) return nullptr;
  void* memory = __real_malloc(size);
  if (memory != nullptr) ++injected::blocks;
  return memory;
}

void* __wrap_aligned_alloc(size_t alignment, size_t size) {
  if (injected::must_fail(injected::Source::kMalloc, __builtin_return_address(0))) return nullptr;
  void* memory = __real_aligned_alloc(alignment, size);
  if (memory != nullptr) ++injected::blocks;
  return memory;
}

void __wrap_free(void* memory) {
  if (memory != nullptr) --injected::blocks;
  __real_free(memory);
}

void* __wrap_mmap(void* address, size_t length, int protection, int flags, int file, off_t offset) {
  if (injected::must_fail(injected::Source::kMap, __builtin_return_address(0))) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  void* memory = __real_mmap(address, length, protection, flags, file, offset);
  if (memory == MAP_FAILED) return memory;
  ++injected::mappings;
  injected::mapped_bytes += static_cast<int64_t>(length);
  return memory;
}

int __wrap_munmap(void* address, size_t length) {
  --injected::mappings;
  injected::mapped_bytes -= static_cast<int64_t>(length);
  return __real_munmap(address, length);
}

int __wrap_mprotect(void* address, size_t length, int protection) {
  if (injected::must_fail(injected::Source::kMap, __builtin_return_address(0))) {
    errno = ENOMEM;
    return -1;
  }
  return __real_mprotect(address, length, protection);
}

}  // extern "C"

// NOLINTBEGIN: all forms, so that the C++ library's own never mix with these
#define CALLER __builtin_return_address(0)
using Align = std::align_val_t;
using NoThrow = std::nothrow_t;

void* operator new(size_t n) { return injected::make_or_throw(n, 0, CALLER); }
void* operator new[](size_t n) { return injected::make_or_throw(n, 0, CALLER); }
void* operator new(size_t n, Align a) { return injected::make_or_throw(n, size_t(a), CALLER); }
void* operator new[](size_t n, Align a) { return injected::make_or_throw(n, size_t(a), CALLER); }
void* operator new(size_t n, const NoThrow&) noexcept { return injected::make(n, 0, CALLER); }
void* operator new[](size_t n, const NoThrow&) noexcept { return injected::make(n, 0, CALLER); }
void* operator new(size_t n, Align a, const NoThrow&) noexcept {
  return injected::make(n, size_t(a), CALLER);
}
void* operator new[](size_t n, Align a, const NoThrow&) noexcept {
  return injected::make(n, size_t(a), CALLER);
}

void operator delete(void* p) noexcept { injected::end(p); }
void operator delete[](void* p) noexcept { injected::end(p); }
void operator delete(void* p, size_t) noexcept { injected::end(p); }
void operator delete[](void* p, size_t) noexcept { injected::end(p); }
void operator delete(void* p, Align) noexcept { injected::end(p); }
void operator delete[](void* p, Align) noexcept { injected::end(p); }
void operator delete(void* p, size_t, Align) noexcept { injected::end(p); }
void operator delete[](void* p, size_t, Align) noexcept { injected::end(p); }
void operator delete(void* p, const NoThrow&) noexcept { injected::end(p); }
void operator delete[](void* p, const NoThrow&) noexcept { injected::end(p); }
// NOLINTEND
