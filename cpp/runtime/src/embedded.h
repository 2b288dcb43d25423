// The description that a program's own file holds; see `src/onearena/engine/embedding.py`.
#ifndef ONEARENA_RUNTIME_EMBEDDED_H_
#define ONEARENA_RUNTIME_EMBEDDED_H_

#include <string_view>

namespace onearena::runtime {

// A part of `file`. Throws `Error` (kUsage) when there is none, or one of another program.
std::string_view embedded_description(std::string_view file);

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_EMBEDDED_H_
