// A backend that declares its memory, and fails while it does, or is told to keep more than there
// is: an `Error`, and afterwards every call has memory that is aligned, apart, and kept where it is
// said to persist. Arguments: programs with dynamic shapes that describe themselves, whose
// delegates are all of "FaultyBackend". Run by tests/engine/test_faults.py.
#include <executorch/runtime/backend/interface.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "injection.h"
#include "onearena/backend_memory.h"
#include "running.h"

namespace {

using namespace onearena::runtime;
using namespace onearena::runtime::testing;
namespace et = ::executorch::runtime;

enum class Fault : uint8_t {
  kNone,
  kNeedsThrow,
  kNeedsNoMemory,
  kTooLarge,     // of what is planned
  kNothingLeft,  // no memory for the second of three needs, when the first has its place already
  kOtherCount,
  kBadAlignment,
  kBindThrows,
};

Fault fault = Fault::kNone;
int binds = 0;

struct Handle {
  std::vector<MemoryNeed> needs;
  std::vector<void*> addresses;
  uint8_t calls = 0;
};

class FaultyBackend final : public et::BackendInterface {
 public:
  bool is_available() const override { return true; }
  et::Result<et::DelegateHandle*> init(et::BackendInitContext&, et::FreeableBuffer*,
                                       et::ArrayRef<et::CompileSpec>) const override {
    return static_cast<et::DelegateHandle*>(new Handle);
  }
  void destroy(et::DelegateHandle* handle) const override { delete static_cast<Handle*>(handle); }

  et::Error execute(et::BackendExecutionContext&, et::DelegateHandle* handle,
                    et::Span<et::EValue*> args) const override {
    use(*static_cast<Handle*>(handle));
    const auto& input = args[0]->toTensor();
    const auto& output = args[args.size() - 1]->toTensor();
    auto* elements = output.mutable_data_ptr<float>();
    for (ssize_t i = 0; i < output.numel(); ++i) elements[i] = static_cast<float>(input.dim() + i);
    return et::Error::Ok;
  }

 private:
  // What is written into each memory must still be there when all are written.
  static void use(Handle& handle) {
    check(handle.addresses.size() == handle.needs.size(), "an address for each need");
    auto* const kept = static_cast<uint8_t*>(handle.addresses[1]);
    check(kept[0] == handle.calls, "persistent memory keeps its bytes");
    kept[0] = ++handle.calls;
    for (size_t i = 0; i < handle.needs.size(); ++i) {
      const auto at = reinterpret_cast<uintptr_t>(handle.addresses[i]);
      check(at != 0 && at % handle.needs[i].alignment == 0, "aligned");
      std::memset(handle.addresses[i], static_cast<int>(i == 1 ? handle.calls : i + 100),
                  handle.needs[i].size_bytes);
    }
    for (size_t i = 0; i < handle.needs.size(); ++i) {
      const auto* bytes = static_cast<const uint8_t*>(handle.addresses[i]);
      for (size_t k = 0; k < handle.needs[i].size_bytes; ++k) {
        check(bytes[k] == (i == 1 ? handle.calls : i + 100), "apart");
      }
    }
  }
};

class FaultyMemory final : public BackendMemory {
 public:
  std::vector<MemoryNeed> needs(et::DelegateHandle* handle, Args args) override {
    if (fault == Fault::kNeedsThrow) throw std::runtime_error("does not know");
    if (fault == Fault::kNeedsNoMemory) throw std::bad_alloc();
    const auto rows = static_cast<uint64_t>(args[0]->toTensor().size(0));
    std::vector<MemoryNeed> found = {{rows * 64, 64, MemoryLifetime::kDuringCall},
                                     {100 + rows * 8, 32, MemoryLifetime::kPersistent},
                                     {rows * 48, 256, MemoryLifetime::kDuringCall}};
    if (fault == Fault::kTooLarge) found[0].size_bytes = uint64_t{1} << 60;
    if (fault == Fault::kNothingLeft) found[1].size_bytes += 5000;
    if (fault == Fault::kOtherCount) found.pop_back();
    if (fault == Fault::kBadAlignment) found[2].alignment = 48;
    if (fault == Fault::kNone || fault == Fault::kBindThrows) {
      static_cast<Handle*>(handle)->needs = found;
    }
    if (fault == Fault::kNothingLeft) arm(1, Failing::kFromThenOn);
    return found;
  }

  void bind(et::DelegateHandle* handle, const std::vector<void*>& addresses) override {
    ++binds;
    if (fault == Fault::kBindThrows) throw std::runtime_error("cannot bind");
    static_cast<Handle*>(handle)->addresses = addresses;
  }
};

// Runs the method, which must fail in words if there is a fault. The answers to earlier questions
// are not asked for again: some faults show only at new shapes.
void run_with(Method& method, const Inputs& inputs, Fault wanted, bool must_fail) {
  fault = wanted;
  bool failed = false;
  try {
    const Inside inside;
    method.run(inputs.all());
  } catch (const Error& error) {
    const std::string said = error.what();
    disarm();
    failed = true;
    check(said.find('\n') == std::string::npos, "one line: " + said);
    check(said.find("FaultyBackend") != std::string::npos, "it says who failed: " + said);
  } catch (const std::exception& other) {
    disarm();
    failed = true;  // without memory for words
    check(wanted == Fault::kNothingLeft, std::string("no Error but: ") + other.what());
  }
  fault = Fault::kNone;
  check(!must_fail || failed, "the fault is noticed");
}

void fails(const Case& given, Planning planning, Fault wanted, bool at_once) {
  static FaultyMemory memory;
  Arena arena;
  ProgramOptions options;
  options.planning = planning;
  options.backend_memory = {{"FaultyBackend", &memory}};
  const auto program = Program::load(given.path, {}, arena, options);
  Method& method = program->method(program->method_names().at(0));
  const Inputs first(method.inputs(), {}), other(method.inputs(), given.shapes);
  if (!at_once) run_with(method, first, Fault::kNone, false);
  run_with(method, at_once ? first : other, wanted, wanted != Fault::kOtherCount || !at_once);
  for (const Inputs* inputs : {&first, &other, &other, &first, &first}) {
    check(!method.run(inputs->all()).empty(), "runs afterwards");
  }
}

}  // namespace

int main(int count, char** arguments) {
  static FaultyBackend backend;
  check(et::register_backend({"FaultyBackend", &backend}) == et::Error::Ok, "registered");
  for (int i = 1; i < count; ++i) {
    const Case given = parse_case(arguments[i]);
    for (const Planning planning : {Planning::kStatic, Planning::kShapes, Planning::kSimple}) {
      for (int number = 1; number <= static_cast<int>(Fault::kBindThrows); ++number) {
        for (const bool at_once : {false, true}) {
          const Fault wanted = static_cast<Fault>(number);
          // the backend cannot tell that needs are other ones before it was asked twice
          if (wanted == Fault::kOtherCount && at_once) continue;
          fails(given, planning, wanted, at_once);
          const Live before = live();
          fails(given, planning, wanted, at_once);
          const Live after = live();
          check(after == before, "leaks: " + to_text(before) + " became " + to_text(after));
        }
      }
    }
  }
  check(binds > 0, "memory was bound");
  std::puts("ok");
  return 0;
}
