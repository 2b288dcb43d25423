// Placing units one by one, each at the lowest offset that is free, or in the tightest gap.
#ifndef ONEARENA_SRC_FIRST_FIT_H_
#define ONEARENA_SRC_FIRST_FIT_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "conflicts.h"
#include "limits.h"
#include "units.h"

namespace onearena::internal {

constexpr int64_t kNowhere = INT64_MIN;

class FirstFit {
 public:
  // With `limits`, placing stops when they are reached (and gives no plan).
  FirstFit(const Layout& layout, const Conflicts& conflicts, const Limits* limits = nullptr);

  // Places all units in this order; what is pinned counts from the start. Gives up as soon as the
  // height reaches `limit`. Returns the height, or -1. Allocates nothing after the first call.
  int64_t place(const std::vector<int32_t>& order, bool best_fit, int64_t limit);

  // Goes on from a plan of some units; kNowhere marks the others, which are placed in this order.
  int64_t complete(const std::vector<int64_t>& start, const std::vector<int32_t>& order,
                   int64_t limit);

  const std::vector<int64_t>& origins() const { return origins_; }
  // The unit that raised the height last.
  int32_t highest() const { return highest_; }

 private:
  int64_t continue_with(const std::vector<int32_t>& order, bool best_fit, int64_t limit);
  void put(int32_t unit, int64_t origin);
  int64_t lowest(int32_t unit, bool best_fit, int64_t limit);

  const Layout& layout_;
  const Conflicts& conflicts_;
  const Limits* const limits_;
  std::vector<int64_t> origins_;
  std::vector<int32_t> pinned_;
  std::vector<std::pair<int64_t, int64_t>> taken_;
  int64_t height_ = 0;
  int32_t highest_ = -1;
};

}  // namespace onearena::internal

#endif  // ONEARENA_SRC_FIRST_FIT_H_
