// What needs no ExecuTorch: mappings, the arena, descriptions that are corrupt. Run under the
// sanitizers by tests/engine/test_sanitized.py, with real descriptions as arguments.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "arena.h"
#include "description.h"
#include "layout.h"
#include "mapping.h"
#include "onearena/runtime.h"
#include "peak.h"

namespace {

using namespace onearena::runtime;

void check(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::exit(1);
}

ErrorKind kind_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    check(std::string(error.what()).find('\n') == std::string::npos, "an error is one line");
    return error.kind();
  }
  check(false, "an error was expected");
  return ErrorKind::kExecution;
}

void arena_takes_what_is_written() {
  Arena arena;
  {
    Arena::Impl::Lease lease(*arena.impl(), true);
    uint8_t* data = lease.ensure(100 * page_bytes());
    check(arena.resident_bytes() == 0, "nothing is written yet");
    data[0] = 1;
    data[50 * page_bytes()] = 1;
  }
  check(arena.resident_bytes() == 2 * page_bytes(), "two pages were written");
  arena.trim();
  check(arena.resident_bytes() == 0, "trim gives all pages back");
}

void arena_grows_and_moves() {
  Arena arena(ArenaOptions{4 * page_bytes(), 0});
  Arena::Impl::Lease lease(*arena.impl(), true);
  uint8_t* small = lease.ensure(page_bytes());
  check(lease.ensure(4 * page_bytes()) == small, "inside the reservation nothing moves");
  uint8_t* large = lease.ensure(1 << 20);
  std::memset(large, 7, 1 << 20);
  check(lease.ensure(1) == large, "it does not shrink");
  check(kind_of([&] { lease.ensure(uint64_t{1} << 60); }) == ErrorKind::kLimit, "too much");
  check(kind_of([&] { lease.ensure(UINT64_MAX); }) == ErrorKind::kLimit, "overflow");
  large[0] = 1;
}

void arena_has_one_user() {
  Arena arena;
  Arena::Impl::Lease lease(*arena.impl(), true);
  check(kind_of([&] { Arena::Impl::Lease again(*arena.impl(), true); }) == ErrorKind::kBusy,
        "the same thread would wait for itself");
  std::thread([&] {
    check(kind_of([&] { Arena::Impl::Lease other(*arena.impl(), false); }) == ErrorKind::kBusy,
          "another thread does not wait");
  }).join();
}

void arena_is_used_in_turn() {
  Arena arena;
  std::atomic<int> inside{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        Arena::Impl::Lease lease(*arena.impl(), true);
        check(inside.fetch_add(1) == 0, "alone");
        const uint64_t bytes = page_bytes() * static_cast<uint64_t>(1 + (i * 7 + t) % 64);
        std::memset(lease.ensure(bytes), t, bytes);
        arena.resident_bytes();
        inside.fetch_sub(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void sizes_without_sense_are_refused() {
  check(kind_of([] { Arena arena(ArenaOptions{UINT64_MAX, 0}); }) == ErrorKind::kUsage, "reserve");
  check(kind_of([] { Arena arena(ArenaOptions{1, UINT64_MAX}); }) == ErrorKind::kUsage, "limit");
  check(!Mapping::reserve(uint64_t{1} << 62), "no machine has that");
  check(kind_of([] { Mapping::file("/nonexistent"); }) == ErrorKind::kFormat, "no such file");
  check(kind_of([] { Mapping::file("/"); }) == ErrorKind::kFormat, "a folder");
}

// Everything that a decoded description leads to must stay inside it.
void use(const ProgramDescription& program) {
  for (const MethodDescription& method : program.methods) {
    const std::vector<PlannedUnit> units = planned_units(method);
    const auto layout = static_layout(method, units);
    const Placement& placement = layout->place({}, {});
    check(placement.offsets.size() == units.size(), "a place for each unit");
    for (size_t i = 0; i < units.size(); ++i) {
      check(placement.offsets[i] + units[i].bound_bytes <= placement.size_bytes, "inside");
    }
    check(!peak_text(method).empty(), "something to say");
  }
}

// Returns whether the description was accepted.
bool accepts(const std::string& data, uint64_t file_bytes) {
  try {
    use(decode_description(data, file_bytes));
    return true;
  } catch (const Error& error) {
    const bool expected =
        error.kind() == ErrorKind::kFormat || error.kind() == ErrorKind::kUnsupported;
    check(expected, "corrupt data is said to be so");
    return false;
  }
}

std::string mutated(std::string data, std::mt19937& random) {
  const auto below = [&](size_t count) { return random() % std::max<size_t>(count, 1); };
  for (size_t change = 0; change <= below(3); ++change) {
    const size_t at = below(data.size());
    switch (below(5)) {
      case 0:
        data.resize(at);
        break;
      case 1:
        if (!data.empty()) data[at] = static_cast<char>(random());
        break;
      case 2:
        if (!data.empty()) data[at] = static_cast<char>(0xff);
        break;
      case 3:
        data.insert(at, 1 + below(8), static_cast<char>(random()));
        break;
      default:
        data.erase(at, 1 + below(8));
        break;
    }
  }
  return data;
}

void corrupt_descriptions_are_refused(const std::string& good, int count) {
  uint64_t file_bytes = 0;
  std::memcpy(&file_bytes, good.data() + 12, sizeof file_bytes);
  check(accepts(good, file_bytes), "the original is accepted");
  check(!accepts(good, file_bytes + 1), "it is of one file only");
  for (size_t length = 0; length < good.size(); length += 1 + good.size() / 2000) {
    check(!accepts(good.substr(0, length), file_bytes), "a truncated one is refused");
  }
  std::mt19937 random(1);
  for (int i = 0; i < count; ++i) accepts(mutated(good, random), file_bytes);
}

}  // namespace

int main(int count, char** arguments) {
  arena_takes_what_is_written();
  arena_grows_and_moves();
  arena_has_one_user();
  arena_is_used_in_turn();
  sizes_without_sense_are_refused();
  for (int i = 1; i < count; ++i) {
    std::ifstream file(arguments[i], std::ios::binary);
    const std::string data{std::istreambuf_iterator<char>(file), {}};
    check(data.size() > 20, "a description to start from");
    corrupt_descriptions_are_refused(data, 3000);
  }
  std::puts("ok");
  return 0;
}
