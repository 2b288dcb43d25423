"""One program loaded in this process by the stock ExecuTorch runtime."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from onearena.closing import Closing
from onearena.errors import ExecutionError, OnearenaError, UsageError
from onearena.pte import open_pte
from onearena.pte.schema import ExecutionPlan
from onearena.runtime.bindings import (
    missing_backends,
    missing_kernels,
    runtime_module,
    runtime_version,
)
from onearena.runtime.nativelog import NativeLog, printable
from onearena.timeline.roles import operator_name


class Session(Closing):
    """Loads methods on first use and runs them; state lives as long as the session.

    A hostile program can crash the process: :mod:`onearena.runtime.compare` runs sessions in
    a child. What the runtime prints to standard error while it works is kept out of the
    output and goes into the errors.
    """

    def __init__(self, path: str | os.PathLike[str], log: Path | None = None) -> None:
        """Loads the program at `path`.

        Args:
            path: a ``.pte`` file.
            log: where to keep what the runtime prints; an unnamed temporary file by default.

        Raises:
            FormatError: not a ``.pte``.
            ExecutionError: the runtime refuses it.
            RuntimeUnavailableError: no runtime is installed.
        """
        self.path = os.fspath(path)
        with open_pte(path) as file:
            plans = file.program.execution_plan or ()
            self._needs = {plan.name or "": _needs(plan) for plan in plans}
        module = runtime_module()
        self._log = NativeLog(log)
        self._methods: dict[str, Any] = {}
        try:
            with self._log.capture():
                self._program = module._load_program(
                    self.path, program_verification=module.Verification.InternalConsistency
                )
        except Exception as error:
            raise self._failure("cannot be loaded", error) from error

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the program's methods, in the file's order."""
        return tuple(self._needs)

    def run(self, method: str, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """Runs `method` on `inputs` (NumPy arrays, tensors, numbers, None).

        Returns:
            Copies of the outputs: torch tensors, and numbers as they are.

        Raises:
            ExecutionError: the runtime refuses the method or the inputs, or fails.
            UsageError: there is no such method.
        """
        return self.run_timed(method, inputs)[0]

    def run_timed(self, method: str, inputs: Sequence[Any]) -> tuple[tuple[Any, ...], float]:
        """Like :meth:`run`; also the time that the run took, in seconds."""
        loaded = self.load(method)
        arguments = [_as_input(value) for value in inputs]
        try:
            with self._log.capture():
                start = time.perf_counter()
                outputs = loaded(arguments, True)  # True: copy the outputs
                elapsed = time.perf_counter() - start
        except Exception as error:
            raise self._failure(f"method {method!r} failed", error) from error
        return tuple(outputs), elapsed

    def load(self, method: str) -> Any:
        """The runtime's handle of `method`, loaded on first use; errors as in :meth:`run`."""
        if method not in self._needs:
            names = ", ".join(self._needs) or "none"
            raise UsageError(f"{self.path}: no method {printable(method)!r}, it has: {names}")
        if method not in self._methods:
            self._check_needs(method)
            try:
                with self._log.capture():
                    self._methods[method] = self._program.load_method(method)
            except Exception as error:
                raise self._failure(f"method {method!r} cannot be loaded", error) from error
        return self._methods[method]

    def _check_needs(self, method: str) -> None:
        operators, backends = self._needs[method]
        for kind, missing in (
            ("kernels", missing_kernels(operators)),
            ("backends", missing_backends(backends)),
        ):
            if missing:
                names = printable(", ".join(missing))
                raise ExecutionError(
                    f"{self.path}: method {method!r} needs {kind} that the installed ExecuTorch "
                    f"{runtime_version()} does not have: {names}"
                )

    def _failure(self, what: str, error: Exception) -> OnearenaError:
        reason = printable(str(error)) or type(error).__name__
        message = self._log.message()
        detail = f"{message} ({reason})" if message else reason
        return ExecutionError(f"{self.path}: {what} on ExecuTorch {runtime_version()}: {detail}")

    def close(self) -> None:
        """Releases the program and its methods."""
        self._methods.clear()
        self._program = None
        self._log.close()


def _needs(plan: ExecutionPlan) -> tuple[frozenset[str], frozenset[str]]:
    """(operators, backends) that the instructions of a method may call."""
    operators = frozenset(operator_name(operator) for operator in plan.operators or ())
    backends = frozenset(delegate.id or "" for delegate in plan.delegates or ())
    return operators, backends


def _as_input(value: Any) -> Any:
    """NumPy arrays as tensors (no copy where possible), everything else as it is."""
    import torch

    if hasattr(value, "__array__") and not isinstance(value, torch.Tensor):
        import numpy as np

        return torch.from_numpy(np.ascontiguousarray(value))
    return value
