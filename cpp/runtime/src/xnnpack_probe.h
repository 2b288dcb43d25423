// Whether XNNPACK's structures are what `xnnpack_api.h` takes them for.
#ifndef ONEARENA_RUNTIME_XNNPACK_PROBE_H_
#define ONEARENA_RUNTIME_XNNPACK_PROBE_H_

#include <array>
#include <vector>

#include "xnnpack_api.h"

namespace onearena::runtime {

// Runs three absolute values in a row in a workspace of XNNPACK's and in one of ours, at two
// sizes, and looks whether everything is where it should be.
class XnnpackProbe {
 public:
  explicit XnnpackProbe(Xnnpack& xnnpack) : xnnpack_(xnnpack) {}
  ~XnnpackProbe();
  XnnpackProbe(const XnnpackProbe&) = delete;
  XnnpackProbe& operator=(const XnnpackProbe&) = delete;

  // Bytes from one value of a runtime to the next; 0 when anything is otherwise than expected.
  // Not in the constructor: what was made is destroyed also when this throws.
  size_t find_value_bytes();

 private:
  bool build();
  bool knows_structures();
  bool find_values();
  bool sizes_are(size_t bytes) const;
  bool runs_in_its_own();
  bool runs_in_ours();
  bool shrinks();
  bool computes(size_t rows);

  Xnnpack& xnnpack_;
  void* subgraph_ = nullptr;
  XnnWorkspace* workspace_ = nullptr;
  xnn_runtime_handle* runtime_ = nullptr;
  size_t need_ = 0;
  std::array<uint32_t, 4> ids_{};
  std::vector<uint8_t> ours_;
  size_t value_bytes_ = 0;
};

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_XNNPACK_PROBE_H_
