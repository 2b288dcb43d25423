"""From torch's symbolic sizes to formulas that need no torch."""

from __future__ import annotations

from typing import Any

from onearena.size_formula import Formula, parse_formula

_CLASSES = {
    "Add": "+",
    "Mul": "*",
    "Min": "min",
    "Max": "max",
    "FloorDiv": "//",
    "CleanDiv": "//",
    "Mod": "%",
    "PythonMod": "%",
}
"""Classes of SymPy, and of `torch.utils._sympy.functions` (torch 2.13), that mean an operation."""
_MAX_POWER = 8


def formula_of(size: Any) -> Formula | None:
    """The formula of a size; None when it has operations that formulas do not have."""
    if isinstance(size, int):
        return size
    expression = getattr(getattr(size, "node", None), "expr", None)
    if expression is None:
        return None
    try:
        return parse_formula(_convert(expression))
    except ValueError:
        return None


def _convert(expression: Any) -> Any:
    """The expression as lists.

    Raises:
        ValueError: it cannot be one.
    """
    if getattr(expression, "is_Integer", False):
        return int(expression)
    if getattr(expression, "is_Symbol", False):
        return str(expression.name)
    name = type(expression).__name__
    if name == "Pow":
        base, power = expression.args
        if not getattr(power, "is_Integer", False) or not 1 <= int(power) <= _MAX_POWER:
            raise ValueError("a power that is none of a size")
        factors = [_convert(base)] * int(power)
        return ["*", *factors] if len(factors) > 1 else factors[0]
    if name not in _CLASSES:
        raise ValueError(f"no operation of sizes: {name}")
    return [_CLASSES[name], *(_convert(operand) for operand in expression.args)]
