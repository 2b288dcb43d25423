#include "valley.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

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

// Positions are counted in `grid`, the alignment that all units have in common. T holds every
// position of the search.
template <class T>
class Search final : public Valley {
 public:
  Search(const Layout& layout, const std::vector<int32_t>& units, int64_t grid, int64_t capacity,
         uint32_t switched_off, const Limits& limits)
      : units_(units), grid_(grid), off_(switched_off), limits_(limits) {
    capacity_ = static_cast<T>((capacity + grid - 1) / grid);
    count_ = static_cast<int32_t>(units.size());
    for (int32_t index : units) add_unit(layout.units[index], capacity);
    piece_starts_.push_back(static_cast<int32_t>(pieces_.size()));
    number_sections(layout.section_count);
    find_twins();
    list_units();
    floor_.assign(sections_, 0);
    crossing_.assign(sections_ + 1, 0);
    mark_.assign(sections_, 0);
    tops_.assign(sections_, 0);
    result_.assign(count_, 0);
    order_.resize(count_);
    place_of_.resize(count_);
    if (!(off_ & kNoMemo)) memo_.assign(size_t{1} << kMemoBits, 0);
  }

  Outcome search(const std::vector<int32_t>& priority, int64_t node_limit) override {
    if (!is_possible_) return Outcome::kNone;
    priority_ = &priority;
    std::fill(floor_.begin(), floor_.end(), 0);
    low_ = first_low_;
    std::iota(order_.begin(), order_.end(), 0);
    std::iota(place_of_.begin(), place_of_.end(), 0);
    total_.assign(sections_, 0);
    live_.assign(sections_, 0);
    for (int32_t unit = 0; unit < count_; ++unit) {
      for_sections(unit, [&](int32_t s) {
        total_[s] += size_[unit];
        ++live_[s];
      });
    }
    trail_.clear();
    choices_.clear();
    parts_.clear();
    changed_.resize(count_);  // everything is new
    std::iota(changed_.begin(), changed_.end(), 0);
    depth_ = 0;
    stopped_ = false;
    limit_ = node_limit > INT64_MAX - nodes_ ? INT64_MAX : nodes_ + node_limit;
    if (solve(0, count_, 0, sections_, 0, kNobody)) return Outcome::kFound;
    return stopped_ ? Outcome::kStopped : Outcome::kNone;
  }

  std::vector<int64_t> origins() const override {
    std::vector<int64_t> origins(count_);
    for (int32_t k = 0; k < count_; ++k) origins[k] = static_cast<int64_t>(result_[k]) * grid_;
    return origins;
  }

  int64_t nodes() const override { return nodes_; }

 private:
  struct Run {
    int32_t begin, end;
  };
  // What to put back: the floor of section `index`, the low of unit ~index when negative; or take
  // away the unit `index - sections_`.
  struct Change {
    int32_t index;
    T value;
  };
  // Where to branch.
  struct Branch {
    int32_t section;
    int32_t valley_begin, valley_end;
    T level;
    T slack;
    T wall;  // the lower neighbour of the valley, or kNoWall
  };

  static constexpr T kNoWall = std::numeric_limits<T>::max();
  static constexpr int32_t kNobody = -1;
  static constexpr T kNone = std::numeric_limits<T>::max();

  // -- preparation ------------------------------------------------------------------------

