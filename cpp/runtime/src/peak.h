// What is alive at a method's worst moment, for messages.
#ifndef ONEARENA_RUNTIME_PEAK_H_
#define ONEARENA_RUNTIME_PEAK_H_

#include <string>

#include "description.h"

namespace onearena::runtime {

// The largest tensors at the step at which most bytes are alive, e.g. "value 7 (4096 bytes)".
std::string peak_text(const MethodDescription& method);

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_PEAK_H_
