// What the search over valleys knows at a node, and how it changes and is put back.
#ifndef ONEARENA_SRC_VALLEY_STATE_H_
#define ONEARENA_SRC_VALLEY_STATE_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "units.h"
#include "valley.h"

namespace onearena::internal {

// Positions are counted in `grid`, the alignment that all units have in common; T holds every
// position. A unit's position is that of its origin; a piece of it starts `bottom` above. With
// kFlat, all pieces of a unit are [0, size).
template <class T, bool kFlat>
class ValleyState {
 public:
  static constexpr T kNone = std::numeric_limits<T>::max();
  static constexpr int32_t kNobody = -1;

  // `units` are the units to place (the others do not exist).
  ValleyState(const Layout& layout, const std::vector<int32_t>& units, int64_t grid,
              int64_t capacity, uint32_t switched_off)
      : off_(switched_off), grid_(grid), count_(static_cast<int32_t>(units.size())) {
    capacity_ = static_cast<T>((capacity + grid - 1) / grid);
    for (int32_t index : units) add_unit(layout.units[index], capacity);
    piece_starts_.push_back(static_cast<int32_t>(pieces_.size()));
    number_sections(layout.section_count);
    find_twins();
    list_pieces();
    floor_.resize(sections_);
    mark_.resize(sections_);
    result_.resize(count_);
  }

  void reset() {
    std::fill(floor_.begin(), floor_.end(), 0);
    low_ = first_low_;
    high_ = first_high_;
    is_placed_.assign(pieces_.size(), false);
    total_.assign(sections_, 0);
    live_.assign(sections_, 0);
    for (int32_t piece = 0; piece < static_cast<int32_t>(pieces_.size()); ++piece) {
      for (int32_t s = pieces_[piece].begin; s < pieces_[piece].end; ++s) {
        total_[s] += width(piece);
        ++live_[s];
      }
    }
    trail_.clear();
    changed_.resize(count_);  // everything is new
    std::iota(changed_.begin(), changed_.end(), 0);
  }

  // -- facts ----------------------------------------------------------------------------------

  bool is_possible() const { return is_possible_; }
  int32_t count() const { return count_; }
  int32_t sections() const { return sections_; }
  T capacity() const { return capacity_; }
  T floor(int32_t section) const { return floor_[section]; }
  // Bytes of units that are not placed.
  T total(int32_t section) const { return total_[section]; }
  T low(int32_t unit) const { return low_[unit]; }
  // Sections [begin, end) hold all pieces of a unit.
  int32_t begin(int32_t unit) const { return begin_[unit]; }
  int32_t end(int32_t unit) const { return end_[unit]; }
  bool are_twins(int32_t a, int32_t b) const { return twin_[a] == twin_[b]; }
  int64_t origin(int32_t unit) const { return static_cast<int64_t>(result_[unit]) * grid_; }
  bool has_one_piece(int32_t unit) const {
    return piece_starts_[unit + 1] - piece_starts_[unit] == 1;
  }

  // Whether `unit`, which would fill the valley [from, to), can change places with whatever lies
  // under it in there: that moves up by the unit's size, as one block. So it must lie in the valley
  // altogether, may not be bound to a place, and must stay aligned.
  bool can_be_lowered(int32_t unit, int32_t from, int32_t to) const {
    if (!has_one_piece(unit) || begin_[unit] > from || end_[unit] < to) return false;
    if (bottom(piece_starts_[unit]) != 0 || top(piece_starts_[unit]) != size_[unit]) return false;
    if (is_uniform_ && is_single_) return true;
    bool is_free = true;
    for (int32_t s = from; s < to && is_free; ++s) {
      for_units(s, [&](int32_t other, T) {
        if (other == unit) return;
        const bool is_inside = begin_[other] >= from && end_[other] <= to;
        is_free = is_free && (is_inside ? can_be_lifted(other, size_[unit]) : has_one_piece(other));
      });
    }
    return is_free;
  }

  // Whether a unit may lie higher by `distance` wherever its pieces then still end below the
  // capacity.
  bool can_be_lifted(int32_t unit, T distance) const {
    T top_of_all = 0;
    for (int32_t p = piece_starts_[unit]; p < piece_starts_[unit + 1]; ++p) {
      top_of_all = std::max(top_of_all, top(p));
    }
    return distance % modulus_[unit] == 0 && high_[unit] >= capacity_ - size_[unit] &&
           top_of_all == size_[unit];
  }

  // Calls f(unit, where its piece would start) for all units of a section that are not placed.
  template <class F>
  void for_units(int32_t section, F f) const {
    const int32_t* const pieces = section_pieces_.data() + section_starts_[section];
    for (int32_t k = 0; k < live_[section]; ++k) {
      const int32_t unit = owner_[pieces[k]];
      f(unit, low_[unit] + bottom(pieces[k]));
    }
  }

