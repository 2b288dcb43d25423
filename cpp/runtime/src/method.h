// A loaded method.
#ifndef ONEARENA_RUNTIME_METHOD_H_
#define ONEARENA_RUNTIME_METHOD_H_

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "arena.h"
#include "boundary.h"
#include "delegates.h"
#include "description.h"
#include "early_delegates.h"
#include "executor.h"
#include "layout.h"
#include "mapping.h"
#include "observer.h"
#include "placements.h"
#include "values.h"

namespace onearena::runtime {

// What the methods of a program have in common; outlives them.
struct ProgramContext {
  std::string path;
  std::shared_ptr<const Mapping> file;
  ProgramDescription description;
  std::unique_ptr<NamedData> data;
  std::unique_ptr<StateMemory> state;
  std::shared_ptr<Arena::Impl> arena;
  ProgramOptions options;
};

class LoadedMethod final : public Method {
 public:
  // Throws `Error`.
  LoadedMethod(const ProgramContext& program, const MethodDescription& method);

  const std::string& name() const override { return method_.name; }
  std::vector<ValueInfo> inputs() const override {
    return at_boundary(program_.path, [&] { return infos(method_.inputs, "input"); });
  }
  std::vector<ValueInfo> outputs() const override {
    return at_boundary(program_.path, [&] { return infos(method_.outputs, "output"); });
  }
  std::vector<Output> run(const std::vector<Input>& inputs, const RunOptions& options) override;
  MemoryReport memory() const override;
  std::vector<uint64_t> temp_bytes_by_instruction() const override;

 private:
  // Throws `Error` when the placement needs more than the arena may have.
  void check_limit(const Placement& placement) const;
  // Names the largest tensors at the peak of a placement.
  std::string largest_text(const Placement& placement) const;
  // Where the planned tensors lie in a run with these inputs, and whether that is known: in a run
  // whose sizes are not, every block lies apart from the others.
  struct Choice {
    const Placement* placement = nullptr;
    bool is_lazy = false;
  };
  Choice choose(const std::vector<Input>& inputs, const RunOptions& options);
  // What may have to do with a failure in a run without a plan.
  std::string circumstances(const std::vector<Input>& inputs) const;
  // What each unit needs; empty unless all are given.
  std::vector<uint64_t> unit_bytes(const std::vector<Input>& inputs,
                                   const std::vector<ValueBytes>& given) const;
  // What delegates say that they will need at these sizes.
  std::vector<Scratch> ask(const std::vector<ValueBytes>& sizes);
  std::vector<Output> run_at(const Choice& choice, Arena::Impl::Lease& lease,
                             const std::vector<Input>& inputs);
  void run_planned(const Placement& placement);
  // Runs the instructions without a plan, and makes one for the next run at these shapes.
  void run_lazily();
  // Plans what the run with this placement needed and the placement does not have.
  void plan_scratch(const Placement& used);
  // Binds the planned tensors for a run: to the arena, or to memory of the method's own.
  uint8_t* place(const Placement& placement, Arena::Impl::Lease& lease);
  // Lets tensors without planned memory grow as far as this run may have them.
  void widen();
  // Throws `Error` (kUsage) for inputs that the method does not take.
  void check_inputs(const std::vector<Input>& inputs) const;
  void set_inputs(const std::vector<Input>& inputs);
  using Lent = std::vector<std::unique_ptr<uint8_t[]>>;
  // Memory for the outputs that have none in the plan; null for the others.
  Lent lend_outputs();
  std::vector<Output> take_outputs(Lent& lent) const;
  void forget_callers();
  std::vector<ValueInfo> infos(const std::vector<uint32_t>& values, const char* what) const;
  bool is_callers(uint32_t value) const;
  std::string label() const;

  const ProgramContext& program_;
  const MethodDescription& method_;
  const std::vector<PlannedUnit> units_;
  const bool is_private_;
  const bool is_dynamic_;
  const bool is_unbounded_;
  const bool has_state_;
  const Planning planning_;
  Placements placements_;
  Mapping private_;
  ValueTable values_;
  const std::unique_ptr<Delegates> delegates_;
  Executor executor_;
  Observer observer_;
  bool has_sizes_of_data_;
  bool is_outgrown_ = false;         // a tensor was larger than what its size was said to be
  std::vector<Value> input_values_;  // as recorded, without bounds where there are none
  ShapeKey key_;                     // of the run
  double scale_ = 1, widened_ = 1;   // of the run; of the tensors without planned memory
  double bind_us_ = 0;
  uint8_t* bound_base_ = nullptr;
  uint64_t bound_version_ = 0;
  mutable std::mutex report_mutex_;  // guards `report_` and `temp_bytes_`
  MemoryReport report_;
  std::vector<uint64_t> temp_bytes_;
};

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_METHOD_H_
