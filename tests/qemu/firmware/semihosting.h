// Text and the exit code, from the firmware to the host that runs it.
#ifndef ONEARENA_TESTS_QEMU_SEMIHOSTING_H_
#define ONEARENA_TESTS_QEMU_SEMIHOSTING_H_

#include <stddef.h>
#include <stdint.h>

void WriteText(const char* text);
void WriteNumber(uint32_t number);
// Two hexadecimal digits for each byte.
void WriteBytes(const uint8_t* bytes, size_t count);
// Eight hexadecimal digits.
void WriteHash(uint32_t hash);

// Ends the run: QEMU's exit code is 0 or 1.
_Noreturn void ExitRight(void);
_Noreturn void ExitWrong(void);

#endif  // ONEARENA_TESTS_QEMU_SEMIHOSTING_H_
