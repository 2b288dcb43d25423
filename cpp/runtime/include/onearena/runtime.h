// Runs ExecuTorch programs (.pte) on the kernels and delegates of the installed ExecuTorch, with
// memory that the caller sees and controls.
//
//   onearena::runtime::Arena arena;
//   auto program = onearena::runtime::Program::load("model.pte", {}, arena);
//   auto outputs = program->method("forward").run({input});
//
// Everything that goes wrong is an `Error`. Nothing here needs ExecuTorch's headers.
#ifndef ONEARENA_RUNTIME_H_
#define ONEARENA_RUNTIME_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace onearena::runtime {

class BackendMemory;
class EarlyDelegates;

enum class ErrorKind {
  kFormat,       // bytes are not what their format says, or the description is of another file
  kUnsupported,  // the installed ExecuTorch, or this library, cannot run this
  kUsage,        // the caller asked for something that makes no sense
  kExecution,    // a kernel or delegate refused or failed
  kLimit,        // the arena's limit, or the machine's memory, is too small
  kBusy,         // the arena or the program is in use, and the caller did not want to wait
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

// ExecuTorch's element types; the numbers are those of its `ScalarType`.
enum class DType : int8_t {
  kByte = 0,
  kChar = 1,
  kShort = 2,
  kInt = 3,
  kLong = 4,
  kHalf = 5,
  kFloat = 6,
  kDouble = 7,
  kBool = 11,
  kBFloat16 = 15,
  kUInt16 = 27,
  kUInt32 = 28,
  kUInt64 = 29,
};

// Bytes of an element; 0 for numbers that are no type.
uint32_t element_bytes(DType dtype);

struct ArenaOptions {
  // Address space taken at once; memory is used only where something was written. Grows when it
  // is too small, at the price of moving everything.
  uint64_t reserve_bytes = uint64_t{16} << 30;
  // No program may need more than this; 0: no limit.
  uint64_t limit_bytes = 0;
};

// Memory for everything that does not run at the same time. One run at a time has it; nothing in
// it survives a run, so it may grow, move and give its pages back between runs. Thread-safe.
class Arena {
 public:
  explicit Arena(const ArenaOptions& options = {});
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // The largest need of what was loaded or run so far.
  uint64_t size_bytes() const;
  uint64_t limit_bytes() const;
  // What the operating system has given: pages that were written since the last `trim`.
  uint64_t resident_bytes() const;
  // Gives all pages back. Waits for the run that has the arena, if there is one.
  void trim();