  bool covers(int32_t unit, int32_t section) const {
    for (int32_t p = piece_starts_[unit]; p < piece_starts_[unit + 1]; ++p) {
      if (pieces_[p].begin <= section && section < pieces_[p].end) return true;
    }
    return false;
  }

  // -- changes --------------------------------------------------------------------------------

  size_t mark() const { return trail_.size(); }

  void undo(size_t mark) {
    while (trail_.size() > mark) {
      const Change change = trail_.back();
      trail_.pop_back();
      if (change.index < 0) {
        low_[~change.index] = change.value;
      } else if (change.index < sections_) {
        floor_[change.index] = change.value;
      } else if (change.index < sections_ + piece_count()) {
        take_back(change.index - sections_);
      } else {
        high_[change.index - sections_ - piece_count()] = change.value;
      }
    }
  }

  void set_floor(int32_t section, T value) {
    trail_.push_back({section, floor_[section]});
    floor_[section] = value;
  }

  // A low that a node has found out itself; update() looks at it later.
  void raise_low(int32_t unit, T value) {
    set_low(unit, aligned(unit, value));
    changed_.push_back(unit);
  }
  bool is_too_high(int32_t unit) const { return low_[unit] > high_[unit]; }
  size_t changes() const { return changed_.size(); }
  void forget_changes(size_t mark) { changed_.resize(mark); }

  // Settles that a unit lies at its low, and places those of its pieces that have a floor under
  // them in all their sections; others still have room for units below. True when no piece is left.
  bool place(int32_t unit) {
    result_[unit] = low_[unit];
    if (high_[unit] != low_[unit]) {
      trail_.push_back({sections_ + piece_count() + unit, high_[unit]});
      high_[unit] = low_[unit];
    }
    bool is_complete = true;
    for (int32_t piece = piece_starts_[unit]; piece < piece_starts_[unit + 1]; ++piece) {
      if (is_placed_[piece]) continue;
      if (is_grounded(unit, piece)) {
        place_piece(unit, piece);
      } else {
        is_complete = false;
      }
    }
    return is_complete;
  }

  // Whether place() has settled a unit some pieces of which are left.
  bool is_settled(int32_t unit) const { return low_[unit] == high_[unit]; }

  // Raises the lows over the floors under `placed` (or kNobody), and the floors under these lows
  // and those of changed_[changes...). False when something does not fit any more.
  bool update(size_t changes, int32_t placed) {
    dirty_.clear();
    ++stamp_;
    for (size_t k = changes; k < changed_.size(); ++k) touch_sections(changed_[k]);
    if (placed != kNobody) lift_over(placed);
    for (int32_t s : dirty_) {
      if (!check_section(s)) return false;
    }
    return true;
  }

  // -- waste ------------------------------------------------------------------------------------

  // The lowest level at which a piece of `unit` could rest on one of `other`, as the unit's
  // position; kNone when they do not meet.
  T rest_on(int32_t unit, int32_t other) const {
    T lowest = kNone;
    if (begin_[unit] >= end_[other] || begin_[other] >= end_[unit]) return lowest;
    for (int32_t p = piece_starts_[unit]; p < piece_starts_[unit + 1]; ++p) {
      for (int32_t q = piece_starts_[other]; q < piece_starts_[other + 1]; ++q) {
        if (pieces_[p].begin >= pieces_[q].end || pieces_[q].begin >= pieces_[p].end) continue;
        lowest = std::min<T>(lowest, low_[other] + top(q) - bottom(p));
      }
    }
    return lowest;
  }

  // All units have one piece, and flat ones: lowest_tops() will do for all at once.
  bool is_simple() const { return kFlat && is_single_; }

  // tops[s], for sections s on both sides of `section`: the lowest top of one of the units
  // units[b, e) that lie between s and `section` and do not cover the latter.
  void lowest_tops(const std::vector<int32_t>& units, int32_t b, int32_t e, int32_t section,
                   std::vector<T>& tops) const {
    tops.assign(sections_, kNone);
    for (int32_t j = b; j < e; ++j) {
      const int32_t unit = units[j];
      const T top = low_[unit] + size_[unit];
      if (end_[unit] <= section) {
        tops[end_[unit] - 1] = std::min(tops[end_[unit] - 1], top);
      } else if (begin_[unit] > section) {
        tops[begin_[unit]] = std::min(tops[begin_[unit]], top);
      }
    }
    for (int32_t s = section - 2; s >= 0; --s) tops[s] = std::min(tops[s], tops[s + 1]);
    for (int32_t s = section + 2; s < sections_; ++s) tops[s] = std::min(tops[s], tops[s - 1]);
  }

 private:
  struct Run {
    int32_t begin, end;
  };
  // What to put back: the low of unit ~index when negative; else, counted in one go, the floor of a
  // section, a piece that was placed, or the high of a unit.
  struct Change {
    int32_t index;
    T value;
  };

