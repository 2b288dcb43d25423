// int8 kernels with the scratch contract of CMSIS-NN: as many bytes as it asks for on this core,
// filled and read inside one call. Rounding as in ExecuTorch's reference implementations
// (executorch.backends.cortex_m.ops). Nothing here is fast.
#ifndef ONEARENA_TESTS_QEMU_KERNELS_H_
#define ONEARENA_TESTS_QEMU_KERNELS_H_

#include <stdbool.h>
#include <stdint.h>

// What a call reads and writes. Plans that are wrong let these overlap.
typedef struct {
  const uint8_t* in[2];
  uint8_t* scratch;
  uint8_t* out;
} Operands;

// `scratch_bytes` says what `run` uses; `run` returns false when the program was not made for
// this core.
typedef struct {
  uint32_t (*scratch_bytes)(const void* parameters);
  bool (*run)(const void* parameters, const Operands* operands);
} Kernel;

typedef struct {
  int height;
  int width;
} Pair;

typedef struct {
  int height;
  int width;
  int channels;
} Image;

// All images have the channels last.
typedef struct {
  int batch;
  Image in;
  Image out;
  Pair kernel;
  Pair stride;
  Pair padding;
  const int8_t* weights;       // OHWI; of a depthwise convolution HWO
  const int32_t* bias;         // may be NULL
  const int32_t* multipliers;  // one for each output channel, as the shifts
  const int32_t* shifts;
  int32_t in_offset;
  int32_t out_offset;
  int32_t lowest;
  int32_t highest;
} Convolution;

typedef struct {
  int rows;
  int inputs;
  int outputs;
  const int8_t* weights;  // one row for each output
  const int32_t* bias;    // may be NULL
  const int32_t* sums;    // bias and offsets, summed by the exporter; for cores with MVE
  int32_t in_offset;
  int32_t filter_offset;
  int32_t out_offset;
  int32_t multiplier;
  int32_t shift;
  int32_t lowest;
  int32_t highest;
} Linear;

typedef struct {
  int batch;
  Image in;
  Image out;
  Pair kernel;
  Pair stride;
  Pair padding;
  float scale;
  int32_t zero_point;
} AveragePool;

typedef struct {
  int sizes[4];  // of the input, outermost first
  int before[4];
  int after[4];
  int8_t value;
} Pad;

typedef struct {
  int count;
  int32_t zero_points[2];
  int32_t multipliers[2];
  int32_t shifts[2];
  int32_t out_zero_point;
  int32_t out_multiplier;
  int32_t out_shift;
  int32_t lowest;
  int32_t highest;
} Add;

typedef struct {
  int count;
  float factor;  // 1 / scale to quantize, scale to dequantize
  int32_t zero_point;
  int32_t lowest;
  int32_t highest;
} Conversion;

extern const Kernel kConvolution;
extern const Kernel kDepthwise;
extern const Kernel kLinear;
extern const Kernel kAveragePool;
extern const Kernel kPad;
extern const Kernel kAdd;
extern const Kernel kQuantize;
extern const Kernel kDequantize;

// The same convolution with its weights in OHWI order, and its scratch apart from the operands'.
uint32_t ConvolutionScratchBytes(const Convolution* convolution);
void Convolve(const Convolution* convolution, const int8_t* in, uint8_t* scratch, int8_t* out);

uint32_t NoScratch(const void* parameters);

#endif  // ONEARENA_TESTS_QEMU_KERNELS_H_
