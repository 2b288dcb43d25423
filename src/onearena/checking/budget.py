"""Budgets as people write them: `arena=2MB,total=3MB`, `prefill:arena.2=64kB`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from onearena.checking.sizes import parse_size, quoted
from onearena.errors import UsageError

PER_METHOD = ("arena", "workspace", "total", "state", "indirection", "method_allocator")
PER_PROGRAM = ("file", "constants")
_ARENA_NUMBER = re.compile(r"arena\.([1-9][0-9]{0,5})")


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """Something that can be counted in bytes.

    Attributes:
        name: one of `PER_METHOD` or `PER_PROGRAM`.
        memory_id: of one arena; None for all of them, and for everything that is no arena.
    """

    name: str
    memory_id: int | None = None

    @property
    def is_per_method(self) -> bool:
        """Whether every method has its own."""
        return self.name in PER_METHOD

    def __str__(self) -> str:
        return self.name if self.memory_id is None else f"{self.name}.{self.memory_id}"


ARENA = Quantity("arena")
WORKSPACE = Quantity("workspace")
TOTAL = Quantity("total")
FILE = Quantity("file")
METHOD_ALLOCATOR = Quantity("method_allocator")

BudgetKey = tuple[str | None, Quantity]
"""The method, None for the whole program; and what is limited."""

Budgets = Mapping[BudgetKey, int]
"""Limits in bytes."""


def parse_quantity(text: str) -> Quantity:
    """A quantity such as arena, arena.2 or total.

    Raises:
        UsageError: there is no such quantity.
    """
    name = text.strip()
    if name in PER_METHOD or name in PER_PROGRAM:
        return Quantity(name)
    found = _ARENA_NUMBER.fullmatch(name)
    if found:
        return Quantity("arena", int(found[1]))
    if name in ("arena.0", "arena.00"):
        raise UsageError("arena.0: memory_id 0 is reserved for constants and holds nothing")
    names = (*PER_METHOD[:1], "arena.N", *PER_METHOD[1:], *PER_PROGRAM)
    raise UsageError(f"{quoted(name)} cannot be budgeted; there are {', '.join(names)}")


def parse_key(text: str) -> BudgetKey:
    """A quantity, or `METHOD:QUANTITY`.

    Raises:
        UsageError: there is no such quantity, or it is not one of a method.
    """
    method, colon, name = text.rpartition(":")
    quantity = parse_quantity(name)
    if not colon:
        return None, quantity
    method = method.strip()
    if not method:
        raise UsageError(f"{quoted(text)} names no method before the colon")
    if not quantity.is_per_method:
        raise UsageError(f"{quoted(text)}: {quantity} is of the whole program, not of a method")
    return method, quantity


def parse_budgets(texts: Iterable[str]) -> dict[BudgetKey, int]:
    """Budgets from texts such as `arena=2MB,total=3MB`.

    Raises:
        UsageError: one is malformed, or two for the same thing differ.
    """
    budgets: dict[BudgetKey, int] = {}
    for text in texts:
        for entry in text.split(","):
            key, size = _parse_entry(entry)
            if budgets.setdefault(key, size) != size:
                raise UsageError(
                    f"budget: {key_text(key)} is given twice, {budgets[key]:,} B and {size:,} B"
                )
    return budgets


def _parse_entry(entry: str) -> tuple[BudgetKey, int]:
    name, equals, size = entry.rpartition("=")
    if not equals:
        raise UsageError(
            f"budget: {quoted(entry)} is not QUANTITY=SIZE such as arena=2MB (a comma separates "
            "budgets)"
        )
    try:
        return parse_key(name), parse_size(size)
    except UsageError as error:
        raise UsageError(f"budget: {error}") from None


def key_text(key: BudgetKey) -> str:
    """As it is written in a budget."""
    method, quantity = key
    return str(quantity) if method is None else f"{method}:{quantity}"