  // -- preparation ------------------------------------------------------------------------

  void add_unit(const Unit& unit, int64_t capacity) {
    const int32_t number = static_cast<int32_t>(piece_starts_.size());
    piece_starts_.push_back(static_cast<int32_t>(pieces_.size()));
    for (const Piece& piece : unit.pieces) {
      pieces_.push_back({piece.begin, piece.end});
      owner_.push_back(number);
      bottoms_.push_back(static_cast<T>(piece.low / grid_));
      tops_.push_back(static_cast<T>((piece.high + grid_ - 1) / grid_));
    }
    const int64_t size = (unit.size + grid_ - 1) / grid_;
    const int64_t low = (std::max<int64_t>(unit.lowest, 0) + grid_ - 1) / grid_;
    const int64_t most = std::min(unit.highest, capacity - unit.size);
    const int64_t high = most < 0 ? -1 : most / grid_;
    const auto narrow = [&](int64_t value) {
      return static_cast<T>(std::min<int64_t>(value, capacity_ + T{1}));
    };
    size_.push_back(narrow(size));
    modulus_.push_back(narrow(unit.modulus / grid_));
    residue_.push_back(narrow(unit.residue / grid_));
    first_low_.push_back(narrow(low));
    first_high_.push_back(static_cast<T>(high));
    is_single_ = is_single_ && unit.pieces.size() == 1;
    is_possible_ = is_possible_ && low <= high;
    is_uniform_ =
        is_uniform_ && kFlat && modulus_.back() == 1 && low == 0 && high >= capacity_ - size;
  }

  // Without some of the layout's units, fewer sections tell all overlaps.
  void number_sections(int32_t old_count) {
    std::vector<int32_t> born(old_count + 1), died(old_count + 1);
    std::vector<int32_t> first(old_count + 1), last(old_count + 1);
    for (const Run& run : pieces_) {
      ++born[run.begin];
      ++died[run.end];
    }
    int32_t current = 0;
    bool death = false, any = false;
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
    using Shape = std::vector<std::tuple<int32_t, int32_t, T, T>>;
    std::map<std::tuple<Shape, T, T, T, T, T>, int32_t> known;
    for (int32_t k = 0; k < count_; ++k) {
      Shape shape;
      for (int32_t p = piece_starts_[k]; p < piece_starts_[k + 1]; ++p) {
        shape.emplace_back(pieces_[p].begin, pieces_[p].end, bottoms_[p], tops_[p]);
      }
      const std::tuple key(shape, size_[k], modulus_[k], residue_[k], first_low_[k],
                           first_high_[k]);
      twin_.push_back(known.emplace(key, k).first->second);
    }
  }

  // Which pieces each section has.
  void list_pieces() {
    section_starts_.assign(sections_ + 1, 0);
    for (const Run& run : pieces_) {
      for (int32_t s = run.begin; s < run.end; ++s) ++section_starts_[s + 1];
    }
    std::partial_sum(section_starts_.begin(), section_starts_.end(), section_starts_.begin());
    std::vector<int32_t> next(section_starts_.begin(), section_starts_.end() - 1);
    section_pieces_.resize(section_starts_.back());
    for (int32_t piece = 0; piece < static_cast<int32_t>(pieces_.size()); ++piece) {
      for (int32_t s = pieces_[piece].begin; s < pieces_[piece].end; ++s) {
        section_pieces_[next[s]++] = piece;
      }
    }
  }

  // -- one node -------------------------------------------------------------------------------

  T bottom(int32_t piece) const { return kFlat ? T{0} : bottoms_[piece]; }
  T top(int32_t piece) const { return tops_[piece]; }
  T width(int32_t piece) const { return top(piece) - bottom(piece); }

  T aligned(int32_t unit, T value) const {
    return modulus_[unit] == 1 ? value
                               : static_cast<T>(align_up(value, modulus_[unit], residue_[unit]));
  }

  template <class F>
  void for_pieces(int32_t unit, F f) const {
    for (int32_t p = piece_starts_[unit]; p < piece_starts_[unit + 1]; ++p) {
      for (int32_t s = pieces_[p].begin; s < pieces_[p].end; ++s) f(s, p);
    }
  }

  int32_t piece_count() const { return static_cast<int32_t>(pieces_.size()); }

  bool is_grounded(int32_t unit, int32_t piece) const {
    for (int32_t s = pieces_[piece].begin; s < pieces_[piece].end; ++s) {
      if (floor_[s] < low_[unit] + bottom(piece)) return false;
    }
    return true;
  }

  void place_piece(int32_t unit, int32_t piece) {
    for (int32_t s = pieces_[piece].begin; s < pieces_[piece].end; ++s) {
      set_floor(s, low_[unit] + top(piece));
      remove_from(s, piece);
    }
    is_placed_[piece] = true;
    trail_.push_back({sections_ + piece, 0});
  }

