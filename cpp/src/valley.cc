#include "valley.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "valley_state.h"

namespace onearena::internal {
namespace {

constexpr int kMemoBits = 17;
constexpr int64_t kPollNodes = 256;
constexpr int32_t kMaxDepth = 12'000;  // a few hundred bytes of stack each

uint64_t mix(uint64_t x) {
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93ULL;
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93ULL;
  return x ^ (x >> 32);
}

template <class T, bool kFlat>
class Search final : public Valley {
 public:
  Search(const Layout& layout, const std::vector<int32_t>& units, int64_t grid, int64_t capacity,
         uint32_t switched_off, const Limits& limits)
      : off_(switched_off), limits_(limits), state_(layout, units, grid, capacity, switched_off) {
    crossing_.resize(state_.sections() + 1);
    order_.resize(state_.count());
    place_of_.resize(state_.count());
    if (!(off_ & kNoMemo)) memo_.resize(size_t{1} << kMemoBits);
  }

  Outcome search(const std::vector<int32_t>& priority, int64_t node_limit) override {
    if (!state_.is_possible()) return Outcome::kNone;
    priority_ = &priority;
    state_.reset();
    std::iota(order_.begin(), order_.end(), 0);
    std::iota(place_of_.begin(), place_of_.end(), 0);
    choices_.clear();
    parts_.clear();
    depth_ = 0;
    stopped_ = false;
    limit_ = node_limit > INT64_MAX - nodes_ ? INT64_MAX : nodes_ + node_limit;
    if (solve({0, state_.count(), 0, state_.sections()}, 0, State::kNobody)) {
      return Outcome::kFound;
    }
    return stopped_ ? Outcome::kStopped : Outcome::kNone;
  }

  std::vector<int64_t> origins() const override {
    std::vector<int64_t> origins(state_.count());
    for (int32_t k = 0; k < state_.count(); ++k) origins[k] = state_.origin(k);
    return origins;
  }

  int64_t nodes() const override { return nodes_; }

 private:
  using State = ValleyState<T, kFlat>;

  // The units order_[begin, end), whose pieces lie in the sections [from, to).
  struct Part {
    int32_t begin, end;
    int32_t from, to;
  };
  // Where to branch.
  struct Branch {
    int32_t section;
    int32_t valley_begin, valley_end;
    T level;
    T slack;
    T wall;  // the lower neighbour of the valley, or kNoWall
  };
  static constexpr T kNone = State::kNone;
  static constexpr T kNoWall = kNone;

  // -- one node -------------------------------------------------------------------------------

  // Places a part. New since the parent looked: what state_.update(changes, placed) knows.
  bool solve(const Part& part, size_t changes, int32_t placed) {
    if (part.begin == part.end) return true;
    if (nodes_ >= limit_ || depth_ >= kMaxDepth ||
        (nodes_ % kPollNodes == 0 && limits_.reached())) {
      stopped_ = true;
      return false;
    }
    ++nodes_;
    if (!state_.update(changes, placed)) return false;
    ++depth_;
    const size_t mark = state_.changes();
    const bool solved = expand(part);
    state_.forget_changes(mark);
    --depth_;
    return solved;
  }

  bool expand(Part part) {
    if (!(off_ & kNoComponents)) {
      const size_t base = parts_.size();
      const int32_t found = find_components(part);
      if (found > 1) {
        const bool solved = solve_parts(part, base);
        parts_.resize(base);
        return solved;
      }
      if (found == 1) {
        part.from = parts_[base].from;
        part.to = parts_[base].to;
      }
      parts_.resize(base);
    }
    uint64_t key = 0;
    if (!(off_ & kNoMemo)) {
      key = key_of(part);
      if (memo_[key >> (64 - kMemoBits)] == key) return false;
    }
    if (branch(part)) return true;
    if (!(off_ & kNoMemo) && !stopped_) memo_[key >> (64 - kMemoBits)] = key;
    return false;
  }

