// Watches a run whose sizes are not known yet: notes what each unit needs, and gives the memory
// of those back that are not needed any more.
#ifndef ONEARENA_RUNTIME_OBSERVER_H_
#define ONEARENA_RUNTIME_OBSERVER_H_

#include <unordered_map>
#include <vector>

#include "blocks.h"
#include "delegates.h"
#include "layout.h"
#include "values.h"

namespace onearena::runtime {

class Observer {
 public:
  // The arguments outlive this object.
  Observer(const MethodDescription& method, const std::vector<PlannedUnit>& units,
           const Blocks& blocks, ValueTable& values);

  // Begins a run with every block apart, `placement` bound to `base`.
  void begin(const Placement& placement, uint8_t* base, uint64_t limit_bytes);
  // The inputs are set. Throws `Error` (kLimit) when they need more than the limit (0: none).
  void note_inputs();
  // After an instruction ran, which had `besides` bytes for other things than tensors. Throws
  // `Error` (kLimit).
  void after(size_t instruction, uint64_t besides);
  // Gives all memory of the run back; call it also when the run failed.
  void end();
  // What each unit needed in the last run.
  const std::vector<uint64_t>& unit_bytes() const { return unit_bytes_; }
  // The most bytes that were in use at once.
  uint64_t peak_bytes() const { return peak_; }

 private:
  void note(uint32_t value);
  void check_limit(const std::string& what, uint64_t besides) const;

  const MethodDescription& method_;
  const std::vector<PlannedUnit>& units_;
  const Blocks& blocks_;
  ValueTable& values_;
  std::unordered_map<const ValueTable::TensorImpl*, uint32_t> unit_of_;
  std::vector<std::vector<uint32_t>> ending_;  // by instruction: blocks not needed after it
  std::vector<uint32_t> block_of_;             // by unit
  std::vector<bool> is_dynamic_;               // by unit
  std::vector<uint64_t> unit_bytes_;
  std::vector<uint64_t> taken_;  // by block: bytes in use now
  uint64_t alive_ = 0, peak_ = 0, limit_ = 0;
  const Placement* placement_ = nullptr;
  uint8_t* base_ = nullptr;
};

// Whether the sizes in a run may depend on more than the shapes of its inputs: on data, or on
// which way a jump goes. Errs on the side of yes.
bool has_sizes_of_data(const MethodDescription& method, const Delegates::Declared& declared);

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_OBSERVER_H_
