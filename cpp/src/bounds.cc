#include "bounds.h"

#include <algorithm>
#include <numeric>

namespace onearena::internal {
namespace {

constexpr int64_t kMaxReleaseWork = 20'000'000;
constexpr int64_t kMaxSubsetWork = 100'000'000;

// The bytes of a unit in each of its sections: calls add(begin, end, bytes).
template <class Add>
void for_each_width(const Unit& unit, Add add) {
  if (unit.is_flat) {
    for (const Piece& piece : unit.pieces) add(piece.begin, piece.end, unit.size);
    return;
  }
  std::vector<int32_t> cuts;
  for (const Piece& piece : unit.pieces) {
    cuts.push_back(piece.begin);
    cuts.push_back(piece.end);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  for (size_t k = 0; k + 1 < cuts.size(); ++k) {
    std::vector<std::pair<int64_t, int64_t>> spans;
    for (const Piece& piece : unit.pieces) {
      if (piece.begin <= cuts[k] && cuts[k] < piece.end) spans.emplace_back(piece.low, piece.high);
    }
    std::sort(spans.begin(), spans.end());
    int64_t covered = 0, top = INT64_MIN;
    for (const auto& [low, high] : spans) {
      covered += std::max<int64_t>(0, high - std::max(low, top));
      top = std::max(top, high);
    }
    if (covered > 0) add(cuts[k], cuts[k + 1], covered);
  }
}

// The alignment that all positions have in common.
int64_t common_alignment(const Layout& layout) {
  int64_t common = 0;
  for (const Unit& unit : layout.units) {
    common = std::gcd(std::gcd(common, unit.modulus), unit.residue);
  }
  return std::max<int64_t>(common, 1);
}

int64_t load_bound(const Layout& layout) {
  const std::vector<int64_t> loads = section_loads(layout);
  return loads.empty() ? 0 : *std::max_element(loads.begin(), loads.end());
}

// Sizes rounded up to the alignment; only the topmost buffer of a section needs no padding.
int64_t aligned_load_bound(const Layout& layout) {
  const int64_t grid = common_alignment(layout);
  if (grid == 1 || !layout.is_flat) return 0;
  std::vector<int64_t> loads(layout.section_count + 1), padding(layout.section_count);
  for (const Unit& unit : layout.units) {
    const int64_t rounded = (unit.size + grid - 1) / grid * grid;
    for (const Piece& piece : unit.pieces) {
      loads[piece.begin] += rounded;
      loads[piece.end] -= rounded;
      for (int32_t s = piece.begin; s < piece.end; ++s) {
        padding[s] = std::max(padding[s], rounded - unit.size);
      }
    }
  }
  int64_t live = 0, bound = 0;
  for (int32_t s = 0; s < layout.section_count; ++s) {
    live += loads[s];
    bound = std::max(bound, live - padding[s]);
  }
  return bound;
}

int64_t release_bound(const Layout& layout) {
  int64_t work = 0;
  bool any = false;
  for (const Unit& unit : layout.units) {
    any = any || unit.lowest > 0;
    for (const Piece& piece : unit.pieces) work += piece.end - piece.begin;
  }
  if (!any || !layout.is_flat || work > kMaxReleaseWork) return 0;
  std::vector<std::vector<std::pair<int64_t, int64_t>>> sections(layout.section_count);
  for (const Unit& unit : layout.units) {
    for (const Piece& piece : unit.pieces) {
      for (int32_t s = piece.begin; s < piece.end; ++s) {
        sections[s].emplace_back(unit.lowest, unit.size);
      }
    }
  }
  int64_t bound = 0;
  for (auto& jobs : sections) {
    std::sort(jobs.rbegin(), jobs.rend());
    int64_t stacked = 0;
    for (const auto& [release, size] : jobs) {
      stacked += size;
      bound = std::max(bound, release + stacked);
    }
  }
  return bound;
}

}  // namespace

UnitPairs unit_pairs(const Problem& problem, const Layout& layout,
                     const std::vector<bool>& possible) {
  std::vector<int32_t> unit_of(problem.buffers.size(), -1);
  for (size_t u = 0; u < layout.units.size(); ++u) {
    for (const Member& member : layout.units[u].members) {
      unit_of[member.buffer] = static_cast<int32_t>(u);
    }
  }
  UnitPairs pairs;
  for (size_t k = 0; k < problem.pairs.size(); ++k) {
    const int32_t a = unit_of[problem.pairs[k].first], b = unit_of[problem.pairs[k].second];
    if (a >= 0 && b >= 0 && a != b && possible[k]) pairs.emplace_back(a, b);
  }
  return pairs;
}

Layout without_shared(const Layout& layout, const UnitPairs& pairs) {
  Layout result = layout;
  for (const auto& [first, second] : pairs) {
    std::vector<Piece> left;
    for (Piece piece : result.units[second].pieces) {
      for (const Piece& other : layout.units[first].pieces) {
        if (other.end <= piece.begin || other.begin >= piece.end) continue;
        if (piece.begin < other.begin) {
          left.push_back({piece.begin, other.begin, piece.low, piece.high, piece.is_last});
        }
        piece.begin = std::min(piece.end, other.end);
      }
      if (piece.begin < piece.end) left.push_back(piece);
    }
    result.units[second].pieces = std::move(left);
  }
  return result;
}

std::vector<int64_t> section_loads(const Layout& layout, const UnitPairs& pairs) {
  if (!pairs.empty()) return section_loads(without_shared(layout, pairs));
  std::vector<int64_t> loads(layout.section_count + 1);
  for (const Unit& unit : layout.units) {
    for_each_width(unit, [&](int32_t begin, int32_t end, int64_t bytes) {
      loads[begin] += bytes;
      loads[end] -= bytes;
    });
  }
  std::partial_sum(loads.begin(), loads.end(), loads.begin());
  loads.pop_back();
  return loads;
}

int64_t height_bound(const Layout& layout, const UnitPairs& pairs) {
  if (!pairs.empty()) return height_bound(without_shared(layout, pairs));
  int64_t bound = std::max(load_bound(layout), aligned_load_bound(layout));
  bound = std::max(bound, release_bound(layout));
  for (const Unit& unit : layout.units) bound = std::max(bound, unit.lowest + unit.size);
  return bound;
}

int64_t round_to_reachable(const Layout& layout, int64_t bound) {
  int64_t total = 0;
  for (const Unit& unit : layout.units) {
    if (unit.modulus != 1 || unit.lowest > 0 || unit.highest < kInfinity) return bound;
    total += unit.size;
  }
  if (!layout.is_flat || bound >= total) return bound;
  // A pushed-down plan's height is at most 2 x the bound in all that matters here.
  const int64_t width = std::min(total, bound + bound / 2) + 1;
  std::vector<int64_t> sizes;
  for (const Unit& unit : layout.units) sizes.push_back(unit.size);
  if (static_cast<int64_t>(sizes.size()) * (width / 64 + 1) > kMaxSubsetWork) return bound;
  std::vector<uint64_t> reach(width / 64 + 2);
  reach[0] = 1;
  for (int64_t size : sizes) {
    if (size == 0 || size >= width) continue;
    const int64_t words = size / 64, bits = size % 64;
    for (int64_t k = static_cast<int64_t>(reach.size()) - 1; k >= words; --k) {
      uint64_t moved = reach[k - words] << bits;
      if (bits != 0 && k - words >= 1) moved |= reach[k - words - 1] >> (64 - bits);
      reach[k] |= moved;
    }
  }
  for (int64_t height = bound; height < width; ++height) {
    if (reach[height / 64] >> (height % 64) & 1) return height;
  }
  return bound;
}

}  // namespace onearena::internal
