// Fixed point and rounding, as in ExecuTorch's reference implementations.
#ifndef ONEARENA_TESTS_QEMU_ARITHMETIC_H_
#define ONEARENA_TESTS_QEMU_ARITHMETIC_H_

#include <stdint.h>

static inline int32_t Clamp(int32_t value, int32_t lowest, int32_t highest) {
  if (value < lowest) return lowest;
  return value > highest ? highest : value;
}

static inline uint32_t RoundUp(uint32_t count, uint32_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

// value * multiplier / 2^31 * 2^shift. The product is rounded half up, the shift to the right half
// away from zero.
static inline int32_t Requantize(int32_t value, int32_t multiplier, int32_t shift) {
  const int left = shift > 0 ? shift : 0;
  const int right = shift < 0 ? -shift : 0;
  const int64_t wide = (int64_t)value * ((int64_t)1 << left) * multiplier;
  int64_t result = (wide + ((int64_t)1 << 30)) >> 31;
  if (right != 0) {
    const int64_t mask = ((int64_t)1 << right) - 1;
    const int64_t rest = result & mask;
    result >>= right;
    result += rest > (mask >> 1) + (result < 0);
  }
  return (int32_t)result;
}

// To the nearest integer, half to even; values too large for int8 by far stay so.
static inline int32_t RoundToInteger(float value) {
  const float limit = 1 << 20;
  const float magic = 3 << 22;  // its neighbours are 1 apart
  if (value > limit) return 1 << 20;
  if (value < -limit) return -(1 << 20);
  return (int32_t)((value + magic) - magic);
}

#endif  // ONEARENA_TESTS_QEMU_ARITHMETIC_H_
