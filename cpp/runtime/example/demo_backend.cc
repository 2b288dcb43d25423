#include "demo_backend.h"

#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace demo {

namespace et = ::executorch::runtime;
using onearena::runtime::MemoryLifetime;
using onearena::runtime::MemoryNeed;

namespace {

struct Smoother {
  uint32_t rounds = 0;
  // Null where nobody asked what is needed, as on the stock runtime.
  float* scratch = nullptr;   // as large as the input, during a call
  uint64_t* calls = nullptr;  // kept
};

// The ends of the vector are their own neighbours.
void smooth(const float* from, float* to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const float left = from[i > 0 ? i - 1 : i], right = from[std::min(i + 1, count - 1)];
    to[i] = (left + from[i] + right) / 3;
  }
}

}  // namespace

et::Result<Backend::Handle*> Backend::init(et::BackendInitContext& context,
                                           et::FreeableBuffer* payload,
                                           et::ArrayRef<et::CompileSpec>) const {
  auto* const smoother = context.get_runtime_allocator()->allocateInstance<Smoother>();
  if (smoother == nullptr) return et::Error::MemoryAllocationFailed;
  new (smoother) Smoother;
  if (payload->size() != sizeof smoother->rounds) return et::Error::InvalidProgram;
  std::memcpy(&smoother->rounds, payload->data(), sizeof smoother->rounds);
  return smoother;
}

et::Error Backend::execute(et::BackendExecutionContext& context, Handle* handle, Args args) const {
  auto& smoother = *static_cast<Smoother*>(handle);
  if (args.size() != 2 || !args[0]->isTensor() || !args[1]->isTensor()) {
    return et::Error::InvalidArgument;
  }
  const auto& input = args[0]->toTensor();
  auto output = args[1]->toTensor();
  const et::Error error = et::resize_tensor(output, input.sizes());
  if (error != et::Error::Ok) return error;
  const auto count = static_cast<size_t>(input.numel());
  float* scratch = smoother.scratch;
  if (scratch == nullptr && smoother.rounds > 1 && count > 0) {
    scratch = static_cast<float*>(context.allocate(input.nbytes(), alignof(float)));
    if (scratch == nullptr) return et::Error::MemoryAllocationFailed;
  }
  const float* from = input.const_data_ptr<float>();
  // the last round writes the output
  for (uint32_t round = smoother.rounds; round > 0; --round) {
    float* const to = round % 2 == 1 ? output.mutable_data_ptr<float>() : scratch;
    smooth(from, to, count);
    from = to;
  }
  if (smoother.rounds == 0 && count > 0) {
    std::memcpy(output.mutable_data_ptr<float>(), from, count * sizeof(float));
  }
  if (smoother.calls != nullptr) ++*smoother.calls;
  return et::Error::Ok;
}

void Backend::destroy(Handle* handle) const { static_cast<Smoother*>(handle)->~Smoother(); }

std::vector<MemoryNeed> Backend::needs(Handle* handle, Args args) {
  const bool is_tensor = args.size() > 0 && args[0]->isTensor();
  const uint64_t bytes = is_tensor ? args[0]->toTensor().nbytes() : 0;
  const bool uses_scratch = static_cast<Smoother*>(handle)->rounds > 1;
  return {{uses_scratch ? bytes : 0, alignof(float), MemoryLifetime::kDuringCall},
          {sizeof(uint64_t), alignof(uint64_t), MemoryLifetime::kPersistent}};
}

void Backend::bind(Handle* handle, const std::vector<void*>& addresses) {
  auto& smoother = *static_cast<Smoother*>(handle);
  smoother.scratch = static_cast<float*>(addresses[0]);
  smoother.calls = static_cast<uint64_t*>(addresses[1]);
}

}  // namespace demo
