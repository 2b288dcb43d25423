// Between the public types and ExecuTorch's: inputs into values, values into outputs.
#ifndef ONEARENA_RUNTIME_CONVERSION_H_
#define ONEARENA_RUNTIME_CONVERSION_H_

#include <executorch/runtime/core/evalue.h>

#include "description.h"
#include "onearena/runtime.h"
#include "values.h"

namespace onearena::runtime {

// What the description says about an input or output. Throws `Error` (kUnsupported) for lists.
ValueInfo value_info(const Value& value);

// Throws `Error` (kUsage) when an input is not what was recorded: of another type, or larger. What
// is no tensor must have the recorded value.
void check_input(const Input& input, const Value& recorded);

// Sets an input that was checked: resizes the tensor, then copies into planned memory or lends the
// caller's. Throws `Error` (kUsage) when its shape cannot be had after all.
void set_input(const Input& input, const Value& recorded, ValueTable& values, uint32_t index);

// A copy of a value, or `lent` itself, when that is the memory that the value is in. Throws `Error`
// (kExecution) when it holds nothing that can be copied.
Output get_output(const ::executorch::runtime::EValue& value, std::unique_ptr<uint8_t[]>& lent);

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_CONVERSION_H_
