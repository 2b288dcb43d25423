// A backend that fails, or throws, in each of its calls: the caller gets an `Error`, exactly the
// delegates that were initialised are destroyed, nothing leaks, and what is loaded runs right
// afterwards. Arguments: programs that describe themselves, whose delegates are all of
// "FaultyBackend". Run by tests/engine/test_faults.py.
#include <executorch/runtime/backend/interface.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <string>

#include "injection.h"
#include "running.h"

namespace {

using namespace onearena::runtime;
using namespace onearena::runtime::testing;
namespace et = ::executorch::runtime;

enum class Way : uint8_t { kReturn, kThrow, kThrowNumber, kNoMemory };

// What the backend shall do, and what it was asked.
struct Script {
  bool is_available = true;
  int init_fails = -1, execute_fails = -1;  // the number of the call; -1: none
  Way way = Way::kReturn;
  int inits = 0, executes = 0, destroyed = 0;
  std::set<const void*> alive;
};
Script script;

struct Handle {
  float value = 0;
};

et::Error fail(Way way, et::Error error) {
  if (way == Way::kThrow) throw std::runtime_error("a backend that throws");
  if (way == Way::kThrowNumber) throw 7;
  if (way == Way::kNoMemory) throw std::bad_alloc();
  return error;
}

class FaultyBackend final : public et::BackendInterface {
 public:
  bool is_available() const override { return script.is_available; }

  et::Result<et::DelegateHandle*> init(et::BackendInitContext& context, et::FreeableBuffer*,
                                       et::ArrayRef<et::CompileSpec>) const override {
    check(context.get_runtime_allocator()->allocate(48) != nullptr, "memory for init");
    const int number = script.inits++;
    if (number == script.init_fails)
      return fail(script.way, et::Error::DelegateInvalidCompatibility);
    auto* handle = new Handle{static_cast<float>(number % 7)};
    script.alive.insert(handle);
    return static_cast<et::DelegateHandle*>(handle);
  }

  et::Error execute(et::BackendExecutionContext& context, et::DelegateHandle* handle,
                    et::Span<et::EValue*> args) const override {
    check(script.alive.count(handle) == 1, "only what was initialised is executed");
    void* scratch = context.allocate(100'000);
    check(scratch != nullptr, "memory for execute");
    std::memset(scratch, 1, 100'000);
    if (script.executes++ == script.execute_fails) return fail(script.way, et::Error::Internal);
    const auto& output = args[args.size() - 1]->toTensor();
    auto* elements = output.mutable_data_ptr<float>();
    for (ssize_t i = 0; i < output.numel(); ++i) {
      elements[i] = static_cast<const Handle*>(handle)->value + static_cast<float>(i);
    }
    return et::Error::Ok;
  }

  void destroy(et::DelegateHandle* handle) const override {
    check(script.alive.erase(handle) == 1, "only what was initialised is destroyed, and once");
    ++script.destroyed;
    delete static_cast<Handle*>(handle);
  }
};

// The message of the `Error` that the action must end with.
std::string refused(ErrorKind kind, const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    check(error.kind() == kind, std::string("another kind of error: ") + error.what());
    return error.what();
  } catch (const std::exception& other) {
    check(false, std::string("no Error but: ") + other.what());
  }
  check(false, "an error was expected");
  return {};
}

void expect_words(const std::string& message, const std::string& words) {
  check(message.find(words) != std::string::npos, "'" + words + "' is not in: " + message);
  check(message.find('\n') == std::string::npos, "an error is one line: " + message);
}

// Does `action` with a freshly loaded program; all of its delegates must be gone afterwards.
void with(const Case& given, const std::function<void(Arena&, Program&)>& action) {
  {
    Arena arena;
    const auto program = Program::load(given.path, {}, arena);
    action(arena, *program);
  }
  check(script.alive.empty(), "all that was initialised is destroyed");
}

Method& first_method(Program& program) { return program.method(program.method_names().at(0)); }

// What it computes, and how many calls of the backend that takes.
std::string reference(const Case& given, int& inits, int& executes) {
  std::string expected;
  with(given, [&](Arena&, Program& program) {
    script = {};
    expected = play(program, given);
    inits = script.inits;
    executes = script.executes;
    script.executes = script.inits = 0;
    check(play(program, given) == expected, "always the same");
    check(script.destroyed == 0, "nothing is destroyed while the program is loaded");
  });
  check(script.destroyed == inits, "as many are destroyed as were initialised");
  return expected;
}

void init_fails(const Case& given, int number, Way way, const std::string& expected) {
  with(given, [&](Arena&, Program& program) {
    script = {};
    script.init_fails = number;
    script.way = way;
    const ErrorKind kind = way == Way::kNoMemory ? ErrorKind::kLimit : ErrorKind::kExecution;
    const std::string said = refused(kind, [&] { first_method(program); });
    expect_words(said, given.path + ": method 'forward': delegate " + std::to_string(number) +
                           " (FaultyBackend): initialisation failed");
    check(script.destroyed == number && script.alive.empty(), "those before it are destroyed");
    script = {};
    check(play(program, given) == expected, "loads afterwards and computes the same");
  });
}

void execute_fails(const Case& given, int number, Way way, const std::string& expected) {
  with(given, [&](Arena& arena, Program& program) {
    script = {};
    Method& method = first_method(program);
    script.execute_fails = number;
    script.way = way;
    const ErrorKind kind = way == Way::kNoMemory ? ErrorKind::kLimit : ErrorKind::kExecution;
    const Inputs inputs(method.inputs(), {});
    const std::string said = refused(kind, [&] { method.run(inputs.all()); });
    expect_words(said, given.path + ": method 'forward': instruction ");
    expect_words(said, "(FaultyBackend): failed");
    check(script.destroyed == 0, "a failed run destroys nothing");
    if (method.memory().planning != Planning::kStatic) {
      check(arena.resident_bytes() == 0, "a failed run gives its memory back");
    }
    script.execute_fails = -1;
    script.inits = 0;
    check(play(program, given) == expected, "runs afterwards and computes the same");
  });
}

void everything_fails(const Case& given) {
  int inits = 0, executes = 0;
  const std::string expected = reference(given, inits, executes);
  check(inits >= 2 && executes >= 2, given.path + ": several delegates, each called");
  for (const Way way : {Way::kReturn, Way::kThrow, Way::kThrowNumber, Way::kNoMemory}) {
    for (int number = 0; number < inits; ++number) {
      for (const auto& test : {init_fails, execute_fails}) {
        test(given, number, way, expected);  // once more, the process has what it makes once
        const Live before = live();
        test(given, number, way, expected);
        const Live after = live();
        check(after == before, "leaks: " + to_text(before) + " became " + to_text(after));
      }
    }
  }
  with(given, [&](Arena&, Program& program) {
    script = {};
    script.is_available = false;
    const std::string said = refused(ErrorKind::kUnsupported, [&] { first_method(program); });
    expect_words(said, "delegate 0 (FaultyBackend): the backend is not available here");
    script.is_available = true;
    check(play(program, given) == expected, "available afterwards");
  });
}

}  // namespace

int main(int count, char** arguments) {
  static FaultyBackend backend;
  check(et::register_backend({"FaultyBackend", &backend}) == et::Error::Ok, "registered");
  for (int i = 1; i < count; ++i) everything_fails(parse_case(arguments[i]));
  std::puts("ok");
  return 0;
}
