"""Programs for Cortex-M: ExecuTorch's cortex_m operators, whose kernels are CMSIS-NN's."""
