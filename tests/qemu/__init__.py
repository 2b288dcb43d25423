"""Plans proven by real machine code: programs run on emulated Cortex-M cores (docs/qemu.md)."""
