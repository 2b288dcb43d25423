// Is there a plan within a given height? Peels what always fits, then searches exactly from several
// starting points in turn.
#ifndef ONEARENA_SRC_CAPACITY_SEARCH_H_
#define ONEARENA_SRC_CAPACITY_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "conflicts.h"
#include "limits.h"
#include "orders.h"
#include "solver.h"
#include "units.h"
#include "valley.h"

namespace onearena::internal {

class CapacitySearch {
 public:
  // `layout` is searchable (see valley.h). All arguments must outlive this.
  CapacitySearch(const Layout& layout, const Conflicts& conflicts, const Features& features,
                 int64_t capacity, const SolverOptions& options, const Limits& limits);

  // Searches from every starting point, with a node limit that depends on the round, at most
  // `node_limit` nodes in all; or only from the first `starts` of them.
  Outcome advance(int32_t round, int64_t node_limit, size_t starts = SIZE_MAX);

  const std::vector<int64_t>& origins() const { return origins_; }
  const std::string& method() const { return method_; }
  int64_t nodes() const { return nodes_; }
  int64_t capacity() const { return capacity_; }
  // How many units the exact search would have to place.
  size_t core_size() const { return core_.size(); }

 private:
  struct Slot {
    std::string keys;
    double noise = 0;
    bool in_offset_order = false;
    std::unique_ptr<Valley> valley;
    std::vector<int32_t> priority;
    Outcome outcome = Outcome::kStopped;
  };

  bool settle_last_units();
  void peel();
  int64_t blocked(int32_t unit, int32_t owner, int64_t j) const;
  int64_t places(int32_t unit) const;
  void run_slot(Slot& slot, int32_t number, int32_t round, int64_t node_limit);
  void finish(const Valley& valley);

  Layout layout_;
  const Conflicts& conflicts_;
  const Features& features_;
  const int64_t capacity_;
  const SolverOptions& options_;
  const Limits& limits_;
  bool is_impossible_ = false;
  std::vector<int32_t> core_, peeled_, last_;
  std::vector<Slot> slots_;
  std::vector<int64_t> origins_;
  std::string method_;
  int64_t nodes_ = 0;
};

}  // namespace onearena::internal

#endif  // ONEARENA_SRC_CAPACITY_SEARCH_H_
