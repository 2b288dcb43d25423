#include "runner.h"

#include <stddef.h>

#include "program.h"
#include "semihosting.h"

// What a run does besides calling the kernels. A kernel may write its output before it has read
// everything and may leave anything in its scratch; a strict run makes both happen always.
typedef enum { kPlain, kStrict } Mode;

static const char* const kModeNames[] = {"plain", "strict"};

enum { kMaxCalls = 64, kHashStart = 0x811C9DC5u, kHashFactor = 0x01000193u };

static uint32_t random_state;

static uint8_t RandomByte(void) {  // xorshift32, its middle bits
  random_state ^= random_state << 13;
  random_state ^= random_state >> 17;
  random_state ^= random_state << 5;
  return (uint8_t)(random_state >> 11);
}

static void Scramble(uint8_t* bytes, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) bytes[i] = RandomByte();
}

// FNV-1a, from an earlier hash on.
static uint32_t Hash(uint32_t hash, const uint8_t* bytes, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) hash = (hash ^ bytes[i]) * kHashFactor;
  return hash;
}

static uint8_t Guard(uint32_t index) { return (uint8_t)(0xA5u ^ index * 7u); }

static uint8_t* Bytes(const Method* method, int place) {
  const Place* where = &method->places[place];
  return kMemories[where->memory] + kGuardBytes + where->offset;
}

static uint32_t Size(const Method* method, int place) {
  return place == kNone ? 0 : method->places[place].size_bytes;
}

static void ScramblePlace(const Method* method, int place) {
  if (place != kNone) Scramble(Bytes(method, place), Size(method, place));
}

static void PrepareMemories(const Method* method) {
  for (uint32_t memory = 0; memory < method->memory_count; ++memory) {
    uint8_t* below = kMemories[memory];
    uint8_t* bytes = below + kGuardBytes;
    uint8_t* above = bytes + method->memory_bytes[memory];
    Scramble(bytes, method->memory_bytes[memory]);
    for (uint32_t i = 0; i < kGuardBytes; ++i) below[i] = above[i] = Guard(i);
  }
}

static uint32_t DamagedGuards(const Method* method) {
  uint32_t damaged = 0;
  for (uint32_t memory = 0; memory < method->memory_count; ++memory) {
    const uint8_t* below = kMemories[memory];
    const uint8_t* above = below + kGuardBytes + method->memory_bytes[memory];
    for (uint32_t i = 0; i < kGuardBytes; ++i) {
      damaged += (below[i] != Guard(i)) + (above[i] != Guard(i));
    }
  }
  return damaged;
}

typedef struct {
  uint32_t reads[kMaxCalls];   // hashes of what each call found in its operands
  uint32_t writes[kMaxCalls];  // and of what it left in its output
  uint32_t count;
} Trace;

static bool RunCall(const Method* method, const Call* call, Mode mode, Trace* trace) {
  Operands operands = {{NULL, NULL}, NULL, NULL};
  if (mode == kStrict) {
    if (!call->in_place) ScramblePlace(method, call->output);
    ScramblePlace(method, call->scratch);
  }
  uint32_t hash = kHashStart;
  for (int k = 0; k < kMaxOperands; ++k) {
    const int place = call->operands[k];
    if (place == kNone) continue;
    operands.in[k] = Bytes(method, place);
    hash = Hash(hash, operands.in[k], Size(method, place));
  }
  trace->reads[trace->count] = hash;
  if (call->scratch != kNone) operands.scratch = Bytes(method, call->scratch);
  operands.out = Bytes(method, call->output);
  if (!call->kernel->run(call->parameters, &operands)) return false;
  if (mode == kStrict) ScramblePlace(method, call->scratch);
  trace->writes[trace->count++] = Hash(kHashStart, operands.out, Size(method, call->output));
  return true;
}

static void WriteHashes(const char* name, const uint32_t* hashes, uint32_t count) {
  WriteText(name);
  for (uint32_t i = 0; i < count; ++i) {
    WriteText(" ");
    WriteHash(hashes[i]);
  }
  WriteText("\n");
}

static void WriteResult(const Method* method, const Trace* trace) {
  WriteHashes("reads", trace->reads, trace->count);
  WriteHashes("writes", trace->writes, trace->count);
  WriteText("damaged ");
  WriteNumber(DamagedGuards(method));
  WriteText("\n");
  for (uint32_t i = 0; i < method->output_count; ++i) {
    WriteText("output ");
    WriteBytes(Bytes(method, method->outputs[i]), Size(method, method->outputs[i]));
    WriteText("\n");
  }
}

static void WriteRefusal(const char* reason, uint32_t call, uint32_t missing_bytes) {
  WriteText("refused ");
  WriteText(reason);
  WriteText(" ");
  WriteNumber(call);
  WriteText(" ");
  WriteNumber(missing_bytes);
  WriteText("\n");
}

static void RunMethod(const Method* method, Mode mode) {
  static Trace trace;
  WriteText("method ");
  WriteText(method->name);
  WriteText(" ");
  WriteText(kModeNames[mode]);
  WriteText("\n");
  random_state = mode == kPlain ? 0x2545F491u : 0x9E3779B9u;
  trace.count = 0;
  PrepareMemories(method);
  for (uint32_t i = 0; i < method->input_count; ++i) {
    const Input* input = &method->inputs[i];
    uint8_t* to = Bytes(method, input->place);
    for (uint32_t k = 0; k < Size(method, input->place); ++k) to[k] = input->bytes[k];
  }
  for (uint32_t i = 0; i < method->call_count; ++i) {
    const Call* call = &method->calls[i];
    const uint32_t need = call->kernel->scratch_bytes(call->parameters);
    const uint32_t given = Size(method, call->scratch);
    if (need > given) return WriteRefusal("scratch", i, need - given);
    if (i == kMaxCalls) return WriteRefusal("length", i, 0);
    if (!RunCall(method, call, mode, &trace)) return WriteRefusal("core", i, 0);
  }
  WriteResult(method, &trace);
}

void RunAll(void) {
  for (uint32_t i = 0; i < kMethodCount; ++i) {
    RunMethod(&kMethods[i], kPlain);
    RunMethod(&kMethods[i], kStrict);
  }
  WriteText("done\n");
}
