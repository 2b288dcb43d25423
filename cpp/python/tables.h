// Decodes well-formed FlatBuffers tables into Python dataclasses: the quick way for
// `src/onearena/flatbuf/decode.py`, which says what is wrong with all others.
#ifndef ONEARENA_PYTHON_TABLES_H_
#define ONEARENA_PYTHON_TABLES_H_

#include <nanobind/nanobind.h>

namespace onearena {

// Adds `TableReader` to the module.
void add_table_reader(nanobind::module_& m);

}  // namespace onearena

#endif  // ONEARENA_PYTHON_TABLES_H_
