// The delegates of a method, initialised.
#ifndef ONEARENA_RUNTIME_DELEGATES_H_
#define ONEARENA_RUNTIME_DELEGATES_H_

#include <executorch/runtime/backend/interface.h>

#include <deque>
#include <string_view>
#include <vector>

#include "allocators.h"
#include "description.h"
#include "named_data.h"

namespace onearena::runtime {

class Delegates {
 public:
  // Initialises all of them, in order. The arguments outlive this object. Throws `Error`; then
  // those that were initialised are destroyed.
  Delegates(const MethodDescription& method, std::string_view file, const NamedData& data,
            MethodAllocator& allocator);
  ~Delegates();
  Delegates(const Delegates&) = delete;
  Delegates& operator=(const Delegates&) = delete;

  struct Delegate {
    const ::executorch::runtime::BackendInterface* backend = nullptr;
    ::executorch::runtime::DelegateHandle* handle = nullptr;
  };
  const Delegate& operator[](size_t index) const { return delegates_[index]; }

 private:
  void add(const MethodDescription& method, size_t index, std::string_view file,
           const NamedData& data, MethodAllocator& allocator);
  void destroy();

  std::vector<Delegate> delegates_;
  // backends may keep pointers to these
  std::deque<::executorch::runtime::FreeableBuffer> payloads_;
  std::deque<std::vector<::executorch::runtime::CompileSpec>> specs_;
};

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_DELEGATES_H_
