#include "delegates.h"

#include <executorch/runtime/backend/backend_init_context.h>
#include <executorch/runtime/backend/options.h>
#include <executorch/runtime/platform/runtime.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "boundary.h"
#include "declared_memory.h"
#include "xnnpack_workspace.h"

namespace onearena::runtime {

namespace et = ::executorch::runtime;

namespace {

constexpr const char* kXnnpack = "XnnpackBackend";
// XNNPACK's backend option (backends/xnnpack/runtime/XNNPACKBackend.h) and its value for a
// workspace of each delegate's own: only that can lie at another place in every call.
constexpr const char* kSharingKey = "workspace_sharing_mode";
constexpr int kNotShared = 0;

et::BackendOption not_shared() {
  et::BackendOption option{};
  std::strncpy(option.key, kSharingKey, sizeof option.key - 1);
  option.value = kNotShared;
  return option;
}

bool is_static(const MethodDescription& method) {
  return std::all_of(method.values.begin(), method.values.end(), [](const Value& value) {
    const auto* tensor = std::get_if<TensorValue>(&value);
    return tensor == nullptr || tensor->dynamism == Dynamism::kStatic;
  });
}

bool is_workspace_ours(const DelegateDescription& delegate) {
  return delegate.id == kXnnpack && delegate.knows_inputs && Xnnpack::find() != nullptr;
}

std::string text(const DelegateDescription& delegate, size_t index) {
  return "delegate " + std::to_string(index) + " (" + delegate.id + ")";
}

// Backends are written by others: one that throws has failed, too.
et::DelegateHandle* initialise(const et::BackendInterface& backend, et::BackendInitContext& context,
                               et::FreeableBuffer& payload, std::vector<et::CompileSpec>& specs,
                               const std::string& what) {
  const auto fail = [&](ErrorKind kind, const char* why) -> et::DelegateHandle* {
    throw Error(kind, what + ": initialisation failed: " + why);
  };
  et::Error error = et::Error::Ok;
  try {
    const auto handle = backend.init(context, &payload, {specs.data(), specs.size()});
    if (handle.ok()) return *handle;
    error = handle.error();
  } catch (const std::bad_alloc&) {
    error = et::Error::MemoryAllocationFailed;
  } catch (const std::exception& thrown) {
    return fail(ErrorKind::kExecution, thrown.what());
  } catch (...) {
    return fail(ErrorKind::kExecution, kUnknownException);
  }
  const bool is_memory = error == et::Error::MemoryAllocationFailed;
  return fail(is_memory ? ErrorKind::kLimit : ErrorKind::kExecution, et::to_string(error));
}

}  // namespace

bool plans_xnnpack_workspaces() {
  et::runtime_init();
  return Xnnpack::find() != nullptr;
}

BackendMemory* Delegates::find(const Declared& declared, const std::string& backend) {
  const auto found = std::find_if(declared.begin(), declared.end(),
                                  [&](const auto& entry) { return entry.first == backend; });
  return found == declared.end() ? nullptr : found->second;
}

bool Delegates::can_be_planned(const MethodDescription& method, const Declared& declared) {
  return std::any_of(method.delegates.begin(), method.delegates.end(),
                     [&](const DelegateDescription& delegate) {
                       return find(declared, delegate.id) != nullptr || is_workspace_ours(delegate);
                     });
}

Delegates::Delegates(const MethodDescription& method, std::string_view file, const NamedData& data,
                     bool is_planned)
    : method_(method), is_planned_(is_planned) {
  delegates_.reserve(method.delegates.size());  // what is initialised must find its place
  try {
    for (size_t i = 0; i < method.delegates.size(); ++i) add(i, file, data);
  } catch (...) {
    destroy();
    throw;
  }
}

Delegates::~Delegates() { destroy(); }

void Delegates::destroy() {
  for (auto it = delegates_.rbegin(); it != delegates_.rend(); ++it) {
    it->memory.reset();  // the backend would free what is ours
    it->backend->destroy(it->handle);
  }
  delegates_.clear();
}

void Delegates::add(size_t index, std::string_view file, const NamedData& data) {
  const DelegateDescription& delegate = method_.delegates[index];
  const std::string what = text(delegate, index);
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
  const et::BackendOption option = not_shared();
  const bool is_ours = is_planned_ && is_workspace_ours(delegate);
  et::BackendInitContext context(&allocator_, nullptr, method_.name.c_str(), &data,
                                 {&option, is_ours ? size_t{1} : size_t{0}});
  et::DelegateHandle* const handle = initialise(*backend, context, payloads_.back(), specs, what);
  delegates_.push_back({backend, handle, nullptr});
}

bool Delegates::fits(const MethodDescription& method, bool is_planned) const {
  const auto is_alike = [&](const DelegateDescription& mine, const DelegateDescription& other) {
    const auto is_same_spec = [](const CompileSpecValue& a, const CompileSpecValue& b) {
      return a.key == b.key && a.value == b.value;
    };
    return mine.id == other.id && mine.payload.offset == other.payload.offset &&
           mine.payload.size_bytes == other.payload.size_bytes &&
           std::equal(mine.specs.begin(), mine.specs.end(), other.specs.begin(), other.specs.end(),
                      is_same_spec) &&
           (is_planned_ && is_workspace_ours(mine)) == (is_planned && is_workspace_ours(other));
  };
  return method_.name == method.name &&
         std::equal(method_.delegates.begin(), method_.delegates.end(), method.delegates.begin(),
                    method.delegates.end(), is_alike);
}

void Delegates::plan(const MethodDescription& method, const Declared& declared) {
  const bool has_one_shape = is_static(method);
  for (size_t i = 0; i < delegates_.size(); ++i) {
    const DelegateDescription& delegate = method.delegates[i];
    Delegate& mine = delegates_[i];
    if (BackendMemory* const backend = find(declared, delegate.id)) {
      mine.memory = std::make_unique<DeclaredMemory>(*backend, mine.handle, text(delegate, i));
    } else if (is_planned_ && is_workspace_ours(delegate)) {
      const uint64_t expected = has_one_shape ? delegate.workspace_bytes : 0;
      mine.memory = XnnpackWorkspace::of(mine.handle, delegate.inputs, expected);
    }
  }
}

bool Delegates::has_own_workspace() const {
  return std::any_of(delegates_.begin(), delegates_.end(), [](const Delegate& delegate) {
    return delegate.backend == et::get_backend_class(kXnnpack) && delegate.memory == nullptr;
  });
}

uint64_t Delegates::persistent_bytes() const {
  uint64_t bytes = 0;
  for (const Delegate& delegate : delegates_) {
    if (delegate.memory) bytes += delegate.memory->persistent_bytes();
  }
  return bytes;
}

}  // namespace onearena::runtime
