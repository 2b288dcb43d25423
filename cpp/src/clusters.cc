#include "clusters.h"

#include <algorithm>
#include <numeric>

#include "bounds.h"

namespace onearena::internal {
namespace {

// A layout of one unit tells when how much of it is occupied.
std::vector<Cluster::Width> widths_of(const Layout& layout, const Unit& unit) {
  Layout alone;
  alone.units = {unit};
  alone.section_count = layout.section_count;
  const std::vector<int64_t> loads = section_loads(alone);
  std::vector<Cluster::Width> widths;
  for (int32_t s = 0; s < layout.section_count; ++s) {
    if (loads[s] == 0) continue;
    const int64_t bytes = in_bytes(loads[s], layout.scale);
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
  const Layout trimmed = without_shared(layout, unit_pairs(problem, layout));
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
}

void Loads::change(int32_t cluster, int32_t memory, int64_t sign) {
  for (const Cluster::Width& width : clusters_.all[cluster].widths) {
    for (int32_t s = width.begin; s < width.end; ++s) loads_[memory][s] += sign * width.bytes;
  }
  auto& held = held_[memory];
  if (sign > 0) {
    held.push_back(cluster);
  } else {
    held.erase(std::find(held.begin(), held.end(), cluster));
  }
  heights_[memory] = find_height(memory);
}

int64_t Loads::find_height(int32_t memory) const {
  int64_t height = 0;
  for (int64_t load : loads_[memory]) height = std::max(height, load);
  for (int32_t cluster : held_[memory]) height = std::max(height, clusters_.all[cluster].end);
  return height;
}

bool exceeds_capacities(const Problem& problem, const Clusters& clusters) {
  int64_t sum = 0;
  for (const Memory& memory : problem.memories) {
    sum = memory.capacity > INT64_MAX - sum ? INT64_MAX : sum + memory.capacity;
  }
  std::vector<int64_t> live(clusters.section_count);
  for (const Cluster& cluster : clusters.all) {
    bool fits = false;
    for (int32_t memory : cluster.allowed) {
      fits = fits || cluster.end <= problem.memories[memory].capacity;
    }
    if (!fits) return true;
    for (const Cluster::Width& width : cluster.widths) {
      for (int32_t s = width.begin; s < width.end; ++s) live[s] += width.bytes;
    }
  }
  for (int64_t bytes : live) {
    if (bytes > sum) return true;
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
    bound = std::max(bound, cheapest * cluster.end);
    for (const Cluster::Width& width : cluster.widths) {
      for (int32_t s = width.begin; s < width.end; ++s) {
        live[s] += width.bytes;
        priced[s] += cheapest * width.bytes;
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
      cost += here * memory.weight;
      left -= here;
    }
    bound = std::max({bound, cost, priced[s]});
  }
  return bound;
}

}  // namespace onearena::internal
