// Is the problem well formed?
#include <algorithm>
#include <string>

#include "onearena/planner.h"
#include "units.h"

namespace onearena::internal {
namespace {

// Sizes are divided by what they have in common before they are added; places are not.
constexpr int64_t kLargest = int64_t{1} << 62;
constexpr int64_t kFarthest = int64_t{1} << 60;

[[noreturn]] void fail(size_t buffer, const char* what) {
  throw MalformedProblem("buffer " + std::to_string(buffer) + ": " + what);
}

void check_gaps(const Buffer& buffer, size_t index) {
  std::vector<Span> lives;
  for (const Gap& gap : buffer.gaps) {
    if (gap.life.begin >= gap.life.end) fail(index, "a gap is empty");
    if (gap.life.begin < buffer.life.begin || gap.life.end > buffer.life.end) {
      fail(index, "a gap lies outside the lifetime");
    }
    if (gap.bytes.begin < gap.bytes.end && (gap.bytes.begin < 0 || gap.bytes.end > buffer.size)) {
      fail(index, "the bytes of a gap lie outside the buffer");
    }
    lives.push_back(gap.life);
  }
  std::sort(lives.begin(), lives.end(),
            [](const Span& a, const Span& b) { return a.begin < b.begin; });
  for (size_t k = 1; k < lives.size(); ++k) {
    if (lives[k].begin < lives[k - 1].end) fail(index, "gaps overlap");
  }
}

void check_buffer(const Problem& problem, size_t index) {
  const Buffer& buffer = problem.buffers[index];
  if (buffer.size < 0 || buffer.size > kLargest)
    fail(index, "the size is negative, or more than 2^62");
  if (buffer.alignment < 1 || buffer.alignment > kFarthest) {
    fail(index, "the alignment is not positive, or more than 2^60");
  }
  if (buffer.offset != kFree && (buffer.offset < 0 || buffer.offset > kFarthest)) {
    fail(index, "the offset is negative, or more than 2^60");
  }
  if (buffer.region.begin < 0 || buffer.region.end < buffer.region.begin ||
      buffer.region.begin > kFarthest) {
    fail(index, "the region is not one, or begins behind 2^60");
  }
  if (buffer.life.begin < -kLargest || buffer.life.end > kLargest ||
      (buffer.life.begin >= buffer.life.end && !buffer.gaps.empty())) {
    fail(index, "the lifetime is not one, or too far away");
  }
  if (buffer.hint < kFree || buffer.hint > kFarthest) fail(index, "the hint is not an offset");
  for (int32_t memory : buffer.memories) {
    if (memory < 0 || static_cast<size_t>(memory) >= problem.memories.size()) {
      fail(index, "there is no such memory");
    }
  }
  check_gaps(buffer, index);
}

void check_index(const Problem& problem, int32_t buffer) {
  if (buffer < 0 || static_cast<size_t>(buffer) >= problem.buffers.size()) {
    throw MalformedProblem("there is no buffer " + std::to_string(buffer));
  }
}

void check_relations(const Problem& problem) {
  std::vector<bool> grouped(problem.buffers.size());
  for (const Group& group : problem.groups) {
    for (const Member& member : group) {
      check_index(problem, member.buffer);
      if (grouped[member.buffer]) fail(member.buffer, "it is in two groups");
      if (member.delta < -kFarthest || member.delta > kFarthest) {
        fail(member.buffer, "its distance in the group is more than 2^60");
      }
      grouped[member.buffer] = true;
    }
  }
  for (const Pair& pair : problem.pairs) {
    check_index(problem, pair.first);
    check_index(problem, pair.second);
    if (pair.first == pair.second) fail(pair.first, "it is paired with itself");
    if (problem.buffers[pair.first].size != problem.buffers[pair.second].size) {
      fail(pair.second, "it may share with a buffer of another size");
    }
  }
}

}  // namespace

void check(const Problem& problem) {
  if (problem.memories.empty()) throw MalformedProblem("there is no memory");
  if (problem.buffers.size() > INT32_MAX / 4) throw MalformedProblem("there are too many buffers");
  for (const Memory& memory : problem.memories) {
    if (memory.capacity < 0) throw MalformedProblem("a capacity is negative");
    if (memory.weight < 0 || memory.weight > (1 << 30)) {
      throw MalformedProblem("a weight is negative or too large");
    }
  }
  for (size_t index = 0; index < problem.buffers.size(); ++index) check_buffer(problem, index);
  check_relations(problem);
}

}  // namespace onearena::internal
