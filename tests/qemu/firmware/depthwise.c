// Depthwise convolutions, in the ways that CMSIS-NN chooses from on this core.
#include <stddef.h>

#include "arithmetic.h"
#include "kernels.h"

static int KernelSize(const Convolution* c) { return c->kernel.height * c->kernel.width; }

static const int8_t* Pixel(const Convolution* c, const int8_t* image, int position, int point) {
  const int i = point / c->kernel.width;
  const int j = point % c->kernel.width;
  const int y = position / c->out.width * c->stride.height - c->padding.height;
  const int x = position % c->out.width * c->stride.width - c->padding.width;
  const int row = y + i;
  const int column = x + j;
  if (row < 0 || row >= c->in.height || column < 0 || column >= c->in.width) return NULL;
  return image + (row * c->in.width + column) * c->in.channels;
}

static int32_t Bias(const Convolution* c, int channel) {
  return c->bias != NULL ? c->bias[channel] : 0;
}

static int8_t Finish(const Convolution* c, int channel, int32_t sum) {
  const int32_t scaled = Requantize(sum, c->multipliers[channel], c->shifts[channel]);
  return (int8_t)Clamp(scaled + c->out_offset, c->lowest, c->highest);
}

// Without scratch: any number of output channels for each input channel.
static void Direct(const Convolution* c, const int8_t* in, int8_t* out) {
  const int multiplier = c->out.channels / c->in.channels;
  for (int position = 0; position < c->out.height * c->out.width; ++position) {
    for (int channel = 0; channel < c->out.channels; ++channel) {
      int32_t sum = Bias(c, channel);
      for (int point = 0; point < KernelSize(c); ++point) {
        const int8_t* pixel = Pixel(c, in, position, point);
        if (pixel == NULL) continue;
        const int8_t weight = c->weights[point * c->out.channels + channel];
        sum += (pixel[channel / multiplier] + c->in_offset) * weight;
      }
      *out++ = Finish(c, channel, sum);
    }
  }
}

#if defined(__ARM_FEATURE_DSP) || defined(__ARM_FEATURE_MVE)
static bool IsFast(const Convolution* c) {
  return c->batch == 1 && c->in.channels == c->out.channels;
}
#endif

#if defined(__ARM_FEATURE_MVE)

enum { kBlock = 124, kPositions = 4 };

static bool IsOrdinary(const Convolution* c) { return c->in.channels == 1 && c->out.channels > 1; }

static uint32_t WeightBytes(const Convolution* c) {
  return (uint32_t)(KernelSize(c) * c->out.channels);
}

static uint32_t ScratchBytes(const void* parameters) {
  const Convolution* c = parameters;
  if (IsOrdinary(c)) return ConvolutionScratchBytes(c) + WeightBytes(c);
  return IsFast(c) ? (uint32_t)(kPositions * kBlock * KernelSize(c)) : 0;
}

// One input channel: an ordinary convolution, whose weights are put in order in scratch.
static void AsOrdinary(const Convolution* c, const int8_t* in, uint8_t* scratch, int8_t* out) {
  int8_t* weights = (int8_t*)scratch + ConvolutionScratchBytes(c);
  for (int point = 0; point < KernelSize(c); ++point) {
    for (int channel = 0; channel < c->out.channels; ++channel) {
      weights[channel * KernelSize(c) + point] = c->weights[point * c->out.channels + channel];
    }
  }
  Convolution ordinary = *c;
  ordinary.weights = weights;
  Convolve(&ordinary, in, scratch, out);
}

// `channels` channels from the first one on, for one output position.
static void FillColumn(const Convolution* c, const int8_t* in, int position, int first,
                       int channels, int8_t* column) {
  for (int point = 0; point < KernelSize(c); ++point) {
    const int8_t* pixel = Pixel(c, in, position, point);
    for (int k = 0; k < channels; ++k) {
      column[point * kBlock + k] = pixel != NULL ? pixel[first + k] : (int8_t)-c->in_offset;
    }
  }
}

