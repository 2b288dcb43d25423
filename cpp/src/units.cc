#include "units.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "onearena/planner.h"

namespace onearena::internal {
namespace {

// A part of a buffer, before times become sections.
struct Part {
  Span life;
  Span bytes;
  bool is_last;
};

std::vector<Part> parts_of(const Buffer& buffer) {
  std::vector<Part> parts;
  if (buffer.size == 0) return parts;
  std::vector<Gap> gaps = buffer.gaps;
  std::sort(gaps.begin(), gaps.end(),
            [](const Gap& a, const Gap& b) { return a.life.begin < b.life.begin; });
  int64_t from = buffer.life.begin;
  for (const Gap& gap : gaps) {
    if (from < gap.life.begin)
      parts.push_back({{from, gap.life.begin}, {0, buffer.size}, buffer.is_last});
    if (gap.bytes.begin < gap.bytes.end) parts.push_back({gap.life, gap.bytes, buffer.is_last});
    from = gap.life.end;
  }
  if (from < buffer.life.end)
    parts.push_back({{from, buffer.life.end}, {0, buffer.size}, buffer.is_last});
  return parts;
}

bool touch(const Span& a, const Span& b) { return a.begin < b.end && b.begin < a.end; }

// Parts of two buffers, the second shifted by `shift` bytes, occupy a byte at one step, or lie
// above one that is last.
bool collide(const std::vector<Part>& first, const std::vector<Part>& second, int64_t shift) {
  for (const Part& a : first) {
    for (const Part& b : second) {
      if (!touch(a.life, b.life)) continue;
      const bool first_is_below = a.bytes.end <= b.bytes.begin + shift;
      const bool second_is_below = b.bytes.end + shift <= a.bytes.begin;
      if (!(first_is_below && !a.is_last) && !(second_is_below && !b.is_last)) return true;
    }
  }
  return false;
}

// x = a (mod m) and x = b (mod n) together; false when they contradict each other.
bool combine(int64_t& modulus, int64_t& residue, int64_t n, int64_t b) {
  const int64_t common = std::gcd(modulus, n);
  if ((b - residue) % common != 0) return false;
  const Wide joint = static_cast<Wide>(modulus / common) * n;
  if (joint > kInfinity) throw MalformedProblem("the alignments are too large together");
  Wide x = residue;
  // at most n / common steps would do; alignments are small, but not always: use the inverse
  int64_t m1 = modulus / common, n1 = n / common, r0 = m1 % n1, r1 = n1;
  int64_t s0 = 1, s1 = 0;
  while (r1 != 0) {
    const int64_t q = r0 / r1;
    std::tie(r0, r1) = std::make_pair(r1, r0 - q * r1);
    std::tie(s0, s1) = std::make_pair(s1, s0 - q * s1);
  }
  const Wide inverse = n1 == 1 ? 0 : ((static_cast<Wide>(s0) % n1) + n1) % n1;
  const Wide steps = (((static_cast<Wide>((b - residue) / common) % n1) + n1) * inverse) % n1;
  x += steps * modulus;
  modulus = static_cast<int64_t>(joint);
  residue = static_cast<int64_t>(((x % joint) + joint) % joint);
  return true;
}

class Builder {
 public:
  Builder(const Problem& problem, const std::vector<int32_t>& chosen)
      : problem_(problem), chosen_(chosen), unit_of_(problem.buffers.size(), -1) {
    parts_.resize(problem.buffers.size());
    for (int32_t buffer : chosen) parts_[buffer] = parts_of(problem.buffers[buffer]);
  }

  Layout build(std::vector<bool>& merged, Contradiction& contradiction) {
    make_units();
    merge_pairs(merged);
    Layout layout;
    scale_ = find_scale();
    layout.scale = scale_;
    for (const auto& members : members_) {
      if (members.empty()) continue;
      Unit unit;
      if (!make_unit(members, unit)) {
        for (const Member& member : members) contradiction.buffers.push_back(member.buffer);
        return {};
      }
      layout.units.push_back(std::move(unit));
    }
    check_total(layout);
    number_sections(layout);
    for (const Unit& unit : layout.units) {
      layout.is_flat = layout.is_flat && unit.is_flat && !unit.is_last;
    }
    return layout;
  }

  void make_units() {
    std::vector<bool> is_chosen(problem_.buffers.size());
    for (int32_t buffer : chosen_) is_chosen[buffer] = true;
    for (const Group& group : problem_.groups) {
      if (group.empty() || !is_chosen[group[0].buffer]) continue;
      for (const Member& member : group) unit_of_[member.buffer] = int32_t(members_.size());
      members_.push_back(group);
    }
    for (int32_t buffer : chosen_) {
      if (unit_of_[buffer] >= 0) continue;
      unit_of_[buffer] = int32_t(members_.size());
      members_.push_back({{buffer, 0}});
    }
  }

