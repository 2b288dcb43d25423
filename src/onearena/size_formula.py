"""Sizes as formulas of the sizes of inputs: integers, symbols, and a few operations.

A formula is an integer, the name of a symbol, or a tuple of an operator and its operands. In JSON
tuples are lists. Formulas from files are checked when they are parsed, and bounded in what they
can cost when they are evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Formula = int | str | tuple[Any, ...]
"""An integer, a symbol, or (operator, operand, ...)."""

MAX_VALUE = 1 << 62
_MAX_NODES = 1000
_MAX_DEPTH = 50
_SYMBOL = re.compile(r"[a-z]{1,8}[0-9]{1,9}")
"""As torch names them: s77, u0."""
_OPERATORS: Mapping[str, tuple[int, int | None]] = {
    "+": (2, None),
    "*": (2, None),
    "//": (2, 2),
    "%": (2, 2),
    "min": (2, None),
    "max": (2, None),
}
"""Operator → how many operands, at least and at the most."""


def parse_formula(content: Any) -> Formula:
    """A formula from JSON.

    Raises:
        ValueError: it is none.
    """
    budget = [_MAX_NODES]
    return _parse(content, budget, _MAX_DEPTH)


def _parse(content: Any, budget: list[int], depth: int) -> Formula:
    budget[0] -= 1
    if budget[0] < 0 or depth < 0:
        raise ValueError("the formula is too long")
    if type(content) is int and abs(content) < MAX_VALUE:
        return content
    if type(content) is str and _SYMBOL.fullmatch(content):
        return content
    if not isinstance(content, list | tuple) or not content or content[0] not in _OPERATORS:
        raise ValueError(f"not a formula: {content!r:.40}")
    operator, *operands = content
    least, most = _OPERATORS[operator]
    if len(operands) < least or (most is not None and len(operands) > most):
        raise ValueError(f"{operator} has {len(operands)} operands")
    return (operator, *(_parse(operand, budget, depth - 1) for operand in operands))


def formula_json(formula: Formula) -> Any:
    """A formula for JSON."""
    if isinstance(formula, tuple):
        return [formula[0], *(formula_json(operand) for operand in formula[1:])]
    return formula


def evaluate(formula: Formula, symbols: Mapping[str, int]) -> int | None:
    """The value of a formula; None when it has a symbol without a value, divides by nothing, or
    grows beyond what a size can be."""
    if isinstance(formula, int):
        return formula
    if isinstance(formula, str):
        return symbols.get(formula)
    operands: list[int] = []
    for operand in formula[1:]:
        value = evaluate(operand, symbols)
        if value is None:
            return None
        operands.append(value)
    return _apply(formula[0], operands)


def _apply(operator: str, operands: Sequence[int]) -> int | None:
    if operator in ("//", "%") and operands[1] <= 0:
        return None
    result = operands[0]
    step = _STEPS[operator]
    for operand in operands[1:]:
        result = step(result, operand)
        if abs(result) >= MAX_VALUE:
            return None
    return result


_STEPS: Mapping[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "min": min,
    "max": max,
}
