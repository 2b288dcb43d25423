// How long a search may go on.
#ifndef ONEARENA_SRC_LIMITS_H_
#define ONEARENA_SRC_LIMITS_H_

#include <atomic>
#include <chrono>
#include <cstdint>

namespace onearena::internal {

using Clock = std::chrono::steady_clock;

// Shared by all threads of one call.
struct Limits {
  Clock::time_point deadline;
  const std::atomic<bool>* stop = nullptr;

  bool reached() const { return (stop != nullptr && *stop) || Clock::now() >= deadline; }
};

// Small, quick and the same on every platform (splitmix64).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  // In [0, count).
  uint32_t below(uint32_t count) {
    return static_cast<uint32_t>((static_cast<uint64_t>(static_cast<uint32_t>(next())) * count) >>
                                 32);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  uint64_t state_;
};

}  // namespace onearena::internal

#endif  // ONEARENA_SRC_LIMITS_H_
