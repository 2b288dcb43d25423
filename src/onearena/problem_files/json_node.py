"""Values of a JSON file that know where they stand, so that a wrong one can be named."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from typing import Any, NoReturn

from onearena.errors import FormatError
from onearena.lifetime import Interval
from onearena.problem_files.values import MAX_INT, MIN_INT, BadValueError, in_range, ordered, shown

_MAX_DIGITS = 20
_TOO_LARGE = 1 << 64


class _Repeated(dict[str, Any]):
    """An object in which the key `key` stands twice."""

    key = ""


def parse_json(text: str, name: str) -> Node:
    """The file's content.

    Raises:
        FormatError: it is not JSON, with line and column.
    """
    try:
        # integers of any length and constants such as NaN become something that is refused later
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=lambda digits: int(digits) if len(digits) <= _MAX_DIGITS else _TOO_LARGE,
        )
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise FormatError(f"{name}: {where}: is not JSON ({error.msg})") from None
    except RecursionError:
        raise FormatError(f"{name}: is not JSON that is understood: nested too deeply") from None
    return Node(value, None, name)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) == len(pairs):
        return result
    repeated = _Repeated(result)
    repeated.key = next(key for key, times in Counter(k for k, _ in pairs).items() if times > 1)
    return repeated


class Node:
    """A value with its path, such as `buffers[3].size`.

    The methods return the value as what they are called, and raise a FormatError with file and
    path when it is something else.
    """

    __slots__ = ("_parent", "_step", "_value")

    def __init__(self, value: Any, parent: Node | None, step: str | int) -> None:
        """`step` leads here from the parent: a key or a position; the file's name at the root."""
        self._value = value
        self._parent = parent
        self._step = step

    def fail(self, message: str) -> NoReturn:
        """Refuses the value."""
        path, node = "", self
        while node._parent is not None:
            step = f"[{node._step}]" if isinstance(node._step, int) else f".{node._step}"
            path, node = step + path, node._parent
        raise FormatError(f"{node._step}: {path.lstrip('.') or 'the file'}: {message}")

    def members(self, required: Collection[str], optional: Collection[str]) -> dict[str, Node]:
        """The members of an object with these keys and no others."""
        if not isinstance(self._value, dict):
            self.fail("is not an object")
        if isinstance(self._value, _Repeated):
            self.fail(f"has the key {shown(self._value.key)} twice")
        for key in self._value:
            if key not in required and key not in optional:
                known = ", ".join((*required, *optional))
                self.fail(f"has the unknown key {shown(key)}; known are {known}")
        for key in required:
            if key not in self._value:
                self.fail(f"the key {key!r} is missing")
        return {key: Node(value, self, key) for key, value in self._value.items()}

    def peek(self, key: str) -> Any:
        """A member's value, unchecked; None when there is none, or this is not an object."""
        return self._value.get(key) if isinstance(self._value, dict) else None

    def items(self, count: int | None = None) -> list[Node]:
        """The items of an array, which must have `count`."""
        if not isinstance(self._value, list):
            self.fail("is not an array")
        if count is not None and len(self._value) != count:
            self.fail(f"has {len(self._value)} items, not {count}")
        return [Node(value, self, k) for k, value in enumerate(self._value)]

    def integer(self, low: int = MIN_INT, high: int = MAX_INT) -> int:
        """An integer from `low` to `high`."""
        if type(self._value) is not int:
            self.fail("is not an integer")
        try:
            return in_range(self._value, low, high)
        except BadValueError as error:
            self.fail(str(error))

    def boolean(self) -> bool:
        """True or false."""
        if not isinstance(self._value, bool):
            self.fail("is neither true nor false")
        return self._value

    def string(self) -> str:
        """Text that can be written as UTF-8."""
        if not isinstance(self._value, str):
            self.fail("is not a string")
        try:
            self._value.encode()
        except UnicodeEncodeError:
            self.fail("holds half a surrogate pair")
        return self._value

    def interval(self) -> Interval:
        """An array of start and end, half-open; empty ones are allowed."""
        start, end = self.items(2)
        try:
            return ordered(start.integer(), end.integer())
        except BadValueError as error:
            self.fail(str(error))
