// Memory straight from the operating system: files, and address space without memory behind it.
#ifndef ONEARENA_RUNTIME_MAPPING_H_
#define ONEARENA_RUNTIME_MAPPING_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace onearena::runtime {

uint64_t page_bytes();
// Rounded up to whole pages; sizes near 2^64 are not valid.
uint64_t whole_pages(uint64_t bytes);

// Owns a range of mapped memory.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping();

  // Address space that cannot be used before `commit`; empty when there is not so much.
  static Mapping reserve(uint64_t bytes);
  // Zeros that take memory where they are written; empty when there is not so much.
  static Mapping zeros(uint64_t bytes);
  // A file, read-only. Throws `Error` (kFormat) when it cannot be mapped or is empty, kLimit when
  // there is no address space for it.
  static Mapping file(const std::string& path);

  uint8_t* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }
  std::string_view view() const { return {reinterpret_cast<const char*>(data_), bytes_}; }
  explicit operator bool() const { return data_ != nullptr; }

  // Makes the first bytes usable; false when the system refuses.
  bool commit(uint64_t bytes);
  // Gives the pages of the first bytes back, if the system lets it; what they hold is lost.
  void discard(uint64_t bytes);
  // Makes everything zero, which must be usable, and gives its pages back where that is possible.
  void clear();
  // Of the first bytes, those that have memory behind them, in whole pages.
  uint64_t resident_bytes(uint64_t bytes) const;

 private:
  Mapping(uint8_t* data, uint64_t bytes) : data_(data), bytes_(bytes) {}
  static Mapping anonymous(uint64_t bytes, int protection);

  uint8_t* data_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace onearena::runtime

#endif  // ONEARENA_RUNTIME_MAPPING_H_