  void add_unit(const Unit& unit, int64_t capacity) {
    piece_starts_.push_back(static_cast<int32_t>(pieces_.size()));
    for (const Piece& piece : unit.pieces) pieces_.push_back({piece.begin, piece.end});
    const int64_t size = (unit.size + grid_ - 1) / grid_;
    const int64_t low = (std::max<int64_t>(unit.lowest, 0) + grid_ - 1) / grid_;
    const int64_t top = std::min({unit.highest, unit.reach - unit.size, capacity - unit.size});
    const int64_t high = top < 0 ? -1 : top / grid_;
    size_.push_back(static_cast<T>(std::min<int64_t>(size, capacity_ + T{1})));
    modulus_.push_back(static_cast<T>(std::min<int64_t>(unit.modulus / grid_, capacity_ + T{1})));
    residue_.push_back(static_cast<T>(std::min<int64_t>(unit.residue / grid_, capacity_ + T{1})));
    first_low_.push_back(static_cast<T>(std::min<int64_t>(low, capacity_ + T{1})));
    high_.push_back(static_cast<T>(high));
    is_simple_ = is_simple_ && unit.pieces.size() == 1;
    is_possible_ = is_possible_ && low <= high;
    // what may go anywhere can be exchanged with what lies under it
    is_uniform_ = is_uniform_ && modulus_.back() == 1 && low == 0 && high >= capacity_ - size;
  }

  // Without some of the layout's units, fewer sections tell all overlaps.
  void number_sections(int32_t old_count) {
    std::vector<int32_t> born(old_count + 1), died(old_count + 1), first(old_count + 1);
    for (const Run& run : pieces_) {
      ++born[run.begin];
      ++died[run.end];
    }
    int32_t current = 0;
    bool death = false, any = false;
    std::vector<int32_t> last(old_count + 1);
    for (int32_t s = 0; s <= old_count; ++s) {
      last[s] = current + 1;  // where a run that ends before s ends now
      death = death || (died[s] > 0 && any);
      if (born[s] > 0) {
        current += death;
        death = false;
        any = true;
      }
      first[s] = current;
    }
    for (Run& run : pieces_) run = {first[run.begin], last[run.end]};
    sections_ = any ? current + 1 : 0;
    for (int32_t k = 0; k < count_; ++k) {
      begin_.push_back(INT32_MAX);
      end_.push_back(0);
      for (int32_t p = piece_starts_[k]; p < piece_starts_[k + 1]; ++p) {
        begin_[k] = std::min(begin_[k], pieces_[p].begin);
        end_[k] = std::max(end_[k], pieces_[p].end);
      }
      begin_[k] = std::min(begin_[k], end_[k]);
    }
  }

  // Units with the same pieces and limits are interchangeable.
  void find_twins() {
    using Key = std::tuple<std::vector<std::pair<int32_t, int32_t>>, T, T, T, T, T>;
    std::map<Key, int32_t> known;
    for (int32_t k = 0; k < count_; ++k) {
      std::vector<std::pair<int32_t, int32_t>> runs;
      for (int32_t p = piece_starts_[k]; p < piece_starts_[k + 1]; ++p) {
        runs.emplace_back(pieces_[p].begin, pieces_[p].end);
      }
      const Key key(runs, size_[k], modulus_[k], residue_[k], first_low_[k], high_[k]);
      twin_.push_back(known.emplace(key, k).first->second);
    }
  }

  // Which units cover each section.
  void list_units() {
    section_starts_.assign(sections_ + 1, 0);
    for (const Run& run : pieces_) {
      for (int32_t s = run.begin; s < run.end; ++s) ++section_starts_[s + 1];
    }
    std::partial_sum(section_starts_.begin(), section_starts_.end(), section_starts_.begin());
    std::vector<int32_t> next(section_starts_.begin(), section_starts_.end() - (sections_ ? 1 : 0));
    section_units_.resize(section_starts_.back());
    for (int32_t unit = 0; unit < count_; ++unit) {
      for_sections(unit, [&](int32_t s) { section_units_[next[s]++] = unit; });
    }
  }

  // -- the trail ----------------------------------------------------------------------------

  void set_floor(int32_t section, T value) {
    trail_.push_back({section, floor_[section]});
    floor_[section] = value;
  }

  void set_low(int32_t unit, T value) {
    trail_.push_back({~unit, low_[unit]});
    low_[unit] = value;
  }

