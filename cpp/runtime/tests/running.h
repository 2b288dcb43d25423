// Runs programs for tests, with the same inputs every time.
#ifndef ONEARENA_RUNTIME_TESTS_RUNNING_H_
#define ONEARENA_RUNTIME_TESTS_RUNNING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "onearena/runtime.h"

namespace onearena::runtime::testing {

// Ends the process, saying what, unless the condition holds.
void check(bool condition, const std::string& what);

// A program that describes itself, and the shapes of its tensor inputs in other runs than the
// first, which has those of the file; in order, the same for all methods.
struct Case {
  std::string path;
  std::vector<std::vector<int32_t>> shapes;
};

// From "model.pte" or "model.pte=1x3x8x8,4".
Case parse_case(const std::string& argument);

// Numbers that any kernel takes: small floats, 0, 1, 2 ... in integers.
class Inputs {
 public:
  Inputs(const std::vector<ValueInfo>& infos, const std::vector<std::vector<int32_t>>& shapes);
  const std::vector<Input>& all() const { return inputs_; }

 private:
  std::vector<std::vector<uint8_t>> data_;
  std::vector<Input> inputs_;
};

// Types, shapes and bytes: equal for equal outputs.
std::string bytes_of(const std::vector<Output>& outputs);

// Calls the library as it is.
struct Directly {
  template <class Action>
  auto operator()(Action&& action) const {
    return action();
  }
};

// Every method of the program at the first shapes, at the other ones, and at the first again, with
// a plan and, where shapes are dynamic, before that without one; what they computed. Each call of
// the library goes through `call`. The state is set back first.
template <class Call = Directly>
std::string play(Program& program, const Case& given, const Call& call = {}) {
  call([&] { program.reset_state(); });
  std::string computed;
  for (const std::string& name : call([&] { return program.method_names(); })) {
    Method& method = *call([&] { return &program.method(name); });
    const auto infos = call([&] { return method.inputs(); });
    const Inputs first(infos, {}), other(infos, given.shapes);
    for (const Inputs* inputs : {&first, &first, &other, &other, &first}) {
      computed += bytes_of(call([&] { return method.run(inputs->all()); }));
    }
    call([&] { return method.outputs(); });
    call([&] { return method.memory(); });
    call([&] { return method.temp_bytes_by_instruction(); });
  }
  return computed;
}

}  // namespace onearena::runtime::testing

#endif  // ONEARENA_RUNTIME_TESTS_RUNNING_H_
