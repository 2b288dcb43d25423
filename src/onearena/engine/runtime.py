"""The native runtime: loads programs into one arena."""

from __future__ import annotations

import contextlib
import gc
import os
import struct
from collections.abc import Iterator, Sequence
from typing import Any, Literal, get_args

from onearena.engine.arena import Arena
from onearena.engine.description import describe, outline
from onearena.engine.description_cache import FileStamp, default_cache
from onearena.engine.embedding import find_description
from onearena.engine.model import Model
from onearena.engine.native import native_module
from onearena.errors import FormatError, OnearenaError, UsageError
from onearena.pte.container import PteFile
from onearena.pte.reader import open_pte
from onearena.timeline.roles import operator_name

Planning = Literal["auto", "static", "shapes", "simple"]
"""How activations are planned, see :meth:`Runtime.load`."""
_PLANNING: tuple[Planning, ...] = get_args(Planning)
"""A mode's number in C++ is its position here."""
_MOST_PLANS = (1 << 32) - 1
_PROCESSORS = 2
"""As many it takes to do two things at a time."""
_KERNELS_APART = (b"quantized_decomposed::", b"llama::", b"preprocess::")
"""Namespaces of operators whose kernels the executorch wheel has in libraries of their own."""


class Runtime:
    """Loads and runs ``.pte`` programs on the kernels and delegates of the installed ExecuTorch.

    Everything loaded by one runtime shares one arena, and runs one at a time.
    """

    def __init__(self, arena: Arena | None = None) -> None:
        """Prepares the runtime.

        Args:
            arena: where activations live; a new one if none is given.

        Raises:
            RuntimeUnavailableError: executorch 1.5.1 is not installed, or onearena was built
                without it.
        """
        self.arena = Arena() if arena is None else arena

    def load(
        self,
        path: str | os.PathLike[str],
        *,
        data_files: Sequence[str | os.PathLike[str]] = (),
        planning: Planning = "auto",
        cached_plans: int = 16,
        unbounded: bool = False,
        use_cache: bool = True,
    ) -> Model:
        """Loads a program. Its methods are loaded when they are first used.

        A program that does not describe itself (`onearena describe`) is analysed, which takes
        longer than all else, and its description is kept for the next time.

        Args:
            path: a ``.pte`` file, of onearena's making or not.
            data_files: ``.ptd`` files with weights that the program keeps apart.
            planning: "static" takes the plan in the file, which has room for the bounds of all
                sizes; "shapes" makes a plan for each set of input shapes; "simple" does so too,
                but only for the dynamic tensors, which it puts behind the static ones; "auto"
                is "shapes" for methods with dynamic tensors, else "static".
            cached_plans: how many plans of a method are kept, by input shapes; the one not used
                for longest is forgotten first.
            unbounded: take inputs that are larger than the program was exported for, where its
                kernels and delegates do. Not with planning="static".
            use_cache: whether descriptions are looked for and kept in the user's cache folder
                (`$ONEARENA_CACHE_DIR`, else `onearena` in `$XDG_CACHE_HOME` or `~/.cache`).

        Raises:
            UsageError: an option makes no sense.
            AnalysisError, FormatError, UnsupportedError: the program is corrupt, holds something
                that this runtime does not know, or changes while it is loaded.
        """
        if planning not in _PLANNING:
            raise UsageError(f"planning must be one of {', '.join(_PLANNING)}, not {planning!r}")
        if type(cached_plans) is not int or not 0 < cached_plans <= _MOST_PLANS:
            raise UsageError(
                f"cached_plans must be from 1 to {_MOST_PLANS}, it is {cached_plans!r}"
            )
        if isinstance(data_files, str | bytes | os.PathLike):
            raise UsageError("data_files is a list of paths, not one path")
        native, name = native_module(), os.fsdecode(path)
        files = [os.fsdecode(file) for file in data_files]
        mode = _PLANNING.index(planning)
        stamp = FileStamp.of(name)
        description, early = self._describe(name, stamp, files, planning, use_cache)
        if any(namespace in description for namespace in _KERNELS_APART):
            _load_kernels(name)
        loaded = native.load(
            name, description, self.arena.native, files, mode, cached_plans, bool(unbounded), early
        )
        if FileStamp.of(name) != stamp:
            # what is mapped now may be another file than the one that was described
            raise FormatError(f"{name}: was replaced or changed while it was loaded")
        return Model(name, loaded)

    def _describe(
        self,
        name: str,
        stamp: FileStamp | None,
        files: Sequence[str],
        planning: Planning,
        use_cache: bool,
    ) -> tuple[bytes, Any]:
        """A description of a file of a stamp, and its delegates if they are initialised."""
        native = native_module()
        cache = default_cache() if use_cache else None
        is_static = planning == "static" or not native.plans_xnnpack_workspaces()
        kind, early = "static" if is_static else "", None
        description = find_description(name)
        if description is None and cache is not None:
            description = cache.get(name, kind)
        if description is None:
            with open_pte(name) as file:
                early = _initialise_early(native, file, files, _PLANNING.index(planning))
                with _without_collection():
                    description = describe(file, is_static)
            if cache is not None:
                cache.put(name, stamp, description, kind)
        return description, early


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """No garbage collection: an analysis makes many objects that all stay until it ends, and no
    cycles, and each collection would look at everything that the process has imported."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _initialise_early(native: Any, file: PteFile, data_files: Sequence[str], mode: int) -> Any:
    """Has delegates initialised on another processor while this one analyses the program.

    None when that is not worth it, or when something is wrong: the analysis will tell what.
    """
    if len(os.sched_getaffinity(0)) < _PROCESSORS:
        return None
    with contextlib.suppress(OnearenaError, struct.error):
        found = outline(file)
        return found and native.initialise_early(file.path, found, data_files, mode)
    return None


def _load_kernels(path: str) -> None:
    """Loads the libraries with kernels of their own that the program needs.

    They need torch; without it such programs are refused for want of a kernel.
    """
    from onearena.runtime.bindings import missing_kernels

    with open_pte(path) as file:
        plans = file.program.execution_plan or ()
        names = {operator_name(o) for plan in plans for o in plan.operators or ()}
    missing_kernels(names)
