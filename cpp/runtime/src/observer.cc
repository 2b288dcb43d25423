#include "observer.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "mapping.h"
#include "onearena/backend_memory.h"
#include "peak.h"

namespace onearena::runtime {
namespace {

constexpr uint8_t kBoolType = static_cast<uint8_t>(DType::kBool);

// Operators of `aten` whose results have sizes, or are numbers, that come from data.
constexpr std::array<std::string_view, 9> kFromData = {
    "nonzero", "masked_select",      "unique",   "_unique2",          "unique_dim",
    "item",    "unique_consecutive", "bincount", "repeat_interleave",
};
constexpr std::array<std::string_view, 6> kKnownNamespaces = {
    "aten", "executorch_prim", "dim_order_ops", "quantized_decomposed", "llama", "et_vk",
};

bool is_from_data(std::string_view name) {
  const size_t colon = name.find("::");
  if (colon == std::string_view::npos) return true;
  const std::string_view space = name.substr(0, colon);
  std::string_view base = name.substr(colon + 2);
  base = base.substr(0, base.find('.'));
  if (std::find(kKnownNamespaces.begin(), kKnownNamespaces.end(), space) ==
      kKnownNamespaces.end()) {
    return true;
  }
  return base == "_local_scalar_dense" ||
         std::find(kFromData.begin(), kFromData.end(), base) != kFromData.end();
}

// `index` with a mask takes as many elements as the mask has true ones.
bool has_mask(const MethodDescription& method, const Instruction& instruction) {
  for (const uint32_t value : instruction.args) {
    const auto* list = std::get_if<TensorListValue>(&method.values[value]);
    if (list == nullptr) continue;
    for (const uint32_t item : list->items) {
      if (item == kNone32) continue;
      const auto* tensor = std::get_if<TensorValue>(&method.values[item]);
      if (tensor != nullptr && tensor->scalar_type == kBoolType && list->is_optional) return true;
    }
  }
  return false;
}

bool follows_shapes(const std::string& backend, const Delegates::Declared& declared) {
  if (backend == "XnnpackBackend") return true;
  const BackendMemory* const known = Delegates::find(declared, backend);
  return known != nullptr && known->sizes_follow_shapes();
}

}  // namespace

bool has_sizes_of_data(const MethodDescription& method, const Delegates::Declared& declared) {
  for (const Instruction& instruction : method.instructions) {
    switch (instruction.kind) {
      case InstructionKind::kJumpFalse:
        return true;
      case InstructionKind::kKernel:
        if (is_from_data(method.operators[instruction.a]) || has_mask(method, instruction)) {
          return true;
        }
        break;
      case InstructionKind::kDelegate:
        if (!follows_shapes(method.delegates[instruction.a].id, declared)) return true;
        break;
      case InstructionKind::kMove:
      case InstructionKind::kFree:
        break;
    }
  }
  return false;
}

Observer::Observer(const MethodDescription& method, const std::vector<PlannedUnit>& units,
                   const Blocks& blocks, ValueTable& values)
    : method_(method),
      units_(units),
      blocks_(blocks),
      values_(values),
      ending_(method.instructions.size()),
      block_of_(units.size()),
      unit_bytes_(units.size()),
      taken_(blocks.all.size()) {
  for (uint32_t u = 0; u < units.size(); ++u) {
    unit_of_.emplace(values.own_tensor(units[u].value), u);
    const auto& tensor = std::get<TensorValue>(method.values[units[u].value]);
    is_dynamic_.push_back(tensor.dynamism != Dynamism::kStatic);
  }
  const std::vector<uint32_t>& first = method.memory.first_step;
  for (uint32_t b = 0; b < blocks.all.size(); ++b) {
    for (const uint32_t unit : blocks.all[b].units) block_of_[unit] = b;
    for (const Interval& interval : blocks.all[b].lifetime) {
      // instruction k has the steps from first[k] to first[k + 1]
      const auto next = std::lower_bound(first.begin(), first.end(), interval.end);
      if (next == first.end() || next == first.begin()) continue;
      ending_[static_cast<size_t>(next - first.begin()) - 1].push_back(b);
    }
  }
}

void Observer::begin(const Placement& placement, uint8_t* base, uint64_t limit_bytes) {
  placement_ = &placement;
  base_ = base;
  limit_ = limit_bytes;
  alive_ = peak_ = 0;
  std::fill(taken_.begin(), taken_.end(), 0);
  for (size_t u = 0; u < units_.size(); ++u) {
    unit_bytes_[u] = is_dynamic_[u] ? 0 : units_[u].bound_bytes;
  }
}

void Observer::note_inputs() {
  for (const uint32_t value : method_.inputs) note(value);
  check_limit("the inputs", 0);
}

void Observer::note(uint32_t value) {
  if (!values_[value].isTensor()) return;
  const ValueTable::TensorImpl* impl = values_[value].toTensor().unsafeGetTensorImpl();
  const auto found = unit_of_.find(impl);
  if (found == unit_of_.end()) return;
  const uint32_t unit = found->second;
  const uint64_t bytes = impl->nbytes();
  if (is_dynamic_[unit]) unit_bytes_[unit] = std::max<uint64_t>(unit_bytes_[unit], bytes);
  // a view has planned memory too, but never uses it
  if (blocks_.all[block_of_[unit]].lifetime.empty()) return;
  uint64_t& taken = taken_[block_of_[unit]];
  if (bytes > taken) {
    alive_ += bytes - taken;
    peak_ = std::max(peak_, alive_);
    taken = bytes;
  }
}

void Observer::after(size_t instruction, uint64_t besides) {
  for (const uint32_t value : method_.instructions[instruction].args) {
    if (const auto* list = std::get_if<TensorListValue>(&method_.values[value])) {
      for (const uint32_t item : list->items) {
        if (item != kNone32) note(item);
      }
    } else {
      note(value);
    }
  }
  if (limit_ > 0) check_limit("instruction " + std::to_string(instruction), besides);
  for (const uint32_t b : ending_[instruction]) {
    const Block& block = blocks_.all[b];
    alive_ -= std::exchange(taken_[b], 0);
    uint64_t bytes = 0;
    for (size_t k = 0; k < block.units.size(); ++k) {
      bytes = std::max(bytes, block.deltas[k] + placement_->capacities[block.units[k]]);
    }
    const uint64_t start = placement_->offsets[block.units[0]] - block.deltas[0];
    if (bytes > 0) madvise(base_ + start, whole_pages(bytes), MADV_DONTNEED);
  }
}

void Observer::check_limit(const std::string& what, uint64_t besides) const {
  if (limit_ == 0 || alive_ + besides <= limit_) return;
  std::vector<std::pair<uint32_t, uint64_t>> in_use;
  for (size_t b = 0; b < taken_.size(); ++b) {
    if (taken_[b] > 0) in_use.emplace_back(units_[blocks_.all[b].units[0]].value, taken_[b]);
  }
  throw Error(ErrorKind::kLimit, "at " + what + " " + std::to_string(alive_ + besides) +
                                     " bytes of the arena are in use, its limit is " +
                                     std::to_string(limit_) +
                                     "; largest: " + largest_text(std::move(in_use)));
}

void Observer::end() {
  if (placement_ != nullptr && placement_->size_bytes > 0) {
    madvise(base_, whole_pages(placement_->size_bytes), MADV_DONTNEED);
  }
}

}  // namespace onearena::runtime
