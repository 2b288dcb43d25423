// What the parts of the verifier find, in the order in which it is handed out.
#ifndef ONEARENA_VERIFY_FAULTS_H_
#define ONEARENA_VERIFY_FAULTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "onearena/verify.h"

namespace onearena::verifying {

// Collects different faults up to a limit.
class Faults {
 public:
  explicit Faults(size_t limit) : limit_(limit), full_(limit == 0), tidy_at_(limit) {}

  void add(FaultKind kind, int32_t first, int32_t second = -1);

  // Whether searching on is pointless.
  bool full() const { return full_; }

  // Sorted by kind, first, second; none twice.
  std::vector<Fault> take();

 private:
  void tidy();

  size_t limit_;
  bool full_;
  size_t tidy_at_;
  std::vector<Fault> faults_;
};

}  // namespace onearena::verifying

#endif  // ONEARENA_VERIFY_FAULTS_H_
