#include "orders.h"

#include <algorithm>
#include <numeric>

#include "limits.h"

namespace onearena::internal {

Features::Features(const Layout& layout, const std::vector<int64_t>& loads)
    : count_(static_cast<int32_t>(layout.units.size())) {
  // the largest load in [s, s + 2^k), for peaks over long lifetimes
  std::vector<std::vector<int64_t>> most{loads};
  for (size_t k = 1; (size_t{1} << k) <= loads.size(); ++k) {
    const auto& last = most.back();
    std::vector<int64_t> next(loads.size() - (size_t{1} << k) + 1);
    for (size_t s = 0; s < next.size(); ++s) {
      next[s] = std::max(last[s], last[s + (size_t{1} << (k - 1))]);
    }
    most.push_back(std::move(next));
  }
  for (const Unit& unit : layout.units) {
    int64_t sections = 0, peak = 0, birth = INT32_MAX, death = 0;
    for (const Piece& piece : unit.pieces) {
      sections += piece.end - piece.begin;
      birth = std::min<int64_t>(birth, piece.begin);
      death = std::max<int64_t>(death, piece.end);
      size_t k = 0;
      while ((int64_t{2} << k) <= piece.end - piece.begin) ++k;
      peak = std::max({peak, most[k][piece.begin], most[k][piece.end - (int64_t{1} << k)]});
    }
    size_.push_back(static_cast<double>(unit.size));
    length_.push_back(static_cast<double>(unit.duration));
    area_.push_back(static_cast<double>(unit.size) * static_cast<double>(unit.duration));
    peak_.push_back(static_cast<double>(peak));
    sections_.push_back(static_cast<double>(sections));
    birth_.push_back(-static_cast<double>(birth));
    death_.push_back(static_cast<double>(death));
  }
}

std::vector<int32_t> Features::order(const std::string& keys, double noise, uint64_t seed) const {
  std::vector<std::vector<double>> values;
  Random random(seed);
  for (char key : keys) {
    const auto& feature = key == 's'   ? size_
                          : key == 'l' ? length_
                          : key == 'a' ? area_
                          : key == 'p' ? peak_
                          : key == 'c' ? sections_
                          : key == 'b' ? birth_
                                       : death_;
    values.push_back(feature);
    if (noise == 0) continue;
    for (double& value : values.back()) value *= 1 + noise * (2 * random.unit() - 1);
  }
  std::vector<int32_t> order(count_);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t x, int32_t y) {
    for (const auto& feature : values) {
      if (feature[x] != feature[y]) return feature[x] > feature[y];
    }
    return false;
  });
  return order;
}

}  // namespace onearena::internal
