// A program as its description says: decoded, every index and every range of the file checked.
// Written by `src/onearena/engine/description.py`.
#ifndef ONEARENA_RUNTIME_DESCRIPTION_H_
#define ONEARENA_RUNTIME_DESCRIPTION_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "onearena/runtime.h"

namespace onearena::runtime {

constexpr uint32_t kNone32 = UINT32_MAX;
constexpr uint64_t kNone64 = UINT64_MAX;

struct FileRange {
  uint64_t offset = 0;
  uint64_t size_bytes = 0;
};

enum class Dynamism : uint8_t { kStatic = 0, kBound = 1, kUnbound = 2 };

// Where a tensor's bytes come from.
enum class TensorKind : uint8_t {
  kPlanned,   // the plan says where
  kConstant,  // the file
  kCaller,    // an input's own memory, or what an instruction makes it name
  kExternal,  // a .ptd file or the program's named data, by name
};

struct TensorValue {
  uint8_t scalar_type = 0;
  Dynamism dynamism = Dynamism::kStatic;
  TensorKind kind = TensorKind::kCaller;
  std::vector<int32_t> sizes;  // upper bounds
  std::vector<uint8_t> dim_order;
  uint64_t size_bytes = 0;         // of the upper bounds
  uint64_t file_offset = kNone64;  // constants; initial state of planned tensors
  uint32_t memory_id = 0;          // planned
  uint64_t offset = 0;             // planned: in its arena
  uint32_t state_block = kNone32;  // planned: state that lives in this block
  uint64_t state_delta = 0;        // from the block's start
  std::string external_name;       // external; initial state of planned tensors
};

struct NoneValue {};
struct IntListValue {
  std::vector<uint32_t> items;  // values
};
struct DoubleListValue {
  std::vector<double> items;
};
struct BoolListValue {
  std::string items;  // one byte each
};
struct TensorListValue {
  std::vector<uint32_t> items;
  bool is_optional = false;  // then kNone32 stands for None
};
using Value = std::variant<NoneValue, int64_t, double, bool, std::string, TensorValue, IntListValue,
                           DoubleListValue, BoolListValue, TensorListValue>;

struct CompileSpecValue {
  std::string key, value;
};
struct DelegateDescription {
  std::string id;
  FileRange payload;
  std::vector<CompileSpecValue> specs;
  bool knows_inputs = false;     // whether the next is known
  std::vector<uint32_t> inputs;  // positions of a call's arguments that are inputs
  uint32_t argument_count = 0;   // that a call has at least
  uint64_t workspace_bytes = 0;  // predicted, at the sizes in the file; 0: not known
};

enum class InstructionKind : uint8_t { kKernel, kDelegate, kMove, kJumpFalse, kFree };
struct Instruction {
  InstructionKind kind = InstructionKind::kFree;
  uint32_t a = 0;  // operator, delegate, source, condition, freed value
  uint32_t b = 0;  // target value, target instruction
  std::vector<uint32_t> args;
};

struct Interval {
  uint32_t start = 0, end = 0;
};
// A block of planned memory with its lifetime; see `timeline/build.py`.
struct PlanBuffer {
  uint32_t value = 0;
  uint64_t size_bytes = 0;
  uint32_t alignment = 1;
  bool is_state = false, is_pinned = false, is_view = false;
  std::vector<Interval> lifetime;
};
struct GroupMember {
  uint32_t buffer = 0;
  uint64_t delta = 0;
};
// A value that names the memory of others at run time.
struct Handle {
  uint32_t value = 0;
  std::vector<uint32_t> buffers;
};
struct MemoryAnalysis {
  uint32_t steps = 0;
  std::vector<uint32_t> first_step;  // by instruction, and the exit step
  std::vector<PlanBuffer> buffers;
  std::vector<std::vector<GroupMember>> groups;
  std::vector<std::pair<uint32_t, uint32_t>> may_share;
  std::vector<Handle> handles;
};

struct MethodDescription {
  std::string name;
  std::vector<uint64_t> arena_bytes;  // by memory_id; 0 is reserved
  uint64_t workspace_bytes = 0;       // predicted
  std::vector<Value> values;
  std::vector<std::string> operators;
  std::vector<DelegateDescription> delegates;
  std::vector<Instruction> instructions;
  std::vector<uint32_t> inputs, outputs;
  MemoryAnalysis memory;
};

struct NamedDataEntry {
  std::string key;
  FileRange where;
};
struct StateBlock {
  uint32_t memory_id = 0;
  uint64_t start = 0, size_bytes = 0;
};
struct ProgramDescription {
  uint64_t file_bytes = 0;
  std::vector<NamedDataEntry> named_data;
  std::vector<StateBlock> state;
  std::vector<MethodDescription> methods;
};

// Throws `Error` (kFormat, kUnsupported for another version of the format).
ProgramDescription decode_description(std::string_view data, uint64_t file_bytes);

// Bytes of an element of an ExecuTorch scalar type; 0 for numbers that are none.
uint32_t element_bytes(uint8_t scalar_type);

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_DESCRIPTION_H_
