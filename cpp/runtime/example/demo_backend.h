// A backend that declares its memory: the worked example of docs/runtime.md.
//
// It smooths a vector a number of times: each element becomes the mean of itself and its
// neighbours. Each round reads one buffer and writes another one, so it needs scratch as large as
// its input, and it counts its calls, which is memory that it keeps.
#ifndef ONEARENA_EXAMPLE_DEMO_BACKEND_H_
#define ONEARENA_EXAMPLE_DEMO_BACKEND_H_

#include <cstdint>
#include <vector>

#include "onearena/backend_memory.h"

namespace demo {

// The name under which programs ask for it. The payload is the number of rounds, in 4 bytes.
constexpr const char* kBackendName = "DemoBackend";

class Backend final : public ::executorch::runtime::BackendInterface,
                      public onearena::runtime::BackendMemory {
 public:
  using Handle = ::executorch::runtime::DelegateHandle;

  bool is_available() const override { return true; }
  ::executorch::runtime::Result<Handle*> init(
      ::executorch::runtime::BackendInitContext& context,
      ::executorch::runtime::FreeableBuffer* payload,
      ::executorch::runtime::ArrayRef<::executorch::runtime::CompileSpec> specs) const override;
  ::executorch::runtime::Error execute(::executorch::runtime::BackendExecutionContext& context,
                                       Handle* handle, Args args) const override;
  void destroy(Handle* handle) const override;

  std::vector<onearena::runtime::MemoryNeed> needs(Handle* handle, Args args) override;
  void bind(Handle* handle, const std::vector<void*>& addresses) override;
};

}  // namespace demo

#endif  // ONEARENA_EXAMPLE_DEMO_BACKEND_H_
