// The structs whose sizes `onearena.sizes.layout` states. The test includes this file, and adds an
// assertion per struct. Three of them are private to the runtime: their members stand here.
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/merged_data_map.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/platform_memory_allocator.h>
#include <executorch/runtime/kernel/operator_registry.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace et = executorch::runtime;
namespace aten = executorch::aten;

struct Chain {  // runtime/executor/method.cpp
  const void* serialized;
  et::Span<et::InstructionArgs> arguments;
  et::OpFunction* kernels;
};
struct BackendDelegate {  // runtime/executor/method.cpp
  et::FreeableBuffer segment;
  const et::BackendInterface* backend;
  et::DelegateHandle* handle;
};
struct NamedData {  // runtime/executor/tensor_parser.h
  const char* key;
  et::FreeableBuffer buffer;
};

using Evalue = et::EValue;
using TensorImpl = et::etensor::TensorImpl;
using Tensor = et::etensor::Tensor;
using OptionalTensor = std::optional<Tensor>;
using IntegerList = et::BoxedEvalueList<int64_t>;
using TensorList = et::BoxedEvalueList<Tensor>;
using OptionalTensorList = et::BoxedEvalueList<OptionalTensor>;
using BoolArray = aten::ArrayRef<bool>;
using DoubleArray = aten::ArrayRef<double>;
using CharArray = aten::ArrayRef<char>;
using InstructionArgs = et::InstructionArgs;
using OpFunction = et::OpFunction;
using TensorMeta = et::TensorMeta;
using MergedDataMap = et::internal::MergedDataMap;
using PlatformMemoryAllocator = et::internal::PlatformMemoryAllocator;
using CompileSpec = et::CompileSpec;
using Pointer = void*;
using SizesType = aten::SizesType;
using StridesType = aten::StridesType;
using DimOrderType = aten::DimOrderType;
using Integer = int64_t;
using Boolean = bool;
static_assert(et::kTensorDimensionLimit == DIMENSION_LIMIT);
