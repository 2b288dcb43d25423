#ifndef ONEARENA_SRC_SKYLINE_H_
#define ONEARENA_SRC_SKYLINE_H_
#include <cstdint>
#include <vector>
#include "limits.h"
#include "units.h"
namespace onearena::internal {
std::vector<int64_t> place_by_skyline(const Layout& layout, const std::vector<int32_t>& order,
                                      int64_t limit, const Limits& limits);
}
#endif
