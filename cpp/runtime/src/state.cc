#include "state.h"

#include <cstring>

#include "layout.h"

namespace onearena::runtime {

StateMemory::StateMemory(const ProgramDescription& program, std::string_view file,
                         const NamedData& data)
    : program_(program), file_(file), data_(data) {
  uint64_t end = 0;
  for (const StateBlock& block : program.state) {
    // as far from a multiple of the alignment as in its arena, so that what lies in it is aligned
    end += block.start % kAlignment;
    starts_.push_back(end);
    end += block.size_bytes;
    size_bytes_ += block.size_bytes;
    end = round_up(end, kAlignment);
    if (end > uint64_t{1} << 47) throw Error(ErrorKind::kLimit, "the program has too much state");
  }
  if (starts_.empty()) return;
  memory_ = Mapping::zeros(end + kGuardBytes);
  if (!memory_) {
    throw Error(ErrorKind::kLimit,
                "the machine has no " + std::to_string(end) + " bytes for the program's state");
  }
  reset();
}

uint8_t* StateMemory::address(const TensorValue& tensor) const {
  return memory_.data() + starts_[tensor.state_block] + tensor.state_delta;
}

void StateMemory::reset() {
  memory_.clear();
  for (const MethodDescription& method : program_.methods) {
    for (const Value& value : method.values) {
      const auto* tensor = std::get_if<TensorValue>(&value);
      if (tensor == nullptr || tensor->kind != TensorKind::kPlanned) continue;
      if (tensor->state_block == kNone32 || tensor->size_bytes == 0) continue;
      if (tensor->file_offset != kNone64) {
        std::memcpy(address(*tensor), file_.data() + tensor->file_offset, tensor->size_bytes);
      } else if (!tensor->external_name.empty()) {
        const auto error =
            data_.load_data_into(tensor->external_name, address(*tensor), tensor->size_bytes);
        if (error != ::executorch::runtime::Error::Ok) {
          throw Error(ErrorKind::kUsage, "method '" + method.name + "': no data for '" +
                                             tensor->external_name +
                                             "': " + ::executorch::runtime::to_string(error));
        }
      }
    }
  }
}

}  // namespace onearena::runtime
