#include "peak.h"

#include <algorithm>
#include <map>

namespace onearena::runtime {
namespace {

constexpr size_t kNamed = 3;

uint32_t peak_step(const MemoryAnalysis& memory) {
  // By step; there may be far more steps than buffers. Sums wrap around if they must, which is well
  // defined: sizes that no machine has come from corrupt descriptions only.
  std::map<uint32_t, uint64_t> changes;
  for (const PlanBuffer& buffer : memory.buffers) {
    for (const Interval& interval : buffer.lifetime) {
      changes[interval.start] += buffer.size_bytes;
      changes[interval.end] -= buffer.size_bytes;
    }
  }
  uint64_t alive = 0, most = 0;
  uint32_t found = changes.empty() ? 0 : changes.begin()->first;
  for (const auto& [step, change] : changes) {
    alive += change;
    if (alive > most) {
      most = alive;
      found = step;
    }
  }
  return found;
}

bool lives_at(const PlanBuffer& buffer, uint32_t step) {
  return std::any_of(buffer.lifetime.begin(), buffer.lifetime.end(), [&](const Interval& interval) {
    return interval.start <= step && step < interval.end;
  });
}

}  // namespace

std::string largest_text(std::vector<std::pair<uint32_t, uint64_t>> tensors) {
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (size_t i = 0; i < std::min(kNamed, tensors.size()); ++i) {
    text += (i > 0 ? ", value " : "value ") + std::to_string(tensors[i].first) + " (" +
            std::to_string(tensors[i].second) + " bytes)";
  }
  if (tensors.size() > kNamed) text += " and " + std::to_string(tensors.size() - kNamed) + " more";
  return text.empty() ? "nothing" : text;
}

std::string peak_text(const MethodDescription& method) {
  const uint32_t step = peak_step(method.memory);
  std::vector<std::pair<uint32_t, uint64_t>> alive;
  for (const PlanBuffer& buffer : method.memory.buffers) {
    if (buffer.is_state || !lives_at(buffer, step)) continue;
    alive.emplace_back(buffer.value, buffer.size_bytes);
  }
  return largest_text(std::move(alive));
}

}  // namespace onearena::runtime
