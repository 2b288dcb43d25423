// Buffers that must lie in one memory, and what each memory would hold at each time.
#ifndef ONEARENA_SRC_CLUSTERS_H_
#define ONEARENA_SRC_CLUSTERS_H_

#include <cstdint>
#include <vector>

#include "onearena/problem.h"
#include "units.h"

namespace onearena::internal {

struct Cluster {
  std::vector<int32_t> buffers;
  std::vector<int32_t> allowed;  // memories, ascending
  int64_t end = 0;               // the lowest end that it can have, in bytes
  // Bytes that it occupies during the sections [begin, end).
  struct Width {
    int32_t begin, end;
    int64_t bytes;
  };
  std::vector<Width> widths;
};

// The memories in which all these buffers may lie.
std::vector<int32_t> allowed_memories(const Problem& problem, const std::vector<int32_t>& buffers);

struct Clusters {
  std::vector<Cluster> all;  // the largest first
  int32_t section_count = 0;
  // Buffers that contradict each other, when the problem does.
  std::vector<int32_t> conflict;
};

Clusters find_clusters(const Problem& problem);

// The loads of the memories under an assignment that changes step by step.
class Loads {
 public:
  Loads(const Problem& problem, const Clusters& clusters);

  void put(int32_t cluster, int32_t memory);
  void take(int32_t cluster, int32_t memory);
  // The largest load, or the largest end that a cluster in it must have; in bytes.
  int64_t height(int32_t memory);
  // What the height would be with one more cluster.
  int64_t height_with(int32_t cluster, int32_t memory);

 private:
  void change(int32_t cluster, int32_t memory, int64_t sign);

  const Clusters& clusters_;
  std::vector<int64_t> heights_;
  std::vector<bool> is_stale_;               // by memory: its height must be found again
  std::vector<std::vector<int64_t>> loads_;  // by memory and section
  std::vector<std::vector<int32_t>> held_;   // by memory
};

// Whether more is alive at some step than all memories hold together, or some cluster fits nowhere.
bool exceeds_capacities(const Problem& problem, const Clusters& clusters);

// A bound on the cost of any plan: at every step the live bytes must lie somewhere.
int64_t cost_bound(const Problem& problem, const Clusters& clusters);

}  // namespace onearena::internal

#endif  // ONEARENA_SRC_CLUSTERS_H_
