"""onearena: one memory plan for an ExecuTorch program and all of its delegates.

The functions here are the library's whole public interface:

    import onearena
    report = onearena.optimize("model.pte", "small.pte")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from onearena.errors import OnearenaError
    from onearena.pipeline import Options, inspect, optimize, verify
    from onearena.results import (
        Footprint,
        LiveTensor,
        MethodReport,
        Peak,
        ProgramReport,
        VerifyReport,
    )
    from onearena.runtime.compare import CompareReport, compare
    from onearena.verification.violation import Violation

_PUBLIC = {
    "OnearenaError": "onearena.errors",
    "Options": "onearena.pipeline",
    "inspect": "onearena.pipeline",
    "optimize": "onearena.pipeline",
    "verify": "onearena.pipeline",
    "Footprint": "onearena.results",
    "LiveTensor": "onearena.results",
    "MethodReport": "onearena.results",
    "Peak": "onearena.results",
    "ProgramReport": "onearena.results",
    "VerifyReport": "onearena.results",
    "CompareReport": "onearena.runtime.compare",
    "compare": "onearena.runtime.compare",
    "Violation": "onearena.verification.violation",
}

__all__ = [
    "CompareReport",
    "Footprint",
    "LiveTensor",
    "MethodReport",
    "OnearenaError",
    "Options",
    "Peak",
    "ProgramReport",
    "VerifyReport",
    "Violation",
    "__version__",
    "compare",
    "inspect",
    "optimize",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Loads the public names when they are first used: starting the command line stays quick."""
    from importlib import import_module

    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted({*globals(), *__all__})
