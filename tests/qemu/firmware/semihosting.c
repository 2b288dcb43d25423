#include "semihosting.h"

// Operations and codes of Arm's "Semihosting for AArch32 and AArch64" (ARM-software/abi-aa).
enum { kWriteText = 0x04, kExit = 0x18 };
enum { kApplicationExit = 0x20026, kRunTimeError = 0x20023 };
enum { kPiece = 64 };

static void Call(uint32_t operation, uintptr_t argument) {
  register uint32_t r0 __asm__("r0") = operation;
  register uintptr_t r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

static char HexDigit(uint32_t value) { return "0123456789abcdef"[value & 15]; }

void WriteText(const char* text) { Call(kWriteText, (uintptr_t)text); }

void WriteNumber(uint32_t number) {
  char digits[11];
  char* first = digits + sizeof digits - 1;
  *first = '\0';
  do {
    *--first = (char)('0' + number % 10);
    number /= 10;
  } while (number != 0);
  WriteText(first);
}

void WriteBytes(const uint8_t* bytes, size_t count) {
  char text[2 * kPiece + 1];
  while (count != 0) {
    const size_t now = count < kPiece ? count : kPiece;
    for (size_t i = 0; i < now; ++i) {
      text[2 * i] = HexDigit(bytes[i] >> 4);
      text[2 * i + 1] = HexDigit(bytes[i]);
    }
    text[2 * now] = '\0';
    WriteText(text);
    bytes += now;
    count -= now;
  }
}

void WriteHash(uint32_t hash) {
  char text[9];
  for (int digit = 0; digit < 8; ++digit) text[digit] = HexDigit(hash >> (28 - 4 * digit));
  text[8] = '\0';
  WriteText(text);
}

static _Noreturn void Exit(uint32_t reason) {
  Call(kExit, reason);
  for (;;) {
  }
}

void ExitRight(void) { Exit(kApplicationExit); }

void ExitWrong(void) { Exit(kRunTimeError); }
