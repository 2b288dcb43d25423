#include "xnnpack_probe.h"

#include <cmath>
#include <cstring>

#include "safe_read.h"

namespace onearena::runtime {
namespace {

// Of XNNPACK's public header: the element type fp32, the operator abs, the flags of arguments.
constexpr int kFloat32 = 1, kAbs = 0;
constexpr uint32_t kInputFlag = 1, kOutputFlag = 2, kInvalidId = UINT32_MAX;
constexpr size_t kRows = 6, kColumns = 35;
constexpr size_t kLeastValueBytes = 88, kMostValueBytes = 512;
constexpr uintptr_t kAlignment = 64;

struct ExternalValue {
  uint32_t id;
  void* data;
};

bool is_inside(const void* address, const void* start, size_t bytes) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const auto from = reinterpret_cast<uintptr_t>(start);
  return at >= from && at - from < bytes;
}

}  // namespace

size_t XnnpackProbe::find_value_bytes() {
  if (!build() || !knows_structures() || !find_values()) return 0;
  const bool is_known = runs_in_its_own() && runs_in_ours() && shrinks();
  return is_known ? value_bytes_ : 0;
}

XnnpackProbe::~XnnpackProbe() {
  // its own memory goes with the workspace, ours must not
  if (workspace_ != nullptr && is_inside(workspace_->data, ours_.data(), ours_.size())) {
    workspace_->data = nullptr;
    workspace_->size = 0;
  }
  if (runtime_ != nullptr) xnnpack_.functions_.delete_runtime(runtime_);
  if (workspace_ != nullptr) xnnpack_.functions_.release_workspace(workspace_);
  if (subgraph_ != nullptr) xnnpack_.functions_.delete_subgraph(subgraph_);
}

bool XnnpackProbe::build() {
  const Xnnpack::Functions& f = xnnpack_.functions_;
  const size_t dims[] = {kRows, kColumns};
  if (f.initialize(nullptr) != 0 || f.create_subgraph(2, 0, &subgraph_) != 0) return false;
  for (uint32_t i = 0; i < ids_.size(); ++i) {
    const bool is_input = i == 0, is_output = i + 1 == ids_.size();
    const uint32_t external = is_input ? 0 : is_output ? 1 : kInvalidId;
    const uint32_t flags = is_input ? kInputFlag : is_output ? kOutputFlag : 0;
    if (f.define_tensor_value(subgraph_, kFloat32, 2, dims, nullptr, external, flags, &ids_[i]) !=
        0) {
      return false;
    }
  }
  for (size_t i = 0; i + 1 < ids_.size(); ++i) {
    if (f.define_unary(subgraph_, kAbs, nullptr, ids_[i], ids_[i + 1], 0) != 0) return false;
  }
  if (f.create_workspace(&workspace_) != 0) return false;
  XnnWorkspace content{};
  if (!safe_read(workspace_, &content, sizeof content)) return false;
  if (content.data != nullptr || content.size != 0 || content.first_user != nullptr) {
    workspace_ = nullptr;  // leaked: it is something else
    return false;
  }
  return f.create_runtime(subgraph_, nullptr, workspace_, nullptr, 0, &runtime_) == 0;
}

// The runtime names its workspace and the workspace the runtime, where we look for them. What a
// delegate holds is looked at in the same way: the address of the runtime is somewhere in it.
bool XnnpackProbe::knows_structures() {
  const void* const holder[24] = {nullptr, nullptr, runtime_};
  return xnnpack_.runtime_of(holder) == runtime_;
}

bool XnnpackProbe::find_values() {
  constexpr size_t kBytes = kRows * kColumns * sizeof(float);
  for (size_t bytes = kLeastValueBytes; bytes <= kMostValueBytes; bytes += sizeof(void*)) {
    xnnpack_.value_bytes_ = bytes;
    if (sizes_are(kBytes)) {
      value_bytes_ = bytes;
      return xnnpack_.values_of(runtime_).size() == ids_.size();
    }
  }
  return false;
}

bool XnnpackProbe::sizes_are(size_t bytes) const {
  const std::vector<XnnValue> values = xnnpack_.values_of(runtime_);
  if (values.size() != ids_.size()) return false;
  for (const XnnValue& value : values) {
    size_t found = 0;
    if (!safe_read(value.size, &found, sizeof found) || found != bytes) return false;
  }
  return true;
}

bool XnnpackProbe::runs_in_its_own() {
  if (!xnnpack_.reshape_input(runtime_, 0, {kRows, kColumns}) || !xnnpack_.reshape(runtime_)) {
    return false;
  }
  need_ = workspace_->size;
  if (workspace_->data == nullptr || need_ < kRows * kColumns * sizeof(float)) return false;
  for (const uint32_t id : {ids_[1], ids_[2]}) {
    if (!is_inside(*xnnpack_.values_of(runtime_)[id].data, workspace_->data, need_)) return false;
  }
  return computes(kRows);
}

bool XnnpackProbe::runs_in_ours() {
  xnnpack_.release(workspace_);
  ours_.assign(need_ + kAlignment, 0xAB);
  const auto start = reinterpret_cast<uintptr_t>(ours_.data());
  uint8_t* const aligned = ours_.data() + (kAlignment - start % kAlignment) % kAlignment;
  workspace_->data = aligned;
  workspace_->size = need_;
  if (!xnnpack_.plan(runtime_) || workspace_->data != aligned || workspace_->size != need_) {
    return false;
  }
  for (const uint32_t id : {ids_[1], ids_[2]}) {
    if (!is_inside(*xnnpack_.values_of(runtime_)[id].data, aligned, need_)) return false;
  }
  return computes(kRows) && aligned[0] != 0xAB;
}

// XNNPACK takes no less for smaller inputs until it has forgotten how large the values were.
bool XnnpackProbe::shrinks() {
  for (const XnnValue& value : xnnpack_.values_of(runtime_)) *value.size = 0;
  workspace_->data = nullptr;
  workspace_->size = 0;
  if (!xnnpack_.reshape_input(runtime_, 0, {1, kColumns}) || !xnnpack_.reshape(runtime_)) {
    return false;
  }
  return sizes_are(kColumns * sizeof(float)) && workspace_->data != nullptr &&
         workspace_->size < need_ && computes(1);
}

bool XnnpackProbe::computes(size_t rows) {
  std::vector<float> input(rows * kColumns + kAlignment), output(input.size());
  for (size_t i = 0; i < rows * kColumns; ++i) input[i] = -static_cast<float>(i);
  const ExternalValue external[] = {{0, input.data()}, {1, output.data()}};
  const Xnnpack::Functions& f = xnnpack_.functions_;
  if (f.setup_runtime(runtime_, 2, external) != 0 || f.invoke_runtime(runtime_) != 0) return false;
  for (size_t i = 0; i < rows * kColumns; ++i) {
    if (output[i] != std::fabs(input[i])) return false;
  }
  return true;
}

}  // namespace onearena::runtime
