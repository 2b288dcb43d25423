#include "embedded.h"

#include <array>
#include <cstdint>

#include "onearena/runtime.h"
#include "reader.h"

namespace onearena::runtime {
namespace {

constexpr std::string_view kMagic = "ONEAEND2";
constexpr size_t kTrailerBytes = 4 + 8 + 8 + kMagic.size();

// CRC-32 as in zip and zlib: reflected, polynomial 0x04C11DB7.
// Goes on from the sum of what came before.
uint32_t crc32(std::string_view data, uint32_t before) {
  static const auto table = [] {
    std::array<uint32_t, 256> made{};
    for (uint32_t i = 0; i < made.size(); ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ (value & 1 ? 0xEDB88320u : 0);
      made[i] = value;
    }
    return made;
  }();
  uint32_t sum = ~before;
  for (const char c : data) sum = (sum >> 8) ^ table[(sum ^ static_cast<uint8_t>(c)) & 0xff];
  return ~sum;
}

}  // namespace

std::string_view embedded_description(std::string_view file) {
  const auto refuse = [](const char* what) -> std::string_view {
    throw Error(ErrorKind::kUsage, std::string("the file holds ") + what);
  };
  if (file.size() < kTrailerBytes) return refuse("no description");
  const size_t end = file.size() - kTrailerBytes;
  Reader trailer(file.substr(end));
  const uint32_t checksum = trailer.u32();
  const uint64_t program_bytes = trailer.u64(), size = trailer.u64();
  if (trailer.bytes(kMagic.size()) != kMagic) return refuse("no description");
  if (size > end || program_bytes > end - size) return refuse("a corrupt description");
  const std::string_view description = file.substr(end - size, size);
  if (crc32(description, crc32(file.substr(0, program_bytes), 0)) != checksum) {
    return refuse("a corrupt description, or one of another program");
  }
  return description;
}

}  // namespace onearena::runtime
