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
  // Initialises all of them, in order. `is_planned`: whether the memory of delegates is part of the
  // plan, as far as it is known. The arguments outlive this object. Throws `Error`; then those that
  // were initialised are destroyed.
  Delegates(const MethodDescription& method, std::string_view file, const NamedData& data,
            bool is_planned);
  ~Delegates();
  Delegates(const Delegates&) = delete;
  Delegates& operator=(const Delegates&) = delete;

  struct Delegate {
    const ::executorch::runtime::BackendInterface* backend = nullptr;
    ::executorch::runtime::DelegateHandle* handle = nullptr;
    std::unique_ptr<CallMemory> memory;  // null: the delegate sees to itself
  };
  // Whether a method would have initialised its own in the same way.
  bool fits(const MethodDescription& method, bool is_planned) const;
  // Takes over the memory of those whose memory is known. `method` is the one of the constructor,
  // or one that fits; `declared`: backends that say what they need, by name. Both outlive this
  // object. Once, before the first call.
  void plan(const MethodDescription& method, const Declared& declared);
  // What a backend declares with; null for one that does not.
  static BackendMemory* find(const Declared& declared, const std::string& backend);
  // Whether memory of some delegate that the method names can be part of the plan.
  static bool can_be_planned(const MethodDescription& method, const Declared& declared);
  const Delegate& operator[](size_t index) const { return delegates_[index]; }
  // Whether some XNNPACK workspace is left to XNNPACK.
  bool has_own_workspace() const;
  // What they keep from call to call, as far as it is known.
  uint64_t persistent_bytes() const;
  // What they took of the allocator that they were given.
  uint64_t allocated_bytes() const { return allocator_.used_size(); }

 private:
  void add(size_t index, std::string_view file, const NamedData& data);
  void destroy();

  const MethodDescription& method_;
  const bool is_planned_;

  MethodAllocator allocator_;
  std::vector<Delegate> delegates_;
  // backends may keep pointers to these
  std::deque<::executorch::runtime::FreeableBuffer> payloads_;
  std::deque<std::vector<::executorch::runtime::CompileSpec>> specs_;
};

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_DELEGATES_H_
