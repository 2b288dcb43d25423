// The native runtime for Python: a thin shell, everything is decided in `src/onearena/engine`.
//
// Tensors come as (element type, sizes, address, bytes) and go as (element type, sizes, dimension
// order, array of bytes): NumPy's and PyTorch's types are the business of the Python side.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <iterator>

#include "onearena/runtime.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace onearena::runtime;

namespace {

constexpr const char* kPlanningNames[] = {"auto", "static", "shapes", "simple"};

// Names of the classes in `onearena.engine.errors`.
const char* class_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kFormat:
      return "FormatError";
    case ErrorKind::kUnsupported:
      return "UnsupportedError";
    case ErrorKind::kUsage:
      return "UsageError";
    case ErrorKind::kExecution:
      return "ExecutionError";
    case ErrorKind::kLimit:
      return "ArenaLimitError";
    case ErrorKind::kBusy:
      return "ArenaBusyError";
  }
  return "ExecutionError";
}

void translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Error& error) {
    const nb::object type =
        nb::module_::import_("onearena.engine.errors").attr(class_of(error.kind()));
    PyErr_SetString(type.ptr(), error.what());
  }
}

Input to_input(nb::handle value) {
  if (value.is_none()) return std::monostate{};
  if (nb::isinstance<nb::bool_>(value)) return nb::cast<bool>(value);
  if (nb::isinstance<nb::int_>(value)) return nb::cast<int64_t>(value);
  if (nb::isinstance<nb::float_>(value)) return nb::cast<double>(value);
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  const auto parts = nb::cast<nb::tuple>(value);
  TensorInput tensor;
  tensor.dtype = static_cast<DType>(nb::cast<int8_t>(parts[0]));
  for (const nb::handle size : nb::cast<nb::tuple>(parts[1])) {
    tensor.sizes.push_back(nb::cast<int32_t>(size));
  }
  tensor.data = reinterpret_cast<const void*>(nb::cast<uintptr_t>(parts[2]));
  tensor.size_bytes = nb::cast<uint64_t>(parts[3]);
  return tensor;
}

nb::object from_tensor(TensorOutput& tensor) {
  uint8_t* const data = tensor.data.release();
  const nb::capsule owner(data,
                          [](void* bytes) noexcept { delete[] static_cast<uint8_t*>(bytes); });
  const size_t count = tensor.size_bytes;
  nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>> array(data, {count}, owner);
  return nb::make_tuple(
      static_cast<int>(tensor.dtype), nb::tuple(nb::cast(tensor.sizes)),
      nb::tuple(nb::cast(std::vector<int>(tensor.dim_order.begin(), tensor.dim_order.end()))),
      nb::cast(std::move(array)));
}

nb::object from_output(Output& output) {
  if (auto* tensor = std::get_if<TensorOutput>(&output)) return from_tensor(*tensor);
  if (const auto* number = std::get_if<int64_t>(&output)) return nb::cast(*number);
  if (const auto* real = std::get_if<double>(&output)) return nb::cast(*real);
  if (const auto* flag = std::get_if<bool>(&output)) return nb::cast(*flag);
  if (const auto* text = std::get_if<std::string>(&output)) return nb::cast(*text);
  return nb::none();
}

// `sizes` is None, or returns triples of a value, its bytes and its sizes; called without the
// interpreter lock.
std::function<std::vector<ValueBytes>()> to_sizes(const nb::object& sizes) {
  if (sizes.is_none()) return {};
  return [&sizes] {
    const nb::gil_scoped_acquire acquire;
    std::vector<ValueBytes> found;
    using Known = std::tuple<uint32_t, uint64_t, std::vector<int32_t>>;
    for (auto& [value, bytes, dims] : nb::cast<std::vector<Known>>(sizes())) {
      found.push_back({value, bytes, std::move(dims)});
    }
    return found;
  };
}

nb::list run(Method& method, const nb::list& given, bool wait, const nb::object& sizes) {
  std::vector<Input> inputs;
  for (const nb::handle value : given) inputs.push_back(to_input(value));
  std::vector<Output> outputs;
  {
    const nb::gil_scoped_release release;
    outputs = method.run(inputs, RunOptions{wait, to_sizes(sizes)});
  }
  nb::list result;
  for (Output& output : outputs) result.append(from_output(output));
  return result;
}

nb::object from_info(const ValueInfo& info) {
  if (const auto* tensor = std::get_if<TensorInfo>(&info)) {
    return nb::make_tuple(
        static_cast<int>(tensor->dtype), nb::tuple(nb::cast(tensor->sizes)),
        nb::tuple(nb::cast(std::vector<int>(tensor->dim_order.begin(), tensor->dim_order.end()))),
        tensor->is_dynamic);
  }
  if (const auto* number = std::get_if<int64_t>(&info)) return nb::cast(*number);
  if (const auto* real = std::get_if<double>(&info)) return nb::cast(*real);
  if (const auto* flag = std::get_if<bool>(&info)) return nb::cast(*flag);
  if (const auto* text = std::get_if<std::string>(&info)) return nb::cast(*text);
  return nb::none();
}

