// The shapes of a run's inputs, against those that the program was exported with.
#ifndef ONEARENA_RUNTIME_INPUT_SHAPES_H_
#define ONEARENA_RUNTIME_INPUT_SHAPES_H_

#include <string>
#include <vector>

#include "description.h"
#include "onearena/runtime.h"
#include "placements.h"

namespace onearena::runtime {

// A method's inputs as recorded, without bounds if there shall be none.
std::vector<Value> recorded_inputs(const MethodDescription& method, bool is_unbounded);

ShapeKey shape_key(const std::vector<Input>& inputs);

// By how much the inputs exceed their bounds can make tensors exceed theirs; at least 1.
double scale_of(const std::vector<Input>& inputs, const std::vector<Value>& recorded_values);

// Names the dimensions in which inputs exceed their bounds; empty if there is none.
std::string beyond_text(const std::vector<Input>& inputs,
                        const std::vector<Value>& recorded_values);

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_INPUT_SHAPES_H_
