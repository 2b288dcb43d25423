#include "conflicts.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace onearena::internal {
namespace {

struct Live {
  int32_t unit;
  int32_t piece;
  int32_t end;
};

// Calls meet(unit, piece, other, piece of other) for all pieces of different units that share a
// section, once each.
template <class Meet>
void sweep(const Layout& layout, Meet meet) {
  struct Birth {
    int32_t begin, unit, piece;
  };
  std::vector<Birth> births;
  for (size_t u = 0; u < layout.units.size(); ++u) {
    const auto& pieces = layout.units[u].pieces;
    for (size_t p = 0; p < pieces.size(); ++p) {
      births.push_back({pieces[p].begin, int32_t(u), int32_t(p)});
    }
  }
  std::stable_sort(births.begin(), births.end(),
                   [](const Birth& a, const Birth& b) { return a.begin < b.begin; });
  std::vector<Live> live;
  for (const Birth& birth : births) {
    size_t kept = 0;
    for (const Live& other : live) {
      if (other.end <= birth.begin) continue;
      live[kept++] = other;
      if (other.unit != birth.unit) meet(birth.unit, birth.piece, other.unit, other.piece);
    }
    live.resize(kept);
    live.push_back({birth.unit, birth.piece, layout.units[birth.unit].pieces[birth.piece].end});
  }
}

struct Entry {
  int32_t unit, other;
  int64_t low, high;
};

// Where `a` must not be relative to `b`, for one piece of each.
Entry entry_of(int32_t a, const Piece& p, int32_t b, const Piece& q) {
  int64_t low = q.low - p.high, high = q.high - p.low;
  if (p.is_last) low = -kInfinity;  // never below the other's top
  if (q.is_last) high = kInfinity;  // never above the last one's bottom
  return {a, b, low, high};
}

}  // namespace

int64_t count_meetings(const Layout& layout) {
  // a birth meets all that is alive: births and deaths by section are enough
  std::vector<int64_t> born(layout.section_count + 1), died(layout.section_count + 1);
  for (const Unit& unit : layout.units) {
    for (const Piece& piece : unit.pieces) {
      ++born[piece.begin];
      ++died[piece.end];
    }
  }
  int64_t live = 0, meetings = 0;
  for (int32_t s = 0; s < layout.section_count; ++s) {
    live -= died[s];
    meetings += born[s] * live + born[s] * (born[s] - 1) / 2;
    live += born[s];
  }
  return meetings;
}

namespace {

// One piece each, all of them [0, size): who meets is all there is to know. Counted first, so that
// nothing is stored twice.
Conflicts find_simple_conflicts(const Layout& layout) {
  Conflicts conflicts;
  conflicts.starts.assign(layout.units.size() + 1, 0);
  sweep(layout, [&](int32_t a, int32_t, int32_t b, int32_t) {
    ++conflicts.starts[a + 1];
    ++conflicts.starts[b + 1];
  });
  std::partial_sum(conflicts.starts.begin(), conflicts.starts.end(), conflicts.starts.begin());
  std::vector<int64_t> next(conflicts.starts.begin(), conflicts.starts.end() - 1);
  conflicts.others.resize(conflicts.starts.back());
  sweep(layout, [&](int32_t a, int32_t, int32_t b, int32_t) {
    conflicts.others[next[a]++] = b;
    conflicts.others[next[b]++] = a;
  });
  return conflicts;
}

}  // namespace

Conflicts find_conflicts(const Layout& layout) {
  const size_t count = layout.units.size();
  bool has_many = false;
  for (const Unit& unit : layout.units) has_many = has_many || unit.pieces.size() > 1;
  if (layout.is_flat && !has_many) return find_simple_conflicts(layout);
  Conflicts conflicts;
  conflicts.starts.assign(count + 1, 0);
  std::vector<Entry> entries;
  sweep(layout, [&](int32_t a, int32_t p, int32_t b, int32_t q) {
    const Piece& one = layout.units[a].pieces[p];
    const Piece& other = layout.units[b].pieces[q];
    entries.push_back(entry_of(a, one, b, other));
    entries.push_back(entry_of(b, other, a, one));
  });
  // pieces of one unit give the same entry again and again
  if (has_many) {
    auto key = [](const Entry& e) { return std::tie(e.unit, e.other, e.low, e.high); };
    std::sort(entries.begin(), entries.end(),
              [&](const Entry& a, const Entry& b) { return key(a) < key(b); });
    entries.erase(std::unique(entries.begin(), entries.end(),
                              [&](const Entry& a, const Entry& b) { return key(a) == key(b); }),
                  entries.end());
  }
  for (const Entry& entry : entries) ++conflicts.starts[entry.unit + 1];
  std::partial_sum(conflicts.starts.begin(), conflicts.starts.end(), conflicts.starts.begin());
  std::vector<int64_t> next(conflicts.starts.begin(), conflicts.starts.end() - 1);
  conflicts.others.resize(entries.size());
  if (!layout.is_flat) {
    conflicts.lows.resize(entries.size());
    conflicts.highs.resize(entries.size());
  }
  for (const Entry& entry : entries) {
    const int64_t at = next[entry.unit]++;
    conflicts.others[at] = entry.other;
    if (!layout.is_flat) {
      conflicts.lows[at] = entry.low;
      conflicts.highs[at] = entry.high;
    }
  }
  return conflicts;
}

}  // namespace onearena::internal
