// Exact search: is there a plan of at most a given height?
//
// Plans are built from the bottom. Every section has a floor, the top of what lies there so far. A
// plan that is pushed down as far as it goes has, over every floor, either a unit that rests on it
// or a waste that nothing can use; the search branches over these choices at one section of a
// valley (a run of sections whose floors are lower than both neighbours).
#ifndef ONEARENA_SRC_VALLEY_H_
#define ONEARENA_SRC_VALLEY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "limits.h"
#include "units.h"

namespace onearena::internal {

enum class Outcome { kFound, kNone, kStopped };

// Inferences that tests and benchmarks may leave out.
enum Switch : uint32_t {
  kNoMemo = 1u << 0,        // failed states are not remembered
  kNoStacking = 1u << 1,    // the one-machine bound
  kNoDominance = 1u << 2,   // what fills a valley goes to its bottom
  kNoComponents = 1u << 3,  // independent parts are not solved one by one
  kNoTwins = 1u << 4,       // equal units are told apart
  kNoPeeling = 1u << 5,     // units that always fit are planned with the others
  kNoValley = 1u << 6,      // the whole search
  kNoLocalSearch = 1u << 7,
  kNoFirstFit = 1u << 8,    // all orders but one
  kNoFill = 1u << 10,       // all orders of valley fill but one
  kNoCanonical = 1u << 11,  // the search in the order of offsets
  kNoTight = 1u << 9,       // the search for layouts that are not flat
};

class Valley {
 public:
  virtual ~Valley() = default;

  // Looks for a plan; units with a small `priority` are tried first. At most `node_limit` nodes.
  virtual Outcome search(const std::vector<int32_t>& priority, int64_t node_limit) = 0;

  // Of the plan found last.
  virtual std::vector<int64_t> origins() const = 0;
  // Of all searches.
  virtual int64_t nodes() const = 0;
};

// Whether the search is complete for a layout. Its order, from the bottom of every section, needs
// that units cannot lie under each other in a circle: in each section a unit is one stretch of
// bytes, and all its stretches have a byte in common. (If U were under V in one section and V under
// U in another one, their stretches would have to be apart.)
bool is_searchable(const Layout& layout);

// Prepares the search for plans whose height is at most `capacity`. The layout must be searchable
// and must outlive the result; `units` are the units to place (the others do not exist).
std::unique_ptr<Valley> make_valley(const Layout& layout, const std::vector<int32_t>& units,
                                    int64_t capacity, uint32_t switched_off, const Limits& limits);

// The same question, answered in the order of offsets.
std::unique_ptr<Valley> make_canonical(const Layout& layout, const std::vector<int32_t>& units,
                                       int64_t capacity, const Limits& limits);

}  // namespace onearena::internal

#endif  // ONEARENA_SRC_VALLEY_H_
