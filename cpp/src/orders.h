// Orders in which units are placed or tried.
#ifndef ONEARENA_SRC_ORDERS_H_
#define ONEARENA_SRC_ORDERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "units.h"

namespace onearena::internal {

struct Order {
  std::string name;
  std::vector<int32_t> units;
};

// What units are ordered by; everything large first.
class Features {
 public:
  Features(const Layout& layout, const std::vector<int64_t>& loads);

  // `keys`: letters of features, the most important first: size, length (of life), area, peak
  // (the largest load that the unit meets), sections, birth (early first), death (late first). With
  // `noise`, each feature is multiplied by its own random factor in [1 - noise, 1 + noise].
  std::vector<int32_t> order(const std::string& keys, double noise = 0, uint64_t seed = 0) const;

 private:
  int32_t count_;
  std::vector<double> size_, length_, area_, peak_, sections_, birth_, death_;
};

}  // namespace onearena::internal

#endif  // ONEARENA_SRC_ORDERS_H_
