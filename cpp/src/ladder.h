// The exact search at several heights: from the bound, where a plan would be optimal, up to the
// best plan, near which another one is easier to find.
#ifndef ONEARENA_SRC_LADDER_H_
#define ONEARENA_SRC_LADDER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "capacity_search.h"
#include "conflicts.h"
#include "knowledge.h"
#include "limits.h"
#include "local_search.h"
#include "orders.h"
#include "units.h"

namespace onearena::internal {

class Ladder {
 public:
  // `layout` is searchable (see valley.h). With `local`, that search goes on in between.
  Ladder(const Layout& layout, const Conflicts& conflicts, const Features& features,
         const SolverOptions& options, const Limits& limits, Knowledge& knowledge,
         LocalSearch* local);

  // Until the knowledge is complete or the search is over. Returns early when the layout is too
  // large for the exact search.
  void climb();

 private:
  struct Rung {
    std::unique_ptr<CapacitySearch> search;
    int32_t round = 0;
  };

  void find_any();
  bool bisect();
  bool climb_once();
  bool step_to(int64_t number, int64_t height);
  void aim(Rung& rung, int64_t height);
  void search_locally(int64_t nodes);
  std::unique_ptr<CapacitySearch> make_search(int64_t height) const;
  Outcome advance(CapacitySearch& search, int32_t round, size_t starts = SIZE_MAX);

  const Layout& layout_;
  const Conflicts& conflicts_;
  const Features& features_;
  const SolverOptions& options_;
  const Limits& limits_;
  Knowledge& knowledge_;
  LocalSearch* const local_;
  std::vector<Rung> rungs_;
  int64_t step_ = 0;
  int64_t climbs_ = 0;
};

}  // namespace onearena::internal

#endif  // ONEARENA_SRC_LADDER_H_