  int64_t delta_of(int32_t buffer) const {
    for (const Member& member : members_[unit_of_[buffer]]) {
      if (member.buffer == buffer) return member.delta;
    }
    return 0;
  }

  // By pair, whether it can be merged before any other one is.
  std::vector<bool> possible_pairs() {
    make_units();
    for (const Pair& pair : problem_.pairs) {
      allowed_.insert(std::minmax(pair.first, pair.second));
    }
    std::vector<bool> possible;
    for (const Pair& pair : problem_.pairs) {
      Group joint;
      possible.push_back(can_merge(pair, joint));
    }
    return possible;
  }

 private:
  // Larger pairs first: they save most.
  void merge_pairs(std::vector<bool>& merged) {
    std::vector<size_t> order;
    for (size_t k = 0; k < merged.size(); ++k) {
      if (merged[k]) {
        const Pair& pair = problem_.pairs[k];
        allowed_.insert(std::minmax(pair.first, pair.second));
        order.push_back(k);
      }
    }
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return problem_.buffers[problem_.pairs[a].first].size >
             problem_.buffers[problem_.pairs[b].first].size;
    });
    for (size_t k : order) merged[k] = try_merge(problem_.pairs[k]);
  }

  bool try_merge(const Pair& pair) {
    Group joint;
    if (!can_merge(pair, joint)) return false;
    const int32_t a = unit_of_[pair.first], b = unit_of_[pair.second];
    if (a == b) return true;
    for (const Member& member : members_[b]) unit_of_[member.buffer] = a;
    members_[a] = std::move(joint);
    members_[b].clear();
    return true;
  }

  // `joint` is what both units would be together.
  bool can_merge(const Pair& pair, Group& joint) const {
    const int32_t a = unit_of_[pair.first], b = unit_of_[pair.second];
    if (a < 0 || b < 0) return false;
    const int64_t shift = delta_of(pair.first) - delta_of(pair.second);
    if (a == b) return shift == 0;
    Group moved = members_[b];
    for (Member& member : moved) member.delta += shift;
    for (const Member& one : members_[a]) {
      for (const Member& other : moved) {
        const bool may =
            one.delta == other.delta && allowed_.count(std::minmax(one.buffer, other.buffer)) != 0;
        if (!may && collide(parts_[one.buffer], parts_[other.buffer], other.delta - one.delta)) {
          return false;
        }
      }
    }
    joint = members_[a];
    joint.insert(joint.end(), moved.begin(), moved.end());
    Unit unit;
    return make_unit(joint, unit);
  }

  // A number that divides every size and, where that matters, every position.
  int64_t find_scale() const {
    int64_t scale = 0;
    auto add = [&](int64_t value) { scale = std::gcd(scale, value); };
    for (int32_t buffer : chosen_) {
      add(problem_.buffers[buffer].size);
      for (const Part& part : parts_[buffer]) add(part.bytes.begin), add(part.bytes.end);
    }
    for (const auto& members : members_) {
      for (const Member& member : members) add(member.delta - members[0].delta);
    }
    for (int32_t buffer : chosen_) {
      const Buffer& it = problem_.buffers[buffer];
      if (it.offset != kFree) add(it.offset);
      add(it.region.begin);
    }
    if (scale == 0) scale = 1;
    // Positions are multiples of the scale, so alignments that divide it hold by themselves; all
    // others must be multiples of it. Making it smaller may break what held before.
    for (bool changed = true; changed;) {
      changed = false;
      for (int32_t buffer : chosen_) {
        const int64_t alignment = problem_.buffers[buffer].alignment;
        if (scale % alignment == 0 || alignment % scale == 0) continue;
        scale = std::gcd(scale, alignment);
        changed = true;
      }
    }
    return scale;
  }

  bool make_unit(const Group& members, Unit& unit) const {
    int64_t low = INT64_MAX;
    for (const Member& member : members) low = std::min(low, member.delta);
    for (const Member& member : members) {
      unit.members.push_back({member.buffer, (member.delta - low) / scale_});
    }
    for (const Member& member : unit.members) {
      if (!constrain(unit, problem_.buffers[member.buffer], member.delta)) return false;
    }
    unit.lowest = align_up(unit.lowest, unit.modulus, unit.residue);
    if (unit.highest != kInfinity) {
      unit.highest = align_down(unit.highest, unit.modulus, unit.residue);
    }
    return unit.lowest <= unit.highest;
  }

