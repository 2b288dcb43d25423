"""Budgets of a repository with several models, in a TOML file."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from onearena.checking.budget import BudgetKey, Budgets, key_text, parse_key
from onearena.checking.sizes import MAX_SIZE_BYTES, parse_size, quoted
from onearena.errors import FormatError, UsageError
from onearena.problem_files.disk import read_text

_TABLES = ("budget", "models")


@dataclass(frozen=True, slots=True)
class Config:
    """The budgets of a file.

    Attributes:
        path: of the file; patterns are relative to its directory.
        everywhere: for every model.
        models: by pattern, in the order of the file; later ones win.
    """

    path: str
    everywhere: Budgets
    models: tuple[tuple[str, Budgets], ...]

    def budgets_for(self, model: str) -> Budgets:
        """The budgets of one model; `*` in a pattern also matches `/`."""
        name = _relative(model, self.path)
        found = dict(self.everywhere)
        for pattern, budgets in self.models:
            if fnmatchcase(name, pattern):
                found.update(budgets)
        return found


def _relative(model: str, config: str) -> str:
    try:
        path = os.path.relpath(model, Path(config).parent)
    except (OSError, ValueError):
        path = model  # reading it will say what is wrong with it
    return Path(path).as_posix()


def read_config(path: str) -> Config:
    """Reads a configuration.

    Raises:
        FormatError: it cannot be read, or is not TOML.
        UsageError: it holds something else than budgets.
    """
    try:
        content = tomllib.loads(read_text(path))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise FormatError(f"{path}: is not TOML: {error}") from None
    for name in content:
        if name not in _TABLES:
            raise UsageError(f"{path}: {quoted(name)} is not one of {', '.join(_TABLES)}")
    everywhere = _budgets(path, "budget", content.get("budget", {}))
    sections = _table(path, "models", content.get("models", {}))
    models = tuple(
        (_pattern(path, name), _budgets(path, f"models.{quoted(name)}", table))
        for name, table in sections.items()
    )
    if not everywhere and not any(budgets for _, budgets in models):
        raise UsageError(f"{path}: holds no budget")
    return Config(path, everywhere, models)


def _pattern(path: str, name: str) -> str:
    if not name or name.startswith("/"):
        raise UsageError(f"{path}: models.{quoted(name)}: is not a path relative to the file")
    return name.removeprefix("./")


def _table(path: str, name: str, table: Any) -> Mapping[str, Any]:
    if not isinstance(table, dict):
        raise UsageError(f"{path}: {name} is not a table")
    return table


def _budgets(path: str, name: str, table: Any) -> Budgets:
    found: dict[BudgetKey, int] = {}
    for text, value in _table(path, name, table).items():
        try:
            key = parse_key(text)
            size = _size(text, value)
        except UsageError as error:
            raise UsageError(f"{path}: {name}: {error}") from None
        if found.setdefault(key, size) != size:
            raise UsageError(f"{path}: {name}: {key_text(key)} is given twice")
    return found


def _size(text: str, value: Any) -> int:
    if isinstance(value, str):
        return parse_size(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_SIZE_BYTES:
        return value
    if isinstance(value, dict):
        raise UsageError(f'{quoted(text)} is a table; a name with a dot needs quotes: "arena.2"')
    raise UsageError(f'{quoted(text)} is not a size such as "2MB" or 2000000')
