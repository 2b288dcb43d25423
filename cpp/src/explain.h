// Why there is no plan: few buffers that already make it impossible.
#ifndef ONEARENA_SRC_EXPLAIN_H_
#define ONEARENA_SRC_EXPLAIN_H_

#include <cstdint>
#include <vector>

#include "onearena/planner.h"

namespace onearena::internal {

// `known`: buffers that contradict each other by themselves, or empty. Takes buffers away as long
// as the rest is still proven impossible, within a fixed effort; the result is not always minimal.
std::vector<int32_t> explain(const Problem& problem, const Options& options,
                             const std::vector<int32_t>& known);

}  // namespace onearena::internal

#endif  // ONEARENA_SRC_EXPLAIN_H_
