// What a method's description says about it as a whole.
#ifndef ONEARENA_RUNTIME_METHOD_FACTS_H_
#define ONEARENA_RUNTIME_METHOD_FACTS_H_

#include <vector>

#include "description.h"
#include "layout.h"

namespace onearena::runtime {

// Whether some of its memory is not understood, and must stay where the file has it.
bool has_pinned(const MethodDescription& method);
// The arenas that the file declares, together.
uint64_t planned_bytes(const MethodDescription& method);
bool has_dynamic(const MethodDescription& method, const std::vector<PlannedUnit>& units);
bool has_state(const MethodDescription& method);
// Of the planned memory, what inputs are copied into.
uint64_t input_bytes(const MethodDescription& method);

// The mode for a method, never `kAuto`. `is_worth_it`: whether another plan than that in the file
// may need less. Throws `Error` when the method cannot be planned as wanted.
Planning chosen(Planning wanted, bool is_pinned, bool is_worth_it);

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_METHOD_FACTS_H_