  void undo(size_t mark) {
    while (trail_.size() > mark) {
      const Change change = trail_.back();
      trail_.pop_back();
      if (change.index < 0) {
        low_[~change.index] = change.value;
      } else if (change.index < sections_) {
        floor_[change.index] = change.value;
      } else {
        const int32_t unit = change.index - sections_;
        for_sections(unit, [&](int32_t s) {
          ++live_[s];
          total_[s] += size_[unit];
        });
      }
    }
  }

  void place(int32_t unit, T level) {
    for_sections(unit, [&](int32_t s) { set_floor(s, level + size_[unit]); });
    result_[unit] = level;
    for_sections(unit, [&](int32_t s) { remove_from(s, unit); });
    trail_.push_back({sections_ + unit, 0});
  }

  // Moves the unit behind the live ones of a section. What is behind them is never sorted, so
  // undoing in reverse order only needs to count up.
  void remove_from(int32_t section, int32_t unit) {
    int32_t* const units = section_units_.data() + section_starts_[section];
    const int32_t last = --live_[section];
    int32_t at = 0;
    while (units[at] != unit) ++at;
    for (; at < last; ++at) units[at] = units[at + 1];
    units[last] = unit;
    total_[section] -= size_[unit];
  }

  void move_to(int32_t unit, int32_t place) {
    const int32_t other = order_[place], from = place_of_[unit];
    std::swap(order_[place], order_[from]);
    place_of_[other] = from;
    place_of_[unit] = place;
  }

  template <class F>
  void for_sections(int32_t unit, F f) const {
    for (int32_t p = piece_starts_[unit]; p < piece_starts_[unit + 1]; ++p) {
      for (int32_t s = pieces_[p].begin; s < pieces_[p].end; ++s) f(s);
    }
  }

  bool covers(int32_t unit, int32_t section) const {
    for (int32_t p = piece_starts_[unit]; p < piece_starts_[unit + 1]; ++p) {
      if (pieces_[p].begin <= section && section < pieces_[p].end) return true;
    }
    return false;
  }

  bool meet(int32_t a, int32_t b) const {
    if (begin_[a] >= end_[b] || begin_[b] >= end_[a]) return false;
    for (int32_t p = piece_starts_[a]; p < piece_starts_[a + 1]; ++p) {
      for (int32_t q = piece_starts_[b]; q < piece_starts_[b + 1]; ++q) {
        if (pieces_[p].begin < pieces_[q].end && pieces_[q].begin < pieces_[p].end) return true;
      }
    }
    return false;
  }

  T aligned(int32_t unit, T value) const {
    return modulus_[unit] == 1 ? value
                               : static_cast<T>(align_up(value, modulus_[unit], residue_[unit]));
  }

  // -- one node -------------------------------------------------------------------------------

  // Places the units order_[b, e), whose pieces lie in the sections [from, to). New since the
  // parent looked: the lows of changed_[changes...), the floors under `placed` (or kNobody).
  bool solve(int32_t b, int32_t e, int32_t from, int32_t to, size_t changes, int32_t placed) {
    if (b == e) return true;
    if (nodes_ >= limit_ || depth_ >= kMaxDepth ||
        (nodes_ % kPollNodes == 0 && limits_.reached())) {
      stopped_ = true;
      return false;
    }
    ++nodes_;
    if (!update(changes, placed)) return false;
    ++depth_;
    const size_t mark = changed_.size();
    const bool solved = expand(b, e, from, to);
    changed_.resize(mark);
    --depth_;
    return solved;
  }

  bool expand(int32_t b, int32_t e, int32_t from, int32_t to) {
    if (!(off_ & kNoComponents)) {
      const size_t base = parts_.size();
      const int32_t found = find_components(b, e, from, to);
      if (found > 1) {
        const bool solved = solve_parts(b, e, base);
        parts_.resize(base);
        return solved;
      }
      if (found == 1) {
        from = parts_[base].from;
        to = parts_[base].to;
      }
      parts_.resize(base);
    }
    uint64_t key = 0;
    if (!(off_ & kNoMemo)) {
      key = key_of(b, e, from, to);
      if (memo_[key >> (64 - kMemoBits)] == key) return false;
    }
    if (branch(b, e, from, to)) return true;
    if (!(off_ & kNoMemo) && !stopped_) memo_[key >> (64 - kMemoBits)] = key;
    return false;
  }

