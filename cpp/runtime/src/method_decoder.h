// Decodes one method of a description.
#ifndef ONEARENA_RUNTIME_METHOD_DECODER_H_
#define ONEARENA_RUNTIME_METHOD_DECODER_H_

#include "description.h"
#include "reader.h"

namespace onearena::runtime {

// Larger sizes are corrupt; sums of a few of them do not overflow.
constexpr uint64_t kMaxBytes = uint64_t{1} << 48;

// An offset and a size inside the file.
FileRange read_range(Reader& in, uint64_t file_bytes);

// `program` has everything that comes before the methods.
void decode_method(Reader& in, const ProgramDescription& program, MethodDescription& method);

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_METHOD_DECODER_H_
