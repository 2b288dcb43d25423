// Fills valleys: fast and good on the nested lifetimes of real programs, also on huge ones.
#ifndef ONEARENA_SRC_FILL_H_
#define ONEARENA_SRC_FILL_H_

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "limits.h"
#include "units.h"

namespace onearena::internal {

// The units as if each occupied all of its bytes from its first section to its last: a plan of that
// is a plan of the layout, though seldom the best one.
Layout hulls_of(const Layout& layout);

// The sections form a skyline. Again and again, the first unit (in a given order) that fits between
// the walls of the lowest stretch is put on its floor; a stretch that nothing fits into is raised
// to its lower neighbour. A relative of best fit for strip packing (Burke, Kendall, Whitwell 2004),
// except that the unit's place on the time axis is given.
//
// A unit that crosses the border of two stretches waits there; so each unit is looked at only when
// the stretch that it belongs to changes.
class ValleyFill {
 public:
  // Can only place layouts whose units have one piece each and may lie anywhere.
  static bool suits(const Layout& layout);

  ValleyFill(const Layout& layout, const Limits& limits);

  // Returns the height, or -1 as soon as it reaches `limit`. When the time is over, what is left is
  // stacked onto what lies there: `is_cut_short` says so.
  int64_t run(const std::vector<int32_t>& order, int64_t limit);

  bool is_cut_short() const { return is_cut_short_; }

  const std::vector<int64_t>& origins() const { return origins_; }

 private:
  struct Stretch {
    int32_t end = 0;
    int32_t before = -1;  // where the stretch on the left begins
    int64_t level = 0;
    std::vector<int32_t> units;  // that fit, the first to place at the back
  };

  int64_t stack_rest(const std::vector<int32_t>& order, int64_t height);
  void place(int32_t begin, int32_t unit, int64_t origin);
  int32_t add_stretch(int32_t begin, int32_t end, int32_t before, int64_t level);
  bool raise(int32_t begin);
  void join_next(int32_t begin);

  const Layout& layout_;
  const Limits& limits_;
  std::vector<int32_t> begins_, ends_, rank_;
  std::vector<Stretch> stretches_;              // by first section
  std::vector<std::vector<int32_t>> crossing_;  // by the section behind the border
  std::set<std::pair<int64_t, int32_t>> lowest_;
  std::vector<int64_t> origins_;
  std::vector<bool> is_placed_;
  std::vector<int32_t> merged_, freed_;
  bool is_cut_short_ = false;
};

}  // namespace onearena::internal

#endif  // ONEARENA_SRC_FILL_H_
