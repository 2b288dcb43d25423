#include "values.h"

#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

#include <algorithm>
#include <cmath>

namespace onearena::runtime {

namespace et = ::executorch::runtime;

namespace {

constexpr double kMostBytes = uint64_t{1} << 62;

}  // namespace

ValueTable::ValueTable(const MethodDescription& method, std::string_view file,
                       const NamedData& data, const StateMemory& state)
    : method_(method),
      tensors_(method.values.size()),
      slot_of_(method.values.size()),
      values_(method.values.size()) {
  for (size_t i = 0; i < values_.size(); ++i) {
    const Value& value = method.values[i];
    if (const auto* number = std::get_if<int64_t>(&value)) {
      values_[i] = EValue(*number);
    } else if (const auto* real = std::get_if<double>(&value)) {
      values_[i] = EValue(*real);
    } else if (const auto* flag = std::get_if<bool>(&value)) {
      values_[i] = EValue(*flag);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      values_[i] = EValue(plain(strings_, *text));
    } else if (const auto* tensor = std::get_if<TensorValue>(&value)) {
      make_tensor(i, *tensor, file, data, state);
    }
  }
  // lists point at values, which stay where they are
  for (size_t i = 0; i < values_.size(); ++i) make_list(i, method.values[i]);
  size_bytes_ += values_.size() * (sizeof(EValue) + sizeof(TensorImpl*));
}

void ValueTable::make_tensor(size_t index, const TensorValue& tensor, std::string_view file,
                             const NamedData& data, const StateMemory& state) {
  TensorSlot& slot = slots_.emplace_back();
  slot.sizes = tensor.sizes;
  slot.dim_order = tensor.dim_order;
  slot.strides.resize(tensor.sizes.size());
  const size_t rank = tensor.sizes.size();
  int64_t elements = 1;  // ExecuTorch's strides have 32 bits
  for (size_t i = rank; i-- > 1;) {
    elements *= std::max<int64_t>(1, tensor.sizes[tensor.dim_order[i]]);
    if (elements > INT32_MAX) {
      throw Error(ErrorKind::kUnsupported,
                  "value " + std::to_string(index) + ": the tensor's strides need 64 bits");
    }
  }
  const et::Error error =
      et::dim_order_to_stride(slot.sizes.data(), slot.dim_order.data(), rank, slot.strides.data());
  if (error != et::Error::Ok) {
    throw Error(ErrorKind::kFormat,
                "value " + std::to_string(index) + ": a tensor with a bad dimension order");
  }
  slot.impl.emplace(static_cast<::executorch::aten::ScalarType>(tensor.scalar_type),
                    static_cast<ssize_t>(rank), slot.sizes.data(),
                    find_data(index, tensor, file, data, state), slot.dim_order.data(),
                    slot.strides.data(), static_cast<et::TensorShapeDynamism>(tensor.dynamism));
  tensors_[index] = &*slot.impl;
  slot_of_[index] = &slot;
  values_[index] = EValue(Tensor(&*slot.impl));
  size_bytes_ += sizeof(TensorSlot) + rank * (2 * sizeof(int32_t) + 1);
}

void* ValueTable::find_data(size_t index, const TensorValue& tensor, std::string_view file,
                            const NamedData& data, const StateMemory& state) {
  switch (tensor.kind) {
    case TensorKind::kConstant:
      return const_cast<char*>(file.data() + tensor.file_offset);
    case TensorKind::kPlanned:
      if (tensor.state_block != kNone32) return state.address(tensor);
      if (tensor.size_bytes > 0 &&
          (tensor.file_offset != kNone64 || !tensor.external_name.empty())) {
        throw Error(ErrorKind::kFormat, "value " + std::to_string(index) +
                                            " has an initial state, but is not listed as state");
      }
      return nullptr;
    case TensorKind::kCaller:
      return nullptr;
    case TensorKind::kExternal:
      break;
  }
  auto found = data.get_data(tensor.external_name);
  if (!found.ok() || found->size() < tensor.size_bytes) {
    const std::string reason = found.ok() ? "it is too short" : et::to_string(found.error());
    throw Error(ErrorKind::kUsage, "value " + std::to_string(index) + ": no data for '" +
                                       tensor.external_name + "': " + reason);
  }
  external_.push_back(std::move(*found));
  return const_cast<void*>(external_.back().data());
}

template <class T>
et::BoxedEvalueList<T>* ValueTable::box(std::deque<Boxed<T>>& kept,
                                        const std::vector<uint32_t>& items) {
  Boxed<T>& boxed = kept.emplace_back();
  boxed.wrapped.reserve(items.size() + 1);  // + 1: the pointers must not be null
  for (const uint32_t item : items) {
    boxed.wrapped.push_back(item == kNone32 ? nullptr : &values_[item]);
  }
  if constexpr (std::is_same_v<T, Tensor>) {
    boxed.unwrapped.resize(items.size() + 1, Tensor(nullptr));
  } else {
    boxed.unwrapped.resize(items.size() + 1);
  }
  boxed.list.emplace(boxed.wrapped.data(), boxed.unwrapped.data(), static_cast<int>(items.size()));
  size_bytes_ += sizeof boxed + (items.size() + 1) * (sizeof(EValue*) + sizeof(T));
  return &*boxed.list;
}

template <class T, class Items>
et::ArrayRef<T>* ValueTable::plain(std::deque<Plain<T>>& kept, const Items& items) {
  Plain<T>& list = kept.emplace_back();
  list.items.reset(new T[items.size() + 1]());
  for (size_t i = 0; i < items.size(); ++i) list.items[i] = static_cast<T>(items[i]);
  list.list = et::ArrayRef<T>(list.items.get(), items.size());
  size_bytes_ += sizeof list + items.size() * sizeof(T);
  return &list.list;
}

void ValueTable::make_list(size_t index, const Value& value) {
  if (const auto* ints = std::get_if<IntListValue>(&value)) {
    values_[index] = EValue(box(int_lists_, ints->items));
  } else if (const auto* doubles = std::get_if<DoubleListValue>(&value)) {
    values_[index] = EValue(plain(double_lists_, doubles->items));
  } else if (const auto* bools = std::get_if<BoolListValue>(&value)) {
    values_[index] = EValue(plain(bool_lists_, bools->items));
  } else if (const auto* tensors = std::get_if<TensorListValue>(&value)) {
    values_[index] = tensors->is_optional ? EValue(box(optional_lists_, tensors->items))
                                          : EValue(box(tensor_lists_, tensors->items));
  }
}

void ValueTable::bind(const std::vector<PlannedUnit>& units, const Placement& placement,
                      uint8_t* base) {
  set_bounds(units, placement);
  for (size_t i = 0; i < units.size(); ++i) {
    tensors_[units[i].value]->set_data(base + placement.offsets[i]);
  }
}

void ValueTable::set_bounds(const std::vector<PlannedUnit>& units, const Placement& placement) {
  if (placement.capacities.empty()) return;
  for (size_t i = 0; i < units.size(); ++i) set_bound(units[i].value, placement.capacities[i]);
}

void ValueTable::resize(uint32_t value, const std::vector<int32_t>& sizes) {
  if (value >= tensors_.size() || tensors_[value] == nullptr) return;
  const bool is_static = tensors_[value]->shape_dynamism() == et::TensorShapeDynamism::STATIC;
  if (is_static || sizes.size() != slot_of_[value]->sizes.size()) return;
  (void)et::resize_tensor(Tensor(tensors_[value]), {sizes.data(), sizes.size()});
}

// ExecuTorch compares a new number of elements with the one that the TensorImpl was made with. It
// is made again where it is, since everything points at it. What writes a dynamic tensor gives it
// its sizes first; until then it has those of the file, as far as there is room: some kernels
// (`et_copy_index`) fill a tensor row by row and expect its rows to be what they will be.
void ValueTable::set_bound(size_t index, uint64_t bytes) {
  TensorSlot& slot = *slot_of_[index];
  const et::TensorShapeDynamism dynamism = slot.impl->shape_dynamism();
  const size_t rank = slot.sizes.size();
  if (dynamism == et::TensorShapeDynamism::STATIC || rank == 0) return;
  const auto type = slot.impl->scalar_type();
  const uint64_t elements = bytes / element_bytes(static_cast<uint8_t>(type));
  std::fill(slot.sizes.begin(), slot.sizes.end(), 1);
  std::fill(slot.strides.begin(), slot.strides.end(), 1);
  slot.sizes[slot.dim_order[0]] = static_cast<int32_t>(std::min<uint64_t>(elements, INT32_MAX));
  void* const data = slot.impl->mutable_data();
  slot.impl.emplace(type, static_cast<ssize_t>(rank), slot.sizes.data(), data,
                    slot.dim_order.data(), slot.strides.data(), dynamism);
  std::vector<int32_t> sizes = std::get<TensorValue>(method_.values[index]).sizes;
  int32_t& rows = sizes[slot.dim_order[0]];
  uint64_t row = 1;
  for (size_t d = 0; d < rank; ++d) {
    if (d != slot.dim_order[0]) row *= static_cast<uint64_t>(std::max<int32_t>(sizes[d], 0));
  }
  if (row == 0) return;
  rows = static_cast<int32_t>(std::min<uint64_t>(std::max<int32_t>(rows, 0), elements / row));
  // where not even a row fits, what was made above stays
  if (rows > 0) (void)et::resize_tensor(Tensor(&*slot.impl), {sizes.data(), sizes.size()});
}

void ValueTable::widen(double scale) {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const auto* tensor = std::get_if<TensorValue>(&method_.values[i]);
    if (tensor == nullptr || tensor->kind != TensorKind::kCaller) continue;
    const double bytes = std::ceil(static_cast<double>(tensor->size_bytes) * scale);
    set_bound(i, static_cast<uint64_t>(std::min(bytes, kMostBytes)));
  }
}

}  // namespace onearena::runtime
