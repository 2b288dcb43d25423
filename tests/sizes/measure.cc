// Prints what each method of a program takes from its allocators, in bytes. Per
// line: the method's name; what loading takes from the method allocator with a
// temp allocator, and without one; and, when asked to run the methods (which
// must need no inputs), the most that running takes from the temp allocator.
#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace {

using executorch::extension::MmapDataLoader;
using executorch::runtime::HierarchicalAllocator;
using executorch::runtime::MemoryAllocator;
using executorch::runtime::MemoryManager;
using executorch::runtime::Program;
using executorch::runtime::Span;

constexpr size_t kAlignment = 64;
constexpr uint32_t kPoolBytes = 64u << 20;

struct Free {
  void operator()(uint8_t* data) const { std::free(data); }
};
using Memory = std::unique_ptr<uint8_t, Free>;

Memory memory(size_t size) {
  const size_t rounded = (size + kAlignment) / kAlignment * kAlignment;
  Memory result(static_cast<uint8_t*>(std::aligned_alloc(kAlignment, rounded)));
  if (!result) {
    throw std::bad_alloc();
  }
  return result;
}

// The runtime resets the temp allocator after every instruction.
class TempAllocator final : public MemoryAllocator {
 public:
  using MemoryAllocator::MemoryAllocator;

  void reset() override {
    peak_ = std::max(peak_, used_size());
    MemoryAllocator::reset();
  }

  size_t take_peak() { return std::exchange(peak_, 0); }

 private:
  size_t peak_ = 0;
};

template <typename T>
T get(executorch::runtime::Result<T> result, const char* what) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s: error %d\n", what, static_cast<int>(result.error()));
    std::exit(1);
  }
  return std::move(result.get());
}

struct Taken {
  size_t method_allocator = 0;
  size_t temp_allocator = 0;
};

Taken measure(Program& program, const char* name, TempAllocator* temp, bool run) {
  const auto meta = get(program.method_meta(name), name);
  std::vector<Memory> arenas;
  std::vector<Span<uint8_t>> spans;
  for (size_t index = 0; index < meta.num_memory_planned_buffers(); ++index) {
    const auto size = static_cast<size_t>(get(meta.memory_planned_buffer_size(index), name));
    arenas.push_back(memory(size));
    std::memset(arenas.back().get(), 0, run ? size : 0);
    spans.emplace_back(arenas.back().get(), size);
  }
  HierarchicalAllocator planned({spans.data(), spans.size()});
  const Memory pool = memory(kPoolBytes);
  MemoryAllocator method_allocator(kPoolBytes, pool.get());
  MemoryManager manager(&method_allocator, &planned, temp);
  auto method = get(program.load_method(name, &manager), name);
  Taken result{method_allocator.used_size()};
  if (run) {
    temp->take_peak();
    if (const auto error = method.execute(); error != executorch::runtime::Error::Ok) {
      std::fprintf(stderr, "%s: error %d when it runs\n", name, static_cast<int>(error));
      std::exit(1);
    }
    result.temp_allocator = temp->take_peak();
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const bool run = argc == 3 && std::strcmp(argv[2], "run") == 0;
  if (argc != 2 && !run) {
    std::fprintf(stderr, "usage: %s program.pte [run]\n", argv[0]);
    return 2;
  }
  executorch::runtime::runtime_init();
  auto loader = get(MmapDataLoader::from(argv[1], MmapDataLoader::MlockConfig::NoMlock), argv[1]);
  auto program = get(Program::load(&loader), argv[1]);
  const Memory pool = memory(kPoolBytes);
  for (size_t index = 0; index < program.num_methods(); ++index) {
    const char* name = get(program.get_method_name(index), argv[1]);
    TempAllocator temp(kPoolBytes, pool.get());
    const Taken taken = measure(program, name, &temp, run);
    const Taken alone = measure(program, name, nullptr, false);
    std::printf("%s\t%zu\t%zu\t%zu\n", name, taken.method_allocator, alone.method_allocator,
                taken.temp_allocator);
  }
  return 0;
}
