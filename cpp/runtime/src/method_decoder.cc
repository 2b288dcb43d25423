#include "method_decoder.h"

#include <algorithm>

namespace onearena::runtime {
namespace {

constexpr uint32_t kMaxSteps = 1 << 24;
constexpr uint32_t kMaxRank = 16;  // `kTensorDimensionLimit` of ExecuTorch

class Decoder {
 public:
  Decoder(Reader& in, const ProgramDescription& program, MethodDescription& method)
      : in_(in), program_(program), method_(method) {}

  void run() {
    method_.name = in_.text();
    method_.arena_bytes.resize(in_.count(8));
    uint64_t all = 0;
    for (uint64_t& size : method_.arena_bytes) {
      size = in_.u64();
      in_.expect(size <= kMaxBytes && (all += size) <= kMaxBytes, "has impossible arenas");
    }
    method_.workspace_bytes = in_.u64();
    method_.values.resize(in_.count(1));
    for (Value& value : method_.values) value = read_value();
    check_lists();
    method_.operators.resize(in_.count(4));
    for (std::string& name : method_.operators) name = in_.text();
    method_.delegates.resize(in_.count(24));
    for (DelegateDescription& delegate : method_.delegates) read_delegate(delegate);
    method_.instructions.resize(in_.count(5));
    for (Instruction& instruction : method_.instructions) read_instruction(instruction);
    method_.inputs = value_list();
    method_.outputs = value_list();
    read_analysis();
  }

 private:
  // -- values -------------------------------------------------------------------------------

  uint32_t value_index() {
    const uint32_t index = in_.u32();
    in_.expect(index < method_.values.size(), "names a value that does not exist");
    return index;
  }

  std::vector<uint32_t> value_list() {
    std::vector<uint32_t> items(in_.count(4));
    for (uint32_t& item : items) item = value_index();
    return items;
  }

  std::vector<uint32_t> item_list(bool is_optional) {
    std::vector<uint32_t> items = in_.u32s();
    for (const uint32_t item : items) {
      const bool none = is_optional && item == kNone32;
      in_.expect(none || item < method_.values.size(), "has a list of values that do not exist");
    }
    return items;
  }

  Value read_value() {
    switch (in_.u8()) {
      case 0:
        return NoneValue{};
      case 1:
        return in_.i64();
      case 2:
        return in_.f64();
      case 3:
        return in_.u8() != 0;
      case 4:
        return in_.text();
      case 5:
        return read_tensor();
      case 6:
        return IntListValue{item_list(false)};
      case 7: {
        DoubleListValue list;
        list.items.resize(in_.count(8));
        for (double& item : list.items) item = in_.f64();
        return list;
      }
      case 8:
        return BoolListValue{in_.text()};
      case 9:
        return TensorListValue{item_list(false), false};
      case 10:
        return TensorListValue{item_list(true), true};
      default:
        in_.fail("has a value of an unknown kind");
    }
  }

  TensorValue read_tensor() {
    TensorValue tensor;
    tensor.scalar_type = in_.u8();
    const uint8_t dynamism = in_.u8();
    in_.expect(dynamism <= 2, "has an unknown kind of shape");
    tensor.dynamism = static_cast<Dynamism>(dynamism);
    read_shape(tensor);
    const uint8_t kind = in_.u8();
    in_.expect(kind <= 3, "has an unknown kind of tensor");
    tensor.kind = static_cast<TensorKind>(kind);
    if (tensor.kind == TensorKind::kPlanned) {
      read_planned(tensor);
    } else if (tensor.kind == TensorKind::kConstant) {
      tensor.file_offset = file_offset(tensor.size_bytes);
    } else if (tensor.kind == TensorKind::kExternal) {
      tensor.external_name = in_.text();
    }
    return tensor;
  }

