// Runs a program that describes itself, on inputs of ones, and tells what memory it took:
//   onearena_example model.pte [runs]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "onearena/runtime.h"

namespace {

using namespace onearena::runtime;

// Ones of a float input; zeros of the others, which are right for indices and flags.
Input ones(const ValueInfo& info, std::vector<std::vector<uint8_t>>& kept) {
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
  size_t count = 1;
  for (const int32_t size : tensor->sizes) count *= static_cast<size_t>(size);
  std::vector<uint8_t>& data = kept.emplace_back(count * element_bytes(tensor->dtype));
  if (tensor->dtype == DType::kFloat) {
    const float one = 1;
    for (size_t i = 0; i < count; ++i) std::memcpy(data.data() + i * sizeof one, &one, sizeof one);
  }
  return TensorInput{tensor->dtype, tensor->sizes, data.data(), data.size()};
}

void run(const std::string& path, int runs) {
  Arena arena;
  const auto program = Program::load(path, {}, arena);
  for (const std::string& name : program->method_names()) {
    Method& method = program->method(name);
    std::vector<std::vector<uint8_t>> kept;
    std::vector<Input> inputs;
    for (const ValueInfo& info : method.inputs()) inputs.push_back(ones(info, kept));
    std::vector<Output> outputs;
    for (int i = 0; i < runs; ++i) outputs = method.run(inputs);
    const MemoryReport memory = method.memory();
    std::printf("%s: %zu outputs, arena %llu bytes, resident %llu\n", name.c_str(), outputs.size(),
                static_cast<unsigned long long>(memory.arena_bytes),
                static_cast<unsigned long long>(memory.arena_resident_bytes));
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: %s model.pte [runs]\n", arguments[0]);
    return 2;
  }
  try {
    run(arguments[1], count > 2 ? std::atoi(arguments[2]) : 1);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
