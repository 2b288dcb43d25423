// Runs every method of the program, in memory full of random bytes, and writes what came out.
#ifndef ONEARENA_TESTS_QEMU_RUNNER_H_
#define ONEARENA_TESTS_QEMU_RUNNER_H_

void RunAll(void);

#endif  // ONEARENA_TESTS_QEMU_RUNNER_H_
