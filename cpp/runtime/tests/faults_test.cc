// Every allocation that onearena makes while programs are loaded and run fails once, and then from
// some moment on all of them: the caller gets an `Error`, what was loaded still runs right, and
// nothing leaks. Arguments: programs that describe themselves, see `parse_case`; before them
// --unbounded, if their other shapes are beyond the bounds, --every=N to let only each N-th
// allocation fail, and --fresh to do so in new processes.
// Run by tests/engine/test_faults.py.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include "injection.h"
#include "running.h"

namespace {

using namespace onearena::runtime;
using namespace onearena::runtime::testing;

// Calls the library where allocations may fail.
struct Injected {
  template <class Action>
  auto operator()(Action&& action) const {
    const Inside inside;
    return action();
  }
};

// What a program is loaded with. Two plans are kept, so that runs go from one to the other, or
// one, so that one is dropped.
ProgramOptions options_of(Planning planning, bool unbounded) {
  ProgramOptions options;
  options.planning = planning;
  options.cached_plans = planning == Planning::kSimple ? 1 : 2;
  options.unbounded = unbounded;
  return options;
}

struct Loaded {
  explicit Loaded(const ProgramOptions& options) : options(options) {}
  const ProgramOptions& options;
  std::optional<Arena> arena;
  std::unique_ptr<Program> program;

  template <class Call>
  void load(const std::string& path, const Call& call) {
    if (!arena) call([&] { arena.emplace(ArenaOptions{1 << 16, 0}); });
    program = call([&] { return Program::load(path, {}, *arena, options); });
  }
  template <class Call>
  std::string use(const Case& given, const Call& call) {
    if (!program) load(given.path, call);
    const std::string computed = play(*program, given, call);
    call([&] { return arena->resident_bytes(); });
    call([&] { arena->trim(); });
    return computed;
  }
};

// What the library said; nothing when all went well.
struct Outcome {
  bool completed = false, no_memory_for_words = false;
  std::string computed, said;
  ErrorKind kind = ErrorKind::kLimit;
};

Outcome attempt(Loaded& loaded, const Case& given) {
  Outcome outcome;
  try {
    outcome.computed = loaded.use(given, Injected());
    outcome.completed = true;
  } catch (const Error& error) {
    outcome.said = error.what();
    outcome.kind = error.kind();
  } catch (const std::bad_alloc&) {
    outcome.no_memory_for_words = true;
  }
  return outcome;
}

void check_words(const Outcome& outcome, Source source, Failing mode, const std::string& where) {
  if (outcome.completed) return;
  if (outcome.no_memory_for_words) {
    check(mode == Failing::kFromThenOn, where + ": no error says what went wrong");
    return;
  }
  check(source != Source::kNone, where + ": failed without a reason: " + outcome.said);
  check(outcome.said.find('\n') == std::string::npos, where + ": an error is one line");
  check(outcome.kind == ErrorKind::kLimit, where + ": an unexpected error: " + outcome.said);
}

// One round; whether everything went well because nothing failed.
bool survives(const Case& given, const ProgramOptions& options, uint64_t nth, Failing mode,
              const std::string& expected, const std::string& where) {
  Loaded loaded(options);
  arm(nth, mode);
  const Outcome outcome = attempt(loaded, given);
  const Source source = disarm();
  check_words(outcome, source, mode, where);
  if (outcome.completed) check(outcome.computed == expected, where + ": other results");
  // what is loaded goes on
  check(loaded.use(given, Directly()) == expected, where + ": other results afterwards");
  return source == Source::kNone;
}

// How many failed.
uint64_t fail_everywhere(const Case& given, const ProgramOptions& options, uint64_t every,
                         Failing mode, const std::string& expected) {
  for (uint64_t nth = 1, failures = 0;; nth += every, ++failures) {
    const std::string where = given.path + ", allocation " + std::to_string(nth) +
                              (mode == Failing::kOnce ? "" : " and all after it");
    const Live before = live();
    const bool is_done = survives(given, options, nth, mode, expected, where);
    const Live after = live();
    check(after == before, where + ": leaks: " + to_text(before) + " became " + to_text(after));
    if (is_done) return failures;
  }
}

std::string reference(const Case& given, const ProgramOptions& options) {
  std::string expected;
  for (int i = 0; i < 2; ++i) {  // again: the process has what it makes once
    Loaded loaded(options);
    expected = loaded.use(given, Directly());
    check(loaded.use(given, Directly()) == expected, given.path + ": always the same");
  }
  return expected;
}

// What the library makes once in a process is made while something fails. Returns whether nothing
// failed.
bool survives_fresh(const Case& given, const ProgramOptions& options, uint64_t nth) {
  const std::string where = given.path + ", allocation " + std::to_string(nth) + " of a process";
  Loaded loaded(options);
  arm(nth, Failing::kOnce);
  const Outcome outcome = attempt(loaded, given);
  const Source source = disarm();
  check_words(outcome, source, Failing::kOnce, where);
  const std::string expected = reference(given, options);
  if (outcome.completed) check(outcome.computed == expected, where + ": other results");
  check(loaded.use(given, Directly()) == expected, where + ": other results afterwards");
  return source == Source::kNone;
}

void fail_in_new_processes(const Case& given, const ProgramOptions& options, uint64_t every) {
  constexpr int kNothingFailed = 3;
  uint64_t failures = 0;
  for (int status = 0; WEXITSTATUS(status) != kNothingFailed; ++failures) {
    const pid_t child = fork();
    check(child >= 0, "a new process");
    if (child == 0)
      std::exit(survives_fresh(given, options, 1 + failures * every) ? kNothingFailed : 0);
    check(waitpid(child, &status, 0) == child && WIFEXITED(status), given.path + ": died");
    const int code = WEXITSTATUS(status);
    check(code == 0 || code == kNothingFailed, given.path + ": failed in a new process");
  }
  check(failures > 10, given.path + ": allocations were made to fail");
}

void fail_everywhere(const Case& given, bool unbounded, uint64_t every) {
  for (const Planning planning : {Planning::kAuto, Planning::kSimple}) {
    if (planning == Planning::kSimple && given.shapes.empty()) continue;
    const ProgramOptions options = options_of(planning, unbounded);
    const std::string expected = reference(given, options);
    for (const Failing mode : {Failing::kOnce, Failing::kFromThenOn}) {
      const uint64_t failures = fail_everywhere(given, options, every, mode, expected);
      check(failures > 50, given.path + ": allocations were made to fail");
      std::printf("%s: %llu allocations failed\n", given.path.c_str(),
                  static_cast<unsigned long long>(failures));
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  bool unbounded = false, fresh = false;
  uint64_t every = 1;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--unbounded") {
      unbounded = true;
    } else if (argument == "--fresh") {
      fresh = true;
    } else if (argument.rfind("--every=", 0) == 0) {
      every = std::stoull(argument.substr(8));
    } else if (fresh) {
      fail_in_new_processes(parse_case(argument), options_of(Planning::kAuto, unbounded), every);
    } else {
      fail_everywhere(parse_case(argument), unbounded, every);
    }
  }
  std::puts("ok");
  return 0;
}
