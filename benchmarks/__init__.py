"""What onearena is measured by. See ``python -m benchmarks.bench --help``."""