nb::list from_infos(const std::vector<ValueInfo>& infos) {
  nb::list result;
  for (const ValueInfo& info : infos) result.append(from_info(info));
  return result;
}

nb::dict memory(const Method& method) {
  const MemoryReport report = method.memory();
  nb::dict result;
  result["program_bytes"] = report.program_bytes;
  result["planned_bytes"] = report.planned_bytes;
  result["arena_bytes"] = report.arena_bytes;
  result["arena_resident_bytes"] = report.arena_resident_bytes;
  result["state_bytes"] = report.state_bytes;
  result["private_bytes"] = report.private_bytes;
  result["method_allocator_bytes"] = report.method_allocator_bytes;
  result["loaded_bytes"] = report.loaded_bytes;
  result["executor_bytes"] = report.executor_bytes;
  result["input_bytes"] = report.input_bytes;
  result["temp_bytes"] = report.temp_bytes;
  result["temp_elsewhere_bytes"] = report.temp_elsewhere_bytes;
  result["delegate_bytes"] = report.delegate_bytes;
  result["persistent_bytes"] = report.persistent_bytes;
  result["workspace_bytes"] = report.workspace_bytes;
  result["runs"] = report.runs;
  result["planning"] = kPlanningNames[static_cast<size_t>(report.planning)];
  result["cached_plans"] = report.cached_plans;
  result["plans"] = report.plans;
  result["lazy_runs"] = report.lazy_runs;
  result["plan_us"] = report.plan_us;
  result["bind_us"] = report.bind_us;
  return result;
}

std::string_view view(const nb::bytes& data) { return {data.c_str(), data.size()}; }

Planning to_planning(uint8_t number) {
  if (number >= std::size(kPlanningNames)) {
    throw Error(ErrorKind::kUsage, "planning " + std::to_string(number) + " does not exist");
  }
  return static_cast<Planning>(number);
}

// Python's class for what `initialise_early` gives.
struct Early {
  std::shared_ptr<EarlyDelegates> delegates;
};

Early initialise(const std::string& path, const nb::bytes& outline,
                 const std::vector<std::string>& data_files, uint8_t planning) {
  const std::string_view bytes = view(outline);
  ProgramOptions options;
  options.data_files = data_files;
  options.planning = to_planning(planning);
  const nb::gil_scoped_release release;
  return {initialise_early(path, bytes, options)};
}

std::unique_ptr<Program> load(const std::string& path, const nb::bytes& description, Arena& arena,
                              const std::vector<std::string>& data_files, uint8_t planning,
                              uint32_t cached_plans, bool unbounded, const Early* early) {
  const std::string_view bytes = view(description);
  ProgramOptions options{data_files, to_planning(planning), cached_plans, unbounded, {}, {}};
  if (early != nullptr) options.early = early->delegates;
  const nb::gil_scoped_release release;
  return Program::load(path, bytes, arena, options);
}

}  // namespace

NB_MODULE(_runtime, m) {
  m.doc() = "Runs ExecuTorch programs with memory that onearena owns.";
  nb::register_exception_translator(translate);

  nb::class_<Arena>(m, "Arena")
      .def(
          "__init__",
          [](Arena* self, uint64_t reserve_bytes, uint64_t limit_bytes) {
            new (self) Arena(ArenaOptions{reserve_bytes, limit_bytes});
          },
          "reserve_bytes"_a, "limit_bytes"_a)
      .def_prop_ro("size_bytes", &Arena::size_bytes)
      .def_prop_ro("limit_bytes", &Arena::limit_bytes)
      .def_prop_ro("resident_bytes", &Arena::resident_bytes)
      .def("trim", &Arena::trim, nb::call_guard<nb::gil_scoped_release>());

  nb::class_<Method>(m, "Method")
      .def_prop_ro("name", &Method::name)
      .def("inputs", [](const Method& method) { return from_infos(method.inputs()); })
      .def("outputs", [](const Method& method) { return from_infos(method.outputs()); })
      .def("run", &run, "inputs"_a, "wait"_a = true, "sizes"_a = nb::none())
      .def("memory", &memory)
      .def("temp_bytes_by_instruction", &Method::temp_bytes_by_instruction);

  nb::class_<Program>(m, "Program")
      .def_prop_ro("method_names", &Program::method_names)
      .def("method", &Program::method, "name"_a, nb::rv_policy::reference_internal,
           nb::call_guard<nb::gil_scoped_release>())
      .def("reset_state", &Program::reset_state, nb::call_guard<nb::gil_scoped_release>());

  m.def("plans_xnnpack_workspaces", &plans_xnnpack_workspaces,
        nb::call_guard<nb::gil_scoped_release>());
  nb::class_<Early>(m, "Early");
  m.def("initialise_early", &initialise, "path"_a, "outline"_a, "data_files"_a, "planning"_a = 0);
  m.def("load", &load, "path"_a, "description"_a, "arena"_a, "data_files"_a, "planning"_a = 0,
        "cached_plans"_a = 16, "unbounded"_a = false, "early"_a.none() = nb::none());
  m.def(
      "check_description",
      [](const nb::bytes& description, uint64_t file_bytes) {
        check_description(view(description), file_bytes);
      },
      "description"_a, "file_bytes"_a);
}
