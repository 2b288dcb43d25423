// Fully connected layers. On a core with MVE, CMSIS-NN reads sums that hold the bias, elsewhere
// the bias; the exporter fills in one of them.
#include <stddef.h>

#include "arithmetic.h"
#include "kernels.h"

#if defined(__ARM_FEATURE_MVE)
static bool SuitsCore(const Linear* layer) { return layer->sums != NULL; }

static int32_t Sum(const Linear* layer, const int8_t* row, int output) {
  const int8_t* weights = layer->weights + output * layer->inputs;
  int32_t sum = layer->sums[output];
  int32_t inputs = 0;
  for (int k = 0; k < layer->inputs; ++k) {
    sum += row[k] * weights[k];
    inputs += row[k];
  }
  return sum + inputs * layer->filter_offset;
}
#else
static bool SuitsCore(const Linear* layer) { return layer->sums == NULL; }

static int32_t Sum(const Linear* layer, const int8_t* row, int output) {
  const int8_t* weights = layer->weights + output * layer->inputs;
  int32_t sum = layer->bias != NULL ? layer->bias[output] : 0;
  for (int k = 0; k < layer->inputs; ++k) {
    sum += (row[k] + layer->in_offset) * (weights[k] + layer->filter_offset);
  }
  return sum;
}
#endif

static bool Run(const void* parameters, const Operands* operands) {
  const Linear* layer = parameters;
  if (!SuitsCore(layer)) return false;
  const int8_t* row = (const int8_t*)operands->in[0];
  int8_t* out = (int8_t*)operands->out;
  for (int k = 0; k < layer->rows; ++k) {
    for (int output = 0; output < layer->outputs; ++output) {
      const int32_t scaled = Requantize(Sum(layer, row, output), layer->multiplier, layer->shift);
      *out++ = (int8_t)Clamp(scaled + layer->out_offset, layer->lowest, layer->highest);
    }
    row += layer->inputs;
  }
  return true;
}

const Kernel kLinear = {NoScratch, Run};