  void read_shape(TensorValue& tensor) {
    const uint32_t width = element_bytes(tensor.scalar_type);
    in_.expect(width > 0, "has an unknown element type");
    const uint8_t rank = in_.u8();
    in_.expect(rank <= kMaxRank, "has a tensor of too many dimensions");
    uint64_t bytes = width;
    bool is_empty = false;
    for (uint8_t i = 0; i < rank; ++i) {
      const uint32_t size = in_.u32();
      in_.expect(size <= INT32_MAX, "has a negative size");
      tensor.sizes.push_back(static_cast<int32_t>(size));
      is_empty = is_empty || size == 0;
      if (size > 0) {
        in_.expect(bytes <= kMaxBytes / size, "has a tensor that is too large");
        bytes *= size;
      }
    }
    uint32_t seen = 0;
    for (uint8_t i = 0; i < rank; ++i) {
      tensor.dim_order.push_back(in_.u8());
      in_.expect(tensor.dim_order[i] < rank, "has a bad dimension order");
      seen |= 1u << tensor.dim_order[i];
    }
    in_.expect(seen == (1u << rank) - 1, "has a bad dimension order");
    tensor.size_bytes = in_.u64();
    in_.expect(tensor.size_bytes == (is_empty ? 0 : bytes), "has a tensor of another size");
  }

  void read_planned(TensorValue& tensor) {
    tensor.memory_id = in_.u32();
    tensor.offset = in_.u64();
    in_.expect(tensor.memory_id > 0 && tensor.memory_id < method_.arena_bytes.size(),
               "has a tensor in an arena that does not exist");
    const uint64_t arena = method_.arena_bytes[tensor.memory_id];
    in_.expect(tensor.size_bytes <= arena && tensor.offset <= arena - tensor.size_bytes,
               "has a tensor outside its arena");
    tensor.state_block = in_.u32();
    tensor.state_delta = in_.u64();
    if (tensor.state_block != kNone32) {
      in_.expect(tensor.state_block < program_.state.size(), "names state that does not exist");
      const uint64_t size = program_.state[tensor.state_block].size_bytes;
      in_.expect(tensor.size_bytes <= size && tensor.state_delta <= size - tensor.size_bytes,
                 "has state outside its block");
    }
    tensor.file_offset = in_.u64();
    if (tensor.file_offset != kNone64) check_offset(tensor.file_offset, tensor.size_bytes);
    tensor.external_name = in_.text();
  }

  uint64_t file_offset(uint64_t size_bytes) {
    const uint64_t offset = in_.u64();
    check_offset(offset, size_bytes);
    return offset;
  }

  void check_offset(uint64_t offset, uint64_t size_bytes) {
    const uint64_t file = program_.file_bytes;
    in_.expect(size_bytes <= file && offset <= file - size_bytes, "names bytes outside the file");
  }

  template <class T>
  bool is(uint32_t index) const {
    return std::holds_alternative<T>(method_.values[index]);
  }

  // Lists of tensors hold tensors, lists of integers integers (or what will be one).
  void check_lists() {
    for (const Value& value : method_.values) {
      if (const auto* ints = std::get_if<IntListValue>(&value)) {
        for (const uint32_t item : ints->items) {
          in_.expect(is<int64_t>(item) || is<NoneValue>(item), "has a list of integers of others");
        }
      } else if (const auto* tensors = std::get_if<TensorListValue>(&value)) {
        for (const uint32_t item : tensors->items) {
          const bool fits = item == kNone32 || is<TensorValue>(item) ||
                            (tensors->is_optional && is<NoneValue>(item));
          in_.expect(fits, "has a list of tensors of others");
        }
      }
    }
  }

  // -- code ---------------------------------------------------------------------------------

  void read_delegate(DelegateDescription& delegate) {
    delegate.id = in_.text();
    delegate.payload = read_range(in_, program_.file_bytes);
    delegate.specs.resize(in_.count(8));
    for (CompileSpecValue& spec : delegate.specs) {
      spec.key = in_.text();
      spec.value = in_.text();
    }
    delegate.knows_inputs = in_.u8() != 0;
    delegate.inputs = in_.u32s();
    delegate.argument_count = in_.u32();
    for (const uint32_t input : delegate.inputs) {
      in_.expect(input < delegate.argument_count, "has an input that is no argument");
    }
    delegate.workspace_bytes = in_.u64();
    in_.expect(delegate.workspace_bytes <= kMaxBytes, "has an impossible workspace");
  }

