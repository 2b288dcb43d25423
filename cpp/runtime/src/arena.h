// The shared arena: address space that is committed lazily, and the right to use it.
#ifndef ONEARENA_RUNTIME_ARENA_H_
#define ONEARENA_RUNTIME_ARENA_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>

#include "mapping.h"
#include "onearena/runtime.h"

namespace onearena::runtime {

class Arena::Impl {
 public:
  explicit Impl(const ArenaOptions& options);

  // The right to use the arena, for as long as the object lives. Throws `Error` (kBusy) when
  // another run has it and `wait` is false, or when this thread has it already.
  class Lease {
   public:
    Lease(Impl& arena, bool wait);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    // At least `bytes` usable bytes; may move them, nothing in them survives. Throws `Error`
    // (kLimit) when the machine does not have them.
    uint8_t* ensure(uint64_t bytes);

   private:
    Impl& arena_;
    std::unique_lock<std::mutex> lock_;
  };

  // Whether a need is within the limit.
  bool allows(uint64_t bytes) const { return limit_ == 0 || bytes <= limit_; }
  // Remembers the need of something that was loaded.
  void note(uint64_t bytes);
  uint64_t size_bytes() const { return size_; }
  uint64_t limit_bytes() const { return limit_; }
  uint64_t resident_bytes() const;
  void trim();

 private:
  const uint64_t limit_;
  const uint64_t reserve_;
  std::mutex run_;                        // held by a Lease
  std::atomic<std::thread::id> owner_{};  // of the lease
  mutable std::mutex map_mutex_;          // guards what follows
  Mapping memory_;
  uint64_t usable_ = 0;
  std::atomic<uint64_t> size_{0};
};

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_ARENA_H_
