// Reads little-endian data that may be corrupt: never beyond its end, never more than it holds.
#ifndef ONEARENA_RUNTIME_READER_H_
#define ONEARENA_RUNTIME_READER_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "onearena/runtime.h"

namespace onearena::runtime {

class Reader {
 public:
  explicit Reader(std::string_view data) : data_(data) {}

  uint8_t u8() { return number<uint8_t>(); }
  uint32_t u32() { return number<uint32_t>(); }
  uint64_t u64() { return number<uint64_t>(); }
  int64_t i64() { return static_cast<int64_t>(u64()); }
  double f64() {
    const uint64_t bits = u64();
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

  std::string_view bytes(uint64_t count) {
    if (count > data_.size() - at_) fail("is truncated");
    const std::string_view found = data_.substr(at_, count);
    at_ += count;
    return found;
  }
  std::string text() {
    const uint32_t count = u32();
    return std::string(bytes(count));
  }
  // The number of items that follow, each of at least `item_bytes` bytes: a corrupt count cannot
  // ask for more memory than the data has.
  uint32_t count(uint32_t item_bytes) {
    const uint32_t found = u32();
    if (found > (data_.size() - at_) / item_bytes) fail("holds a count that is too large");
    return found;
  }
  std::vector<uint32_t> u32s() {
    std::vector<uint32_t> items(count(4));
    for (uint32_t& item : items) item = u32();
    return items;
  }

  bool done() const { return at_ == data_.size(); }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::kFormat, "description " + what + " (byte " + std::to_string(at_) + ")");
  }
  void expect(bool condition, const char* what) const {
    if (!condition) fail(what);
  }

 private:
  template <class T>
  T number() {
    static_assert(std::is_unsigned_v<T>);
    const std::string_view raw = bytes(sizeof(T));
    T value = 0;
    for (size_t i = 0; i < sizeof(T); ++i) {
      value = static_cast<T>(value | static_cast<T>(static_cast<uint8_t>(raw[i])) << (8 * i));
    }
    return value;
  }

  std::string_view data_;
  size_t at_ = 0;
};

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_READER_H_
