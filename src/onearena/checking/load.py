"""Files → sizes: the programs that are checked, and what they are compared with."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from onearena.checking.amounts import Amount, Sizes
from onearena.errors import UsageError
from onearena.pte.container import PteFile
from onearena.pte.reader import open_pte
from onearena.sizes.files import file_sizes
from onearena.sizes.program import checked_pools
from onearena.sizes.targets import Target
from onearena.summary.build import summarize_file


def load_sizes(path: str, target: Target | None = None) -> Sizes:
    """What is known about a program.

    Args:
        target: also compute the method allocators, for this target.

    Raises:
        FormatError, UnsupportedError: the file cannot be read.
        AnalysisError: a method contradicts itself.
    """
    with open_pte(path) as file:
        allocators = _allocators(file, target) if target is not None else {}
        return Sizes(summarize_file(file), allocators, file_sizes(file))


def _allocators(file: PteFile, target: Target) -> dict[str, Amount]:
    """What each method allocator must hold, when there is a temporary allocator beside it."""
    found = {}
    for method in checked_pools(file, target).methods:
        pool = method.method_allocator
        unknown = None
        if pool.size_bytes is None:
            unknown = "; ".join(pool.notes) or "the method allocator is not known"
        found[method.name] = Amount(pool.size_bytes, unknown=unknown)
    return found


def base_paths(models: Sequence[str], against: Sequence[str]) -> list[str | None]:
    """What each model is compared with; None where there is no such file.

    Args:
        against: nothing; one file per model, in their order; or one directory that holds the
            base of each model under the same relative path.

    Raises:
        UsageError: the numbers differ, or a model is not below the working directory.
    """
    if not against:
        return [None] * len(models)
    if len(against) == 1 and _is_directory(against[0]):
        return [_below(against[0], model) for model in models]
    if len(against) != len(models):
        raise UsageError(
            f"--against names {len(against)} bases for {len(models)} models: give one for each, "
            "or one directory"
        )
    return list(against)


def _is_directory(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def _below(directory: str, model: str) -> str | None:
    name = os.path.normpath(model)
    if not name or Path(name).is_absolute() or os.pardir in Path(name).parts:
        raise UsageError(
            f"{model}: with a directory of bases, models are paths below the working directory"
        )
    path = Path(directory) / name
    return str(path) if path.exists() else None
