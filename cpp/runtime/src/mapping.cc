#include "mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "onearena/runtime.h"

namespace onearena::runtime {
namespace {

// Pages asked about at a time: one byte of answer each.
constexpr uint64_t kPagesPerCall = 1 << 14;

#if defined(__APPLE__)
using PageState = char;
#else
using PageState = unsigned char;
#endif

class Descriptor {
 public:
  explicit Descriptor(const std::string& path)
      : number_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

uint64_t page_bytes() {
  static const uint64_t bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

uint64_t whole_pages(uint64_t bytes) {
  return (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
}

Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

Mapping Mapping::anonymous(uint64_t bytes, int protection) {
  bytes = whole_pages(std::max<uint64_t>(bytes, 1));
  void* data = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return {};
#ifdef MADV_NOHUGEPAGE
  // a huge page would take two megabytes for one byte: residence shall follow what is used
  madvise(data, bytes, MADV_NOHUGEPAGE);
#endif
  return {static_cast<uint8_t*>(data), bytes};
}

Mapping Mapping::reserve(uint64_t bytes) { return anonymous(bytes, PROT_NONE); }

Mapping Mapping::zeros(uint64_t bytes) { return anonymous(bytes, PROT_READ | PROT_WRITE); }

Mapping Mapping::file(const std::string& path) {
  const auto refuse = [&](const std::string& why, ErrorKind kind = ErrorKind::kFormat) {
    throw Error(kind, path + ": " + why);
  };
  const Descriptor descriptor(path);
  if (descriptor.number() < 0) refuse(std::string("cannot be opened: ") + std::strerror(errno));
  struct stat status;
  if (fstat(descriptor.number(), &status) != 0 || !S_ISREG(status.st_mode)) refuse("is not a file");
  if (status.st_size == 0) refuse("the file is empty");
  const uint64_t bytes = static_cast<uint64_t>(status.st_size);
  void* data = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor.number(), 0);
  if (data == MAP_FAILED) {
    const ErrorKind kind = errno == ENOMEM ? ErrorKind::kLimit : ErrorKind::kFormat;
    refuse(std::string("cannot be mapped: ") + std::strerror(errno), kind);
  }
  return {static_cast<uint8_t*>(data), bytes};
}

bool Mapping::commit(uint64_t bytes) {
  return bytes <= bytes_ && mprotect(data_, whole_pages(bytes), PROT_READ | PROT_WRITE) == 0;
}

void Mapping::discard(uint64_t bytes) {
  bytes = std::min(whole_pages(bytes), bytes_);
  if (bytes > 0) madvise(data_, bytes, MADV_DONTNEED);
}

void Mapping::clear() {
  if (bytes_ == 0) return;
#ifdef __linux__
  if (madvise(data_, bytes_, MADV_DONTNEED) == 0) return;  // refused for locked memory
#endif
  std::memset(data_, 0, bytes_);
}

uint64_t Mapping::resident_bytes(uint64_t bytes) const {
  bytes = std::min(whole_pages(bytes), bytes_);
  std::array<PageState, kPagesPerCall> pages;  // on the stack: a report must not need memory
  uint64_t resident = 0;
  for (uint64_t at = 0; at < bytes; at += kPagesPerCall * page_bytes()) {
    const uint64_t length = std::min(kPagesPerCall * page_bytes(), bytes - at);
    if (mincore(data_ + at, length, pages.data()) != 0) break;
    const auto end = pages.begin() + static_cast<std::ptrdiff_t>(length / page_bytes());
    resident += static_cast<uint64_t>(
        std::count_if(pages.begin(), end, [](PageState page) { return page & 1; }));
  }
  return resident * page_bytes();
}

}  // namespace onearena::runtime
