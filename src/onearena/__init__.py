"""onearena: one memory plan for an ExecuTorch program and all of its delegates."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("onearena")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0.0.0"