  // Splits the part where no unit crosses; appends the stretches that have units to parts_.
  int32_t find_components(const Part& part) {
    std::fill(crossing_.begin() + part.from, crossing_.begin() + part.to + 1, 0);
    for (int32_t k = part.begin; k < part.end; ++k) {
      const int32_t unit = order_[k];
      if (state_.begin(unit) == state_.end(unit)) continue;
      ++crossing_[state_.begin(unit)];
      --crossing_[state_.end(unit) - 1];
    }
    int32_t found = 0, crossing = 0, start = part.from;
    bool any = false;
    for (int32_t s = part.from; s < part.to; ++s) {
      crossing += crossing_[s];
      any = any || state_.total(s) != 0;
      if (crossing > 0) continue;
      // between s and s + 1 nothing crosses
      if (any) {
        parts_.push_back({0, 0, start, s + 1});
        ++found;
      }
      any = false;
      start = s + 1;
    }
    return found;
  }

  // The parts parts_[base..]: one by one, small ones first.
  bool solve_parts(const Part& whole, size_t base) {
    const size_t top = parts_.size();
    int32_t next = whole.begin;
    for (size_t p = base; p < top; ++p) {
      Part& part = parts_[p];
      part.begin = next;
      for (int32_t k = next; k < whole.end; ++k) {
        const int32_t begin = state_.begin(order_[k]);
        if (part.from <= begin && begin < part.to) move_to(order_[k], next++);
      }
      part.end = next;
    }
    std::sort(parts_.begin() + base, parts_.begin() + top, [](const Part& x, const Part& y) {
      return std::make_pair(x.end - x.begin, x.from) < std::make_pair(y.end - y.begin, y.from);
    });
    for (size_t p = base; p < top; ++p) {
      const Part part = parts_[p];
      if (!solve(part, state_.changes(), State::kNobody)) return false;
    }
    return true;
  }

  void move_to(int32_t unit, int32_t place) {
    const int32_t other = order_[place], from = place_of_[unit];
    std::swap(order_[place], order_[from]);
    place_of_[other] = from;
    place_of_[unit] = place;
  }

  uint64_t key_of(const Part& part) const {
    uint64_t key = mix((static_cast<uint64_t>(part.from) << 32) + static_cast<uint64_t>(part.to));
    for (int32_t k = part.begin; k < part.end; ++k) {
      const int32_t unit = order_[k];
      key += mix(static_cast<uint64_t>(state_.low(unit)) * 0x9E3779B97F4A7C15ULL +
                 static_cast<uint64_t>(unit) * 2 + state_.is_settled(unit) + 1);
    }
    for (int32_t s = part.from; s < part.to; ++s) {
      key += mix(static_cast<uint64_t>(state_.floor(s)) * 0xC2B2AE3D27D4EB4FULL -
                 static_cast<uint64_t>(s) - 1);
    }
    return mix(key) | 1;
  }

  // -- branching ------------------------------------------------------------------------------

  // Calls f(begin, end, wall) for the valleys of a part: stretches of one floor, lower than what is
  // beside them.
  template <class F>
  void for_valleys(const Part& part, F f) const {
    for (int32_t begin = part.from; begin < part.to;) {
      const T level = state_.floor(begin);
      int32_t end = begin + 1;
      while (end < part.to && state_.floor(end) == level) ++end;
      const T left = begin == part.from ? kNoWall : state_.floor(begin - 1);
      const T right = end == part.to ? kNoWall : state_.floor(end);
      if (left > level && right > level) f(begin, end, std::min(left, right));
      begin = end;
    }
  }

  // The section of a valley with the fewest choices; then the least slack, then the lowest.
  Branch choose(const Part& part) const {
    Branch best{-1, 0, 0, 0, 0, kNoWall};
    std::tuple<int32_t, T, T> best_score;
    for_valleys(part, [&](int32_t begin, int32_t end, T wall) {
      const T level = state_.floor(begin);
      for (int32_t s = begin; s < end; ++s) {
        if (state_.total(s) == 0) continue;
        const T slack = state_.capacity() - level - state_.total(s);
        int32_t children = slack > 0;
        state_.for_units(s, [&](int32_t, T start) { children += start == level; });
        const std::tuple<int32_t, T, T> score(children, slack, level);
        if (best.section < 0 || score < best_score) {
          best = {s, begin, end, level, slack, wall};
          best_score = score;
        }
      }
    });
    return best;
  }