  void read_instruction(Instruction& instruction) {
    const uint8_t kind = in_.u8();
    in_.expect(kind <= 4, "has an unknown instruction");
    instruction.kind = static_cast<InstructionKind>(kind);
    switch (instruction.kind) {
      case InstructionKind::kKernel:
      case InstructionKind::kDelegate: {
        const bool kernel = instruction.kind == InstructionKind::kKernel;
        const size_t known = kernel ? method_.operators.size() : method_.delegates.size();
        instruction.a = in_.u32();
        in_.expect(instruction.a < known, "calls what does not exist");
        instruction.args = value_list();
        in_.expect(
            kernel || instruction.args.size() >= method_.delegates[instruction.a].argument_count,
            "calls a delegate with too few arguments");
        break;
      }
      case InstructionKind::kMove:
        instruction.a = value_index();
        instruction.b = value_index();
        break;
      case InstructionKind::kJumpFalse:
        instruction.a = value_index();
        instruction.b = in_.u32();
        in_.expect(instruction.b <= method_.instructions.size(), "has a jump to nowhere");
        break;
      case InstructionKind::kFree:
        instruction.a = value_index();
        in_.expect(is<TensorValue>(instruction.a), "frees what is no tensor");
        break;
    }
  }

  // -- memory -------------------------------------------------------------------------------

  uint32_t buffer_index() {
    const uint32_t index = in_.u32();
    in_.expect(index < method_.memory.buffers.size(), "names a buffer that does not exist");
    return index;
  }

  void read_analysis() {
    MemoryAnalysis& memory = method_.memory;
    memory.steps = in_.u32();
    in_.expect(memory.steps <= kMaxSteps, "has too many steps");
    memory.first_step = in_.u32s();
    in_.expect(memory.first_step.size() == method_.instructions.size() + 1,
               "has steps of other instructions");
    in_.expect(std::is_sorted(memory.first_step.begin(), memory.first_step.end()) &&
                   memory.first_step.back() < memory.steps,
               "has steps out of order");
    memory.buffers.resize(in_.count(21));
    for (PlanBuffer& buffer : memory.buffers) read_buffer(buffer);
    memory.groups.resize(in_.count(4));
    for (std::vector<GroupMember>& group : memory.groups) {
      group.resize(in_.count(12));
      for (GroupMember& member : group) {
        member.buffer = buffer_index();
        member.delta = in_.u64();
        in_.expect(member.delta <= kMaxBytes, "has an impossible distance");
      }
    }
    memory.may_share.resize(in_.count(8));
    for (auto& [first, second] : memory.may_share) {
      first = buffer_index();
      second = buffer_index();
    }
    memory.handles.resize(in_.count(8));
    for (Handle& handle : memory.handles) {
      handle.value = value_index();
      handle.buffers.resize(in_.count(4));
      for (uint32_t& buffer : handle.buffers) buffer = buffer_index();
    }
  }

  void read_buffer(PlanBuffer& buffer) {
    buffer.value = value_index();
    const auto* tensor = std::get_if<TensorValue>(&method_.values[buffer.value]);
    in_.expect(tensor != nullptr && tensor->kind == TensorKind::kPlanned,
               "plans a value that has no planned memory");
    buffer.size_bytes = in_.u64();
    in_.expect(buffer.size_bytes <= kMaxBytes, "has an impossible buffer");
    buffer.alignment = in_.u32();
    const bool is_power = (buffer.alignment & (buffer.alignment - 1)) == 0;
    in_.expect(buffer.alignment > 0 && is_power, "has an impossible alignment");
    const uint8_t flags = in_.u8();
    buffer.is_state = flags & 1;
    buffer.is_pinned = flags & 2;
    buffer.is_view = flags & 4;
    buffer.lifetime.resize(in_.count(8));
    uint32_t end = 0;
    for (Interval& interval : buffer.lifetime) {
      interval.start = in_.u32();
      interval.end = in_.u32();
      in_.expect(end <= interval.start && interval.start < interval.end &&
                     interval.end <= method_.memory.steps,
                 "has a lifetime out of order");
      end = interval.end;
    }
  }

  Reader& in_;
  const ProgramDescription& program_;
  MethodDescription& method_;
};

}  // namespace

FileRange read_range(Reader& in, uint64_t file_bytes) {
  const uint64_t offset = in.u64(), size = in.u64();
  in.expect(size <= file_bytes && offset <= file_bytes - size, "names bytes outside the file");
  return {offset, size};
}

void decode_method(Reader& in, const ProgramDescription& program, MethodDescription& method) {
  Decoder(in, program, method).run();
}

}  // namespace onearena::runtime
