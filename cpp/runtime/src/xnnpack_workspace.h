// The workspace of one XNNPACK delegate, put where the plan wants it.
#ifndef ONEARENA_RUNTIME_XNNPACK_WORKSPACE_H_
#define ONEARENA_RUNTIME_XNNPACK_WORKSPACE_H_

#include <map>
#include <memory>
#include <vector>

#include "call_memory.h"
#include "xnnpack_api.h"

namespace onearena::runtime {

// XNNPACK is asked for new shapes before the call, so that what it needs is known before it
// computes: at any time the workspace is a region of the arena, or XNNPACK's own memory, which is
// given back after the call. Unlike XNNPACK by itself, it shrinks when the shapes do.
class XnnpackWorkspace final : public CallMemory {
 public:
  // `inputs`: the positions of the inputs among the arguments of a call; `expected_bytes`: what it
  // probably needs, the first time (0: not known). Null when the delegate is not one that can be
  // understood.
  static std::unique_ptr<XnnpackWorkspace> of(const void* handle,
                                              const std::vector<uint32_t>& inputs,
                                              uint64_t expected_bytes);
  // The delegate is destroyed after this, and frees nothing of ours.
  ~XnnpackWorkspace() override;
  XnnpackWorkspace(const XnnpackWorkspace&) = delete;
  XnnpackWorkspace& operator=(const XnnpackWorkspace&) = delete;

  void ask(CallArgs args) override;
  void begin(CallArgs args, const Region& region) override;
  void end(bool succeeded) override;
  uint64_t needed_bytes() const override { return need_; }
  uint64_t elsewhere_bytes() const override { return elsewhere_; }
  uint64_t persistent_bytes() const override { return 0; }

 private:
  // Sizes of the inputs, in storage order, each list behind its length.
  using Shapes = std::vector<size_t>;

  XnnpackWorkspace(const Xnnpack& xnnpack, xnn_runtime_handle* runtime,
                   const std::vector<uint32_t>& inputs, uint64_t expected_bytes);
  bool read_shapes(CallArgs args, Shapes& shapes) const;
  void reshape(const Shapes& shapes, const Region& region);
  bool propagate(const Shapes& shapes) const;
  void forget_sizes();
  void restore_sizes();
  // Has everything placed at `data`, or where XNNPACK likes when that is null.
  bool place(uint8_t* data, uint64_t bytes);
  void leave();

  const Xnnpack& xnnpack_;
  xnn_runtime_handle* const runtime_;
  XnnWorkspace* const workspace_;
  const std::vector<uint32_t> inputs_;
  const std::vector<XnnValue> values_;
  std::vector<size_t> first_sizes_;
  Shapes shapes_, asked_;  // that XNNPACK has been asked for; of the call
  bool is_known_ = false;  // what XNNPACK needs at `shapes_`
  std::map<Shapes, uint64_t> needs_;
  uint64_t expected_;
  uint64_t need_ = 0, elsewhere_ = 0;
  uint8_t* bound_ = nullptr;  // a region's
};

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_XNNPACK_WORKSPACE_H_
