#include "form.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace onearena::verifying {
namespace {

bool empty(const Span& span) { return span.begin >= span.end; }

bool inside(const Span& inner, const Span& outer) {
  return inner.begin >= outer.begin && inner.end <= outer.end;
}

[[noreturn]] void refuse(const char* what, size_t index, const std::string& why) {
  throw std::invalid_argument(what + (' ' + std::to_string(index)) + ": " + why);
}

void check_index(int32_t index, size_t count, const char* what, const char* owner, size_t number) {
  if (index >= 0 && static_cast<size_t>(index) < count) return;
  refuse(owner, number, std::string("there is no ") + what + ' ' + std::to_string(index));
}

void check_memories(const Problem& problem) {
  if (problem.memories.empty()) throw std::invalid_argument("no memories");
  for (size_t k = 0; k < problem.memories.size(); ++k) {
    if (problem.memories[k].capacity < 0) refuse("memory", k, "negative capacity");
    if (problem.memories[k].weight < 0) refuse("memory", k, "negative weight");
  }
}

// Gaps without steps say nothing, and are let through.
std::vector<Gap> sorted_gaps(const Buffer& buffer) {
  std::vector<Gap> gaps;
  for (const Gap& gap : buffer.gaps) {
    if (!empty(gap.life)) gaps.push_back(gap);
  }
  std::sort(gaps.begin(), gaps.end(),
            [](const Gap& a, const Gap& b) { return a.life.begin < b.life.begin; });
  return gaps;
}

void check_gaps(const Buffer& buffer, size_t k) {
  const std::vector<Gap> gaps = sorted_gaps(buffer);
  for (size_t g = 0; g < gaps.size(); ++g) {
    if (!inside(gaps[g].life, buffer.life)) refuse("buffer", k, "gap outside its life");
    if (!empty(gaps[g].bytes) && !inside(gaps[g].bytes, {0, buffer.size})) {
      refuse("buffer", k, "gap with bytes outside the buffer");
    }
    if (g > 0 && gaps[g].life.begin < gaps[g - 1].life.end) {
      refuse("buffer", k, "gaps overlap each other");
    }
  }
}

void check_buffer(const Problem& problem, size_t k) {
  const Buffer& buffer = problem.buffers[k];
  if (buffer.size < 0) refuse("buffer", k, "negative size");
  if (buffer.alignment <= 0) refuse("buffer", k, "alignment is not positive");
  if (buffer.offset < 0 && buffer.offset != kFree) refuse("buffer", k, "negative offset");
  if (buffer.region.begin < 0 || buffer.region.end < buffer.region.begin) {
    refuse("buffer", k, "region is not a range of bytes");
  }
  for (int32_t memory : buffer.memories) {
    check_index(memory, problem.memories.size(), "memory", "buffer", k);
  }
  check_gaps(buffer, k);
}

int64_t size_of(const Problem& problem, int32_t buffer) {
  return problem.buffers[static_cast<size_t>(buffer)].size;
}

void check_pair(const Problem& problem, size_t k) {
  const Pair& pair = problem.pairs[k];
  check_index(pair.first, problem.buffers.size(), "buffer", "pair", k);
  check_index(pair.second, problem.buffers.size(), "buffer", "pair", k);
  if (pair.first == pair.second) refuse("pair", k, "both are the same buffer");
  if (size_of(problem, pair.first) != size_of(problem, pair.second)) {
    refuse("pair", k, "the buffers have different sizes");
  }
}

}  // namespace

void check_form(const Problem& problem) {
  check_memories(problem);
  for (size_t k = 0; k < problem.buffers.size(); ++k) check_buffer(problem, k);
  for (size_t k = 0; k < problem.pairs.size(); ++k) check_pair(problem, k);
}

std::vector<int32_t> groups_of(const Problem& problem) {
  std::vector<int32_t> result(problem.buffers.size(), -1);
  for (size_t k = 0; k < problem.groups.size(); ++k) {
    for (const Member& member : problem.groups[k]) {
      check_index(member.buffer, problem.buffers.size(), "buffer", "group", k);
      int32_t& group = result[static_cast<size_t>(member.buffer)];
      if (group != -1) {
        refuse("buffer", static_cast<size_t>(member.buffer), "member of a group twice");
      }
      group = static_cast<int32_t>(k);
    }
  }
  return result;
}

}  // namespace onearena::verifying