  bool branch(const Part& part) {
    const Branch at = choose(part);
    if (at.section < 0) return fill_desert(part);
    const size_t base = choices_.size();
    state_.for_units(at.section, [&](int32_t unit, T start) {
      if (start == at.level) choices_.push_back(unit);
    });
    std::sort(choices_.begin() + base, choices_.end(), [&](int32_t x, int32_t y) {
      return std::make_pair((*priority_)[x], x) < std::make_pair((*priority_)[y], y);
    });
    const bool solved = try_choices(part, at, base);
    choices_.resize(base);
    return solved;
  }

  // A valley that no unit covers cannot hold anything: raise it, and look again.
  bool fill_desert(const Part& part) {
    int32_t from = -1, to = -1;
    T level = kNoWall;
    for_valleys(part, [&](int32_t begin, int32_t end, T wall) {
      if (wall == kNoWall || from >= 0) return;
      from = begin;
      to = end;
      level = wall;
    });
    if (from < 0) return false;
    for (int32_t s = from; s < to; ++s) state_.set_floor(s, level);
    return branch(part);
  }

  bool try_choices(const Part& part, const Branch& at, size_t base) {
    const size_t top = choices_.size(), changes = state_.changes();
    for (size_t c = base; c < top; ++c) {
      const int32_t unit = choices_[c];
      if (!(off_ & kNoTwins) && has_failed_twin(base, c)) continue;
      const size_t mark = state_.mark();
      Part rest = part;
      if (state_.place(unit)) move_to(unit, --rest.end);
      if (solve(rest, changes, unit)) return true;
      state_.undo(mark);
      if (stopped_) return false;
      if (fills_valley(unit, at)) {
        // whatever lies under it in a plan, between the walls, could be put on top of it instead
        if (at.wall == kNoWall) return false;
        state_.raise_low(unit, at.wall + 1);
      }
    }
    return at.slack > 0 && waste(part, at, changes);
  }

  bool has_failed_twin(size_t base, size_t choice) const {
    for (size_t c = base; c < choice; ++c) {
      if (state_.are_twins(choices_[c], choices_[choice])) return true;
    }
    return false;
  }

  bool fills_valley(int32_t unit, const Branch& at) const {
    return !(off_ & kNoDominance) && state_.can_be_lowered(unit, at.valley_begin, at.valley_end);
  }

  // -- waste ------------------------------------------------------------------------------------

  // Nothing that covers the section starts on its floor: what could must rest on others, directly
  // or through each other, that do not cover it or start higher.
  bool waste(const Part& part, const Branch& at, size_t changes) {
    const size_t mark = state_.mark();
    const T next = lift(part, at);
    if (next != kNone && next - at.level <= at.slack && solve(part, changes, State::kNobody)) {
      return true;
    }
    state_.undo(mark);
    return false;
  }

  struct Support {
    T position;  // of the unit, when it rests on something
    int32_t unit;
    bool is_raised;  // it starts on the floor now
  };

  // Raises the lows of units that cover the section; returns the level at which the lowest piece
  // starts, or kNone when some unit has no place any more.
  T lift(const Part& part, const Branch& at) {
    supports_.clear();
    if (state_.is_simple()) {
      state_.lowest_tops(order_, part.begin, part.end, at.section, tops_);
    }
    state_.for_units(at.section, [&](int32_t unit, T start) {
      const bool is_raised = start <= at.level;
      T position = state_.low(unit);
      if (is_raised) position = above_floor(unit, support_of(part, at, unit));
      supports_.push_back({position, unit, is_raised});
    });
    // Shortest paths: each may also rest on one that was settled before, and starts lower.
    while (!supports_.empty()) {
      const auto lowest = std::min_element(
          supports_.begin(), supports_.end(),
          [](const Support& a, const Support& b) { return a.position < b.position; });
      const Support settled = *lowest;
      supports_.erase(lowest);
      if (settled.position == kNone) return kNone;
      if (settled.is_raised) state_.raise_low(settled.unit, settled.position);
      if (state_.is_too_high(settled.unit)) return kNone;
      for (Support& other : supports_) {
        if (!other.is_raised) continue;
        const T position = above_floor(other.unit, state_.rest_on(other.unit, settled.unit));
        other.position = std::min(other.position, position);
      }
    }
    T next = kNone;
    state_.for_units(at.section, [&](int32_t, T start) { next = std::min(next, start); });
    return next;
  }