  bool constrain(Unit& unit, const Buffer& buffer, int64_t delta) const {
    const int64_t size = buffer.size / scale_;
    const int64_t alignment = buffer.alignment / std::gcd(buffer.alignment, scale_);
    unit.size = std::max(unit.size, delta + size);
    if (!combine(unit.modulus, unit.residue, alignment,
                 ((-delta % alignment) + alignment) % alignment)) {
      return false;
    }
    unit.lowest = std::max(unit.lowest, (buffer.region.begin + scale_ - 1) / scale_ - delta);
    if (buffer.region.end != kUnlimited) {
      const int64_t end = buffer.region.end / scale_;
      unit.highest = std::min(unit.highest, end - size - delta);
    }
    if (buffer.offset != kFree) {
      unit.lowest = std::max(unit.lowest, buffer.offset / scale_ - delta);
      unit.highest = std::min(unit.highest, buffer.offset / scale_ - delta);
      if (buffer.offset % buffer.alignment != 0) return false;
    }
    if (buffer.hint >= 0 && unit.hint == kFree) unit.hint = buffer.hint / scale_ - delta;
    return true;
  }

  // All positions of all planners stay below this sum, so it must not overflow.
  static void check_total(const Layout& layout) {
    Wide total = 0, start = 0;
    for (const Unit& unit : layout.units) {
      total += static_cast<Wide>(unit.size) + unit.modulus;
      start = std::max<Wide>(start, unit.lowest);
      if (unit.lowest < 0) start = std::max<Wide>(start, -static_cast<Wide>(unit.lowest));
    }
    if (total + start > kInfinity / 4) throw MalformedProblem("the sizes add up to too much");
  }

  // Sections: the fewest stretches of time at which all overlaps can be seen. A new one begins
  // where a birth follows a death.
  void number_sections(Layout& layout) const {
    struct Event {
      int64_t time;
      bool is_birth;
      int32_t part;
    };
    std::vector<Event> events;
    std::vector<Piece*> pieces;
    for (Unit& unit : layout.units) add_pieces(unit);
    for (Unit& unit : layout.units) {
      for (Piece& piece : unit.pieces) pieces.push_back(&piece);
    }
    size_t index = 0;
    for (const Unit& unit : layout.units) {
      for (const Member& member : unit.members) {
        for (const Part& part : parts_[member.buffer]) {
          events.push_back({part.life.begin, true, int32_t(index)});
          events.push_back({part.life.end, false, int32_t(index)});
          ++index;
        }
      }
    }
    std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
      return a.time != b.time ? a.time < b.time : a.is_birth < b.is_birth;
    });
    int32_t current = 0;
    bool died = false;
    for (const Event& event : events) {
      if (event.is_birth) {
        current += died;
        died = false;
        pieces[event.part]->begin = current;
      } else {
        died = true;
        pieces[event.part]->end = current + 1;
      }
    }
    layout.section_count = events.empty() ? 0 : current + 1;
    for (Unit& unit : layout.units) join_pieces(unit);
  }

  void add_pieces(Unit& unit) const {
    for (const Member& member : unit.members) {
      for (const Part& part : parts_[member.buffer]) {
        unit.pieces.push_back({0, 0, part.bytes.begin / scale_ + member.delta,
                               part.bytes.end / scale_ + member.delta, part.is_last});
        unit.duration += part.life.end - part.life.begin;
      }
    }
  }

  // Joins pieces of the same bytes that touch or overlap in time.
  static void join_pieces(Unit& unit) {
    auto& pieces = unit.pieces;
    std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
      return std::tie(a.low, a.high, a.is_last, a.begin) <
             std::tie(b.low, b.high, b.is_last, b.begin);
    });
    size_t kept = 0;
    for (size_t k = 1; k < pieces.size(); ++k) {
      Piece& last = pieces[kept];
      if (pieces[k].low == last.low && pieces[k].high == last.high &&
          pieces[k].is_last == last.is_last && pieces[k].begin <= last.end) {
        last.end = std::max(last.end, pieces[k].end);
      } else {
        pieces[++kept] = pieces[k];
      }
    }
    if (!pieces.empty()) pieces.resize(kept + 1);
    for (const Piece& piece : pieces) {
      unit.is_flat = unit.is_flat && piece.low == 0 && piece.high == unit.size &&
                     piece.is_last == pieces[0].is_last;
      unit.is_last = unit.is_last || piece.is_last;
    }
    std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
      return std::tie(a.begin, a.low, a.end) < std::tie(b.begin, b.low, b.end);
    });
  }

  const Problem& problem_;
  const std::vector<int32_t>& chosen_;
  std::vector<int32_t> unit_of_;
  std::vector<Group> members_;
  std::vector<std::vector<Part>> parts_;
  std::set<std::pair<int32_t, int32_t>> allowed_;
  int64_t scale_ = 1;
};

}  // namespace

Layout build_layout(const Problem& problem, const std::vector<int32_t>& chosen,
                    std::vector<bool>& merged, Contradiction& contradiction) {
  return Builder(problem, chosen).build(merged, contradiction);
}

std::vector<bool> possible_pairs(const Problem& problem, const std::vector<int32_t>& chosen) {
  return Builder(problem, chosen).possible_pairs();
}

}  // namespace onearena::internal
