// Which placement a run uses: the one in the file, a plan for the shapes of its inputs, or none
// yet, while the sizes at these shapes are unknown.
#ifndef ONEARENA_RUNTIME_PLACEMENTS_H_
#define ONEARENA_RUNTIME_PLACEMENTS_H_

#include <list>
#include <map>
#include <memory>
#include <vector>

#include "blocks.h"
#include "layout.h"

namespace onearena::runtime {

// The sizes of all tensor inputs, one after the other.
using ShapeKey = std::vector<int32_t>;

// A bounded cache of placements by the shapes of the inputs; the one not used for longest goes
// first. Not thread-safe.
class Placements {
 public:
  // `planning` must not be `kAuto`.
  Placements(const MethodDescription& method, const std::vector<PlannedUnit>& units,
             Planning planning, size_t most);

  bool is_static() const { return planning_ == Planning::kStatic; }
  const Blocks& blocks() const { return blocks_; }
  // The plan in the file.
  const Placement& in_file() const { return in_file_; }
  // The placement of a run at these shapes; null when there is none.
  const Placement* find(const ShapeKey& key);
  // Makes one, given what each unit needs, and what instructions need besides. Throws `Error`.
  const Placement& add(const ShapeKey& key, const std::vector<uint64_t>& unit_bytes,
                       const std::vector<Scratch>& scratch);
  void remove(const ShapeKey& key);
  // Every block in whole pages of its own, with room for the bounds times `scale`.
  const Placement& apart(double scale);

  size_t count() const { return order_.size(); }
  uint64_t plans() const { return plans_; }
  double plan_us() const { return plan_us_; }

 private:
  Placement best(const std::vector<uint64_t>& unit_bytes,
                 const std::vector<Scratch>& scratch) const;

  struct Entry {
    Placement placement;
    std::list<const ShapeKey*>::iterator place;
  };

  const Planning planning_;
  const size_t most_;
  const std::vector<PlannedUnit>& units_;
  const Blocks blocks_;
  const std::unique_ptr<Layout> layout_of_file_;
  const Placement in_file_;
  std::unique_ptr<Layout> layout_;
  std::map<ShapeKey, Entry> entries_;
  std::list<const ShapeKey*> order_;  // the one used last comes first
  Placement apart_;
  double apart_scale_ = 0;
  uint64_t versions_ = 1;
  uint64_t plans_ = 0;
  double plan_us_ = 0;
};

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_PLACEMENTS_H_
