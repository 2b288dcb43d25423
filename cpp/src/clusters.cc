#include "clusters.h"

#include <algorithm>
#include <numeric>

#include "bounds.h"

namespace onearena::internal {
namespace {

// A layout of one unit tells when how much of it is occupied.
std::vector<Cluster::Width> widths_of(const Layout& layout, const Unit& unit) {
  int32_t first = INT32_MAX, end = 0;
  for (const Piece& piece : unit.pieces) {
    first = std::min(first, piece.begin);
    end = std::max(end, piece.end);
  }
  std::vector<Cluster::Width> widths;
  if (end <= first) return widths;
  Layout alone;
  alone.units = {unit};
  for (Piece& piece : alone.units[0].pieces) {
    piece.begin -= first;
    piece.end -= first;
  }
  alone.section_count = end - first;
  const std::vector<int64_t> loads = section_loads(alone);
  for (int32_t s = first; s < end; ++s) {
    if (loads[s - first] == 0) continue;
    const int64_t bytes = in_bytes(loads[s - first], layout.scale);
    if (!widths.empty() && widths.back().end == s && widths.back().bytes == bytes) {
      widths.back().end = s + 1;
    } else {
      widths.push_back({s, s + 1, bytes});
    }
  }
  return widths;
}

}  // namespace

std::vector<int32_t> allowed_memories(const Problem& problem, const std::vector<int32_t>& buffers) {
  std::vector<int32_t> allowed(problem.memories.size());
  std::iota(allowed.begin(), allowed.end(), 0);
  for (int32_t buffer : buffers) {
    const auto& own = problem.buffers[buffer].memories;
    if (own.empty()) continue;
    allowed.erase(std::remove_if(allowed.begin(), allowed.end(),
                                 [&](int32_t memory) {
                                   return std::find(own.begin(), own.end(), memory) == own.end();
                                 }),
                  allowed.end());
  }
  return allowed;
}

Clusters find_clusters(const Problem& problem) {
  Clusters clusters;
  std::vector<int32_t> all(problem.buffers.size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<bool> none(problem.pairs.size());
  Contradiction contradiction;
  const Layout layout = build_layout(problem, all, none, contradiction);
  clusters.conflict = contradiction.buffers;
  clusters.section_count = layout.section_count;
  // Pairs may share only in one memory; counting as if they always do keeps the bounds valid.
  const Layout trimmed =
      without_shared(layout, unit_pairs(problem, layout, possible_pairs(problem, all)));
  for (const Unit& unit : trimmed.units) {
    Cluster cluster;
    for (const Member& member : unit.members) cluster.buffers.push_back(member.buffer);
    cluster.allowed = allowed_memories(problem, cluster.buffers);
    if (cluster.allowed.empty()) clusters.conflict = cluster.buffers;
    cluster.end = in_bytes(unit.lowest + unit.size, layout.scale);
    cluster.widths = widths_of(layout, unit);
    clusters.all.push_back(std::move(cluster));
  }
  std::stable_sort(clusters.all.begin(), clusters.all.end(),
                   [](const Cluster& a, const Cluster& b) { return a.end > b.end; });
  return clusters;
}

Loads::Loads(const Problem& problem, const Clusters& clusters) : clusters_(clusters) {
  loads_.assign(problem.memories.size(), std::vector<int64_t>(clusters.section_count));
  held_.resize(problem.memories.size());
  heights_.resize(problem.memories.size());
  is_stale_.resize(problem.memories.size());
}

void Loads::put(int32_t cluster, int32_t memory) {
  heights_[memory] = height_with(cluster, memory);
  change(cluster, memory, 1);
  held_[memory].push_back(cluster);
}

void Loads::take(int32_t cluster, int32_t memory) {
  is_stale_[memory] = true;
  change(cluster, memory, -1);
  auto& held = held_[memory];
  held.erase(std::find(held.begin(), held.end(), cluster));
}

void Loads::change(int32_t cluster, int32_t memory, int64_t sign) {
  for (const Cluster::Width& width : clusters_.all[cluster].widths) {
    for (int32_t s = width.begin; s < width.end; ++s) loads_[memory][s] += sign * width.bytes;
  }
}

int64_t Loads::height_with(int32_t cluster, int32_t memory) {
  int64_t highest = std::max(height(memory), clusters_.all[cluster].end);
  for (const Cluster::Width& width : clusters_.all[cluster].widths) {
    const auto begin = loads_[memory].begin();
    const int64_t load = *std::max_element(begin + width.begin, begin + width.end);
    highest = std::max(highest, load + width.bytes);
  }
  return highest;
}

int64_t Loads::height(int32_t memory) {
  if (is_stale_[memory]) {
    int64_t height = 0;
    for (int64_t load : loads_[memory]) height = std::max(height, load);
    for (int32_t cluster : held_[memory]) height = std::max(height, clusters_.all[cluster].end);
    heights_[memory] = height;
    is_stale_[memory] = false;
  }
  return heights_[memory];
}

bool exceeds_capacities(const Problem& problem, const Clusters& clusters) {
  int64_t room = 0;
  for (const Memory& memory : problem.memories) room = capped_sum(room, memory.capacity);
  std::vector<int64_t> live(clusters.section_count);
  for (const Cluster& cluster : clusters.all) {
    bool fits = false;
    for (int32_t memory : cluster.allowed) {
      fits = fits || cluster.end <= problem.memories[memory].capacity;
    }
    if (!fits) return true;
    for (const Cluster::Width& width : cluster.widths) {
      for (int32_t s = width.begin; s < width.end; ++s) live[s] = capped_sum(live[s], width.bytes);
    }
  }
  for (int64_t bytes : live) {
    if (bytes > room) return true;
  }
  return false;
}

int64_t cost_bound(const Problem& problem, const Clusters& clusters) {
  std::vector<int64_t> live(clusters.section_count), priced(clusters.section_count);
  int64_t bound = 0;
  for (const Cluster& cluster : clusters.all) {
    int64_t cheapest = INT64_MAX;
    for (int32_t memory : cluster.allowed) {
      cheapest = std::min(cheapest, problem.memories[memory].weight);
    }
    if (cluster.allowed.empty()) return 0;
    bound = std::max(bound, capped_product(cheapest, cluster.end));
    for (const Cluster::Width& width : cluster.widths) {
      for (int32_t s = width.begin; s < width.end; ++s) {
        live[s] = capped_sum(live[s], width.bytes);
        priced[s] = capped_sum(priced[s], capped_product(cheapest, width.bytes));
      }
    }
  }
  // all live bytes, the cheapest memory filled first
  std::vector<Memory> memories = problem.memories;
  std::sort(memories.begin(), memories.end(),
            [](const Memory& a, const Memory& b) { return a.weight < b.weight; });
  for (int32_t s = 0; s < clusters.section_count; ++s) {
    int64_t left = live[s], cost = 0;
    for (const Memory& memory : memories) {
      const int64_t here = std::min(left, memory.capacity);
      cost = capped_sum(cost, capped_product(memory.weight, here));
      left -= here;
    }
    bound = std::max({bound, cost, priced[s]});
  }
  return bound;
}

}  // namespace onearena::internal
