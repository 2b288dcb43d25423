#ifndef ONEARENA_PYTHON_SCHEDULE_H_
#define ONEARENA_PYTHON_SCHEDULE_H_

#include <nanobind/nanobind.h>

void bind_schedule(nanobind::module_& m);

#endif  // ONEARENA_PYTHON_SCHEDULE_H_
