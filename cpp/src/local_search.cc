#include "local_search.h"

#include <algorithm>
#include <utility>

namespace onearena::internal {
namespace {

constexpr size_t kStarts = 4;

}  // namespace

LocalSearch::LocalSearch(const Layout& layout, const Conflicts& conflicts,
                         std::vector<StartOrder> starts, uint64_t seed, const Limits& limits)
    : layout_(layout),
      conflicts_(conflicts),
      first_fit_(layout, conflicts, &limits),
      starts_(std::move(starts)),
      random_(seed),
      limits_(limits) {
  std::stable_sort(starts_.begin(), starts_.end(),
                   [](const StartOrder& a, const StartOrder& b) { return a.height < b.height; });
  if (starts_.size() > kStarts) starts_.resize(kStarts);
  highest_.assign(starts_.size(), -1);
}

void LocalSearch::run(int64_t steps, int64_t limit, int64_t target) {
  best_.clear();
  for (int64_t left = steps; left > 0 && !limits_.reached(); --left, ++step_) {
    StartOrder& start = starts_[step_ % starts_.size()];
    int32_t& highest = highest_[step_ % starts_.size()];
    order_ = start.units;
    change(order_, highest);
    // a little worse is accepted now and then, or the search gets stuck
    const int64_t allowed =
        random_.below(64) == 0 ? start.height + start.height / 16 : start.height;
    const int64_t height =
        first_fit_.place(order_, start.best_fit, std::min(allowed, kInfinity - 1) + 1);
    if (height < 0) continue;
    start.height = height;
    start.units.swap(order_);
    highest = first_fit_.highest();
    if (height >= limit) continue;
    limit = height;
    best_ = first_fit_.origins();
    if (height <= target) return;
  }
}

// Moves the unit that sets the height to an earlier place, or swaps it with one that it meets.
void LocalSearch::change(std::vector<int32_t>& order, int32_t highest) {
  const uint32_t count = static_cast<uint32_t>(order.size());
  auto movable = [&](int32_t unit) { return !layout_.units[unit].is_last; };
  if (highest >= 0 && movable(highest)) {
    const auto at = std::find(order.begin(), order.end(), highest);
    const int64_t first = conflicts_.starts[highest], end = conflicts_.starts[highest + 1];
    if (first < end && random_.below(10) < 4) {
      const int32_t other =
          conflicts_.others[first + random_.below(static_cast<uint32_t>(end - first))];
      if (movable(other)) std::iter_swap(at, std::find(order.begin(), order.end(), other));
    } else {
      const uint32_t to = random_.below(static_cast<uint32_t>(at - order.begin()) + 1);
      std::rotate(order.begin() + to, at, at + 1);
    }
  }
  if (highest < 0 || random_.below(10) < 3) {
    const uint32_t a = random_.below(count), b = random_.below(count);
    if (movable(order[a]) && movable(order[b])) std::swap(order[a], order[b]);
  }
}

}  // namespace onearena::internal
