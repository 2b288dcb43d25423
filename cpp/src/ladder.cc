#include "ladder.h"

#include <algorithm>

namespace onearena::internal {
namespace {

constexpr size_t kMaxExactUnits = 6'000;
// The bound, and a height above it, in eighths of the way from there to the best plan.
constexpr int64_t kRungs = 2;
constexpr int64_t kAimEighths = 5;
constexpr int32_t kEarlyRounds = 7;
constexpr int64_t kLateShare = 4;
// The quick bisection stops at this share of the height, and starts from so many orders.
constexpr int64_t kFineness = 500;
constexpr size_t kQuickStarts = 2;
// A bound is raised in larger and larger steps, for as many rounds as each takes.
constexpr int32_t kStepRounds = 3;
// So many nodes take about as long as placing one unit by first fit.
constexpr int64_t kNodesPerPlacement = 8;

}  // namespace

Ladder::Ladder(const Layout& layout, const Conflicts& conflicts, const Features& features,
               const SolverOptions& options, const Limits& limits, Knowledge& knowledge,
               LocalSearch* local)
    : layout_(layout),
      conflicts_(conflicts),
      features_(features),
      options_(options),
      limits_(limits),
      knowledge_(knowledge),
      local_(local),
      rungs_(kRungs) {}

void Ladder::climb() {
  if (options_.fit_only || !knowledge_.has_plan()) {
    find_any();
    if (options_.fit_only || !knowledge_.has_plan()) return;
  }
  if (!bisect()) return;
  while (!knowledge_.is_done() && !knowledge_.is_over()) {
    if (!climb_once()) return;
  }
}

// Is there a plan within the capacity?
void Ladder::find_any() {
  const std::unique_ptr<CapacitySearch> search = make_search(knowledge_.capacity());
  if (search->core_size() > kMaxExactUnits) return;
  for (int32_t round = 0; !knowledge_.is_done() && !knowledge_.is_over(); ++round) {
    const int64_t before = knowledge_.nodes();
    if (advance(*search, round) != Outcome::kStopped) break;
    search_locally(knowledge_.nodes() - before);
  }
}

// One short look at the bound, then at heights between; most heights that have a plan at all have
// one that is found at once. False when the layout is too large.
bool Ladder::bisect() {
  int64_t low = knowledge_.bound(), height = low;
  while (!knowledge_.is_done() && !knowledge_.is_over()) {
    const int64_t top = knowledge_.height() - 1;
    if (height > top || (top - low) * kFineness < top) return true;
    const std::unique_ptr<CapacitySearch> search = make_search(height);
    if (search->core_size() > kMaxExactUnits) return false;
    const size_t starts = height == knowledge_.bound() ? SIZE_MAX : kQuickStarts;
    if (advance(*search, 0, starts) != Outcome::kFound) low = height + 1;
    height = low + (knowledge_.height() - 1 - low) / 2;
  }
  return true;
}

// One round at the bound, where most plans of programs are, and one at one of the rungs above it.
// False when the layout is too large.
bool Ladder::climb_once() {
  const int64_t before = knowledge_.nodes();
  // at the bound there often is nothing: what was not found there soon is looked for less often
  const bool is_early = rungs_[0].round < kEarlyRounds;
  if ((is_early || step_ > 0 || ++climbs_ % kLateShare == 0) &&
      !step_to(0, knowledge_.bound() + step_)) {
    return false;
  }
  const int64_t bound = knowledge_.bound(), top = knowledge_.height() - 1;
  if (!knowledge_.is_done() && !knowledge_.is_over() && bound < top) {
    if (!step_to(1, bound + (top - bound) * kAimEighths / 8)) return false;
  }
  search_locally(knowledge_.nodes() - before);
  return true;
}

// One round at a rung, which stays where it is as long as that makes sense.
bool Ladder::step_to(int64_t number, int64_t height) {
  const int64_t top = knowledge_.height() - 1;
  Rung& rung = rungs_[number];
  if (number == 0 || !rung.search || rung.search->capacity() > top ||
      rung.search->capacity() <= knowledge_.bound()) {
    aim(rung, std::min(height, top));
  }
  if (rung.search->core_size() > kMaxExactUnits) return false;
  const Outcome outcome = advance(*rung.search, rung.round++);
  if (number == 0) {
    if (outcome == Outcome::kNone) step_ = 2 * step_ + 1;
    if (outcome == Outcome::kFound || (step_ > 0 && rung.round >= kStepRounds)) step_ = 0;
  }
  if (outcome != Outcome::kStopped) rung.search.reset();
  return true;
}

void Ladder::aim(Rung& rung, int64_t height) {
  if (rung.search && rung.search->capacity() == height) return;
  rung.search = make_search(height);
  rung.round = 0;
}

// For about a quarter of the time that so many nodes took.
void Ladder::search_locally(int64_t nodes) {
  if (local_ == nullptr || knowledge_.is_done() || knowledge_.is_over()) return;
  const int64_t steps =
      nodes * kNodesPerPlacement / 4 / static_cast<int64_t>(layout_.units.size() + 1) + 1;
  local_->run(steps, knowledge_.limit(), knowledge_.target());
  if (!local_->origins().empty()) knowledge_.offer(local_->origins(), "local search");
}

std::unique_ptr<CapacitySearch> Ladder::make_search(int64_t height) const {
  return std::make_unique<CapacitySearch>(layout_, conflicts_, features_, height, options_,
                                          limits_);
}

Outcome Ladder::advance(CapacitySearch& search, int32_t round, size_t starts) {
  const int64_t before = search.nodes();
  const Outcome outcome = search.advance(round, knowledge_.nodes_left(), starts);
  knowledge_.count_nodes(search.nodes() - before);
  if (outcome == Outcome::kFound) knowledge_.offer(search.origins(), search.method());
  if (outcome == Outcome::kNone) knowledge_.raise_bound(search.capacity() + 1);
  return outcome;
}

}  // namespace onearena::internal
