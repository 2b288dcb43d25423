// Planning one structure again and again with other sizes.
#include <algorithm>
#include <numeric>

#include "bounds.h"
#include "conflicts.h"
#include "onearena/planner.h"
#include "orders.h"
#include "units.h"

namespace onearena {
namespace {

using internal::align_up;

// Orders are tried until one reaches the bound; more would cost more than they gain.
constexpr size_t kMaxOrders = 4;

struct Taken {
  int64_t low, high;
};

}  // namespace

// Structure in compressed form, and room for everything that a re-plan needs.
struct Replanner::Impl {
  int32_t count = 0;
  std::vector<int32_t> unit_of;  // by buffer
  std::vector<int64_t> starts;   // units that meet unit k: others[starts[k], starts[k + 1])
  std::vector<int32_t> others;
  std::vector<int64_t> modulus, pinned, lowest, reach;
  std::vector<internal::Piece> pieces;
  std::vector<int32_t> piece_starts;
  std::vector<std::vector<int32_t>> orders;
  int32_t sections = 0;
  int64_t capacity = kUnlimited;

  std::vector<int64_t> sizes, origins, best, loads;
  std::vector<Taken> taken;

  int64_t bound();
  int64_t place(const std::vector<int32_t>& order, int64_t limit);
  int64_t lowest_free(int32_t unit);
  bool pin_is_free(int32_t unit) const;
};

namespace {

void refuse(bool wrong, const char* why) {
  if (wrong) throw MalformedProblem(std::string("cannot be re-planned: ") + why);
}

void check_structure(const Problem& problem) {
  internal::check(problem);
  refuse(problem.memories.size() != 1, "there are several memories");
  refuse(!problem.groups.empty(), "there are groups");
  for (const Buffer& buffer : problem.buffers) {
    refuse(buffer.is_last, "a buffer must be last");
    for (const Gap& gap : buffer.gaps) {
      refuse(gap.bytes.begin < gap.bytes.end, "a buffer is partly occupied");
    }
  }
}

}  // namespace

Replanner::Replanner(const Problem& problem, const Options& options, Plan* first)
    : impl_(std::make_unique<Impl>()) {
  check_structure(problem);
  Plan planned = plan(problem, options);
  Impl& my = *impl_;
  std::vector<int32_t> chosen(problem.buffers.size());
  std::iota(chosen.begin(), chosen.end(), 0);
  // what is empty now may not be later
  Problem structure = problem;
  for (Buffer& buffer : structure.buffers) buffer.size = std::max<int64_t>(buffer.size, 1);
  // pairs that share in the first plan share for good
  std::vector<bool> merged(problem.pairs.size());
  for (size_t k = 0; k < problem.pairs.size(); ++k) {
    const Pair& pair = problem.pairs[k];
    merged[k] =
        !planned.offsets.empty() && planned.offsets[pair.first] == planned.offsets[pair.second];
  }
  internal::Contradiction contradiction;
  const internal::Layout layout = internal::build_layout(structure, chosen, merged, contradiction);
  refuse(!contradiction.buffers.empty(), "its constraints contradict each other");
  const internal::Conflicts conflicts = internal::find_conflicts(layout);
  my.count = static_cast<int32_t>(layout.units.size());
  my.sections = layout.section_count;
  my.capacity = problem.memories[0].capacity;
  my.starts = conflicts.starts;
  my.others = conflicts.others;
  my.unit_of.resize(problem.buffers.size());
  my.piece_starts.push_back(0);
  for (int32_t u = 0; u < my.count; ++u) {
    const internal::Unit& unit = layout.units[u];
    int64_t modulus = 1, pin = kFree, low = 0, reach = kUnlimited;
    for (const Member& member : unit.members) {
      const Buffer& buffer = problem.buffers[member.buffer];
      my.unit_of[member.buffer] = u;
      modulus = std::lcm(modulus, buffer.alignment);
      if (buffer.offset != kFree) pin = buffer.offset;
      low = std::max(low, buffer.region.begin);
      reach = std::min(reach, buffer.region.end);
    }
    my.modulus.push_back(modulus);
    my.pinned.push_back(pin);
    my.lowest.push_back(align_up(low, modulus, 0));
    my.reach.push_back(reach);
    my.pieces.insert(my.pieces.end(), unit.pieces.begin(), unit.pieces.end());
    my.piece_starts.push_back(static_cast<int32_t>(my.pieces.size()));
  }
  // the order of the first plan comes first: by offset, from the bottom
  std::vector<int64_t> origin(my.count);
  for (size_t b = 0; b < planned.offsets.size(); ++b) {
    origin[my.unit_of[b]] = planned.offsets[b];
  }
  std::vector<int32_t> by_offset(my.count);
  std::iota(by_offset.begin(), by_offset.end(), 0);
  std::stable_sort(by_offset.begin(), by_offset.end(),
                   [&](int32_t a, int32_t b) { return origin[a] < origin[b]; });
  const internal::Features features(layout, internal::section_loads(layout));
  my.orders = {by_offset, features.order("pls"), features.order("as"), features.order("sl")};
  my.orders.resize(kMaxOrders);
  my.sizes.resize(my.count);
  my.origins.resize(my.count);
  my.best.resize(my.count);
  my.loads.resize(my.sections + 1);
  int64_t most = 0;
  for (int32_t u = 0; u < my.count; ++u) most = std::max(most, my.starts[u + 1] - my.starts[u]);
  my.taken.resize(most);
  if (first != nullptr) *first = std::move(planned);
}

Replanner::~Replanner() = default;
Replanner::Replanner(Replanner&&) noexcept = default;
Replanner& Replanner::operator=(Replanner&&) noexcept = default;

int64_t Replanner::Impl::bound() {
  std::fill(loads.begin(), loads.end(), 0);
  for (int32_t u = 0; u < count; ++u) {
    for (int32_t p = piece_starts[u]; p < piece_starts[u + 1]; ++p) {
      loads[pieces[p].begin] += sizes[u];
      loads[pieces[p].end] -= sizes[u];
    }
  }
  int64_t live = 0, most = 0;
  for (int64_t change : loads) {
    live += change;
    most = std::max(most, live);
  }
  return most;
}

int64_t Replanner::Impl::lowest_free(int32_t unit) {
  size_t found = 0;
  for (int64_t j = starts[unit]; j < starts[unit + 1]; ++j) {
    const int32_t other = others[j];
    if (origins[other] < 0 || sizes[other] == 0) continue;
    // insertion sort: neighbours come nearly in order, and few
    const Taken span{origins[other], origins[other] + sizes[other]};
    size_t at = found++;
    for (; at > 0 && taken[at - 1].low > span.low; --at) taken[at] = taken[at - 1];
    taken[at] = span;
  }
  int64_t position = lowest[unit];
  for (size_t k = 0; k < found; ++k) {
    if (position + sizes[unit] <= taken[k].low) break;
    if (taken[k].high > position) position = align_up(taken[k].high, modulus[unit], 0);
  }
  return position;
}

// Grown buffers may run into others that are pinned too.
bool Replanner::Impl::pin_is_free(int32_t unit) const {
  for (int64_t j = starts[unit]; j < starts[unit + 1]; ++j) {
    const int32_t other = others[j];
    if (origins[other] >= 0 && origins[other] < origins[unit] + sizes[unit] &&
        origins[unit] < origins[other] + sizes[other]) {
      return false;
    }
  }
  return true;
}

int64_t Replanner::Impl::place(const std::vector<int32_t>& order, int64_t limit) {
  std::fill(origins.begin(), origins.end(), kFree);
  int64_t height = 0;
  for (int32_t u = 0; u < count; ++u) {
    if (pinned[u] == kFree) continue;
    origins[u] = pinned[u];
    height = std::max(height, pinned[u] + sizes[u]);
    if (pinned[u] + sizes[u] > reach[u] || !pin_is_free(u)) return -1;
  }
  for (int32_t u : order) {
    if (origins[u] >= 0) continue;
    origins[u] = lowest_free(u);
    const int64_t top = origins[u] + sizes[u];
    if (top > reach[u] || top >= limit) return -1;
    height = std::max(height, top);
  }
  return height < limit ? height : -1;
}

int64_t Replanner::replan(const int64_t* new_sizes, int64_t* offsets) noexcept {
  Impl& my = *impl_;
  std::fill(my.sizes.begin(), my.sizes.end(), 0);
  int64_t total = 0;
  for (size_t b = 0; b < my.unit_of.size(); ++b) {
    if (new_sizes[b] < 0 || new_sizes[b] > internal::kInfinity / 4 - total) return -1;
    total += new_sizes[b];
    int64_t& size = my.sizes[my.unit_of[b]];
    size = std::max(size, new_sizes[b]);
  }
  const int64_t bound = my.bound();
  int64_t best = -1;
  int64_t limit = my.capacity == kUnlimited ? kUnlimited : my.capacity + 1;
  for (const auto& order : my.orders) {
    const int64_t height = my.place(order, limit);
    if (height < 0) continue;
    best = limit = height;
    my.best.swap(my.origins);
    if (height <= bound) break;
  }
  if (best < 0) return -1;
  for (size_t b = 0; b < my.unit_of.size(); ++b) offsets[b] = my.best[my.unit_of[b]];
  return best;
}

}  // namespace onearena
