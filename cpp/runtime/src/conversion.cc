#include "conversion.h"

#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

#include <cstring>

namespace onearena::runtime {
namespace {

namespace et = ::executorch::runtime;

std::string shape_text(const std::vector<int32_t>& sizes) {
  std::string text = "[";
  for (size_t i = 0; i < sizes.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(sizes[i]);
  }
  return text + "]";
}

const char* dtype_text(DType dtype) {
  switch (dtype) {
    case DType::kByte:
      return "uint8";
    case DType::kChar:
      return "int8";
    case DType::kShort:
      return "int16";
    case DType::kInt:
      return "int32";
    case DType::kLong:
      return "int64";
    case DType::kHalf:
      return "float16";
    case DType::kFloat:
      return "float32";
    case DType::kDouble:
      return "float64";
    case DType::kBool:
      return "bool";
    case DType::kBFloat16:
      return "bfloat16";
    case DType::kUInt16:
      return "uint16";
    case DType::kUInt32:
      return "uint32";
    case DType::kUInt64:
      return "uint64";
  }
  return "of an unknown type";
}

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::kUsage, what); }

std::string tensor_text(DType dtype, const std::vector<int32_t>& sizes) {
  return std::string(dtype_text(dtype)) + " " + shape_text(sizes);
}

[[noreturn]] void refuse_tensor(const TensorInput& input, const TensorValue& recorded) {
  refuse("is " + tensor_text(input.dtype, input.sizes) + ", the method takes " +
         tensor_text(static_cast<DType>(recorded.scalar_type), recorded.sizes) +
         (recorded.dynamism == Dynamism::kStatic ? "" : " at most"));
}

void check_tensor(const TensorInput& input, const TensorValue& recorded) {
  const bool is_static = recorded.dynamism == Dynamism::kStatic;
  const auto wrong = [&] { refuse_tensor(input, recorded); };
  if (static_cast<uint8_t>(input.dtype) != recorded.scalar_type) wrong();
  if (input.sizes.size() != recorded.sizes.size()) wrong();
  if (is_static && input.sizes != recorded.sizes) wrong();
  uint64_t bytes = element_bytes(recorded.scalar_type);
  for (const int32_t size : input.sizes) {
    if (size < 0) wrong();
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes)) wrong();
  }
  if (recorded.dynamism == Dynamism::kBound && bytes > recorded.size_bytes) wrong();
  const std::string given = tensor_text(input.dtype, input.sizes);
  if (input.size_bytes != bytes) {
    refuse("is " + given + ", which is not " + std::to_string(input.size_bytes) + " bytes");
  }
  if (input.data == nullptr && bytes > 0) refuse("is " + given + ", but has no data");
  if (recorded.kind != TensorKind::kCaller && recorded.kind != TensorKind::kPlanned) {
    refuse("is a constant of the program");
  }
}

void set_tensor(const TensorInput& input, const TensorValue& recorded, ValueTable& values,
                uint32_t index) {
  ValueTable::TensorImpl* const impl = values.own_tensor(index);
  const et::Error error =
      et::resize_tensor(ValueTable::Tensor(impl), {input.sizes.data(), input.sizes.size()});
  if (error != et::Error::Ok) refuse_tensor(input, recorded);
  values[index] = ValueTable::EValue(ValueTable::Tensor(impl));
  if (recorded.kind == TensorKind::kCaller) {
    impl->set_data(const_cast<void*>(input.data));
  } else if (input.size_bytes > 0) {
    std::memcpy(impl->mutable_data(), input.data, input.size_bytes);
  }
}

TensorOutput copy_tensor(const ValueTable::Tensor& tensor, std::unique_ptr<uint8_t[]>& lent) {
  TensorOutput output;
  output.dtype = static_cast<DType>(tensor.scalar_type());
  output.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  output.dim_order.assign(tensor.dim_order().begin(), tensor.dim_order().end());
  output.size_bytes = tensor.nbytes();
  const void* source = tensor.const_data_ptr();
  if (lent != nullptr && source == lent.get()) {
    output.data = std::move(lent);
    return output;
  }
  output.data.reset(new uint8_t[output.size_bytes + 1]);
  if (output.size_bytes > 0 && source == nullptr) {
    throw Error(ErrorKind::kExecution, "has no memory; the method did not compute it");
  }
  if (output.size_bytes > 0) std::memcpy(output.data.get(), source, output.size_bytes);
  return output;
}

}  // namespace

ValueInfo value_info(const Value& value) {
  if (const auto* tensor = std::get_if<TensorValue>(&value)) {
    return TensorInfo{static_cast<DType>(tensor->scalar_type), tensor->sizes, tensor->dim_order,
                      tensor->dynamism != Dynamism::kStatic};
  }
  if (const auto* number = std::get_if<int64_t>(&value)) return *number;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (std::holds_alternative<NoneValue>(value)) return std::monostate{};
  throw Error(ErrorKind::kUnsupported, "is a list; inputs and outputs are tensors and numbers");
}

void check_input(const Input& input, const Value& recorded) {
  if (const auto* tensor = std::get_if<TensorValue>(&recorded)) {
    const auto* given = std::get_if<TensorInput>(&input);
    if (given == nullptr) {
      refuse("is no tensor, the method takes " +
             tensor_text(static_cast<DType>(tensor->scalar_type), tensor->sizes));
    }
    check_tensor(*given, *tensor);
    return;
  }
  bool same = false;
  if (const auto* number = std::get_if<int64_t>(&recorded)) {
    same = std::holds_alternative<int64_t>(input) && std::get<int64_t>(input) == *number;
  } else if (const auto* real = std::get_if<double>(&recorded)) {
    same = std::holds_alternative<double>(input) && std::get<double>(input) == *real;
  } else if (const auto* flag = std::get_if<bool>(&recorded)) {
    same = std::holds_alternative<bool>(input) && std::get<bool>(input) == *flag;
  } else if (const auto* text = std::get_if<std::string>(&recorded)) {
    same = std::holds_alternative<std::string>(input) && std::get<std::string>(input) == *text;
  } else {
    same = std::holds_alternative<std::monostate>(input);
  }
  if (!same) refuse("must be what the program was exported with");
}

void set_input(const Input& input, const Value& recorded, ValueTable& values, uint32_t index) {
  const auto* tensor = std::get_if<TensorValue>(&recorded);
  if (tensor != nullptr) set_tensor(std::get<TensorInput>(input), *tensor, values, index);
}

Output get_output(const et::EValue& value, std::unique_ptr<uint8_t[]>& lent) {
  if (value.isTensor()) return copy_tensor(value.toTensor(), lent);
  if (value.isInt()) return value.toInt();
  if (value.isDouble()) return value.toDouble();
  if (value.isBool()) return value.toBool();
  if (value.isString()) return std::string(value.toString());
  if (value.isNone()) return std::monostate{};
  throw Error(ErrorKind::kExecution, "is a list");
}

}  // namespace onearena::runtime
