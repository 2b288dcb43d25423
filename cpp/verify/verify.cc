#include "onearena/verify.h"

#include <algorithm>
#include <vector>

#include "faults.h"
#include "form.h"
#include "meetings.h"

namespace onearena {
namespace {

using verifying::Faults;

// Whether [offset, offset + size) lies in the span; also of 0 bytes, which need a place. Subtracts
// without sign, as offset + size can be more than 64 bits hold.
bool within(int64_t offset, int64_t size, const Span& span) {
  return span.begin <= offset && offset <= span.end &&
         static_cast<uint64_t>(span.end) - static_cast<uint64_t>(offset) >=
             static_cast<uint64_t>(size);
}

bool exists(const Problem& problem, int32_t memory) {
  return memory >= 0 && static_cast<size_t>(memory) < problem.memories.size();
}

// Outside of everything is kBounds, not kRegion.
bool has_region(const Buffer& buffer) {
  return buffer.region.begin != 0 || buffer.region.end != kUnlimited;
}

bool may_lie_in(const Problem& problem, const Buffer& buffer, int32_t memory) {
  const std::vector<int32_t>& allowed = buffer.memories;
  return exists(problem, memory) &&
         (allowed.empty() || std::find(allowed.begin(), allowed.end(), memory) != allowed.end());
}

void check_place(const Problem& problem, const Placed& placed, size_t k, Faults& faults) {
  const Buffer& buffer = problem.buffers[k];
  const int32_t id = static_cast<int32_t>(k);
  const int64_t offset = placed.offsets[k];
  const int32_t memory = placed.memories[k];
  // Of a memory that does not exist the height is not known.
  const int64_t height = exists(problem, memory) ? placed.heights[memory] : INT64_MAX;
  if (!within(offset, buffer.size, {0, height})) faults.add(FaultKind::kBounds, id);
  if (offset % buffer.alignment != 0) faults.add(FaultKind::kAlignment, id);
  if (buffer.offset != kFree && buffer.offset != offset) faults.add(FaultKind::kPinned, id);
  if (has_region(buffer) && !within(offset, buffer.size, buffer.region)) {
    faults.add(FaultKind::kRegion, id);
  }
  if (!may_lie_in(problem, buffer, memory)) faults.add(FaultKind::kMemory, id);
}

void check_heights(const Problem& problem, const Placed& placed, Faults& faults) {
  for (size_t k = 0; k < problem.memories.size(); ++k) {
    // Less than nothing fits into no memory either.
    if (placed.heights[k] < 0 || placed.heights[k] > problem.memories[k].capacity) {
      faults.add(FaultKind::kCapacity, static_cast<int32_t>(k));
    }
  }
}

// Whether a - b == c - d, where the differences can be more than 64 bits hold: equal when they
// have one sign and are equal modulo 2^64.
bool same_distance(int64_t a, int64_t b, int64_t c, int64_t d) {
  const auto minus = [](int64_t x, int64_t y) {
    return static_cast<uint64_t>(x) - static_cast<uint64_t>(y);
  };
  return (a >= b) == (c >= d) && minus(a, b) == minus(c, d);
}

void check_group(const Group& group, const Placed& placed, Faults& faults) {
  for (const Member& member : group) {
    const Member& first = group.front();
    const bool kept = placed.memories[member.buffer] == placed.memories[first.buffer] &&
                      same_distance(placed.offsets[member.buffer], placed.offsets[first.buffer],
                                    member.delta, first.delta);
    if (!kept) faults.add(FaultKind::kAlias, member.buffer, first.buffer);
  }
}

}  // namespace

std::vector<Fault> verify(const Problem& problem, const Placed& placed, size_t max_faults) {
  verifying::check_form(problem);
  const std::vector<int32_t> group_of = verifying::groups_of(problem);
  Faults faults(max_faults);
  for (size_t k = 0; k < problem.buffers.size(); ++k) check_place(problem, placed, k, faults);
  check_heights(problem, placed, faults);
  for (const Group& group : problem.groups) check_group(group, placed, faults);
  verifying::find_meetings(problem, placed, group_of, faults);
  return faults.take();
}

}  // namespace onearena
