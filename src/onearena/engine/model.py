"""A program that was loaded by the native runtime, and its methods."""

from __future__ import annotations

from typing import Any

from onearena.engine.known_sizes import KnownSizes
from onearena.engine.memory import MethodMemory
from onearena.engine.tensors import flatten, is_torch, native_inputs, outputs_as
from onearena.errors import UsageError

DEFAULT_METHOD = "forward"


class LoadedMethod:
    """One method of a loaded program; call it to run it. Safe to call from several threads."""

    def __init__(self, path: str, native: Any) -> None:
        self._native = native
        self._what = f"{path}: method {native.name!r}"
        self._inputs = native.inputs()
        self._sizes = None
        if native.memory()["planning"] != "static":
            self._sizes = KnownSizes(path, native.name)

    @property
    def name(self) -> str:
        """The method's name."""
        name: str = self._native.name
        return name

    def __call__(self, *inputs: Any) -> Any:
        """Runs the method; see :meth:`run`. One output comes alone, several as a tuple."""
        outputs = self.run(*inputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def run(self, *inputs: Any, wait: bool = True) -> tuple[Any, ...]:
        """Runs the method.

        Args:
            inputs: NumPy arrays, torch tensors and numbers, in the program's order; lists,
                tuples and dicts of them are opened.
            wait: whether to wait for another run that has the arena.

        Returns:
            Copies of the outputs: torch tensors if there is one among the inputs, else NumPy
            arrays; numbers as they are.

        Raises:
            ArenaBusyError: another run has the arena, and `wait` is false.
            ExecutionError: a kernel or a delegate failed; the message names the instruction.
            UsageError: the inputs are not those that the method takes.
        """
        flat = flatten(inputs)
        given, kept = native_inputs(self._what, flat, self._inputs)
        sizes = self._sizes.of(given) if self._sizes is not None else None
        results = self._native.run(given, wait, sizes)
        del kept
        return tuple(outputs_as(results, torch=any(is_torch(value) for value in flat)))

    def memory(self) -> MethodMemory:
        """How much memory the method takes now."""
        return MethodMemory(**self._native.memory())

    def temp_bytes_by_instruction(self) -> tuple[int, ...]:
        """The most temporary memory that each instruction took so far."""
        return tuple(self._native.temp_bytes_by_instruction())


class Model:
    """A loaded program. Calling it runs `forward`, or the only method that there is."""

    def __init__(self, path: str, native: Any) -> None:
        self.path = path
        self._native = native
        self._methods: dict[str, LoadedMethod] = {}

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of the methods, in the file's order."""
        return tuple(self._native.method_names)

    def method(self, name: str) -> LoadedMethod:
        """A method, loaded when it is first asked for.

        Raises:
            ArenaLimitError: it needs more than the arena may have.
            ExecutionError: a delegate cannot be initialised.
            UnsupportedError: a kernel or a backend is not there.
            UsageError: there is no such method.
        """
        if not isinstance(name, str):
            raise UsageError(f"{self.path}: the name of a method is a string, not {name!r}")
        if name not in self._methods:
            self._methods[name] = LoadedMethod(self.path, self._native.method(name))
        return self._methods[name]

    @property
    def default(self) -> LoadedMethod:
        """The method that calling the model runs; errors as in :meth:`method`."""
        names = self.methods
        only = names[0] if len(names) == 1 else DEFAULT_METHOD
        return self.method(only)

    def __call__(self, *inputs: Any) -> Any:
        """Runs the default method; see :meth:`LoadedMethod.run`."""
        return self.default(*inputs)

    def memory(self, method: str | None = None) -> MethodMemory:
        """How much memory a method takes (the default one, if none is named)."""
        return (self.default if method is None else self.method(method)).memory()

    def reset_state(self) -> None:
        """Puts mutable buffers and caches back to what they were when the program was loaded."""
        self._native.reset_state()
