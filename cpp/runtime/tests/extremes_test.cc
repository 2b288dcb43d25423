// Descriptions with extreme numbers in them: refused, or planned within sane limits, in every way
// that a method is planned. Arguments: files with valid descriptions. Run by
// tests/engine/test_sanitized_programs.py.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "description.h"
#include "layout.h"
#include "peak.h"
#include "placements.h"

namespace {

using namespace onearena::runtime;

constexpr uint64_t kExtremes[] = {
    0,          1,          2,          3,          63,         64,         65,
    0x7f,       0x80,       0xff,       0x7fff,     0xffff,     1u << 24,   0x7fffffff,
    0x80000000, 0xfffffff0, 0xffffffff, 1ull << 32, 1ull << 46, 1ull << 47, (1ull << 47) + 1,
    1ull << 48, 1ull << 62, 1ull << 63, ~0ull - 63, ~0ull - 1,  ~0ull,
};

void check(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::exit(1);
}

std::string with_extremes(std::string data, std::mt19937& random) {
  constexpr size_t kWidths[] = {1, 4, 4, 8};
  for (size_t change = 0; change <= random() % 3; ++change) {
    const size_t width = kWidths[random() % std::size(kWidths)];
    const uint64_t value = kExtremes[random() % std::size(kExtremes)];
    const size_t at = 12 + random() % (data.size() - width - 12);  // magic and version stay
    std::memcpy(&data[at], &value, width);                         // little endian
  }
  return data;
}

void is_inside(const Placement& placement, const std::vector<uint64_t>& bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    const uint64_t end = placement.offsets[i] + bytes[i];
    check(end >= bytes[i] && end <= placement.size_bytes, "every unit lies inside");
  }
}

// Plans all methods in every way; what cannot be planned must say so.
void plan(const ProgramDescription& program) {
  for (const MethodDescription& method : program.methods) {
    const std::vector<PlannedUnit> units = planned_units(method);
    std::vector<uint64_t> bounds;
    for (const PlannedUnit& unit : units) bounds.push_back(unit.bound_bytes);
    is_inside(static_layout(method, units)->place({}, {}), bounds);
    check(!peak_text(method).empty(), "something to say");
    for (const Planning planning : {Planning::kShapes, Planning::kSimple}) {
      try {
        Placements placements(method, units, planning, 2);
        is_inside(placements.apart(1), bounds);
        placements.apart(1e6);
        is_inside(placements.add({1}, bounds, {}), bounds);
        placements.add({2}, std::vector<uint64_t>(units.size(), ~0ull), {});
      } catch (const Error& error) {
        check(error.kind() == ErrorKind::kLimit || error.kind() == ErrorKind::kExecution,
              error.what());
      }
    }
  }
}

int accepted(const std::string& good, int count) {
  uint64_t file_bytes = 0;
  std::memcpy(&file_bytes, good.data() + 12, sizeof file_bytes);
  std::mt19937 random(7);
  int accepted = 0;
  for (int i = 0; i < count; ++i) {
    ProgramDescription program;
    try {
      program = decode_description(with_extremes(good, random), file_bytes);
    } catch (const Error& error) {
      check(error.kind() == ErrorKind::kFormat || error.kind() == ErrorKind::kUnsupported,
            error.what());
      continue;
    }
    ++accepted;
    plan(program);
  }
  return accepted;
}

}  // namespace

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    std::ifstream file(arguments[i], std::ios::binary);
    const std::string data{std::istreambuf_iterator<char>(file), {}};
    check(data.size() > 100, "a description to start from");
    check(accepted(data, 5000) > 100, "some extremes are harmless");
  }
  std::puts("ok");
  return 0;
}
