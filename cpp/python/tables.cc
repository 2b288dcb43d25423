#include "tables.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace onearena {
namespace {

// The rules are those of `decode.py`. What this reader takes, that one takes too, with the same
// result; what this one does not take, that one decides about.
constexpr int64_t kWorkFactor = 4;
constexpr int64_t kWorkFloorBytes = int64_t{1} << 20;
constexpr int64_t kWorkLimitBytes = int64_t{128} << 20;
constexpr int64_t kTableOverheadBytes = 12;
// Deeper than any schema here; one that refers to itself would be as deep as its buffer says.
constexpr int kMaxDepth = 32;

enum class Kind : uint8_t { kScalar, kString, kScalars, kBlob, kTable, kTables, kUnion };

struct Field {
  nb::object descriptor;  // of the class's slot
  descrsetfunc set = nullptr;
  Kind kind = Kind::kScalar;
  uint32_t slot = 0;
  char format = 0;                // of scalars
  uint32_t width = 4;             // bytes in the table
  nb::object absent;              // the value of a field that is not there
  std::vector<uint32_t> classes;  // of tables; of a union, by tag
};

struct Class {
  nb::object type;
  uint32_t slot_count = 0;
  std::vector<Field> fields;
};

struct Irregular {};  // thrown: left to the Python reader

[[noreturn]] void refuse() { throw Irregular{}; }

void expect(bool holds) {
  if (!holds) refuse();
}

nb::object checked(PyObject* made) {
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

template <class T>
T load(const uint8_t* at) {
  T value;  // files and this machine are little-endian, see `native_tables.py`
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Bytes of a `struct` letter; 0 for those that no schema has.
uint32_t width_of(char format) {
  switch (format) {
    case '?':
    case 'b':
    case 'B':
      return 1;
    case 'h':
    case 'H':
      return 2;
    case 'i':
    case 'I':
    case 'f':
      return 4;
    case 'q':
    case 'Q':
    case 'd':
      return 8;
    default:
      return 0;
  }
}

// As `struct.unpack` does.
nb::object number(char format, const uint8_t* at) {
  switch (format) {
    case '?':
      return nb::borrow(*at != 0 ? Py_True : Py_False);
    case 'b':
      return checked(PyLong_FromLong(load<int8_t>(at)));
    case 'B':
      return checked(PyLong_FromLong(load<uint8_t>(at)));
    case 'h':
      return checked(PyLong_FromLong(load<int16_t>(at)));
    case 'H':
      return checked(PyLong_FromLong(load<uint16_t>(at)));
    case 'i':
      return checked(PyLong_FromLong(load<int32_t>(at)));
    case 'I':
      return checked(PyLong_FromUnsignedLong(load<uint32_t>(at)));
    case 'q':
      return checked(PyLong_FromLongLong(load<int64_t>(at)));
    case 'Q':
      return checked(PyLong_FromUnsignedLongLong(load<uint64_t>(at)));
    case 'f':
      return checked(PyFloat_FromDouble(load<float>(at)));
    default:
      return checked(PyFloat_FromDouble(load<double>(at)));
  }
}

// A view of a Python buffer for as long as it is read.
class View {
 public:
  explicit View(const nb::object& buffer) {
    if (PyObject_GetBuffer(buffer.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~View() { PyBuffer_Release(&view_); }
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  const uint8_t* data() const { return static_cast<const uint8_t*>(view_.buf); }
  uint64_t size() const { return static_cast<uint64_t>(view_.len); }

 private:
  Py_buffer view_{};
};

// One buffer being read. All positions are inside it, or refused.
class Decoder {
 public:
  Decoder(const std::vector<Class>& classes, const View& view, const nb::object& make_blob)
      : classes_(classes),
        data_(view.data()),
        size_(view.size()),
        make_blob_(make_blob),
        budget_(
            std::min(kWorkFactor * static_cast<int64_t>(size_) + kWorkFloorBytes, kWorkLimitBytes)),
        blob_budget_(kWorkFactor * static_cast<int64_t>(size_)) {}

  nb::object root() { return table(reference(0), 0, 0); }

 private:
  struct Vtable {
    uint32_t table_bytes = 0;
    uint64_t slots = 0;  // where they are
    uint32_t count = 0;  // up to the last one in use
  };

  void spend(uint64_t bytes) {
    budget_ -= static_cast<int64_t>(bytes);
    expect(budget_ >= 0);
  }

  uint64_t reference(uint64_t at) const {
    expect(at + 4 <= size_);
    const uint32_t distance = load<uint32_t>(data_ + at);
    expect(distance != 0 && at + distance + 4 <= size_);
    return at + distance;
  }

  // The number of elements of a vector; all of them are inside the buffer.
  uint64_t length(uint64_t at, uint64_t element_bytes) const {
    const uint64_t count = load<uint32_t>(data_ + at);
    expect(at + 4 + count * element_bytes <= size_);
    return count;
  }

  const Vtable& vtable(uint64_t at, const Class& cls) {
    const int64_t start = static_cast<int64_t>(at) - load<int32_t>(data_ + at);
    expect(start >= 0 && static_cast<uint64_t>(start) + 4 <= size_);
    const auto [known, is_new] = vtables_.try_emplace(static_cast<uint64_t>(start));
    if (is_new) known->second = read_vtable(static_cast<uint64_t>(start));
    const Vtable& found = known->second;
    expect(found.table_bytes >= 4 && at + found.table_bytes <= size_);
    expect(found.count <= cls.slot_count);  // else there is a field that is not known
    return found;
  }

  Vtable read_vtable(uint64_t start) {
    const uint32_t bytes = load<uint16_t>(data_ + start);
    expect(bytes >= 4 && bytes % 2 == 0 && start + bytes <= size_);
    spend(bytes);
    Vtable found;
    found.table_bytes = load<uint16_t>(data_ + start + 2);
    found.slots = start + 4;
    found.count = (bytes - 4) / 2;
    while (found.count > 0 && slot(found, found.count - 1) == 0) --found.count;
    return found;
  }

  // Where a field is in its table; 0 when it is not there.
  uint32_t slot(const Vtable& vtable, uint32_t number) const {
    return number < vtable.count ? load<uint16_t>(data_ + vtable.slots + 2 * number) : 0;
  }

  nb::object table(uint64_t at, uint32_t number, int depth) {
    expect(depth < kMaxDepth);
    const Class& cls = classes_[number];
    const Vtable layout = vtable(at, cls);
    spend(layout.table_bytes + kTableOverheadBytes);
    auto* const type = reinterpret_cast<PyTypeObject*>(cls.type.ptr());
    const nb::object made = checked(type->tp_alloc(type, 0));
    for (const Field& field : cls.fields) {
      const nb::object value = read(at, layout, field, depth);
      if (field.set(field.descriptor.ptr(), made.ptr(), value.ptr()) != 0) {
        throw nb::python_error();
      }
    }
    return made;
  }

  nb::object read(uint64_t table_at, const Vtable& layout, const Field& field, int depth) {
    const bool is_union = field.kind == Kind::kUnion;
    const uint32_t inside = slot(layout, is_union ? field.slot + 1 : field.slot);
    if (inside == 0) {
      expect(!is_union || tag(table_at, layout, field) == 0);
      return field.absent;
    }
    const uint64_t at = table_at + inside;
    expect(inside >= 4 && at + field.width <= size_);
    if (field.kind == Kind::kScalar) return number(field.format, data_ + at);
    const uint64_t target = reference(at);
    switch (field.kind) {
      case Kind::kString:
        return text(target);
      case Kind::kScalars:
        return numbers(target, field);
      case Kind::kBlob:
        return blob(target);
      case Kind::kTables:
        return tables(target, field.classes[0], depth);
      case Kind::kUnion: {
        const uint32_t member = tag(table_at, layout, field);
        expect(member > 0 && member <= field.classes.size());
        return table(target, field.classes[member - 1], depth + 1);
      }
      default:
        return table(target, field.classes[0], depth + 1);
    }
  }

  uint32_t tag(uint64_t table_at, const Vtable& layout, const Field& field) const {
    const uint32_t inside = slot(layout, field.slot);
    if (inside == 0) return 0;
    expect(inside >= 4 && table_at + inside < size_);
    return data_[table_at + inside];
  }

  nb::object text(uint64_t at) {
    const uint64_t count = length(at, 1);
    spend(count);
    PyObject* const made = PyUnicode_DecodeUTF8(reinterpret_cast<const char*>(data_ + at + 4),
                                                static_cast<Py_ssize_t>(count), nullptr);
    if (made == nullptr && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) {
      PyErr_Clear();
      refuse();
    }
    return checked(made);
  }

  // Fills a new tuple; what is not there yet when `item` throws, the tuple does without.
  template <class Item>
  nb::object tuple(uint64_t count, const Item& item) {
    nb::object made = checked(PyTuple_New(static_cast<Py_ssize_t>(count)));
    for (uint64_t i = 0; i < count; ++i) {
      PyTuple_SET_ITEM(made.ptr(), static_cast<Py_ssize_t>(i), item(i).release().ptr());
    }
    return made;
  }

  nb::object numbers(uint64_t at, const Field& field) {
    const uint32_t width = width_of(field.format);
    const uint64_t count = length(at, width);
    spend(count * width);
    const uint8_t* const first = data_ + at + 4;
    return tuple(count, [&](uint64_t i) { return number(field.format, first + i * width); });
  }

  nb::object tables(uint64_t at, uint32_t cls, int depth) {
    const uint64_t count = length(at, 4);
    spend(4 * count);
    return tuple(count,
                 [&](uint64_t i) { return table(reference(at + 4 + 4 * i), cls, depth + 1); });
  }

  nb::object blob(uint64_t at) {
    const uint64_t count = length(at, 1);
    blob_budget_ -= static_cast<int64_t>(count);
    expect(blob_budget_ >= 0);
    return make_blob_(at + 4, count);
  }

  const std::vector<Class>& classes_;
  const uint8_t* data_;
  uint64_t size_;
  const nb::object& make_blob_;
  int64_t budget_, blob_budget_;
  std::unordered_map<uint64_t, Vtable> vtables_;  // by position
};

// A field and a class as Python gives them: see `native_tables.py`.
using FieldRow =
    std::tuple<nb::object, uint32_t, uint32_t, std::string, nb::object, std::vector<uint32_t>>;
using ClassRow = std::tuple<nb::object, uint32_t, std::vector<FieldRow>>;

Field field_of(const FieldRow& row, size_t class_count) {
  const auto& [descriptor, kind, slot, format, absent, classes] = row;
  Field field;
  field.descriptor = descriptor;
  field.set = Py_TYPE(descriptor.ptr())->tp_descr_set;
  field.kind = static_cast<Kind>(kind);
  field.slot = slot;
  field.format = format.empty() ? '\0' : format[0];
  field.absent = absent;
  field.classes = classes;
  const bool has_numbers = field.kind == Kind::kScalar || field.kind == Kind::kScalars;
  const bool has_class = field.kind == Kind::kTable || field.kind == Kind::kTables;
  const bool exists = std::all_of(classes.begin(), classes.end(),
                                  [&](uint32_t number) { return number < class_count; });
  if (field.set == nullptr || kind > static_cast<uint32_t>(Kind::kUnion) || !exists ||
      (has_numbers && width_of(field.format) == 0) || (has_class && classes.size() != 1)) {
    throw nb::value_error("no field of a table");
  }
  if (field.kind == Kind::kScalar) field.width = width_of(field.format);
  return field;
}

class TableReader {
 public:
  // The first class is the root's.
  explicit TableReader(const std::vector<ClassRow>& rows) {
    if (rows.empty()) throw nb::value_error("no classes");
    for (const auto& [type, slot_count, fields] : rows) {
      if (!PyType_Check(type.ptr())) throw nb::type_error("no class");
      Class cls{type, slot_count, {}};
      for (const FieldRow& field : fields) cls.fields.push_back(field_of(field, rows.size()));
      classes_.push_back(std::move(cls));
    }
  }

  // The root table; None when the Python reader is to have a look.
  nb::object decode(const nb::object& buffer, const nb::object& make_blob) const {
    if (classes_.empty()) return nb::none();  // Python is going down
    const View view(buffer);
    try {
      return Decoder(classes_, view, make_blob).root();
    } catch (const Irregular&) {
      return nb::none();
    }
  }

  // For Python's garbage collector: classes lead to modules, and these may lead here.
  int traverse(visitproc visit, void* arg) const {
    for (const Class& cls : classes_) {
      Py_VISIT(cls.type.ptr());
      for (const Field& field : cls.fields) {
        Py_VISIT(field.descriptor.ptr());
        Py_VISIT(field.absent.ptr());
      }
    }
    return 0;
  }
  void clear() {
    const std::vector<Class> gone = std::move(classes_);  // what follows may come back here
    classes_.clear();
  }

 private:
  std::vector<Class> classes_;
};

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<TableReader>(self)->traverse(visit, arg) : 0;
}

int clear(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<TableReader>(self)->clear();
  return 0;
}

PyType_Slot kSlots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                        {Py_tp_clear, reinterpret_cast<void*>(clear)},
                        {0, nullptr}};

}  // namespace

void add_table_reader(nb::module_& m) {
  nb::class_<TableReader>(m, "TableReader", nb::type_slots(kSlots))
      .def(nb::init<const std::vector<ClassRow>&>(), nb::arg("classes"))
      .def("decode", &TableReader::decode, nb::arg("buffer"), nb::arg("make_blob"));
}

}  // namespace onearena
