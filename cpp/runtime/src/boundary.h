// What leaves the library: `Error`s, whatever happened inside.
#ifndef ONEARENA_RUNTIME_BOUNDARY_H_
#define ONEARENA_RUNTIME_BOUNDARY_H_

#include <new>
#include <string>
#include <utility>

#include "onearena/runtime.h"

namespace onearena::runtime {

// Said of what backends and kernels throw that is no `std::exception`.
constexpr const char* kUnknownException = "an exception of no known type";

// Does `action`; a want of memory in it becomes an `Error` (kLimit) that says `what` it was for.
// When there is not even memory for these words, `std::bad_alloc` it stays.
template <class Text, class Action>
auto at_boundary(const Text& what, Action&& action) -> decltype(action()) {
  try {
    return std::forward<Action>(action)();
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::kLimit, std::string(what) + ": out of memory");
  }
}

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_BOUNDARY_H_
