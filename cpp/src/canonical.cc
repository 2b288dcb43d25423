// Exact search in the order of offsets, after the idea of MiniMalloc (Moffitt, ASPLOS 2023): a plan
// that is pushed down can be built by placing units in ascending order of their offsets, each on
// the floor under it. It is weaker than the search over valleys on most problems and stronger on
// some, so it is one of the starting points.
#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "valley.h"

namespace onearena::internal {
namespace {

constexpr int32_t kMaxDepth = 12'000;

class Canonical final : public Valley {
 public:
  Canonical(const Layout& layout, const std::vector<int32_t>& units, int64_t capacity,
            const Limits& limits)
      : capacity_(capacity), limits_(limits) {
    for (int32_t index : units) {
      const Unit& unit = layout.units[index];
      units_.push_back(&unit);
      highest_.push_back(std::min(unit.highest, capacity - unit.size));
    }
    floor_.resize(layout.section_count);
    lowest_.resize(layout.section_count);
    total_.resize(layout.section_count);
    origins_.resize(units.size());
  }

  Outcome search(const std::vector<int32_t>& priority, int64_t node_limit) override {
    std::fill(floor_.begin(), floor_.end(), 0);
    left_.resize(units_.size());
    std::iota(left_.begin(), left_.end(), 0);
    std::sort(left_.begin(), left_.end(), [&](int32_t a, int32_t b) {
      return std::make_pair(priority[a], a) < std::make_pair(priority[b], b);
    });
    is_stopped_ = false;
    limit_ = node_limit > INT64_MAX - nodes_ ? INT64_MAX : nodes_ + node_limit;
    if (place({0, -1}, 0)) return Outcome::kFound;
    return is_stopped_ ? Outcome::kStopped : Outcome::kNone;
  }

  std::vector<int64_t> origins() const override { return origins_; }
  int64_t nodes() const override { return nodes_; }

 private:
  // The offset and the number of a unit; placed in ascending order.
  using Step = std::pair<int64_t, int32_t>;

  template <class F>
  void for_sections(int32_t unit, F f) const {
    for (const Piece& piece : units_[unit]->pieces) {
      for (int32_t s = piece.begin; s < piece.end; ++s) f(s);
    }
  }

  int64_t aligned(int32_t unit, int64_t value) const {
    return align_up(value, units_[unit]->modulus, units_[unit]->residue);
  }

  bool place(Step last, int32_t depth) {
    if (left_.empty()) return true;
    if (nodes_ >= limit_ || depth >= kMaxDepth || (nodes_ % 256 == 0 && limits_.reached())) {
      is_stopped_ = true;
      return false;
    }
    ++nodes_;
    std::vector<Step> choices;
    if (!find_choices(last, choices)) return false;
    for (const Step& choice : choices) {
      if (try_choice(choice, depth)) return true;
      if (is_stopped_) return false;
    }
    return false;
  }

  // Units that may come next, in order of priority. False when some unit has no place any more.
  bool find_choices(Step last, std::vector<Step>& choices) {
    std::fill(lowest_.begin(), lowest_.end(), kInfinity);
    std::fill(total_.begin(), total_.end(), 0);
    int64_t lowest_top = kInfinity;
    for (int32_t unit : left_) {
      int64_t low = units_[unit]->lowest;
      for_sections(unit, [&](int32_t s) { low = std::max(low, floor_[s]); });
      low = aligned(unit, low);
      // what could have come before waits for others to come under it
      const bool waits = Step{low, unit} < last;
      if (waits) low = aligned(unit, last.first);
      if (low > highest_[unit]) return false;
      for_sections(unit, [&](int32_t s) {
        lowest_[s] = std::min(lowest_[s], low);
        total_[s] += units_[unit]->size;
      });
      if (waits) continue;
      choices.emplace_back(low, unit);
      lowest_top = std::min(lowest_top, low + units_[unit]->size);
    }
    for (size_t s = 0; s < total_.size(); ++s) {
      if (total_[s] > 0 && lowest_[s] + total_[s] > capacity_) return false;
    }
    // Another unit would fit under what starts that high, and could be pushed down there.
    choices.erase(std::remove_if(choices.begin(), choices.end(),
                                 [&](const Step& step) { return step.first >= lowest_top; }),
                  choices.end());
    return true;
  }

  bool try_choice(const Step& choice, int32_t depth) {
    const int32_t unit = choice.second;
    const auto at = std::find(left_.begin(), left_.end(), unit);
    const auto position = at - left_.begin();
    left_.erase(at);
    std::vector<int64_t> old;
    for_sections(unit, [&](int32_t s) {
      old.push_back(floor_[s]);
      floor_[s] = choice.first + units_[unit]->size;
    });
    origins_[unit] = choice.first;
    if (place(choice, depth + 1)) return true;
    size_t next = 0;
    for_sections(unit, [&](int32_t s) { floor_[s] = old[next++]; });
    left_.insert(left_.begin() + position, unit);
    return false;
  }

  const int64_t capacity_;
  const Limits& limits_;
  std::vector<const Unit*> units_;
  std::vector<int64_t> highest_, floor_, lowest_, total_, origins_;
  std::vector<int32_t> left_;
  int64_t nodes_ = 0, limit_ = 0;
  bool is_stopped_ = false;
};

}  // namespace

std::unique_ptr<Valley> make_canonical(const Layout& layout, const std::vector<int32_t>& units,
                                       int64_t capacity, const Limits& limits) {
  return std::make_unique<Canonical>(layout, units, capacity, limits);
}

}  // namespace onearena::internal
