// Runs programs in every planning mode, which must agree in every bit; the sanitizers watch.
// Arguments: programs that describe themselves, see `parse_case`. Run by
// tests/engine/test_sanitized_programs.py.
#include <cstdio>
#include <optional>
#include <string>

#include "running.h"

namespace {

using namespace onearena::runtime;
using namespace onearena::runtime::testing;

// Nothing if the program cannot be planned so.
std::optional<std::string> computed(const Case& given, Planning planning) {
  Arena arena;
  ProgramOptions options;
  options.planning = planning;
  options.cached_plans = 2;
  const auto program = Program::load(given.path, {}, arena, options);
  try {
    for (const std::string& name : program->method_names()) program->method(name);
  } catch (const Error& error) {
    check(error.kind() == ErrorKind::kUnsupported, error.what());
    return {};
  }
  const std::string first = play(*program, given);
  check(play(*program, given) == first, given.path + ": the same again");
  return first;
}

}  // namespace

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    const Case given = parse_case(arguments[i]);
    const auto expected = computed(given, Planning::kStatic);
    check(expected.has_value() && !expected->empty(), given.path + ": runs with its own plan");
    for (const Planning planning : {Planning::kAuto, Planning::kShapes, Planning::kSimple}) {
      const auto found = computed(given, planning);
      check(!found || *found == *expected, given.path + ": another plan, other results");
    }
  }
  std::puts("ok");
  return 0;
}
