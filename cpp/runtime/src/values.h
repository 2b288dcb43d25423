// The values of a method as ExecuTorch's kernels want them.
#ifndef ONEARENA_RUNTIME_VALUES_H_
#define ONEARENA_RUNTIME_VALUES_H_

#include <executorch/runtime/core/evalue.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "description.h"
#include "layout.h"
#include "named_data.h"
#include "state.h"

namespace onearena::runtime {

// Owns the values and everything that they point to. Kernels, moves and `et_view` change them
// while the method runs; a tensor's own `TensorImpl` stays what it is.
class ValueTable {
 public:
  using EValue = ::executorch::runtime::EValue;
  using Tensor = ::executorch::aten::Tensor;
  using TensorImpl = ::executorch::aten::TensorImpl;

  // The arguments outlive this object. Planned units have no memory yet. Throws `Error`.
  ValueTable(const MethodDescription& method, std::string_view file, const NamedData& data,
             const StateMemory& state);

  EValue& operator[](size_t index) { return values_[index]; }
  const EValue& operator[](size_t index) const { return values_[index]; }
  // The tensor that a value was when the method was loaded; null for others.
  TensorImpl* own_tensor(size_t index) { return tensors_[index]; }

  // Gives the planned units their places. Where the placement has capacities, dynamic units
  // refuse to grow beyond them.
  void bind(const std::vector<PlannedUnit>& units, const Placement& placement, uint8_t* base);
  // Lets the planned units grow as a placement says, without giving them memory.
  void set_bounds(const std::vector<PlannedUnit>& units, const Placement& placement);
  // Gives a dynamic tensor sizes, as far as they are within its bounds.
  void resize(uint32_t value, const std::vector<int32_t>& sizes);
  // Dynamic tensors without planned memory may grow up to their bounds times `scale`.
  void widen(double scale);
  // Memory that the values take.
  uint64_t size_bytes() const { return size_bytes_; }

 private:
  // A TensorImpl points at its sizes, strides and dimension order.
  struct TensorSlot {
    std::vector<int32_t> sizes, strides;
    std::vector<uint8_t> dim_order;
    std::optional<TensorImpl> impl;
  };
  template <class T>
  struct Boxed {
    std::vector<EValue*> wrapped;
    std::vector<T> unwrapped;
    std::optional<::executorch::runtime::BoxedEvalueList<T>> list;
  };
  template <class T>
  struct Plain {
    std::unique_ptr<T[]> items;
    ::executorch::runtime::ArrayRef<T> list;
  };

  void make_tensor(size_t index, const TensorValue& tensor, std::string_view file,
                   const NamedData& data, const StateMemory& state);
  void make_list(size_t index, const Value& value);
  void set_bound(size_t index, uint64_t bytes);
  void* find_data(size_t index, const TensorValue& tensor, std::string_view file,
                  const NamedData& data, const StateMemory& state);
  template <class T>
  ::executorch::runtime::BoxedEvalueList<T>* box(std::deque<Boxed<T>>& kept,
                                                 const std::vector<uint32_t>& items);
  template <class T, class Items>
  ::executorch::runtime::ArrayRef<T>* plain(std::deque<Plain<T>>& kept, const Items& items);

  const MethodDescription& method_;
  std::deque<TensorSlot> slots_;
  std::deque<Boxed<int64_t>> int_lists_;
  std::deque<Boxed<Tensor>> tensor_lists_;
  std::deque<Boxed<std::optional<Tensor>>> optional_lists_;
  std::deque<Plain<double>> double_lists_;
  std::deque<Plain<bool>> bool_lists_;
  std::deque<Plain<char>> strings_;
  std::deque<::executorch::runtime::FreeableBuffer> external_;
  std::vector<TensorImpl*> tensors_;
  std::vector<TensorSlot*> slot_of_;
  uint64_t size_bytes_ = 0;
  std::vector<EValue> values_;  // last: its destructors look at the lists
};

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_VALUES_H_
