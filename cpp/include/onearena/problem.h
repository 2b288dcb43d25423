// The planning problem: buffers with lifetimes, to be given offsets.
//
// Everything is half-open, sizes and offsets are in bytes, times are steps. The same meanings hold
// in Python (`onearena.problem`).
#ifndef ONEARENA_PROBLEM_H_
#define ONEARENA_PROBLEM_H_

#include <cstdint>
#include <vector>

namespace onearena {

// No offset, no limit.
constexpr int64_t kFree = -1;
constexpr int64_t kUnlimited = INT64_MAX;

// [begin, end) of steps or of bytes; empty when begin >= end.
struct Span {
  int64_t begin = 0;
  int64_t end = 0;
};

// During `life` only the bytes `bytes` of the buffer (counted from its start) are occupied; an
// empty span of bytes means none at all.
struct Gap {
  Span life;
  Span bytes;
};

struct Buffer {
  int64_t size = 0;               // 0 is allowed: it collides with nothing
  int64_t alignment = 1;          // divides the offset; any positive number
  Span life;                      // empty: the buffer needs a place but collides with nothing
  std::vector<Gap> gaps;          // inside `life`, apart from each other
  int64_t offset = kFree;         // where it must be
  int64_t hint = kFree;           // where it was in an earlier plan; planners may start from it
  Span region{0, kUnlimited};     // all its bytes lie in here
  bool is_last = false;           // no byte that is occupied at the same step lies above it
  std::vector<int32_t> memories;  // where it may lie; empty: in any memory
};

struct Member {
  int32_t buffer = 0;
  int64_t delta = 0;  // the buffer's offset minus the group's origin
};

// Buffers that keep their distances, lie in one memory and may overlap each other.
using Group = std::vector<Member>;

// Two buffers of equal size that may have one offset in one memory although both are alive (an
// operator that works in place). They must not overlap in any other way.
struct Pair {
  int32_t first = 0;
  int32_t second = 0;
};

struct Memory {
  int64_t capacity = kUnlimited;
  int64_t weight = 1;  // cost of a byte of height
};

struct Problem {
  std::vector<Buffer> buffers;
  std::vector<Group> groups;  // a buffer is in one group at most
  std::vector<Pair> pairs;
  std::vector<Memory> memories{1};  // never empty
};

}  // namespace onearena

#endif  // ONEARENA_PROBLEM_H_
