// Kernels that compute, or copy, one element after the other.
#include "arithmetic.h"
#include "kernels.h"

uint32_t NoScratch(const void* parameters) { return (void)parameters, 0; }

static bool RunQuantize(const void* parameters, const Operands* operands) {
  const Conversion* conversion = parameters;
  const float* in = (const float*)operands->in[0];
  int8_t* out = (int8_t*)operands->out;
  for (int i = 0; i < conversion->count; ++i) {
    const int32_t value = RoundToInteger(in[i] * conversion->factor) + conversion->zero_point;
    out[i] = (int8_t)Clamp(value, conversion->lowest, conversion->highest);
  }
  return true;
}

static bool RunDequantize(const void* parameters, const Operands* operands) {
  const Conversion* conversion = parameters;
  const int8_t* in = (const int8_t*)operands->in[0];
  float* out = (float*)operands->out;
  for (int i = 0; i < conversion->count; ++i) {
    out[i] = (float)(in[i] - conversion->zero_point) * conversion->factor;
  }
  return true;
}

static int32_t Scaled(const Add* add, int operand, int8_t value) {
  enum { kFraction = 1 << 20 };  // so many steps are kept between two integers
  const int32_t fine = (value - add->zero_points[operand]) * kFraction;
  return Requantize(fine, add->multipliers[operand], add->shifts[operand]);
}

static bool RunAdd(const void* parameters, const Operands* operands) {
  const Add* add = parameters;
  const int8_t* first = (const int8_t*)operands->in[0];
  const int8_t* second = (const int8_t*)operands->in[1];
  int8_t* out = (int8_t*)operands->out;
  for (int i = 0; i < add->count; ++i) {
    const int32_t sum = Scaled(add, 0, first[i]) + Scaled(add, 1, second[i]);
    const int32_t value = Requantize(sum, add->out_multiplier, add->out_shift);
    out[i] = (int8_t)Clamp(value + add->out_zero_point, add->lowest, add->highest);
  }
  return true;
}

static bool IsInside(const Pad* pad, const int* at) {
  for (int dim = 0; dim < 4; ++dim) {
    if (at[dim] < pad->before[dim] || at[dim] >= pad->before[dim] + pad->sizes[dim]) return false;
  }
  return true;
}

static bool RunPad(const void* parameters, const Operands* operands) {
  const Pad* pad = parameters;
  const int8_t* in = (const int8_t*)operands->in[0];
  int8_t* out = (int8_t*)operands->out;
  int sizes[4];
  for (int dim = 0; dim < 4; ++dim) {
    sizes[dim] = pad->before[dim] + pad->sizes[dim] + pad->after[dim];
  }
  int at[4];
  for (at[0] = 0; at[0] < sizes[0]; ++at[0]) {
    for (at[1] = 0; at[1] < sizes[1]; ++at[1]) {
      for (at[2] = 0; at[2] < sizes[2]; ++at[2]) {
        for (at[3] = 0; at[3] < sizes[3]; ++at[3]) {
          *out++ = IsInside(pad, at) ? *in++ : pad->value;  // both are in the same order
        }
      }
    }
  }
  return true;
}

const Kernel kQuantize = {NoScratch, RunQuantize};
const Kernel kDequantize = {NoScratch, RunDequantize};
const Kernel kAdd = {NoScratch, RunAdd};
const Kernel kPad = {NoScratch, RunPad};