  // Raises the lows over the floors that were raised, and the floors under lows that were. False
  // when something does not fit any more.
  bool update(size_t changes, int32_t placed) {
    dirty_.clear();
    ++stamp_;
    for (size_t k = changes; k < changed_.size(); ++k) touch_sections(changed_[k]);
    if (placed != kNobody) {
      const T top = result_[placed] + size_[placed];
      for_sections(placed, [&](int32_t s) {
        touch_section(s);
        for_units(s, [&](int32_t unit) {
          if (low_[unit] < top) {
            set_low(unit, aligned(unit, top));
            touch_sections(unit);
          }
        });
      });
    }
    for (int32_t s : dirty_) {
      if (!check_section(s)) return false;
    }
    return true;
  }

  void touch_section(int32_t section) {
    if (mark_[section] == stamp_) return;
    mark_[section] = stamp_;
    dirty_.push_back(section);
  }

  void touch_sections(int32_t unit) {
    for_sections(unit, [&](int32_t s) { touch_section(s); });
  }

  template <class F>
  void for_units(int32_t section, F f) const {
    const int32_t* const units = section_units_.data() + section_starts_[section];
    for (int32_t k = 0; k < live_[section]; ++k) f(units[k]);
  }

  // The floor of a section is where its lowest unit can start. What cannot start below some level
  // is stacked from there: the one-machine bound with release times.
  bool check_section(int32_t section) {
    const T total = total_[section];
    const int32_t count = live_[section];
    if (count == 0) return true;
    int32_t* const units = section_units_.data() + section_starts_[section];
    T lowest = kNone, highest = 0;
    bool fits = true;
    for (int32_t k = 0; k < count; ++k) {
      const T low = low_[units[k]];
      lowest = std::min(lowest, low);
      highest = std::max(highest, low);
      fits = fits && low <= high_[units[k]];
    }
    if (lowest > floor_[section]) set_floor(section, lowest);
    if (!fits || lowest > capacity_ - total) return false;
    if (highest <= capacity_ - total || (off_ & kNoStacking)) return true;
    sort_by_low(units, count);
    T left = capacity_;  // what lower units may still fill
    for (int32_t k = count - 1; k >= 0; --k) {
      left -= size_[units[k]];
      if (low_[units[k]] > left) return false;
    }
    return true;
  }

  // Lows change little from node to node, so what was sorted before is nearly sorted.
  void sort_by_low(int32_t* units, int32_t count) const {
    for (int32_t k = 1; k < count; ++k) {
      const int32_t unit = units[k];
      const T low = low_[unit];
      int32_t at = k;
      for (; at > 0 && low_[units[at - 1]] > low; --at) units[at] = units[at - 1];
      units[at] = unit;
    }
  }

  struct Part {
    int32_t from, to;    // sections
    int32_t begin, end;  // filled when there are several
  };

  // Splits [from, to) where no unit crosses; appends the stretches that have units to parts_.
  int32_t find_components(int32_t b, int32_t e, int32_t from, int32_t to) {
    std::fill(crossing_.begin() + from, crossing_.begin() + to + 1, 0);
    for (int32_t k = b; k < e; ++k) {
      const int32_t unit = order_[k];
      if (begin_[unit] == end_[unit]) continue;
      ++crossing_[begin_[unit]];
      --crossing_[end_[unit] - 1];
    }
    int32_t found = 0, crossing = 0, start = from;
    for (int32_t s = from; s < to; ++s) {
      crossing += crossing_[s];
      if (crossing > 0) continue;
      // between s and s + 1 nothing crosses
      if (total_[s] != 0) {
        parts_.push_back({start, s + 1, 0, 0});
        ++found;
      }
      start = s + 1;
    }
    return found;
  }

