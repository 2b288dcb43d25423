// Memory that a backend declares itself, through `onearena/backend_memory.h`.
#ifndef ONEARENA_RUNTIME_DECLARED_MEMORY_H_
#define ONEARENA_RUNTIME_DECLARED_MEMORY_H_

#include <memory>
#include <string>
#include <vector>

#include "call_memory.h"
#include "onearena/backend_memory.h"

namespace onearena::runtime {

// The needs during a call lie one after the other in one region.
class DeclaredMemory final : public CallMemory {
 public:
  // `what`: how errors name the delegate. The first two outlive this object.
  DeclaredMemory(BackendMemory& backend, void* handle, std::string what);

  void ask(CallArgs args) override;
  void begin(CallArgs args, const Region& region) override;
  void end(bool succeeded) override;
  uint64_t needed_bytes() const override { return need_; }
  uint64_t elsewhere_bytes() const override { return elsewhere_; }
  uint64_t persistent_bytes() const override { return persistent_; }

 private:
  struct Freed {
    void operator()(uint8_t* memory) const;
  };
  using Memory = std::unique_ptr<uint8_t[], Freed>;
  struct Kept {
    Memory memory;
    uint64_t bytes = 0;
  };

  // The sizes of all tensors of a call, each list behind its length.
  using Shapes = std::vector<int64_t>;
  static Shapes shapes_of(CallArgs args);

  void check(const std::vector<MemoryNeed>& needs) const;
  void keep(size_t index, const MemoryNeed& need);
  Memory allocate(uint64_t bytes, uint64_t alignment) const;
  [[noreturn]] void refuse(const std::string& why) const;

  BackendMemory& backend_;
  void* const handle_;
  const std::string what_;
  bool was_asked_ = false;   // once
  bool is_current_ = false;  // what follows is the answer for `shapes_`
  Shapes shapes_;
  std::vector<MemoryNeed> needs_;
  std::vector<uint64_t> offsets_;  // in the region, by need
  std::vector<Kept> kept_;         // by need; empty for those during the call
  std::vector<void*> addresses_, bound_;
  bool is_bound_ = false;
  Memory lent_;
  uint64_t need_ = 0, alignment_ = 1, elsewhere_ = 0, persistent_ = 0;
};

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_DECLARED_MEMORY_H_
