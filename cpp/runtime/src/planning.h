// Layouts for the sizes that tensors have in a run, not for their bounds.
#ifndef ONEARENA_RUNTIME_PLANNING_H_
#define ONEARENA_RUNTIME_PLANNING_H_

#include <memory>
#include <optional>
#include <vector>

#include "blocks.h"
#include "layout.h"
#include "onearena/planner.h"

namespace onearena::runtime {

// Plans everything anew for each set of sizes; what was learned at one set helps at the next.
class PlannedLayout final : public Layout {
 public:
  explicit PlannedLayout(const Blocks& blocks);
  // Throws `Error` (kLimit) for sizes that no memory holds.
  Placement place(const std::vector<uint64_t>& unit_bytes,
                  const std::vector<Scratch>& scratch) override;

 private:
  void set_structure(const std::vector<Scratch>& scratch);
  void set_sizes(const std::vector<uint64_t>& bytes);
  int64_t load();
  int64_t plan_anew();

  const Blocks& blocks_;
  Problem problem_;               // the blocks, then the scratch
  std::vector<Scratch> scratch_;  // that the problem has; its sizes are those of the last plan
  std::vector<bool> shared_;  // by pair of the blocks: of equal size, when `replanner_` was made
  std::optional<Replanner> replanner_;
  double reachable_ = 0;  // height of the best plan so far, as a multiple of the bytes alive
  std::vector<int64_t> sizes_, offsets_;
  std::vector<int64_t> change_;  // by step: bytes that begin to live, less those that end
};

// The simpler alternative: what is static has its place for good, planned once; behind it lies
// one region for everything else, filled anew for each set of sizes, the largest first, each at
// the lowest place that is free while it lives.
class SimpleLayout final : public Layout {
 public:
  // `unit_bounds`: what each unit needs at the bounds; only those of static units count.
  SimpleLayout(const Blocks& blocks, const std::vector<uint64_t>& unit_bounds);
  Placement place(const std::vector<uint64_t>& unit_bytes,
                  const std::vector<Scratch>& scratch) override;

 private:
  const Blocks& blocks_;
  std::vector<uint64_t> fixed_;  // by block; meaningless for dynamic ones
  uint64_t fixed_end_ = 0;
};

// Throws `Error` (kExecution) when two units that are alive together overlap, or one is not where
// it may be. `problem` is the structure with the sizes that are to be placed.
void check_offsets(const Problem& problem, const std::vector<int64_t>& offsets, int64_t height);

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_PLANNING_H_