  void take_back(int32_t piece) {
    is_placed_[piece] = false;
    for (int32_t s = pieces_[piece].begin; s < pieces_[piece].end; ++s) {
      ++live_[s];
      total_[s] += width(piece);
    }
  }

  void set_low(int32_t unit, T value) {
    trail_.push_back({~unit, low_[unit]});
    low_[unit] = value;
  }

  // Moves the piece behind the live ones of a section. What is behind them is never sorted, so
  // undoing in reverse order only needs to count up.
  void remove_from(int32_t section, int32_t piece) {
    int32_t* const pieces = section_pieces_.data() + section_starts_[section];
    const int32_t last = --live_[section];
    int32_t at = 0;
    while (pieces[at] != piece) ++at;
    for (; at < last; ++at) pieces[at] = pieces[at + 1];
    pieces[last] = piece;
    total_[section] -= width(piece);
  }

  void lift_over(int32_t placed) {
    for_pieces(placed, [&](int32_t s, int32_t placed_piece) {
      touch_section(s);
      if (!is_placed_[placed_piece]) return;
      const T floor = floor_[s];
      const int32_t* const pieces = section_pieces_.data() + section_starts_[s];
      for (int32_t k = 0; k < live_[s]; ++k) {
        const int32_t unit = owner_[pieces[k]];
        const T low = floor - bottom(pieces[k]);
        if (low_[unit] >= low) continue;
        set_low(unit, aligned(unit, low));
        touch_sections(unit);
      }
    });
  }

  void touch_section(int32_t section) {
    if (mark_[section] == stamp_) return;
    mark_[section] = stamp_;
    dirty_.push_back(section);
  }

  void touch_sections(int32_t unit) {
    for_pieces(unit, [&](int32_t s, int32_t) { touch_section(s); });
  }

  // The floor of a section is where its lowest unit can start. What cannot start below some level
  // is stacked from there: the one-machine bound with release times.
  bool check_section(int32_t section) {
    const T total = total_[section];
    const int32_t count = live_[section];
    if (count == 0) return true;
    int32_t* const pieces = section_pieces_.data() + section_starts_[section];
    T lowest = kNone, highest = 0;
    bool fits = true;
    for (int32_t k = 0; k < count; ++k) {
      const int32_t unit = owner_[pieces[k]];
      const T start = low_[unit] + bottom(pieces[k]);
      lowest = std::min(lowest, start);
      highest = std::max(highest, start);
      fits = fits && low_[unit] <= high_[unit];
    }
    if (lowest > floor_[section]) set_floor(section, lowest);
    if (!fits || lowest > capacity_ - total) return false;
    if (highest <= capacity_ - total || (off_ & kNoStacking)) return true;
    sort_by_start(pieces, count);
    T left = capacity_;  // what lower units may still fill
    for (int32_t k = count - 1; k >= 0; --k) {
      left -= width(pieces[k]);
      if (low_[owner_[pieces[k]]] + bottom(pieces[k]) > left) return false;
    }
    return true;
  }

  // Lows change little from node to node, so what was sorted before is nearly sorted.
  void sort_by_start(int32_t* pieces, int32_t count) const {
    const auto start = [&](int32_t piece) { return low_[owner_[piece]] + bottom(piece); };
    for (int32_t k = 1; k < count; ++k) {
      const int32_t piece = pieces[k];
      const T own = start(piece);
      int32_t at = k;
      for (; at > 0 && start(pieces[at - 1]) > own; --at) pieces[at] = pieces[at - 1];
      pieces[at] = piece;
    }
  }

  const uint32_t off_;
  const int64_t grid_;
  const int32_t count_;
  int32_t sections_ = 0;
  T capacity_ = 0;
  bool is_possible_ = true, is_uniform_ = true, is_single_ = true;

  // by piece
  std::vector<Run> pieces_;
  std::vector<int32_t> owner_;
  std::vector<T> bottoms_, tops_;
  std::vector<char> is_placed_;
  // by unit
  std::vector<int32_t> piece_starts_, begin_, end_, twin_;
  std::vector<T> size_, modulus_, residue_, first_low_, first_high_, high_, low_, result_;
  // by section: the pieces that are not placed come first
  std::vector<int32_t> section_starts_, section_pieces_, live_;
  std::vector<T> floor_, total_;

  std::vector<Change> trail_;
  std::vector<int32_t> changed_;  // units whose lows a node has raised itself
  std::vector<int32_t> dirty_;    // sections to look at
  std::vector<int64_t> mark_;     // by section, the stamp when it became dirty
  int64_t stamp_ = 0;
};

}  // namespace onearena::internal

#endif  // ONEARENA_SRC_VALLEY_STATE_H_
