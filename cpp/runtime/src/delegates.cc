#include "delegates.h"

#include <executorch/runtime/backend/backend_init_context.h>

namespace onearena::runtime {

namespace et = ::executorch::runtime;

Delegates::Delegates(const MethodDescription& method, std::string_view file, const NamedData& data,
                     MethodAllocator& allocator) {
  try {
    for (size_t i = 0; i < method.delegates.size(); ++i) add(method, i, file, data, allocator);
  } catch (...) {
    destroy();
    throw;
  }
}

Delegates::~Delegates() { destroy(); }

void Delegates::destroy() {
  for (auto it = delegates_.rbegin(); it != delegates_.rend(); ++it) {
    it->backend->destroy(it->handle);
  }
  delegates_.clear();
}

void Delegates::add(const MethodDescription& method, size_t index, std::string_view file,
                    const NamedData& data, MethodAllocator& allocator) {
  const DelegateDescription& delegate = method.delegates[index];
  const std::string what = "delegate " + std::to_string(index) + " (" + delegate.id + ")";
  const et::BackendInterface* backend = et::get_backend_class(delegate.id.c_str());
  if (backend == nullptr) {
    throw Error(ErrorKind::kUnsupported, what + ": no such backend is registered in this process");
  }
  if (!backend->is_available()) {
    throw Error(ErrorKind::kUnsupported, what + ": the backend is not available here");
  }
  std::vector<et::CompileSpec>& specs = specs_.emplace_back();
  for (const CompileSpecValue& spec : delegate.specs) {
    // `CompileSpec` wants mutable bytes, backends only read them
    specs.push_back({spec.key.c_str(), {const_cast<char*>(spec.value.data()), spec.value.size()}});
  }
  const char* payload = file.data() + delegate.payload.offset;
  payloads_.emplace_back(static_cast<const void*>(payload), delegate.payload.size_bytes, nullptr);
  et::BackendInitContext context(&allocator, nullptr, method.name.c_str(), &data);
  const auto handle = backend->init(context, &payloads_.back(), {specs.data(), specs.size()});
  if (!handle.ok()) {
    throw Error(ErrorKind::kExecution,
                what + ": initialisation failed: " + et::to_string(handle.error()));
  }
  delegates_.push_back({backend, *handle});
}

}  // namespace onearena::runtime
