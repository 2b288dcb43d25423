#include "input_shapes.h"

#include <algorithm>

namespace onearena::runtime {
namespace {

// Inputs so much larger than their bounds are not what they claim to be, which is found out later;
// until then sizes must not overflow.
constexpr double kMostScale = 1ull << 40;

uint64_t element_count(const std::vector<int32_t>& sizes) {
  uint64_t count = 1;
  for (const int32_t size : sizes) {
    if (size < 0 || __builtin_mul_overflow(count, static_cast<uint64_t>(size), &count)) return 0;
  }
  return count;
}

}  // namespace

std::vector<Value> recorded_inputs(const MethodDescription& method, bool is_unbounded) {
  std::vector<Value> values;
  for (const uint32_t input : method.inputs) {
    values.push_back(method.values[input]);
    auto* tensor = std::get_if<TensorValue>(&values.back());
    if (!is_unbounded || tensor == nullptr || tensor->dynamism != Dynamism::kBound) continue;
    tensor->dynamism = Dynamism::kUnbound;
  }
  return values;
}

ShapeKey shape_key(const std::vector<Input>& inputs) {
  ShapeKey key;
  for (const Input& input : inputs) {
    if (const auto* tensor = std::get_if<TensorInput>(&input)) {
      key.insert(key.end(), tensor->sizes.begin(), tensor->sizes.end());
    } else if (const auto* number = std::get_if<int64_t>(&input)) {
      // it may be a length or a position that sizes follow from
      key.push_back(static_cast<int32_t>(*number & 0xFFFFFFFF));
      key.push_back(static_cast<int32_t>(*number >> 32));
    }
  }
  return key;
}

double scale_of(const std::vector<Input>& inputs, const std::vector<Value>& recorded_values) {
  double ratio = 1;
  for (size_t i = 0; i < std::min(inputs.size(), recorded_values.size()); ++i) {
    const auto* given = std::get_if<TensorInput>(&inputs[i]);
    const auto* recorded = std::get_if<TensorValue>(&recorded_values[i]);
    if (given == nullptr || recorded == nullptr) continue;
    const uint64_t bound = std::max<uint64_t>(1, element_count(recorded->sizes));
    ratio = std::max(ratio,
                     static_cast<double>(element_count(given->sizes)) / static_cast<double>(bound));
  }
  // attention is quadratic in the length of a sequence
  return std::min(ratio * ratio, kMostScale);
}

std::string beyond_text(const std::vector<Input>& inputs,
                        const std::vector<Value>& recorded_values) {
  std::string text;
  for (size_t i = 0; i < std::min(inputs.size(), recorded_values.size()); ++i) {
    const auto* given = std::get_if<TensorInput>(&inputs[i]);
    const auto* recorded = std::get_if<TensorValue>(&recorded_values[i]);
    if (given == nullptr || recorded == nullptr) continue;
    for (size_t d = 0; d < std::min(given->sizes.size(), recorded->sizes.size()); ++d) {
      if (given->sizes[d] <= recorded->sizes[d]) continue;
      text += "; input " + std::to_string(i) + " has " + std::to_string(given->sizes[d]) +
              " in dimension " + std::to_string(d) + ", the program was exported for up to " +
              std::to_string(recorded->sizes[d]);
    }
  }
  return text;
}

}  // namespace onearena::runtime