  // The parts parts_[base..]: one by one, small ones first.
  bool solve_parts(int32_t b, int32_t e, size_t base) {
    const size_t top = parts_.size();
    int32_t next = b;
    for (size_t p = base; p < top; ++p) {
      Part& part = parts_[p];
      part.begin = next;
      for (int32_t k = next; k < e; ++k) {
        const int32_t unit = order_[k];
        if (part.from <= begin_[unit] && begin_[unit] < part.to) move_to(unit, next++);
      }
      part.end = next;
    }
    std::sort(parts_.begin() + base, parts_.begin() + top, [](const Part& x, const Part& y) {
      return std::make_pair(x.end - x.begin, x.from) < std::make_pair(y.end - y.begin, y.from);
    });
    for (size_t p = base; p < top; ++p) {
      const Part part = parts_[p];
      if (!solve(part.begin, part.end, part.from, part.to, changed_.size(), kNobody)) return false;
    }
    return true;
  }

  uint64_t key_of(int32_t b, int32_t e, int32_t from, int32_t to) const {
    uint64_t key = mix((static_cast<uint64_t>(from) << 32) + static_cast<uint64_t>(to));
    for (int32_t k = b; k < e; ++k) {
      const int32_t unit = order_[k];
      key += mix(static_cast<uint64_t>(low_[unit]) * 0x9E3779B97F4A7C15ULL +
                 static_cast<uint64_t>(unit) + 1);
    }
    for (int32_t s = from; s < to; ++s) {
      key += mix(static_cast<uint64_t>(floor_[s]) * 0xC2B2AE3D27D4EB4FULL -
                 static_cast<uint64_t>(s) - 1);
    }
    return mix(key) | 1;
  }

  // -- branching ------------------------------------------------------------------------------

  // The section of a valley with the fewest choices; then the least slack, then the lowest.
  Branch choose(int32_t from, int32_t to) const {
    Branch best{-1, 0, 0, 0, 0, kNoWall};
    std::tuple<int32_t, T, T> best_score;
    for (int32_t begin = from; begin < to;) {
      int32_t end = begin + 1;
      while (end < to && floor_[end] == floor_[begin]) ++end;
      const T left = begin == from ? kNoWall : floor_[begin - 1];
      const T right = end == to ? kNoWall : floor_[end];
      if (left > floor_[begin] && right > floor_[begin]) {
        for (int32_t s = begin; s < end; ++s) {
          if (total_[s] == 0) continue;
          const T slack = capacity_ - floor_[s] - total_[s];
          int32_t children = slack > 0;
          for_units(s, [&](int32_t unit) { children += low_[unit] == floor_[s]; });
          const std::tuple<int32_t, T, T> score(children, slack, floor_[s]);
          if (best.section < 0 || score < best_score) {
            best = {s, begin, end, floor_[s], slack, std::min(left, right)};
            best_score = score;
          }
        }
      }
      begin = end;
    }
    return best;
  }

  bool branch(int32_t b, int32_t e, int32_t from, int32_t to) {
    const Branch at = choose(from, to);
    if (at.section < 0) return fill_deserts(b, e, from, to);
    const size_t base = choices_.size();
    for_units(at.section, [&](int32_t unit) {
      if (low_[unit] == at.level) choices_.push_back(unit);
    });
    std::sort(choices_.begin() + base, choices_.end(), [&](int32_t x, int32_t y) {
      return std::make_pair((*priority_)[x], x) < std::make_pair((*priority_)[y], y);
    });
    const bool solved = try_choices(b, e, from, to, at, base);
    choices_.resize(base);
    return solved;
  }

