// Average pools in float, as the reference implementation computes them. On a core with DSP
// instructions, CMSIS-NN keeps one sum for each channel in scratch.
#include "arithmetic.h"
#include "kernels.h"

static bool HasSums(void) {
#if defined(__ARM_FEATURE_DSP) && !defined(__ARM_FEATURE_MVE)
  return true;
#else
  return false;
#endif
}

static uint32_t ScratchBytes(const void* parameters) {
  const AveragePool* pool = parameters;
  return HasSums() ? (uint32_t)pool->in.channels * (uint32_t)sizeof(float) : 0;
}

typedef struct {
  int top;
  int bottom;
  int left;
  int right;
} Window;

static Window WindowOf(const AveragePool* pool, int y, int x) {
  const int top = y * pool->stride.height - pool->padding.height;
  const int left = x * pool->stride.width - pool->padding.width;
  return (Window){
      Clamp(top, 0, pool->in.height),
      Clamp(top + pool->kernel.height, 0, pool->in.height),
      Clamp(left, 0, pool->in.width),
      Clamp(left + pool->kernel.width, 0, pool->in.width),
  };
}

static float Value(const AveragePool* pool, int8_t value) {
  return (float)(value - pool->zero_point) * pool->scale;
}

static int8_t Finish(const AveragePool* pool, const Window* window, float sum) {
  const int count = (window->bottom - window->top) * (window->right - window->left);
  const int32_t rounded = RoundToInteger(sum / (float)count / pool->scale);
  return (int8_t)Clamp(rounded + pool->zero_point, -128, 127);
}

static void WithSums(const AveragePool* pool, const Window* window, const int8_t* in, float* sums,
                     int8_t* out) {
  const int channels = pool->in.channels;
  for (int k = 0; k < channels; ++k) sums[k] = 0;
  for (int y = window->top; y < window->bottom; ++y) {
    for (int x = window->left; x < window->right; ++x) {
      const int8_t* pixel = in + (y * pool->in.width + x) * channels;
      for (int k = 0; k < channels; ++k) sums[k] += Value(pool, pixel[k]);
    }
  }
  for (int k = 0; k < channels; ++k) out[k] = Finish(pool, window, sums[k]);
}

static void WithoutSums(const AveragePool* pool, const Window* window, const int8_t* in,
                        int8_t* out) {
  for (int k = 0; k < pool->in.channels; ++k) {
    float sum = 0;
    for (int y = window->top; y < window->bottom; ++y) {
      for (int x = window->left; x < window->right; ++x) {
        sum += Value(pool, in[(y * pool->in.width + x) * pool->in.channels + k]);
      }
    }
    out[k] = Finish(pool, window, sum);
  }
}

static bool Run(const void* parameters, const Operands* operands) {
  const AveragePool* pool = parameters;
  const int8_t* in = (const int8_t*)operands->in[0];
  int8_t* out = (int8_t*)operands->out;
  for (int image = 0; image < pool->batch; ++image) {
    for (int position = 0; position < pool->out.height * pool->out.width; ++position) {
      const Window window = WindowOf(pool, position / pool->out.width, position % pool->out.width);
      if (HasSums()) {
        WithSums(pool, &window, in, (float*)operands->scratch, out);
      } else {
        WithoutSums(pool, &window, in, out);
      }
      out += pool->in.channels;
    }
    in += pool->in.height * pool->in.width * pool->in.channels;
  }
  return true;
}

const Kernel kAveragePool = {ScratchBytes, Run};
