#include "capacity_search.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "first_fit.h"

namespace onearena::internal {
namespace {

struct Start {
  const char* keys;
  double noise;
  bool in_offset_order = false;
};
// A search either runs into a plan almost at once or not for a very long time, so many short ones
// from different starting points beat a long one (measured on the instances of benchmarks/planner;
// no single order is good on all of them). Letters: see Features::order.
constexpr Start kStarts[] = {{"lap", 0.2}, {"alp", 0.2}, {"slp", 0.4},
                             {"pal", 0.3}, {"lap", 0.4}, {"alp", 0.8},
                             {"dal", 0.2}, {"bal", 0.8}, {"pla", 0.3, true}};
// The search in the order of offsets seldom wins: it takes part in one round out of these.
constexpr int32_t kOffsetOrderRounds = 7;
constexpr int64_t kNodesPerUnit = 3;
constexpr int64_t kExtraNodes = 64;

// 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ...: the restarts that are best when nothing is known about how
// long a run should be (Luby, Sinclair, Zuckerman 1993).
int64_t luby(int64_t index) {
  int64_t size = 1, power = 1;
  while (size < index + 1) {
    size = 2 * size + 1;
    power *= 2;
  }
  while (size - 1 != index) {
    size /= 2;
    power /= 2;
    index %= size;
  }
  return power;
}

}  // namespace

CapacitySearch::CapacitySearch(const Layout& layout, const Conflicts& conflicts,
                               const Features& features, int64_t capacity,
                               const SolverOptions& options, const Limits& limits)
    : layout_(layout),
      conflicts_(conflicts),
      features_(features),
      capacity_(capacity),
      options_(options),
      limits_(limits) {
  is_impossible_ = !settle_last_units();
  if (is_impossible_) return;
  peel();
  for (const Start& start : kStarts) {
    const bool is_left_out = !layout.is_flat || (options.switched_off & kNoCanonical);
    if (start.in_offset_order && is_left_out) continue;
    slots_.push_back({start.keys, start.noise, start.in_offset_order, nullptr, {}, {}});
  }
}

// A unit that nothing may lie above goes to the very end; what is alive with it must end below.
bool CapacitySearch::settle_last_units() {
  for (size_t u = 0; u < layout_.units.size(); ++u) {
    const Unit& unit = layout_.units[u];
    if (!unit.is_last || unit.pieces.empty()) continue;
    last_.push_back(static_cast<int32_t>(u));
    const int64_t start =
        align_down(std::min(capacity_ - unit.size, unit.highest), unit.modulus, unit.residue);
    if (start < unit.lowest) return false;
    for (int64_t j = conflicts_.starts[u]; j < conflicts_.starts[u + 1]; ++j) {
      Unit& other = layout_.units[conflicts_.others[j]];
      if (other.is_last) return false;  // each would have to lie above the other
      // only what is occupied while the last one is has to end below it
      other.highest = std::min(other.highest, align_down(start - conflicts_.high(layout_, j),
                                                         other.modulus, other.residue));
    }
  }
  return true;
}

// How many origins of `unit` the j-th conflict of `owner` (with it, or it itself) can block,
// wherever the other one lies. Both see the same width.
int64_t CapacitySearch::blocked(int32_t unit, int32_t owner, int64_t j) const {
  const int64_t width = conflicts_.high(layout_, j) - conflicts_.low(layout_, owner, j);
  const int64_t modulus = layout_.units[unit].modulus;
  return (width - 1 + modulus - 1) / modulus;
}

int64_t CapacitySearch::places(int32_t unit) const {
  const Unit& it = layout_.units[unit];
  const int64_t top = std::min(it.highest, capacity_ - it.size);
  return top < it.lowest ? 0 : (top - it.lowest) / it.modulus + 1;
}

// Takes away, again and again, a unit that finds a place wherever the others lie.
void CapacitySearch::peel() {
  const size_t count = layout_.units.size();
  std::vector<Wide> blocked_places(count);
  std::vector<bool> is_gone(count);
  std::vector<int32_t> ready;
  for (int32_t unit : last_) is_gone[unit] = true;
  for (size_t u = 0; u < count; ++u) {
    if (is_gone[u]) continue;
    for (int64_t j = conflicts_.starts[u]; j < conflicts_.starts[u + 1]; ++j) {
      if (!is_gone[conflicts_.others[j]])
        blocked_places[u] += blocked(static_cast<int32_t>(u), static_cast<int32_t>(u), j);
    }
  }
  auto check = [&](int32_t unit) {
    if (!is_gone[unit] && blocked_places[unit] < places(unit)) {
      is_gone[unit] = true;
      ready.push_back(unit);
    }
  };
  if (!(options_.switched_off & kNoPeeling)) {
    for (size_t u = 0; u < count; ++u) check(static_cast<int32_t>(u));
    for (size_t next = 0; next < ready.size(); ++next) {
      const int32_t unit = ready[next];
      for (int64_t j = conflicts_.starts[unit]; j < conflicts_.starts[unit + 1]; ++j) {
        const int32_t other = conflicts_.others[j];
        if (is_gone[other]) continue;
        blocked_places[other] -= blocked(other, unit, j);
        check(other);
      }
    }
  }
  peeled_.assign(ready.rbegin(), ready.rend());
  for (size_t u = 0; u < count; ++u) {
    if (!is_gone[u]) core_.push_back(static_cast<int32_t>(u));
  }
}

Outcome CapacitySearch::advance(int32_t round, int64_t node_limit, size_t starts) {
  if (is_impossible_) return Outcome::kNone;
  const size_t count = std::min(starts, slots_.size());
  const int64_t per_slot =
      std::min(node_limit / static_cast<int64_t>(count) + 1,
               (kNodesPerUnit * static_cast<int64_t>(core_.size()) + kExtraNodes) * luby(round));
  std::atomic<size_t> next{0};
  std::atomic<size_t> winner{count};  // the first slot that has an answer
  auto work = [&] {
    for (size_t k = next++; k < winner; k = next++) {
      run_slot(slots_[k], static_cast<int32_t>(k), round, per_slot);
      if (slots_[k].outcome == Outcome::kStopped) continue;
      size_t seen = winner;
      while (k < seen && !winner.compare_exchange_weak(seen, k)) {
      }
    }
  };
  std::vector<std::thread> helpers;
  const int32_t threads = std::min<int32_t>(options_.threads, int32_t(count));
  for (int32_t t = 1; t < threads; ++t) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  // what other threads began behind the winner does not count, so that all numbers of threads agree
  nodes_ = 0;
  for (size_t k = 0; k < slots_.size() && k <= winner; ++k) {
    nodes_ += slots_[k].valley ? slots_[k].valley->nodes() : 0;
  }
  if (winner == count) return Outcome::kStopped;
  const Slot& slot = slots_[winner];
  if (slot.outcome == Outcome::kFound) {
    finish(*slot.valley);
    method_ = (slot.in_offset_order ? "offset-order search by " : "exact search by ") + slot.keys;
  }
  return slot.outcome;
}

// Only slots before the winner decide, so the answer does not depend on how many threads there are.
void CapacitySearch::run_slot(Slot& slot, int32_t number, int32_t round, int64_t node_limit) {
  if (slot.in_offset_order && round % kOffsetOrderRounds != kOffsetOrderRounds - 1) {
    slot.outcome = Outcome::kStopped;
    return;
  }
  if (!slot.valley) {
    slot.valley = slot.in_offset_order
                      ? make_canonical(layout_, core_, capacity_, limits_)
                      : make_valley(layout_, core_, capacity_, options_.switched_off, limits_);
  }
  const uint64_t seed = options_.seed * 1'000'003 + uint64_t(number) * 1009 + uint64_t(round);
  const double noise = round == 0 ? 0 : slot.noise;
  const std::vector<int32_t> order = features_.order(slot.keys, noise, seed);
  std::vector<int32_t> rank(order.size());
  for (size_t k = 0; k < order.size(); ++k) rank[order[k]] = static_cast<int32_t>(k);
  slot.priority.clear();
  for (int32_t unit : core_) slot.priority.push_back(rank[unit]);
  slot.outcome = slot.valley->search(slot.priority, node_limit);
}

// Adds the peeled units to the plan of the core, then the last ones.
void CapacitySearch::finish(const Valley& valley) {
  const std::vector<int64_t> found = valley.origins();
  std::vector<int64_t> start(layout_.units.size(), kNowhere);
  for (size_t k = 0; k < core_.size(); ++k) start[core_[k]] = found[k];
  std::vector<int32_t> rest = peeled_;
  rest.insert(rest.end(), last_.begin(), last_.end());
  FirstFit completion(layout_, conflicts_);
  completion.complete(start, rest, capacity_ + 1);
  origins_ = completion.origins();
}

}  // namespace onearena::internal