  class Impl;
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

// A tensor that the caller holds. The elements are dense, in the dimension order that the method
// expects (`TensorInfo::dim_order`); nothing is kept after the run.
struct TensorInput {
  DType dtype = DType::kFloat;
  std::vector<int32_t> sizes;
  const void* data = nullptr;
  uint64_t size_bytes = 0;
};
using Input = std::variant<std::monostate, int64_t, double, bool, std::string, TensorInput>;

struct TensorOutput {
  DType dtype = DType::kFloat;
  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;
  std::unique_ptr<uint8_t[]> data;  // the caller's own copy
  uint64_t size_bytes = 0;
};
using Output = std::variant<std::monostate, int64_t, double, bool, std::string, TensorOutput>;

// What the program says about an input or output.
struct TensorInfo {
  DType dtype = DType::kFloat;
  std::vector<int32_t> sizes;  // upper bounds where `is_dynamic`
  std::vector<uint8_t> dim_order;
  bool is_dynamic = false;
};
using ValueInfo = std::variant<std::monostate, int64_t, double, bool, std::string, TensorInfo>;

// How activations are planned.
enum class Planning : uint8_t {
  kAuto = 0,    // for shapes when the method has dynamic tensors that are understood, else static
  kStatic = 1,  // the plan in the file, whatever the sizes
  kShapes = 2,  // a plan for each set of input shapes
  kSimple = 3,  // static tensors first, then a region filled for each set of input shapes
};

// In bytes where nothing else is said.
struct MemoryReport {
  uint64_t program_bytes = 0;           // the file, mapped, shared by all methods
  uint64_t planned_bytes = 0;           // arenas that the file declares for this method
  uint64_t arena_bytes = 0;             // what this method takes of the shared arena
  uint64_t arena_resident_bytes = 0;    // the shared arena, now
  uint64_t state_bytes = 0;             // the program's state, kept from run to run
  uint64_t private_bytes = 0;           // planned memory of this method that is not shared
  uint64_t method_allocator_bytes = 0;  // taken by delegates that were loaded
  uint64_t loaded_bytes = 0;            // values: tensors, lists, numbers
  uint64_t executor_bytes = 0;          // instructions
  uint64_t input_bytes = 0;             // planned inputs, in the arena
  uint64_t temp_bytes = 0;              // the most that one instruction asked for so far
  uint64_t temp_elsewhere_bytes = 0;    // of that, outside the arena in the last run
  uint64_t delegate_bytes = 0;          // the most that a delegate had of the arena for itself
  uint64_t persistent_bytes = 0;        // what delegates keep from run to run, where they say so
  // XNNPACK's own, outside the arena: in the last run; predicted from the file where it cannot be
  // planned.
  uint64_t workspace_bytes = 0;
  uint64_t runs = 0;
  Planning planning = Planning::kStatic;  // never `kAuto`
  uint64_t cached_plans = 0;              // plans kept now, by input shapes
  uint64_t plans = 0;                     // made so far
  uint64_t lazy_runs = 0;                 // without a plan, sizes observed
  double plan_us = 0;                     // time that the last plan took, in microseconds
  double bind_us = 0;                     // time to give the tensors other places, the last time
};

// A tensor's size, by its index among the method's values.
struct ValueBytes {
  uint32_t value = 0;
  uint64_t size_bytes = 0;
  std::vector<int32_t> sizes;  // where they are known: delegates may be asked what they need then
};

struct RunOptions {
  bool wait = true;  // false: `kBusy` instead of waiting for another run
  // Asked when there is no plan for the shapes of the inputs yet: the sizes of the tensors in this
  // run. Those of all planned tensors make a plan at once; fewer are of no use.
  std::function<std::vector<ValueBytes>()> sizes;
};

class Method {
 public:
  virtual ~Method() = default;
  virtual const std::string& name() const = 0;
  virtual std::vector<ValueInfo> inputs() const = 0;
  virtual std::vector<ValueInfo> outputs() const = 0;
  virtual std::vector<Output> run(const std::vector<Input>& inputs,
                                  const RunOptions& options = {}) = 0;
  virtual MemoryReport memory() const = 0;
  // The most temporary memory that each instruction took so far.
  virtual std::vector<uint64_t> temp_bytes_by_instruction() const = 0;
};

struct ProgramOptions {
  std::vector<std::string> data_files;  // .ptd
  Planning planning = Planning::kAuto;
  uint32_t cached_plans = 16;  // per method; the one not used for longest is forgotten
  bool unbounded = false;      // inputs may be larger than the bounds that were exported
  // Backends that say what memory they need, by the name that they are registered under; see
  // `onearena/backend_memory.h`. They outlive the program.
  std::vector<std::pair<std::string, BackendMemory*>> backend_memory;
  std::shared_ptr<EarlyDelegates> early;  // from `initialise_early` of the same file, or null
};

// A program file with its state. Methods are loaded when they are first asked for and live as
// long as the program. Thread-safe; one method runs at a time.
class Program {
 public:
  virtual ~Program() = default;
  // `description` is what `describe` of Python's `onearena.engine.description` says about this
  // file; empty: the one that `embed_description` of `onearena.engine.embedding` put into it.
  static std::unique_ptr<Program> load(const std::string& path, std::string_view description,
                                       Arena& arena, const ProgramOptions& options = {});
  virtual std::vector<std::string> method_names() const = 0;
  virtual Method& method(const std::string& name) = 0;
  // Back to the initial state of mutable buffers and caches.
  virtual void reset_state() = 0;
};

// Whether XNNPACK here is one whose workspaces can be planned. The first time, it is tried.
bool plans_xnnpack_workspaces();

// Initialises the delegates of a program's only method on a thread of its own, for a program whose
// description is still being made, or for somebody who has other things to do before. `outline` is
// what `outline` of `onearena.engine.description` says about the file; empty: the description in
// the file. Of the options, the data files and `planning` are looked at. What cannot be
// initialised, the method will initialise itself when it is loaded.
std::shared_ptr<EarlyDelegates> initialise_early(const std::string& path, std::string_view outline,
                                                 const ProgramOptions& options);

// Decodes and checks a description against a file of `file_bytes` bytes, without running
// anything. Throws `Error`. For tests.
void check_description(std::string_view description, uint64_t file_bytes);

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_H_
