// A program as tables: tests/qemu/emit.py writes them, the runner reads them.
#ifndef ONEARENA_TESTS_QEMU_PROGRAM_H_
#define ONEARENA_TESTS_QEMU_PROGRAM_H_

#include <stdbool.h>
#include <stdint.h>

#include "kernels.h"

enum { kNone = -1, kMaxOperands = 2 };

// The bytes that a plan gives to a value.
typedef struct {
  uint32_t memory;
  uint32_t offset;
  uint32_t size_bytes;
} Place;

// One instruction. Operands, scratch and output are indices of places, or kNone.
typedef struct {
  const Kernel* kernel;
  const void* parameters;
  int operands[kMaxOperands];
  int scratch;
  int output;
  bool in_place;  // the output may lie exactly over an operand
} Call;

typedef struct {
  int place;
  const uint8_t* bytes;
} Input;

// A method with a plan.
typedef struct {
  const char* name;
  const Place* places;
  const uint32_t* memory_bytes;
  uint32_t memory_count;
  const Call* calls;
  uint32_t call_count;
  const Input* inputs;
  uint32_t input_count;
  const int* outputs;
  uint32_t output_count;
} Method;

enum { kGuardBytes = 64 };  // on either side of every memory

extern const Method kMethods[];
extern const uint32_t kMethodCount;

// Room for each memory at its largest, and for its guards.
extern uint8_t* const kMemories[];

#endif  // ONEARENA_TESTS_QEMU_PROGRAM_H_
