// Programs loaded, run and unloaded by several threads at once: every result is that of one thread
// alone, and the thread sanitizer sees no race. Arguments: at least two programs that describe
// themselves, see `parse_case`. Run by tests/engine/test_threads.py.
#include <atomic>
#include <cstdio>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "running.h"

namespace {

using namespace onearena::runtime;
using namespace onearena::runtime::testing;

constexpr int kRounds = 200;

struct Expected {
  Case given;
  std::string computed;
};

std::unique_ptr<Program> load(const Case& given, Arena& arena) {
  return Program::load(given.path, {}, arena);
}

// All at once; the first that fails ends the process.
void together(const std::vector<std::function<void()>>& actions) {
  std::vector<std::thread> threads;
  std::atomic<size_t> waiting{actions.size()};
  for (const auto& action : actions) {
    threads.emplace_back([&] {
      for (--waiting; waiting > 0;) std::this_thread::yield();
      action();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void same(Program& program, const Expected& expected) {
  check(play(program, expected.given) == expected.computed, expected.given.path + ": as alone");
}

void programs_on_one_arena(const std::vector<Expected>& all) {
  Arena arena(ArenaOptions{1 << 16, 0});  // so small that it moves
  std::vector<std::function<void()>> actions;
  std::vector<std::unique_ptr<Program>> programs;
  for (const Expected& expected : all) {
    programs.push_back(load(expected.given, arena));
    actions.push_back([&expected, &program = *programs.back()] {
      for (int i = 0; i < kRounds; ++i) same(program, expected);
    });
  }
  together(actions);
}

void programs_on_their_own(const std::vector<Expected>& all) {
  std::vector<std::function<void()>> actions;
  for (const Expected& expected : all) {
    actions.push_back([&] {
      Arena arena;
      const auto program = load(expected.given, arena);
      for (int i = 0; i < kRounds; ++i) same(*program, expected);
    });
  }
  together(actions);
}

// Delegates are initialised on a thread of their own: for whoever loads the program then, and for
// nobody. Only the plan of the first does not fit what was initialised for the plan in the file.
void initialised_early(const std::vector<Expected>& all) {
  std::vector<std::function<void()>> actions;
  for (const Expected& expected : all) {
    Arena arena;
    if (load(expected.given, arena)->method_names().size() != 1) continue;
    actions.push_back([&expected] {
      Arena own;
      for (int i = 0; i < kRounds; ++i) {
        ProgramOptions options;
        if (i % 3 == 0) options.planning = Planning::kStatic;
        options.early = initialise_early(expected.given.path, {}, options);
        options.planning = Planning::kAuto;
        if (i % 3 == 1) continue;
        same(*Program::load(expected.given.path, {}, own, options), expected);
      }
    });
  }
  check(actions.size() >= 2, "programs of one method");
  together(actions);
}

// Two threads load the methods of one program at the same time, and run them by turns.
void one_program_for_two(const Expected& expected) {
  Arena arena;
  const auto program = load(expected.given, arena);
  const auto work = [&] {
    for (const std::string& name : program->method_names()) {
      Method& method = program->method(name);
      const Inputs inputs(method.inputs(), {});
      for (int i = 0; i < kRounds; ++i) check(!method.run(inputs.all()).empty(), "runs");
    }
  };
  together({work, work});
}

// One runs while others load, run and unload, ask for reports, and give pages back.
void loading_and_trimming_meanwhile(const Expected& one, const Expected& other) {
  Arena arena;
  const auto program = load(one.given, arena);
  std::atomic<bool> is_done{false};
  together({
      [&] {
        for (int i = 0; i < kRounds; ++i) same(*program, one);
        is_done = true;
      },
      [&] {
        for (int i = 0; i < kRounds; ++i) same(*load(other.given, arena), other);
      },
      [&] {
        while (!is_done) {
          arena.trim();
          arena.resident_bytes();
          for (const std::string& name : program->method_names()) program->method(name).memory();
          std::this_thread::yield();
        }
      },
  });
}

ErrorKind kind_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.kind();
  }
  check(false, "an error was expected");
  return ErrorKind::kExecution;
}

// The caller is asked for sizes while its run has the arena: a moment that others can wait for.
void who_does_not_wait_is_told(const Expected& dynamic, const Expected& other) {
  Arena arena;
  const auto program = load(dynamic.given, arena), second = load(other.given, arena);
  Method& method = program->method(program->method_names().at(0));
  Method& waiting = second->method(second->method_names().at(0));
  const Inputs inputs(method.inputs(), {}), others(waiting.inputs(), {});
  bool was_asked = false;
  RunOptions no_wait;
  no_wait.wait = false;
  RunOptions options;
  options.sizes = [&]() -> std::vector<ValueBytes> {
    was_asked = true;
    check(kind_of([&] { method.run(inputs.all()); }) == ErrorKind::kBusy, "run in a run");
    check(kind_of([&] { arena.trim(); }) == ErrorKind::kBusy, "trim in a run");
    check(kind_of([&] { program->reset_state(); }) == ErrorKind::kBusy, "reset in a run");
    std::async(std::launch::async, [&] {
      check(kind_of([&] { waiting.run(others.all(), no_wait); }) == ErrorKind::kBusy, "no wait");
      arena.resident_bytes();
      method.memory();
    }).get();
    return {};
  };
  method.run(inputs.all(), options);
  check(was_asked, dynamic.given.path + ": has dynamic shapes");
  waiting.run(others.all(), no_wait);
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<Expected> all;
  for (int i = 1; i < count; ++i) {
    const Case given = parse_case(arguments[i]);
    Arena arena;
    all.push_back({given, play(*load(given, arena), given)});
  }
  check(all.size() >= 2 && !all[0].given.shapes.empty(), "two programs, first a dynamic one");
  programs_on_one_arena(all);
  programs_on_their_own(all);
  initialised_early(all);
  for (const Expected& expected : all) one_program_for_two(expected);
  loading_and_trimming_meanwhile(all[0], all[1]);
  loading_and_trimming_meanwhile(all[1], all[0]);
  who_does_not_wait_is_told(all[0], all[1]);
  std::puts("ok");
  return 0;
}
