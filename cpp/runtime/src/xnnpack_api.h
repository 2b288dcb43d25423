// XNNPACK's workspace, seen from outside.
//
// XNNPACK has functions to make a workspace and to plan a runtime's memory in it, none to say
// where it shall be. Its first two words are the address and the size (src/xnnpack/subgraph.h of
// XNNPACK); written to before `xnn_plan_memory`, they are the place that the plan uses. That, and
// the few other places in its structures that are looked at here, is checked once per process on a
// small network of our own. Where anything is otherwise, there is no `Xnnpack`, and workspaces stay
// where XNNPACK puts them.
#ifndef ONEARENA_RUNTIME_XNNPACK_API_H_
#define ONEARENA_RUNTIME_XNNPACK_API_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace onearena::runtime {

struct xnn_runtime_handle;  // XNNPACK's `xnn_runtime`

// The beginning of XNNPACK's `xnn_workspace`.
struct XnnWorkspace {
  void* data;
  size_t size;
  xnn_runtime_handle* first_user;
};

// A value of a runtime: the fields that are looked at.
struct XnnValue {
  void** data;
  size_t* size;
};

class Xnnpack {
 public:
  // Null where the XNNPACK of this process is not one that we know.
  static const Xnnpack* find();

  // The runtime that the delegate handle of ExecuTorch's XNNPACK backend holds, if it alone uses
  // its workspace; null when it cannot be told.
  xnn_runtime_handle* runtime_of(const void* handle) const;
  XnnWorkspace* workspace_of(xnn_runtime_handle* runtime) const;
  // Values that may lie in the workspace, arguments first.
  std::vector<XnnValue> values_of(xnn_runtime_handle* runtime) const;

  // All return whether XNNPACK was content.
  bool reshape_input(xnn_runtime_handle* runtime, uint32_t id,
                     const std::vector<size_t>& dims) const;
  bool reshape(xnn_runtime_handle* runtime) const;
  // Places everything in the workspace, which XNNPACK replaces when it is too small.
  bool plan(xnn_runtime_handle* runtime) const;
  // Gives memory that XNNPACK allocated for a workspace back; leaves the workspace empty.
  void release(XnnWorkspace* workspace) const;

 private:
  friend class XnnpackProbe;
  struct Functions {
    int (*initialize)(const void*);
    int (*create_subgraph)(uint32_t, uint32_t, void**);
    int (*delete_subgraph)(void*);
    int (*define_tensor_value)(void*, int, size_t, const size_t*, const void*, uint32_t, uint32_t,
                               uint32_t*);
    int (*define_unary)(void*, int, const void*, uint32_t, uint32_t, uint32_t);
    int (*create_workspace)(XnnWorkspace**);
    int (*release_workspace)(XnnWorkspace*);
    int (*create_runtime)(void*, void*, XnnWorkspace*, void*, uint32_t, xnn_runtime_handle**);
    int (*delete_runtime)(xnn_runtime_handle*);
    int (*reshape_external_value)(xnn_runtime_handle*, uint32_t, size_t, const size_t*);
    int (*reshape_runtime)(xnn_runtime_handle*);
    int (*setup_runtime)(xnn_runtime_handle*, size_t, const void*);
    int (*invoke_runtime)(xnn_runtime_handle*);
    int (*plan_memory)(xnn_runtime_handle*);
  };
  bool resolve();
  bool is_the_backend_s() const;

  Functions functions_{};
  size_t value_bytes_ = 0;  // of one value of a runtime, found by the probe
};

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_XNNPACK_API_H_