  // A valley that no unit covers cannot hold anything: raise it, and look again.
  bool fill_deserts(int32_t b, int32_t e, int32_t from, int32_t to) {
    for (int32_t begin = from; begin < to;) {
      int32_t end = begin + 1;
      while (end < to && floor_[end] == floor_[begin]) ++end;
      bool desert = true;
      for (int32_t s = begin; s < end; ++s) desert = desert && total_[s] == 0;
      const T left = begin == from ? kNoWall : floor_[begin - 1];
      const T right = end == to ? kNoWall : floor_[end];
      const T wall = std::min(left, right);
      if (desert && wall > floor_[begin] && wall != kNoWall) {
        for (int32_t s = begin; s < end; ++s) set_floor(s, wall);
        return branch(b, e, from, to);
      }
      begin = end;
    }
    return false;
  }

  bool try_choices(int32_t b, int32_t e, int32_t from, int32_t to, const Branch& at, size_t base) {
    const size_t top = choices_.size(), changes = changed_.size();
    for (size_t c = base; c < top; ++c) {
      const int32_t unit = choices_[c];
      if (low_[unit] > at.level || (!(off_ & kNoTwins) && has_failed_twin(base, c))) continue;
      const size_t mark = trail_.size();
      move_to(unit, e - 1);
      place(unit, at.level);
      if (solve(b, e - 1, from, to, changes, unit)) return true;
      undo(mark);
      if (stopped_) return false;
      if (fills_valley(unit, at)) {
        // whatever lies under it in a plan, between the walls, could be put on top of it instead
        if (at.wall == kNoWall) return false;
        set_low(unit, at.wall + 1);
        changed_.push_back(unit);
      }
    }
    return at.slack > 0 && waste(b, e, from, to, at, changes);
  }

  bool has_failed_twin(size_t base, size_t choice) const {
    const int32_t unit = choices_[choice];
    for (size_t c = base; c < choice; ++c) {
      if (twin_[choices_[c]] == twin_[unit]) return true;
    }
    return false;
  }

  bool fills_valley(int32_t unit, const Branch& at) const {
    return !(off_ & kNoDominance) && is_uniform_ &&
           piece_starts_[unit + 1] - piece_starts_[unit] == 1 && begin_[unit] <= at.valley_begin &&
           end_[unit] >= at.valley_end;
  }

  // Nothing that covers the section starts on its floor: what could must rest on others, directly
  // or through each other, that do not cover it or start higher.
  bool waste(int32_t b, int32_t e, int32_t from, int32_t to, const Branch& at, size_t changes) {
    const size_t mark = trail_.size();
    const T next = lift(b, e, at);
    if (next != kNone && next - at.level <= at.slack && solve(b, e, from, to, changes, kNobody)) {
      return true;
    }
    undo(mark);
    return false;
  }

  // The lowest end of a unit that meets `unit` and does not cover the section.
  T lowest_top(int32_t unit, int32_t b, int32_t e, int32_t section) const {
    T lowest = kNone;
    for (int32_t j = b; j < e; ++j) {
      const int32_t other = order_[j];
      if (covers(other, section) || !meet(unit, other)) continue;
      lowest = std::min<T>(lowest, low_[other] + size_[other]);
    }
    return lowest;
  }

  // The same for all units of one piece at once: tops_[s] is the lowest end of a unit between
  // s and the section, for sections s on both sides.
  void find_tops_beside(int32_t b, int32_t e, int32_t section) {
    std::fill(tops_.begin(), tops_.end(), kNone);
    for (int32_t j = b; j < e; ++j) {
      const int32_t unit = order_[j];
      const T top = low_[unit] + size_[unit];
      if (end_[unit] <= section) {
        tops_[end_[unit] - 1] = std::min(tops_[end_[unit] - 1], top);
      } else if (begin_[unit] > section) {
        tops_[begin_[unit]] = std::min(tops_[begin_[unit]], top);
      }
    }
    for (int32_t s = section - 2; s >= 0; --s) tops_[s] = std::min(tops_[s], tops_[s + 1]);
    for (int32_t s = section + 2; s < sections_; ++s) tops_[s] = std::min(tops_[s], tops_[s - 1]);
  }

