#include "local_search.h"

#include <algorithm>

namespace onearena::internal {
namespace {

constexpr size_t kStarts = 4;

}  // namespace

LocalSearch::LocalSearch(const Layout& layout, const Conflicts& conflicts, uint64_t seed,
                         int64_t step_limit, const Limits& limits)
    : layout_(layout),
      conflicts_(conflicts),
      first_fit_(layout, conflicts, &limits),
      random_(seed),
      step_limit_(step_limit),
      limits_(limits) {}

void LocalSearch::run(std::vector<StartOrder> starts, int64_t limit, int64_t target) {
  std::stable_sort(starts.begin(), starts.end(),
                   [](const StartOrder& a, const StartOrder& b) { return a.height < b.height; });
  if (starts.size() > kStarts) starts.resize(kStarts);
  std::vector<int32_t> highest(starts.size(), -1), order;
  for (int64_t step = 0; step < step_limit_ && !limits_.reached(); ++step) {
    StartOrder& start = starts[step % starts.size()];
    int32_t& top = highest[step % starts.size()];
    order = start.units;
    change(order, top);
    // a little worse is accepted now and then, or the search gets stuck
    const int64_t allowed =
        random_.below(64) == 0 ? start.height + start.height / 16 : start.height;
    const int64_t height =
        first_fit_.place(order, start.best_fit, std::min(allowed, kInfinity - 1) + 1);
    if (height < 0) continue;
    start.height = height;
    start.units.swap(order);
    top = first_fit_.highest();
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
