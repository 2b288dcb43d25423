"""Every pool that a program needs at run time, in bytes, before it is flashed or run."""
