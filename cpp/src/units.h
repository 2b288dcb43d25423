// What the planners place: units, which are buffers or groups of buffers that move together.
#ifndef ONEARENA_SRC_UNITS_H_
#define ONEARENA_SRC_UNITS_H_

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "onearena/problem.h"

namespace onearena::internal {

constexpr int64_t kInfinity = int64_t{1} << 61;

__extension__ typedef __int128 Wide;  // twice as wide as any number of a problem

// Bytes [low, high) from the unit's origin, occupied during the sections [begin, end).
struct Piece {
  int32_t begin = 0;
  int32_t end = 0;
  int64_t low = 0;
  int64_t high = 0;
  bool is_last = false;  // nothing may lie above it in these sections
};

struct Unit {
  std::vector<Piece> pieces;    // by section
  std::vector<Member> members;  // deltas are not negative, the smallest is 0
  int64_t size = 0;             // end of the last byte, occupied or not
  int64_t modulus = 1;          // the origin is congruent to `residue`
  int64_t residue = 0;
  int64_t lowest = 0;  // the origin lies in [lowest, highest]
  int64_t highest = kInfinity;
  int64_t duration = 0;  // steps at which something of it is occupied
  int64_t hint = kFree;
  bool is_last = false;  // some piece is last
  bool is_flat = true;   // all pieces are [0, size), and all of them are last or none
};

// One memory's part of a problem, all byte counts divided by `scale`.
struct Layout {
  std::vector<Unit> units;
  int32_t section_count = 0;
  int64_t scale = 1;
  bool is_flat = true;  // every unit is flat and none is last
};

// Constraints that contradict each other whatever the planner does.
struct Contradiction {
  std::vector<int32_t> buffers;
};

// Throws MalformedProblem, with a message that names the buffer.
void check(const Problem& problem);

// The units of the buffers `chosen` (ascending; whole groups). `merged` says for every pair of the
// problem whether its buffers get one offset; pairs that cannot are left alone, and cleared in
// `merged`. On a contradiction the layout is empty and `contradiction` is filled.
Layout build_layout(const Problem& problem, const std::vector<int32_t>& chosen,
                    std::vector<bool>& merged, Contradiction& contradiction);

// By pair of the problem, whether its buffers can have one offset at all: what is tied to them may
// be in the way.
std::vector<bool> possible_pairs(const Problem& problem, const std::vector<int32_t>& chosen);

// The smallest number >= value that is congruent to residue (mod modulus); value may be negative.
inline int64_t align_up(int64_t value, int64_t modulus, int64_t residue) {
  if (modulus == 1) return value;
  int64_t rest = (value - residue) % modulus;
  if (rest < 0) rest += modulus;
  return rest == 0 ? value : value + (modulus - rest);
}

inline int64_t align_down(int64_t value, int64_t modulus, int64_t residue) {
  if (modulus == 1) return value;
  int64_t rest = (value - residue) % modulus;
  if (rest < 0) rest += modulus;
  return value - rest;
}

// Numbers that are not negative; what is too large for 64 bits counts as INT64_MAX.
inline int64_t capped_product(int64_t a, int64_t b) {
  return b != 0 && a > INT64_MAX / b ? INT64_MAX : a * b;
}
inline int64_t capped_sum(int64_t a, int64_t b) { return a > INT64_MAX - b ? INT64_MAX : a + b; }

// A scaled number in bytes.
inline int64_t in_bytes(int64_t scaled, int64_t scale) { return capped_product(scaled, scale); }

}  // namespace onearena::internal

#endif  // ONEARENA_SRC_UNITS_H_
