// The delegates of a method, initialised.
#ifndef ONEARENA_RUNTIME_DELEGATES_H_
#define ONEARENA_RUNTIME_DELEGATES_H_

#include <executorch/runtime/backend/interface.h>

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocators.h"
#include "call_memory.h"
#include "description.h"
#include "named_data.h"

namespace onearena::runtime {

class Delegates {
 public:
  using Declared = std::vector<std::pair<std::string, BackendMemory*>>;
  // Initialises all of them, in order. `declared`: backends that say what they need, by name;
  // `is_planned`: whether the memory of delegates is part of the plan, as far as it is known. The
  // arguments outlive this object. Throws `Error`; then those that were initialised are destroyed.
  Delegates(const MethodDescription& method, std::string_view file, const NamedData& data,
            const Declared& declared, bool is_planned, MethodAllocator& allocator);
  ~Delegates();
  Delegates(const Delegates&) = delete;
  Delegates& operator=(const Delegates&) = delete;

  struct Delegate {
    const ::executorch::runtime::BackendInterface* backend = nullptr;
    ::executorch::runtime::DelegateHandle* handle = nullptr;
    std::unique_ptr<CallMemory> memory;  // null: the delegate sees to itself
  };
  // What a backend declares with; null for one that does not.
  static BackendMemory* find(const Declared& declared, const std::string& backend);
  // Whether memory of some delegate that the method names can be part of the plan.
  static bool can_be_planned(const MethodDescription& method, const Declared& declared);
  const Delegate& operator[](size_t index) const { return delegates_[index]; }
  // Whether some XNNPACK workspace is left to XNNPACK.
  bool has_own_workspace() const;
  // What they keep from call to call, as far as it is known.
  uint64_t persistent_bytes() const;

 private:
  void add(const MethodDescription& method, size_t index, std::string_view file,
           const NamedData& data, MethodAllocator& allocator);
  std::unique_ptr<CallMemory> memory_of(const DelegateDescription& delegate, void* handle,
                                        const std::string& what) const;
  void destroy();

  const Declared& declared_;
  const bool is_planned_;
  const bool is_static_;  // all tensors of the method

  std::vector<Delegate> delegates_;
  // backends may keep pointers to these
  std::deque<::executorch::runtime::FreeableBuffer> payloads_;
  std::deque<std::vector<::executorch::runtime::CompileSpec>> specs_;
};

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_DELEGATES_H_
