// First fit over several memories at once.
#ifndef ONEARENA_SRC_SPREAD_H_
#define ONEARENA_SRC_SPREAD_H_

#include <cstdint>
#include <vector>

#include "onearena/problem.h"

namespace onearena::internal {

struct Spread {
  std::vector<int64_t> offsets;   // per buffer
  std::vector<int32_t> memories;  // per buffer
  std::vector<int64_t> heights;   // per memory
};

// Plans from a few orders: each unit goes to the lowest free place of the cheapest memory that has
// one. Pairs do not share. Empty when no order places everything, or there is too much to place.
std::vector<Spread> spread_buffers(const Problem& problem);

}  // namespace onearena::internal

#endif  // ONEARENA_SRC_SPREAD_H_
