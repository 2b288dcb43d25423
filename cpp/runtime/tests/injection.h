// Allocations that fail on request, and what is alive: for tests that link `injection.cc` into
// their executable. `operator new` is replaced for the whole process; malloc, mmap and mprotect
// only where the executable's own objects call them (the linker's --wrap).
//
// What fails is what onearena's code asks for. ExecuTorch, XNNPACK and the C++ library's own
// needs on their behalf never fail: whether they survive that is not onearena's business.
#ifndef ONEARENA_RUNTIME_TESTS_INJECTION_H_
#define ONEARENA_RUNTIME_TESTS_INJECTION_H_

#include <cstdint>
#include <string>

namespace onearena::runtime::testing {

enum class Failing : uint8_t {
  kOnce,        // the n-th allocation alone
  kFromThenOn,  // it and all that follow, until `disarm`
};

enum class Source : uint8_t { kNone, kNew, kMalloc, kMap };

// The n-th allocation inside `Inside` from now on fails; the first is 1.
void arm(uint64_t nth, Failing mode);
// Nothing fails any more. Returns what failed first; `kNone` if there were fewer allocations.
Source disarm();
// How many allocations were asked for since `arm`.
uint64_t asked();

// While one lives, calls are those of the library: their allocations count and may fail.
class Inside {
 public:
  Inside();
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

// What was taken and not given back: objects of `new` in the whole process; blocks and mappings
// of the executable.
struct Live {
  int64_t objects = 0, blocks = 0, mappings = 0, mapped_bytes = 0;
};
Live live();
bool operator==(const Live& a, const Live& b);
std::string to_text(const Live& live);

}  // namespace onearena::runtime::testing

#endif  // ONEARENA_RUNTIME_TESTS_INJECTION_H_
