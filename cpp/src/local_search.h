// Improves an order of first fit by small changes, for as long as there is time.
#ifndef ONEARENA_SRC_LOCAL_SEARCH_H_
#define ONEARENA_SRC_LOCAL_SEARCH_H_

#include <cstdint>
#include <vector>

#include "conflicts.h"
#include "first_fit.h"
#include "limits.h"

namespace onearena::internal {

struct StartOrder {
  int64_t height = 0;
  std::vector<int32_t> units;
  bool best_fit = false;
};

class LocalSearch {
 public:
  // Goes on from the best of `starts`, of which there must be one.
  LocalSearch(const Layout& layout, const Conflicts& conflicts, std::vector<StartOrder> starts,
              uint64_t seed, const Limits& limits);

  // Looks for plans below `limit`, until one is not above `target`, for so many steps. Goes on
  // where the last call ended.
  void run(int64_t steps, int64_t limit, int64_t target);

  // The best plan; empty when none below the limit was found.
  const std::vector<int64_t>& origins() const { return best_; }

 private:
  void change(std::vector<int32_t>& order, int32_t highest);

  const Layout& layout_;
  const Conflicts& conflicts_;
  FirstFit first_fit_;
  std::vector<StartOrder> starts_;
  std::vector<int32_t> highest_, order_;
  Random random_;
  int64_t step_ = 0;
  const Limits& limits_;
  std::vector<int64_t> best_;
};

}  // namespace onearena::internal

#endif  // ONEARENA_SRC_LOCAL_SEARCH_H_
