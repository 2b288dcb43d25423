#include "faults.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace onearena::verifying {
namespace {

auto key(const Fault& fault) { return std::make_tuple(fault.kind, fault.first, fault.second); }

}  // namespace

void Faults::add(FaultKind kind, int32_t first, int32_t second) {
  if (full_) return;
  faults_.push_back({kind, first, second});
  if (faults_.size() < tidy_at_) return;
  tidy();
  full_ = faults_.size() >= limit_;
  // Doubling keeps the cost of sorting small when most of what is added is known already.
  tidy_at_ = std::max(limit_, 2 * faults_.size());
}

std::vector<Fault> Faults::take() {
  tidy();
  if (faults_.size() > limit_) faults_.resize(limit_);
  return std::move(faults_);
}

void Faults::tidy() {
  std::sort(faults_.begin(), faults_.end(),
            [](const Fault& a, const Fault& b) { return key(a) < key(b); });
  const auto same = [](const Fault& a, const Fault& b) { return key(a) == key(b); };
  faults_.erase(std::unique(faults_.begin(), faults_.end(), same), faults_.end());
}

}  // namespace onearena::verifying
