// From reset to the runner. QEMU loads code and data to where they belong and clears the rest, so
// nothing is copied or cleared here.
#include <stddef.h>
#include <stdint.h>

#include "runner.h"
#include "semihosting.h"

extern const uint8_t stack_top;  // from firmware.ld

// Coprocessor Access Control Register: CP10 and CP11 are the floating point and vector unit.
static volatile uint32_t* const kCpacr = (volatile uint32_t*)0xE000ED88u;

static _Noreturn void Reset(void) {
  *kCpacr |= 0xFu << 20;
  __asm__ volatile("dsb\n isb" ::: "memory");
  RunAll();
  ExitRight();
}

static _Noreturn void Fault(void) {
  WriteText("fault\n");
  ExitWrong();
}

// Stack, reset, and the exceptions that a wrong program can raise.
__attribute__((section(".vectors"), used)) static const void* const kVectors[] = {
    &stack_top, Reset, Fault, Fault, Fault, Fault, Fault, Fault,
    Fault,      Fault, Fault, Fault, Fault, Fault, Fault, Fault,
};

// The compiler calls these for loops that do the same.
void* memcpy(void* to, const void* from, size_t count) {
  uint8_t* target = to;
  const uint8_t* source = from;
  for (size_t i = 0; i < count; ++i) target[i] = source[i];
  return to;
}

void* memset(void* to, int value, size_t count) {
  uint8_t* target = to;
  for (size_t i = 0; i < count; ++i) target[i] = (uint8_t)value;
  return to;
}