  // One step above the floor at least: pieces may rest on something lower elsewhere.
  T above_floor(int32_t unit, T position) const {
    return position == kNone ? kNone : std::max<T>(position, state_.low(unit) + 1);
  }

  // The lowest position of `unit` on one that does not cover the section.
  T support_of(const Part& part, const Branch& at, int32_t unit) const {
    if (state_.is_simple()) {
      return std::min(tops_[state_.begin(unit)], tops_[state_.end(unit) - 1]);
    }
    T lowest = kNone;
    for (int32_t j = part.begin; j < part.end; ++j) {
      if (state_.covers(order_[j], at.section)) continue;
      lowest = std::min(lowest, state_.rest_on(unit, order_[j]));
    }
    return lowest;
  }

  const uint32_t off_;
  const Limits& limits_;
  State state_;
  const std::vector<int32_t>* priority_ = nullptr;
  std::vector<int32_t> order_, place_of_;
  std::vector<int32_t> crossing_, choices_;
  std::vector<Part> parts_;
  std::vector<Support> supports_;
  std::vector<T> tops_;
  std::vector<uint64_t> memo_;
  int64_t nodes_ = 0, limit_ = 0;
  int32_t depth_ = 0;
  bool stopped_ = false;
};

template <class T>
std::unique_ptr<Valley> make(const Layout& layout, const std::vector<int32_t>& units, int64_t grid,
                             int64_t capacity, uint32_t off, const Limits& limits) {
  bool is_flat = true;
  for (int32_t index : units) is_flat = is_flat && layout.units[index].is_flat;
  if (is_flat) {
    return std::make_unique<Search<T, true>>(layout, units, grid, capacity, off, limits);
  }
  return std::make_unique<Search<T, false>>(layout, units, 1, capacity, off, limits);
}

}  // namespace

bool is_searchable(const Layout& layout) {
  for (const Unit& unit : layout.units) {
    if (unit.is_flat) continue;
    if (unit.is_last) return false;
    int64_t highest_bottom = 0, lowest_top = INT64_MAX;
    std::vector<Piece> pieces = unit.pieces;
    for (const Piece& piece : pieces) {
      highest_bottom = std::max(highest_bottom, piece.low);
      lowest_top = std::min(lowest_top, piece.high);
    }
    if (highest_bottom >= lowest_top) return false;
    int32_t end = 0;
    for (const Piece& piece : pieces) {  // by their beginning
      if (piece.begin < end) return false;
      end = piece.end;
    }
  }
  return true;
}

std::unique_ptr<Valley> make_valley(const Layout& layout, const std::vector<int32_t>& units,
                                    int64_t capacity, uint32_t switched_off, const Limits& limits) {
  int64_t grid = 0, total = 0;
  for (int32_t index : units) {
    const Unit& unit = layout.units[index];
    grid = std::gcd(std::gcd(grid, unit.modulus), unit.residue);
    total += unit.size + unit.modulus;
  }
  grid = std::max<int64_t>(grid, 1);
  // without flat units, positions are not counted in the grid
  if (capacity + total < (1 << 30) || (layout.is_flat && (capacity + total) / grid < (1 << 30))) {
    return make<int32_t>(layout, units, grid, capacity, switched_off, limits);
  }
  return make<int64_t>(layout, units, grid, capacity, switched_off, limits);
}

}  // namespace onearena::internal
