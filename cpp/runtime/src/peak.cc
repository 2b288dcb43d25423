#include "peak.h"

#include <algorithm>
#include <map>
#include <vector>

namespace onearena::runtime {
namespace {

constexpr size_t kNamed = 3;

uint32_t peak_step(const MemoryAnalysis& memory) {
  std::map<uint32_t, int64_t> changes;  // by step; there may be far more steps than buffers
  for (const PlanBuffer& buffer : memory.buffers) {
    for (const Interval& interval : buffer.lifetime) {
      changes[interval.start] += static_cast<int64_t>(buffer.size_bytes);
      changes[interval.end] -= static_cast<int64_t>(buffer.size_bytes);
    }
  }
  int64_t alive = 0, most = -1;
  uint32_t found = 0;
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

std::string peak_text(const MethodDescription& method) {
  const uint32_t step = peak_step(method.memory);
  std::vector<const PlanBuffer*> alive;
  for (const PlanBuffer& buffer : method.memory.buffers) {
    if (!buffer.is_state && lives_at(buffer, step)) alive.push_back(&buffer);
  }
  std::stable_sort(alive.begin(), alive.end(), [](const PlanBuffer* a, const PlanBuffer* b) {
    return a->size_bytes > b->size_bytes;
  });
  std::string text;
  for (size_t i = 0; i < std::min(kNamed, alive.size()); ++i) {
    text += (i > 0 ? ", value " : "value ") + std::to_string(alive[i]->value) + " (" +
            std::to_string(alive[i]->size_bytes) + " bytes)";
  }
  if (alive.size() > kNamed) text += " and " + std::to_string(alive.size() - kNamed) + " more";
  return text.empty() ? "nothing" : text;
}

}  // namespace onearena::runtime
