#include "placements.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "mapping.h"
#include "planning.h"

namespace onearena::runtime {
namespace {

constexpr double kMostApart = 1ull << 46;

std::vector<uint64_t> bounds(const std::vector<PlannedUnit>& units) {
  std::vector<uint64_t> bytes;
  for (const PlannedUnit& unit : units) bytes.push_back(unit.bound_bytes);
  return bytes;
}

}  // namespace

Placements::Placements(const MethodDescription& method, const std::vector<PlannedUnit>& units,
                       Planning planning, size_t most)
    : planning_(planning),
      most_(std::max<size_t>(most, 1)),
      units_(units),
      blocks_(method, units),
      layout_of_file_(static_layout(method, units)),
      in_file_(layout_of_file_->place({}, {})) {
  if (planning == Planning::kShapes) layout_ = std::make_unique<PlannedLayout>(blocks_);
  if (planning == Planning::kSimple) {
    layout_ = std::make_unique<SimpleLayout>(blocks_, bounds(units));
  }
}

const Placement* Placements::find(const ShapeKey& key) {
  if (is_static()) return &in_file_;
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  order_.splice(order_.begin(), order_, found->second.place);
  return &found->second.placement;
}

// At the sizes in the file its plan may be the better one, with the scratch behind it.
Placement Placements::best(const std::vector<uint64_t>& unit_bytes,
                           const std::vector<Scratch>& scratch) const {
  Placement placement = layout_->place(unit_bytes, scratch);
  if (planning_ != Planning::kShapes || unit_bytes != bounds(units_)) return placement;
  Placement of_file = layout_of_file_->place({}, scratch);
  of_file.capacities = unit_bytes;
  return of_file.size_bytes < placement.size_bytes ? of_file : placement;
}

const Placement& Placements::add(const ShapeKey& key, const std::vector<uint64_t>& unit_bytes,
                                 const std::vector<Scratch>& scratch) {
  const auto start = std::chrono::steady_clock::now();
  Placement placement = best(unit_bytes, scratch);
  plan_us_ =
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  placement.version = ++versions_;
  ++plans_;
  remove(key);
  if (entries_.size() >= most_) {
    const ShapeKey oldest = *order_.back();
    remove(oldest);
  }
  std::list<const ShapeKey*> place{nullptr};  // first: an entry without a place cannot be removed
  const auto added = entries_.emplace(key, Entry{std::move(placement), place.begin()}).first;
  place.front() = &added->first;
  order_.splice(order_.begin(), place);
  return added->second.placement;
}

void Placements::remove(const ShapeKey& key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  order_.erase(found->second.place);
  entries_.erase(found);
}

const Placement& Placements::apart(double scale) {
  if (apart_scale_ == scale) return apart_;
  Placement placement;
  placement.capacities = bounds(units_);
  for (uint64_t& bytes : placement.capacities) {
    const double wanted = std::ceil(static_cast<double>(bytes) * scale);
    if (wanted > kMostApart) throw Error(ErrorKind::kLimit, "needs more than 2^46 bytes");
    bytes = static_cast<uint64_t>(wanted);
  }
  // a static tensor never grows, and one inside another must not run into its neighbours
  for (const Block& block : blocks_.all) {
    const bool is_nested = std::any_of(block.deltas.begin(), block.deltas.end(),
                                       [](uint64_t delta) { return delta > 0; });
    if (!block.is_static && !is_nested) continue;
    for (const uint32_t unit : block.units) placement.capacities[unit] = units_[unit].bound_bytes;
  }
  std::vector<uint64_t> offsets;
  for (const uint64_t bytes : blocks_.bytes(placement.capacities)) {
    offsets.push_back(placement.size_bytes);
    placement.size_bytes += whole_pages(bytes);
    if (static_cast<double>(placement.size_bytes) > kMostApart) {
      throw Error(ErrorKind::kLimit, "needs more than 2^46 bytes of address space");
    }
  }
  placement.offsets = blocks_.unit_offsets(offsets);
  placement.size_bytes += blocks_.all.empty() ? 0 : kGuardBytes;
  placement.version = ++versions_;
  apart_ = std::move(placement);
  apart_scale_ = scale;
  return apart_;
}

}  // namespace onearena::runtime
