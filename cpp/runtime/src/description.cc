#include "description.h"

#include <limits>

#include "method_decoder.h"
#include "reader.h"

namespace onearena::runtime {
namespace {

constexpr std::string_view kMagic = "ONEARENA";
constexpr uint32_t kVersion = 3;

}  // namespace

uint32_t element_bytes(uint8_t scalar_type) {
  // `elementSize` of ExecuTorch's scalar_type_util.h; sub-byte types take whole bytes
  static constexpr uint8_t kBytes[] = {1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 1, 1, 4,
                                       2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1,  1, 2, 4, 8};
  return scalar_type < sizeof kBytes ? kBytes[scalar_type] : 0;
}

uint32_t element_bytes(DType dtype) { return element_bytes(static_cast<uint8_t>(dtype)); }

ProgramDescription decode_description(std::string_view data, uint64_t file_bytes) {
  Reader in(data);
  if (data.size() < kMagic.size() || in.bytes(kMagic.size()) != kMagic) {
    throw Error(ErrorKind::kFormat, "not a description of a program");
  }
  const uint32_t version = in.u32();
  if (version != kVersion) {
    throw Error(ErrorKind::kUnsupported, "description has version " + std::to_string(version) +
                                             ", this library reads " + std::to_string(kVersion));
  }
  ProgramDescription program;
  program.file_bytes = in.u64();
  if (program.file_bytes != file_bytes) {
    throw Error(ErrorKind::kFormat, "description is of a file of " +
                                        std::to_string(program.file_bytes) + " bytes, not " +
                                        std::to_string(file_bytes));
  }
  program.named_data.resize(in.count(20));
  for (NamedDataEntry& entry : program.named_data) {
    entry.key = in.text();
    entry.where = read_range(in, file_bytes);
  }
  program.state.resize(in.count(20));
  for (StateBlock& block : program.state) {
    block.memory_id = in.u32();
    block.start = in.u64();
    block.size_bytes = in.u64();
    in.expect(block.size_bytes > 0 && block.size_bytes <= kMaxBytes, "has an impossible block");
  }
  program.methods.resize(in.count(40));
  for (MethodDescription& method : program.methods) decode_method(in, program, method);
  in.expect(in.done(), "has bytes behind its end");
  return program;
}

void check_description(std::string_view description, uint64_t file_bytes) {
  decode_description(description, file_bytes);
}

}  // namespace onearena::runtime