  // Raises the lows of units that cover the section; returns the lowest, or kNone when some unit
  // has no place any more.
  T lift(int32_t b, int32_t e, const Branch& at) {
    supports_.clear();
    if (is_simple_) find_tops_beside(b, e, at.section);
    for_units(at.section, [&](int32_t unit) {
      T support = low_[unit];
      if (support <= at.level) {
        support = is_simple_ ? std::min(tops_[begin_[unit]], tops_[end_[unit] - 1])
                             : lowest_top(unit, b, e, at.section);
        if (support != kNone) support = std::max<T>(support, at.level + 1);
      }
      supports_.emplace_back(support, unit);
    });
    std::sort(supports_.begin(), supports_.end());
    // All of them meet. Each may also rest on one that starts lower: shortest paths, in one pass.
    const T next = supports_.empty() ? kNone : supports_[0].first;
    T on_others = kNone;
    while (!supports_.empty()) {
      auto lowest = std::min_element(supports_.begin(), supports_.end());
      const int32_t unit = lowest->second;
      T low = std::min(lowest->first, on_others);
      supports_.erase(lowest);
      if (low == kNone) return kNone;
      if (low_[unit] <= at.level) {
        low = aligned(unit, low);
        set_low(unit, low);
        changed_.push_back(unit);
      }
      if (low_[unit] > high_[unit]) return kNone;
      on_others = std::min<T>(on_others, low_[unit] + size_[unit]);
    }
    return next;
  }

  const std::vector<int32_t> units_;
  const int64_t grid_;
  const uint32_t off_;
  const Limits& limits_;
  T capacity_ = 0;
  int32_t count_ = 0, sections_ = 0;
  bool is_possible_ = true, is_uniform_ = true, is_simple_ = true;

  std::vector<Run> pieces_;
  std::vector<int32_t> piece_starts_, begin_, end_, twin_;
  std::vector<T> size_, modulus_, residue_, first_low_, high_;

  const std::vector<int32_t>* priority_ = nullptr;
  std::vector<int32_t> order_, place_of_;
  std::vector<int32_t> section_starts_, section_units_;
  std::vector<T> low_, floor_, total_, result_;
  std::vector<int32_t> live_;  // by section, how many units of it are not placed
  std::vector<int32_t> crossing_, choices_;
  std::vector<int32_t> changed_;  // units whose lows a node has raised itself
  std::vector<int32_t> dirty_;    // sections to look at
  std::vector<int64_t> mark_;     // by section, the stamp when it became dirty
  std::vector<std::pair<T, int32_t>> supports_;
  std::vector<T> tops_;
  int64_t stamp_ = 0;

  std::vector<Part> parts_;
  std::vector<Change> trail_;
  std::vector<uint64_t> memo_;
  int64_t nodes_ = 0, limit_ = 0;
  int32_t depth_ = 0;
  bool stopped_ = false;
};

}  // namespace

std::unique_ptr<Valley> make_valley(const Layout& layout, const std::vector<int32_t>& units,
                                    int64_t capacity, uint32_t switched_off, const Limits& limits) {
  int64_t grid = 0, total = 0;
  for (int32_t index : units) {
    const Unit& unit = layout.units[index];
    grid = std::gcd(std::gcd(grid, unit.modulus), unit.residue);
    total += unit.size + unit.modulus;
  }
  grid = std::max<int64_t>(grid, 1);
  if (capacity / grid + total / grid < (1 << 30)) {
    return std::make_unique<Search<int32_t>>(layout, units, grid, capacity, switched_off, limits);
  }
  return std::make_unique<Search<int64_t>>(layout, units, grid, capacity, switched_off, limits);
}

}  // namespace onearena::internal
