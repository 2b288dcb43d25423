// What is alive at a method's worst moment, for messages.
#ifndef ONEARENA_RUNTIME_PEAK_H_
#define ONEARENA_RUNTIME_PEAK_H_

#include <string>
#include <utility>
#include <vector>

#include "description.h"

namespace onearena::runtime {

// The largest of some tensors, given as values and their bytes, e.g. "value 7 (4096 bytes)".
std::string largest_text(std::vector<std::pair<uint32_t, uint64_t>> tensors);

// The largest tensors at the step at which most bytes are alive.
std::string peak_text(const MethodDescription& method);

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_PEAK_H_
