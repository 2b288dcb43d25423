// Convolutions over columns: what lies under the filter is copied into scratch, for as many output
// positions at a time as CMSIS-NN takes on this core.
#include <stddef.h>

#include "arithmetic.h"
#include "kernels.h"

#if defined(__ARM_FEATURE_MVE)
typedef int8_t Packed;  // as in the input
enum { kColumns = 4, kMultiple = 16 };
static int32_t Zero(const Convolution* c) { return -c->in_offset; }
static int32_t Pack(const Convolution* c, int8_t value) { return (void)c, value; }
static int32_t Unpack(const Convolution* c, Packed value) { return value + c->in_offset; }
#else
typedef int16_t Packed;  // with the offset
enum { kColumns = 2, kMultiple = 4 };
static int32_t Zero(const Convolution* c) { return (void)c, 0; }
static int32_t Pack(const Convolution* c, int8_t value) { return value + c->in_offset; }
static int32_t Unpack(const Convolution* c, Packed value) { return (void)c, value; }
#endif

static uint32_t ColumnLength(const Convolution* c) {
  return (uint32_t)(c->kernel.height * c->kernel.width * c->in.channels);
}

static bool IsPointwise(const Convolution* c) {
  return c->kernel.height == 1 && c->kernel.width == 1 && c->padding.height == 0 &&
         c->padding.width == 0;
}

uint32_t ConvolutionScratchBytes(const Convolution* c) {
  if (IsPointwise(c)) return 0;
  return kColumns * RoundUp(ColumnLength(c), kMultiple) * (uint32_t)sizeof(Packed);
}

static void FillColumn(const Convolution* c, const int8_t* image, int position, Packed* column) {
  const int top = position / c->out.width * c->stride.height - c->padding.height;
  const int left = position % c->out.width * c->stride.width - c->padding.width;
  for (int i = 0; i < c->kernel.height; ++i) {
    for (int j = 0; j < c->kernel.width; ++j) {
      const int y = top + i;
      const int x = left + j;
      const bool inside = y >= 0 && y < c->in.height && x >= 0 && x < c->in.width;
      const int8_t* pixel = image + (y * c->in.width + x) * c->in.channels;
      for (int k = 0; k < c->in.channels; ++k) {
        *column++ = (Packed)(inside ? Pack(c, pixel[k]) : Zero(c));
      }
    }
  }
}

static int8_t Finish(const Convolution* c, int channel, int32_t sum) {
  const int32_t scaled = Requantize(sum, c->multipliers[channel], c->shifts[channel]);
  return (int8_t)Clamp(scaled + c->out_offset, c->lowest, c->highest);
}

static void MultiplyColumn(const Convolution* c, const Packed* column, int8_t* out) {
  const uint32_t length = ColumnLength(c);
  const int8_t* weights = c->weights;
  for (int channel = 0; channel < c->out.channels; ++channel) {
    int32_t sum = c->bias != NULL ? c->bias[channel] : 0;
    for (uint32_t i = 0; i < length; ++i) sum += Unpack(c, column[i]) * *weights++;
    out[channel] = Finish(c, channel, sum);
  }
}

static void ConvolvePoint(const Convolution* c, const int8_t* pixel, int8_t* out) {
  const int8_t* weights = c->weights;
  for (int channel = 0; channel < c->out.channels; ++channel) {
    int32_t sum = c->bias != NULL ? c->bias[channel] : 0;
    for (int k = 0; k < c->in.channels; ++k) sum += (pixel[k] + c->in_offset) * *weights++;
    out[channel] = Finish(c, channel, sum);
  }
}

static void ConvolveImage(const Convolution* c, const int8_t* in, Packed* columns, int8_t* out) {
  const int count = c->out.height * c->out.width;
  const uint32_t step = RoundUp(ColumnLength(c), kMultiple);
  for (int first = 0; first < count; first += kColumns) {
    const int now = count - first < kColumns ? count - first : kColumns;
    for (int k = 0; k < now; ++k) FillColumn(c, in, first + k, columns + (uint32_t)k * step);
    for (int k = 0; k < now; ++k) {
      MultiplyColumn(c, columns + (uint32_t)k * step, out + (first + k) * c->out.channels);
    }
  }
}

static void ConvolvePoints(const Convolution* c, const int8_t* in, int8_t* out) {
  for (int y = 0; y < c->out.height; ++y) {
    for (int x = 0; x < c->out.width; ++x) {
      const int at = y * c->stride.height * c->in.width + x * c->stride.width;
      ConvolvePoint(c, in + at * c->in.channels, out);
      out += c->out.channels;
    }
  }
}

void Convolve(const Convolution* c, const int8_t* in, uint8_t* scratch, int8_t* out) {
  for (int image = 0; image < c->batch; ++image) {
    if (IsPointwise(c)) {
      ConvolvePoints(c, in, out);
    } else {
      ConvolveImage(c, in, (Packed*)scratch, out);
    }
    in += c->in.height * c->in.width * c->in.channels;
    out += c->out.height * c->out.width * c->out.channels;
  }
}

static uint32_t ScratchBytes(const void* parameters) { return ConvolutionScratchBytes(parameters); }

static bool Run(const void* parameters, const Operands* operands) {
  Convolve(parameters, (const int8_t*)operands->in[0], operands->scratch, (int8_t*)operands->out);
  return true;
}

const Kernel kConvolution = {ScratchBytes, Run};
