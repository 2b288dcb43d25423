#include "xnnpack_workspace.h"

#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

#include <utility>

#include "onearena/runtime.h"

namespace onearena::runtime {
namespace {

// Shapes whose needs are remembered.
constexpr size_t kMostNeeds = 256;

}  // namespace

std::unique_ptr<XnnpackWorkspace> XnnpackWorkspace::of(const void* handle,
                                                       const std::vector<uint32_t>& inputs,
                                                       uint64_t expected_bytes) {
  const Xnnpack* const xnnpack = Xnnpack::find();
  if (xnnpack == nullptr) return nullptr;
  xnn_runtime_handle* const runtime = xnnpack->runtime_of(handle);
  if (runtime == nullptr) return nullptr;
  const XnnWorkspace* const workspace = xnnpack->workspace_of(runtime);
  if (workspace->data != nullptr || workspace->size != 0) return nullptr;  // in use already
  return std::unique_ptr<XnnpackWorkspace>(
      new XnnpackWorkspace(*xnnpack, runtime, inputs, expected_bytes));
}

XnnpackWorkspace::XnnpackWorkspace(const Xnnpack& xnnpack, xnn_runtime_handle* runtime,
                                   const std::vector<uint32_t>& inputs, uint64_t expected_bytes)
    : xnnpack_(xnnpack),
      runtime_(runtime),
      workspace_(xnnpack.workspace_of(runtime)),
      inputs_(inputs),
      values_(xnnpack.values_of(runtime)),
      expected_(expected_bytes) {
  for (const XnnValue& value : values_) first_sizes_.push_back(*value.size);
}

XnnpackWorkspace::~XnnpackWorkspace() { leave(); }

void XnnpackWorkspace::ask(CallArgs args) {
  if (read_shapes(args, asked_) && (!is_known_ || asked_ != shapes_)) reshape(asked_, {});
  if (bound_ == nullptr) leave();
}

void XnnpackWorkspace::begin(CallArgs args, const Region& region) {
  elsewhere_ = 0;
  if (!read_shapes(args, asked_)) {
    is_known_ = false;
    throw Error(ErrorKind::kExecution, "an input of the delegate is no tensor");
  }
  if (!is_known_ || asked_ != shapes_) reshape(asked_, region);
  // it must not run behind our back, in memory that is given back after the call
  if (!is_known_) throw Error(ErrorKind::kExecution, "XNNPACK refuses the shapes of its inputs");
  if (need_ == 0) return;
  const bool fits = need_ <= region.bytes;
  if (fits && bound_ == region.data) return;
  if (!fits && bound_ == nullptr && workspace_->data != nullptr) {  // XNNPACK's own, just made
    elsewhere_ = workspace_->size;
    return;
  }
  leave();
  if (!place(fits ? region.data : nullptr, region.bytes)) {
    is_known_ = false;
    throw Error(ErrorKind::kLimit, "XNNPACK has no " + std::to_string(need_) + " bytes to work in");
  }
  elsewhere_ = fits ? 0 : workspace_->size;
}

void XnnpackWorkspace::end(bool succeeded) {
  if (!succeeded) is_known_ = false;
  if (bound_ == nullptr) leave();
}

// As the delegate itself does before a call (`XNNExecutor::prepare_args`).
bool XnnpackWorkspace::read_shapes(CallArgs args, Shapes& shapes) const {
  shapes.clear();
  for (const uint32_t input : inputs_) {
    if (input >= args.size() || !args[input]->isTensor()) return false;
    const auto& tensor = args[input]->toTensor();
    shapes.push_back(static_cast<size_t>(tensor.dim()));
    const auto order = tensor.dim_order();
    for (ssize_t d = 0; d < tensor.dim(); ++d) {
      shapes.push_back(static_cast<size_t>(tensor.size(order[static_cast<size_t>(d)])));
    }
  }
  return true;
}

// Learns what XNNPACK needs at these shapes. What it needed once it needs again.
void XnnpackWorkspace::reshape(const Shapes& shapes, const Region& region) {
  const auto known = needs_.find(shapes);
  const bool fits = known != needs_.end() && known->second <= region.bytes;
  is_known_ = false;
  need_ = 0;
  leave();
  forget_sizes();
  if (fits) {
    workspace_->data = bound_ = region.data;
    workspace_->size = region.bytes;
  }
  // XNNPACK allocates what it lacks, and fills it: a size without memory shows whether it lacks
  // anything, and costs nothing
  const uint64_t expected = fits ? 0 : std::exchange(expected_, 0);
  if (expected > 0) workspace_->size = expected;
  const bool succeeded = propagate(shapes);
  restore_sizes();
  // once more, since a value may have its size back, and XNNPACK may have seen no reason to plan
  if (!succeeded || !xnnpack_.plan(runtime_)) {
    leave();
    return;
  }
  shapes_ = shapes;
  is_known_ = true;
  need_ = fits ? known->second : workspace_->size;
  if (expected > 0 && workspace_->data == nullptr) workspace_->size = 0;  // as much as expected
  if (needs_.size() >= kMostNeeds) needs_.clear();
  needs_.emplace(shapes, need_);
}

bool XnnpackWorkspace::propagate(const Shapes& shapes) const {
  size_t at = 0;
  for (const uint32_t input : inputs_) {
    const size_t rank = shapes[at++];
    const auto begin = shapes.begin() + static_cast<std::ptrdiff_t>(at);
    at += rank;
    if (!xnnpack_.reshape_input(runtime_, input,
                                {begin, begin + static_cast<std::ptrdiff_t>(rank)})) {
      return false;
    }
  }
  return xnnpack_.reshape(runtime_);
}

// A value whose size is zero is given its new size, also when that is smaller than the last one.
void XnnpackWorkspace::forget_sizes() {
  for (const XnnValue& value : values_) *value.size = 0;
}

// What no operator gives a size (a constant, for one) has that from the file. What XNNPACK needs
// does not depend on the shapes that it had before.
void XnnpackWorkspace::restore_sizes() {
  for (size_t i = 0; i < values_.size(); ++i) {
    if (*values_[i].size == 0) *values_[i].size = first_sizes_[i];
  }
}

bool XnnpackWorkspace::place(uint8_t* data, uint64_t bytes) {
  workspace_->data = bound_ = data;
  workspace_->size = data == nullptr ? 0 : bytes;
  return xnnpack_.plan(runtime_);
}

// The workspace is empty after this; what lies in it must be placed before the next call.
void XnnpackWorkspace::leave() {
  if (bound_ == nullptr) {
    xnnpack_.release(workspace_);
  } else {
    workspace_->data = bound_ = nullptr;
    workspace_->size = 0;
  }
}

}  // namespace onearena::runtime
