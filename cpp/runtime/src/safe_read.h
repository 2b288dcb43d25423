// Reads memory that may not be there.
#ifndef ONEARENA_RUNTIME_SAFE_READ_H_
#define ONEARENA_RUNTIME_SAFE_READ_H_

#include <cstddef>

namespace onearena::runtime {

// Copies `bytes` from `from`; false when they cannot be read.
bool safe_read(const void* from, void* to, size_t bytes);

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_SAFE_READ_H_
