// Runs a program that describes itself, on inputs of ones, and tells what memory it took:
//   onearena_example model.pte [runs [rows]]
// With `rows`, again on inputs of so many rows.
#include <executorch/runtime/backend/interface.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "demo_backend.h"
#include "onearena/runtime.h"

namespace {

using namespace onearena::runtime;

// Ones of a float input; zeros of the others, which are right for indices and flags. `rows`: how
// long the first dimension of dynamic inputs is; 0: as long as it may be.
Input ones(const ValueInfo& info, int rows, std::vector<std::vector<uint8_t>>& kept) {
  const auto* tensor = std::get_if<TensorInfo>(&info);
  if (tensor == nullptr) {
    return std::visit(
        [](const auto& value) -> Input {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, TensorInfo>) {
            return std::monostate{};
          } else {
            return value;
          }
        },
        info);
  }
  std::vector<int32_t> sizes = tensor->sizes;
  if (rows > 0 && tensor->is_dynamic && !sizes.empty()) sizes[0] = rows;
  size_t count = 1;
  for (const int32_t size : sizes) count *= static_cast<size_t>(size);
  std::vector<uint8_t>& data = kept.emplace_back(count * element_bytes(tensor->dtype));
  if (tensor->dtype == DType::kFloat) {
    const float one = 1;
    for (size_t i = 0; i < count; ++i) std::memcpy(data.data() + i * sizeof one, &one, sizeof one);
  }
  return TensorInput{tensor->dtype, sizes, data.data(), data.size()};
}

// The beginning of each output that is a vector of floats.
void print(const std::vector<Output>& outputs) {
  for (const Output& output : outputs) {
    const auto* tensor = std::get_if<TensorOutput>(&output);
    if (tensor == nullptr || tensor->dtype != DType::kFloat) continue;
    std::printf(" ");
    for (size_t i = 0; i < std::min<size_t>(8, tensor->size_bytes / sizeof(float)); ++i) {
      float element;
      std::memcpy(&element, tensor->data.get() + i * sizeof element, sizeof element);
      std::printf(" %.6g", static_cast<double>(element));
    }
    std::printf("\n");
  }
}

void run(Method& method, int runs, int rows) {
  std::vector<std::vector<uint8_t>> kept;
  std::vector<Input> inputs;
  for (const ValueInfo& info : method.inputs()) inputs.push_back(ones(info, rows, kept));
  std::vector<Output> outputs;
  for (int i = 0; i < runs; ++i) outputs = method.run(inputs);
  const MemoryReport memory = method.memory();
  std::printf("%s: %zu outputs, arena %llu bytes, resident %llu, delegates %llu of it\n",
              method.name().c_str(), outputs.size(),
              static_cast<unsigned long long>(memory.arena_bytes),
              static_cast<unsigned long long>(memory.arena_resident_bytes),
              static_cast<unsigned long long>(memory.delegate_bytes));
  print(outputs);
}

void run(const std::string& path, int runs, int rows) {
  // a backend of our own, which has its scratch in the arena
  static demo::Backend backend;
  static const bool is_registered =
      executorch::runtime::register_backend({demo::kBackendName, &backend}) ==
      executorch::runtime::Error::Ok;
  Arena arena;
  ProgramOptions options;
  if (is_registered) options.backend_memory = {{demo::kBackendName, &backend}};
  const auto program = Program::load(path, {}, arena, options);
  for (const std::string& name : program->method_names()) {
    run(program->method(name), runs, 0);
    if (rows > 0) run(program->method(name), runs, rows);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: %s model.pte [runs [rows]]\n", arguments[0]);
    return 2;
  }
  try {
    run(arguments[1], count > 2 ? std::atoi(arguments[2]) : 1,
        count > 3 ? std::atoi(arguments[3]) : 0);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
