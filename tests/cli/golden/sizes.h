/*
 * Pools of kernels.pte in bytes, on cortex-m55 (32-bit Arm).
 * Made by onearena VERSION; do not edit.
 * METHOD_ALLOCATOR: with a temp allocator of TEMP_ALLOCATOR bytes or more; _ALONE: when the
 * runtime gets no temp allocator. ARENA_n: planned memory of memory_id n. INPUT_n, OUTPUT_n:
 * buffers that the application must bring.
 * Assumed: for the runtime of ExecuTorch 1.5 and its own kernel libraries; pools aligned to 8
 * bytes or more.
 * Assumed: not counted: stack, heap, code, the runtime's own Program and Method objects.
 */
#ifndef ONEARENA_GUARD_SIZES_H
#define ONEARENA_GUARD_SIZES_H

/* The .pte file. */
#define ONEARENA_FILE_BYTES 1104u

/*
 * Method encode.
 */
#define ONEARENA_ENCODE_METHOD_ALLOCATOR_BYTES 160u
#define ONEARENA_ENCODE_METHOD_ALLOCATOR_ALONE_BYTES 234u
#define ONEARENA_ENCODE_TEMP_ALLOCATOR_BYTES 84u
#define ONEARENA_ENCODE_ARENA_1_BYTES 3200u
#define ONEARENA_ENCODE_INPUT_0_BYTES 3200u

/*
 * Method decode.v2.
 * TEMP_ALLOCATOR: aten::topk.values: 16 bytes for each of 100 elements.
 */
#define ONEARENA_DECODE_V2_METHOD_ALLOCATOR_BYTES 324u
#define ONEARENA_DECODE_V2_METHOD_ALLOCATOR_ALONE_BYTES 458u
#define ONEARENA_DECODE_V2_TEMP_ALLOCATOR_BYTES 1600u
#define ONEARENA_DECODE_V2_ARENA_1_BYTES 3200u
#define ONEARENA_DECODE_V2_ARENA_2_BYTES 3360u
#define ONEARENA_DECODE_V2_OUTPUT_1_BYTES 320u

#endif /* ONEARENA_GUARD_SIZES_H */
