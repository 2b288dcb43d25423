#include "xnnpack_api.h"

#include <dlfcn.h>
#include <executorch/runtime/backend/interface.h>

#include <cstring>

#include "safe_read.h"
#include "xnnpack_probe.h"

namespace onearena::runtime {
namespace {

// Of `xnn_runtime`: the number of arguments, the values and their count, the workspace.
constexpr size_t kArgumentCount = 0x00, kValues = 0x18, kValueCount = 0x20, kWorkspace = 0x28;
// Of `xnn_runtime_value`; its own size is found by the probe.
constexpr size_t kValueSize = 80;
constexpr size_t kMostValues = 1 << 24;
// How far into a delegate handle the runtime is looked for, in words.
constexpr size_t kHandleWords = 24;

template <class T>
T field(const void* object, size_t offset) {
  T value;
  std::memcpy(&value, static_cast<const uint8_t*>(object) + offset, sizeof value);
  return value;
}

template <class F>
bool look_up(F& function, const char* name) {
  function = reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

// Where the library (or program) that holds an address was loaded; null when there is none.
const void* library_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

}  // namespace

bool Xnnpack::resolve() {
  Functions& f = functions_;
  return look_up(f.initialize, "xnn_initialize") &&
         look_up(f.create_subgraph, "xnn_create_subgraph") &&
         look_up(f.delete_subgraph, "xnn_delete_subgraph") &&
         look_up(f.define_tensor_value, "xnn_define_tensor_value") &&
         look_up(f.define_unary, "xnn_define_unary") &&
         look_up(f.create_workspace, "xnn_create_workspace") &&
         look_up(f.release_workspace, "xnn_release_workspace") &&
         look_up(f.create_runtime, "xnn_create_runtime_v4") &&
         look_up(f.delete_runtime, "xnn_delete_runtime") &&
         look_up(f.reshape_external_value, "xnn_reshape_external_value") &&
         look_up(f.reshape_runtime, "xnn_reshape_runtime") &&
         look_up(f.setup_runtime, "xnn_setup_runtime_v2") &&
         look_up(f.invoke_runtime, "xnn_invoke_runtime") &&
         look_up(f.plan_memory, "xnn_plan_memory");
}

// A process may hold several XNNPACKs. What works on the backend's structures must be its own.
bool Xnnpack::is_the_backend_s() const {
  const void* const backend = ::executorch::runtime::get_backend_class("XnnpackBackend");
  const Functions& f = functions_;
  const void* const home = backend == nullptr ? nullptr : library_of(field<void*>(backend, 0));
  return home != nullptr && home == library_of(reinterpret_cast<void*>(f.plan_memory)) &&
         home == library_of(reinterpret_cast<void*>(f.create_workspace)) &&
         home == library_of(reinterpret_cast<void*>(f.release_workspace)) &&
         home == library_of(reinterpret_cast<void*>(f.reshape_runtime)) &&
         home == library_of(reinterpret_cast<void*>(f.reshape_external_value));
}

const Xnnpack* Xnnpack::find() {
  static const Xnnpack* const found = []() -> const Xnnpack* {
    static Xnnpack xnnpack;
    if (!xnnpack.resolve() || !xnnpack.is_the_backend_s()) return nullptr;
    xnnpack.value_bytes_ = XnnpackProbe(xnnpack).find_value_bytes();
    return xnnpack.value_bytes_ > 0 ? &xnnpack : nullptr;
  }();
  return found;
}

xnn_runtime_handle* Xnnpack::runtime_of(const void* handle) const {
  uintptr_t words[kHandleWords] = {};
  if (!safe_read(handle, words, sizeof words)) return nullptr;
  for (const uintptr_t word : words) {
    // the runtime is what its own workspace knows as its first user
    const auto* runtime = reinterpret_cast<const uint8_t*>(word);
    XnnWorkspace* workspace = nullptr;
    XnnWorkspace content{};
    if (word % alignof(void*) != 0 || word == 0) continue;
    if (!safe_read(runtime + kWorkspace, &workspace, sizeof workspace)) continue;
    if (workspace == nullptr || !safe_read(workspace, &content, sizeof content)) continue;
    if (content.first_user != reinterpret_cast<const void*>(word)) continue;
    void* next_user = nullptr;
    if (!safe_read(runtime + kWorkspace + sizeof(void*), &next_user, sizeof next_user)) continue;
    return next_user == nullptr ? reinterpret_cast<xnn_runtime_handle*>(word) : nullptr;
  }
  return nullptr;
}

XnnWorkspace* Xnnpack::workspace_of(xnn_runtime_handle* runtime) const {
  return field<XnnWorkspace*>(runtime, kWorkspace);
}

std::vector<XnnValue> Xnnpack::values_of(xnn_runtime_handle* runtime) const {
  auto* const values = field<uint8_t*>(runtime, kValues);
  const auto count = field<size_t>(runtime, kValueCount);
  std::vector<XnnValue> found;
  if (count > kMostValues) return found;
  for (size_t i = 0; i < count; ++i) {
    uint8_t* const value = values + i * value_bytes_;
    found.push_back(
        {reinterpret_cast<void**>(value), reinterpret_cast<size_t*>(value + kValueSize)});
  }
  return found;
}

bool Xnnpack::reshape_input(xnn_runtime_handle* runtime, uint32_t id,
                            const std::vector<size_t>& dims) const {
  return functions_.reshape_external_value(runtime, id, dims.size(), dims.data()) == 0;
}

bool Xnnpack::reshape(xnn_runtime_handle* runtime) const {
  return functions_.reshape_runtime(runtime) == 0;
}

bool Xnnpack::plan(xnn_runtime_handle* runtime) const {
  return functions_.plan_memory(runtime) == 0;
}

// XNNPACK frees what a workspace holds with the workspace.
void Xnnpack::release(XnnWorkspace* workspace) const {
  XnnWorkspace* other = nullptr;
  if (workspace->data != nullptr && functions_.create_workspace(&other) == 0) {
    other->data = workspace->data;
    other->size = workspace->size;
    functions_.release_workspace(other);
  }
  workspace->data = nullptr;
  workspace->size = 0;
}

}  // namespace onearena::runtime
