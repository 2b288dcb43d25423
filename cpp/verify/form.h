// Whether a problem is well-formed, before anything is believed about it.
#ifndef ONEARENA_VERIFY_FORM_H_
#define ONEARENA_VERIFY_FORM_H_

#include <cstdint>
#include <vector>

#include "onearena/problem.h"

namespace onearena::verifying {

// Throws std::invalid_argument, whose text names the part that is wrong.
void check_form(const Problem& problem);

// The number of each buffer's group, or -1. Throws std::invalid_argument.
std::vector<int32_t> groups_of(const Problem& problem);

}  // namespace onearena::verifying

#endif  // ONEARENA_VERIFY_FORM_H_
