// Python's view of the planner and the verifier: onearena._core.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "onearena/planner.h"
#include "onearena/verify.h"
#include "schedule.h"
#include "tables.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

// More would only fill the memory: a plan with all offsets 0 has a fault for every pair.
constexpr size_t kMaxFaults = 1000;

using Quad = std::tuple<int64_t, int64_t, int64_t, int64_t>;

void add_buffer(onearena::Problem& problem, int64_t size, int64_t alignment, int64_t begin,
                int64_t end, const std::vector<Quad>& gaps, int64_t offset, int64_t hint,
                int64_t low, int64_t high, bool is_last, std::vector<int32_t> memories) {
  onearena::Buffer buffer;
  buffer.size = size;
  buffer.alignment = alignment;
  buffer.life = {begin, end};
  for (const auto& [from, to, start, stop] : gaps)
    buffer.gaps.push_back({{from, to}, {start, stop}});
  buffer.offset = offset;
  buffer.hint = hint;
  buffer.region = {low, high};
  buffer.is_last = is_last;
  buffer.memories = std::move(memories);
  problem.buffers.push_back(std::move(buffer));
}

void add_group(onearena::Problem& problem,
               const std::vector<std::tuple<int32_t, int64_t>>& members) {
  onearena::Group group;
  for (const auto& [buffer, delta] : members) group.push_back({buffer, delta});
  problem.groups.push_back(std::move(group));
}

// Plans on a thread of its own, so that this one can look for Ctrl-C.
onearena::Plan plan(const onearena::Problem& problem, double time_limit_s, int32_t threads,
                    uint64_t seed, bool fit_only, int64_t node_limit, uint32_t switched_off) {
  std::atomic<bool> stop{false};
  onearena::Options options;
  options.time_limit_s = time_limit_s;
  options.threads = threads;
  options.seed = seed;
  options.fit_only = fit_only;
  options.node_limit = node_limit;
  options.stop = &stop;
  options.switched_off = switched_off;

  onearena::Plan result;
  std::exception_ptr error;
  std::mutex mutex;
  std::condition_variable finished;
  bool done = false;
  bool interrupted = false;
  {
    nb::gil_scoped_release release;
    std::thread worker([&] {
      try {
        result = onearena::plan(problem, options);
      } catch (...) {
        error = std::current_exception();
      }
      std::lock_guard<std::mutex> lock(mutex);
      done = true;
      finished.notify_one();
    });
    std::unique_lock<std::mutex> lock(mutex);
    while (!finished.wait_for(lock, std::chrono::milliseconds(50), [&] { return done; })) {
      lock.unlock();
      {
        nb::gil_scoped_acquire acquire;
        interrupted = interrupted || PyErr_CheckSignals() != 0;
      }
      if (interrupted) stop = true;
      lock.lock();
    }
    lock.unlock();
    worker.join();
  }
  if (interrupted) throw nb::python_error();
  if (error) std::rethrow_exception(error);
  return result;
}

std::vector<std::tuple<std::string, int32_t, int32_t>> verify(const onearena::Problem& problem,
                                                              const std::vector<int64_t>& offsets,
                                                              const std::vector<int32_t>& memories,
                                                              const std::vector<int64_t>& heights) {
  static const char* const kNames[] = {"bounds",   "alignment", "pinned",  "region", "memory",
                                       "capacity", "alias",     "overlap", "last"};
  const size_t count = problem.buffers.size();
  if (offsets.size() != count || memories.size() != count ||
      heights.size() != problem.memories.size()) {
    throw nb::value_error("a plan of another size than the problem");
  }
  std::vector<onearena::Fault> faults;
  {
    nb::gil_scoped_release release;
    faults =
        onearena::verify(problem, {offsets.data(), memories.data(), heights.data()}, kMaxFaults);
  }
  std::vector<std::tuple<std::string, int32_t, int32_t>> result;
  for (const auto& fault : faults) {
    result.emplace_back(kNames[static_cast<int>(fault.kind)], fault.first, fault.second);
  }
  return result;
}

std::string status_name(const onearena::Plan& plan) {
  static const char* const kNames[] = {"optimal", "feasible", "infeasible", "timeout"};
  return kNames[static_cast<int>(plan.status)];
}

std::vector<int64_t> replan(onearena::Replanner& replanner, const std::vector<int64_t>& sizes) {
  std::vector<int64_t> offsets(sizes.size() + 1);
  offsets.back() = replanner.replan(sizes.data(), offsets.data());
  return offsets;
}

}  // namespace

NB_MODULE(_core, m) {
  nb::exception<onearena::MalformedProblem>(m, "MalformedProblemError", PyExc_ValueError);
  nb::class_<onearena::Problem>(m, "Problem")
      .def("__init__",
           [](onearena::Problem* self) {
             new (self) onearena::Problem();
             self->memories.clear();
           })
      .def("add_buffer", &add_buffer)
      .def("add_group", &add_group)
      .def("add_pair",
           [](onearena::Problem& self, int32_t a, int32_t b) { self.pairs.push_back({a, b}); })
      .def("add_memory", [](onearena::Problem& self, int64_t capacity, int64_t weight) {
        self.memories.push_back({capacity, weight});
      });
  nb::class_<onearena::Plan>(m, "Plan")
      .def_prop_ro("status", &status_name)
      .def_ro("offsets", &onearena::Plan::offsets)
      .def_ro("memories", &onearena::Plan::memories)
      .def_ro("heights", &onearena::Plan::heights)
      .def_ro("lower_bounds", &onearena::Plan::lower_bounds)
      .def_ro("cost", &onearena::Plan::cost)
      .def_ro("cost_bound", &onearena::Plan::cost_bound)
      .def_ro("method", &onearena::Plan::method)
      .def_ro("nodes", &onearena::Plan::nodes)
      .def_ro("conflict", &onearena::Plan::conflict);
  m.def("plan", &plan, "problem"_a, "time_limit_s"_a = 1.0, "threads"_a = 1, "seed"_a = 0,
        "fit_only"_a = false, "node_limit"_a = INT64_MAX, "switched_off"_a = 0);
  m.def("lower_bound", &onearena::lower_bound, "problem"_a, "memory"_a = 0,
        nb::call_guard<nb::gil_scoped_release>());
  m.def("verify", &verify, "problem"_a, "offsets"_a, "memories"_a, "heights"_a);
  nb::class_<onearena::Replanner>(m, "Replanner")
      .def("__init__",
           [](onearena::Replanner* self, const onearena::Problem& problem) {
             new (self) onearena::Replanner(problem, onearena::Options{}, nullptr);
           })
      .def("replan", &replan);
  onearena::add_table_reader(m);
  bind_schedule(m);
}
