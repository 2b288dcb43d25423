#include "running.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <type_traits>

namespace onearena::runtime::testing {
namespace {

template <class T>
void fill(std::vector<uint8_t>& data) {
  for (size_t i = 0; i < data.size() / sizeof(T); ++i) {
    const T value = static_cast<T>(std::is_floating_point_v<T> ? 0.125 * static_cast<double>(i % 23)
                                                               : static_cast<double>(i % 100));
    std::memcpy(data.data() + i * sizeof(T), &value, sizeof(T));
  }
}

void fill(DType dtype, std::vector<uint8_t>& data) {
  switch (dtype) {
    case DType::kFloat:
      return fill<float>(data);
    case DType::kDouble:
      return fill<double>(data);
    case DType::kLong:
      return fill<int64_t>(data);
    case DType::kInt:
      return fill<int32_t>(data);
    case DType::kBool:
      for (size_t i = 0; i < data.size(); ++i) data[i] = i % 2;
      return;
    default:
      return;  // zeros are right for all
  }
}

}  // namespace

void check(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "failed: %s\n", what.c_str());
  std::exit(1);
}

Case parse_case(const std::string& argument) {
  Case found;
  const size_t equals = argument.rfind('=');
  found.path = argument.substr(0, equals);
  if (equals == std::string::npos) return found;
  std::istringstream shapes(argument.substr(equals + 1));
  for (std::string shape; std::getline(shapes, shape, ',');) {
    std::istringstream sizes(shape);
    found.shapes.emplace_back();
    for (std::string size; std::getline(sizes, size, 'x');) {
      found.shapes.back().push_back(std::stoi(size));
    }
  }
  return found;
}

Inputs::Inputs(const std::vector<ValueInfo>& infos,
               const std::vector<std::vector<int32_t>>& shapes) {
  data_.reserve(infos.size());
  size_t tensors = 0;
  for (const ValueInfo& info : infos) {
    const auto* tensor = std::get_if<TensorInfo>(&info);
    if (tensor == nullptr) {
      std::visit(
          [&](const auto& value) {
            if constexpr (!std::is_same_v<std::decay_t<decltype(value)>, TensorInfo>) {
              inputs_.emplace_back(value);
            }
          },
          info);
      continue;
    }
    const std::vector<int32_t>& sizes = tensors < shapes.size() ? shapes[tensors] : tensor->sizes;
    ++tensors;
    size_t bytes = element_bytes(tensor->dtype);
    for (const int32_t size : sizes) bytes *= static_cast<size_t>(size);
    std::vector<uint8_t>& data = data_.emplace_back(bytes);
    fill(tensor->dtype, data);
    inputs_.emplace_back(TensorInput{tensor->dtype, sizes, data.data(), bytes});
  }
}

std::string bytes_of(const std::vector<Output>& outputs) {
  std::string bytes;
  const auto add = [&](const void* data, size_t size) {
    if (size > 0) bytes.append(static_cast<const char*>(data), size);
  };
  for (const Output& output : outputs) {
    if (const auto* tensor = std::get_if<TensorOutput>(&output)) {
      add(tensor->sizes.data(), tensor->sizes.size() * sizeof(int32_t));
      add(&tensor->dtype, sizeof tensor->dtype);
      add(tensor->data.get(), tensor->size_bytes);
    } else if (const auto* number = std::get_if<int64_t>(&output)) {
      add(number, sizeof *number);
    } else if (const auto* real = std::get_if<double>(&output)) {
      add(real, sizeof *real);
    } else if (const auto* flag = std::get_if<bool>(&output)) {
      add(flag, sizeof *flag);
    }
  }
  return bytes;
}

}  // namespace onearena::runtime::testing