static void MultiplyColumn(const Convolution* c, const int8_t* column, int first, int channels,
                           int8_t* out) {
  for (int k = 0; k < channels; ++k) {
    int32_t sum = Bias(c, first + k);
    for (int point = 0; point < KernelSize(c); ++point) {
      const int8_t weight = c->weights[point * c->out.channels + first + k];
      sum += (column[point * kBlock + k] + c->in_offset) * weight;
    }
    out[first + k] = Finish(c, first + k, sum);
  }
}

static void InBlocks(const Convolution* c, const int8_t* in, uint8_t* scratch, int8_t* out) {
  const int count = c->out.height * c->out.width;
  const int step = kBlock * KernelSize(c);
  int8_t* columns = (int8_t*)scratch;
  for (int first = 0; first < c->in.channels; first += kBlock) {
    const int channels = c->in.channels - first < kBlock ? c->in.channels - first : kBlock;
    for (int start = 0; start < count; start += kPositions) {
      const int end = start + kPositions < count ? start + kPositions : count;
      for (int at = start; at < end; ++at) {
        FillColumn(c, in, at, first, channels, columns + (at - start) * step);
      }
      for (int at = start; at < end; ++at) {
        int8_t* pixel = out + at * c->out.channels;
        MultiplyColumn(c, columns + (at - start) * step, first, channels, pixel);
      }
    }
  }
}

static bool WithScratch(const Convolution* c, const int8_t* in, uint8_t* scratch, int8_t* out) {
  if (IsOrdinary(c)) {
    AsOrdinary(c, in, scratch, out);
  } else if (IsFast(c)) {
    InBlocks(c, in, scratch, out);
  } else {
    return false;
  }
  return true;
}

#elif defined(__ARM_FEATURE_DSP)

static bool NeedsColumn(const Convolution* c) {
  const bool is_small = c->kernel.height == 3 && c->kernel.width == 3 && c->padding.height <= 1 &&
                        c->padding.width <= 1;
  return IsFast(c) && !is_small;
}

static uint32_t ScratchBytes(const void* parameters) {
  const Convolution* c = parameters;
  const int count = NeedsColumn(c) ? KernelSize(c) * c->in.channels : 0;
  return (uint32_t)count * (uint32_t)sizeof(int16_t);
}

static bool WithScratch(const Convolution* c, const int8_t* in, uint8_t* scratch, int8_t* out) {
  if (!NeedsColumn(c)) return false;
  int16_t* column = (int16_t*)scratch;
  const int channels = c->in.channels;
  for (int position = 0; position < c->out.height * c->out.width; ++position) {
    for (int point = 0; point < KernelSize(c); ++point) {
      const int8_t* pixel = Pixel(c, in, position, point);
      for (int k = 0; k < channels; ++k) {
        column[point * channels + k] = (int16_t)(pixel != NULL ? pixel[k] + c->in_offset : 0);
      }
    }
    for (int k = 0; k < channels; ++k) {
      int32_t sum = Bias(c, k);
      for (int at = k; at < KernelSize(c) * channels; at += channels) {
        sum += column[at] * c->weights[at];
      }
      *out++ = Finish(c, k, sum);
    }
  }
  return true;
}

#else

static uint32_t ScratchBytes(const void* parameters) { return NoScratch(parameters); }

static bool WithScratch(const Convolution* c, const int8_t* in, uint8_t* scratch, int8_t* out) {
  return (void)c, (void)in, (void)scratch, (void)out, false;
}

#endif

static bool Run(const void* parameters, const Operands* operands) {
  const Convolution* c = parameters;
  const int8_t* in = (const int8_t*)operands->in[0];
  int8_t* out = (int8_t*)operands->out;
  if (WithScratch(c, in, operands->scratch, out)) return true;
  for (int image = 0; image < c->batch; ++image) {
    Direct(c, in, out);
    in += c->in.height * c->in.width * c->in.channels;
    out += c->out.height * c->out.width * c->out.channels;
  }
  return true;
}

const Kernel kDepthwise = {ScratchBytes, Run};
