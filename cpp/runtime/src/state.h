// Memory that keeps its bytes from run to run: mutable buffers and caches of one program.
#ifndef ONEARENA_RUNTIME_STATE_H_
#define ONEARENA_RUNTIME_STATE_H_

#include <string>
#include <string_view>
#include <vector>

#include "description.h"
#include "mapping.h"
#include "named_data.h"

namespace onearena::runtime {

class StateMemory {
 public:
  // The arguments outlive this object. Throws `Error`.
  StateMemory(const ProgramDescription& program, std::string_view file, const NamedData& data);

  // Where a tensor that is state lies.
  uint8_t* address(const TensorValue& tensor) const;
  uint64_t size_bytes() const { return size_bytes_; }
  // Back to what the file says; zeros where it says nothing.
  void reset();

 private:
  const ProgramDescription& program_;
  const std::string_view file_;
  const NamedData& data_;
  std::vector<uint64_t> starts_;  // by block
  uint64_t size_bytes_ = 0;
  Mapping memory_;
};

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_STATE_H_
