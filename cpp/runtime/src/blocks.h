// What moves as one: units that keep their distance to each other, or that one instruction may
// keep at one place.
#ifndef ONEARENA_RUNTIME_BLOCKS_H_
#define ONEARENA_RUNTIME_BLOCKS_H_

#include <cstdint>
#include <vector>

#include "description.h"
#include "layout.h"
#include "onearena/problem.h"

namespace onearena::runtime {

struct Block {
  std::vector<uint32_t> units;
  std::vector<uint64_t> deltas;  // by unit of the block: from the block's start
  uint32_t alignment = 1;
  std::vector<Interval> lifetime;  // steps, in order, apart; empty: never touched
  bool is_static = true;           // no unit can change its size
};

// The units of a method with all that planning them needs.
struct Blocks {
  Blocks(const MethodDescription& method, const std::vector<PlannedUnit>& units);

  // What each block needs at certain sizes of the units.
  std::vector<uint64_t> bytes(const std::vector<uint64_t>& unit_bytes) const;
  // Offsets of the units, given those of the blocks.
  std::vector<uint64_t> unit_offsets(const std::vector<uint64_t>& block_offsets) const;
  // A planning problem whose sizes are zero, without the pairs.
  Problem problem() const;
  // A problem with the scratch of instructions behind the blocks.
  Problem problem_with(const std::vector<Scratch>& scratch) const;

  size_t unit_count = 0;
  std::vector<Block> all;
  std::vector<Interval> instructions;                // the steps of each
  std::vector<std::pair<uint32_t, uint32_t>> pairs;  // blocks that may share when of equal size
};

// Whether two lifetimes have a step in common.
bool meet(const std::vector<Interval>& first, const std::vector<Interval>& second);

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_BLOCKS_H_
