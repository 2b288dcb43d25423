"""One call of an operator, as the shape rules see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

Dims: TypeAlias = tuple[int, ...]
"""The sizes of a tensor, in logical order unless said otherwise."""
Number: TypeAlias = int | float | bool


@dataclass(frozen=True)
class Cause:
    """Where a shape (or a number that shapes depend on) could not be derived.

    Attributes:
        instruction: the position of the instruction.
        operator: what runs there.
        reason: why, for people.
    """

    instruction: int
    operator: str
    reason: str

    def __str__(self) -> str:
        return f"instruction {self.instruction} ({self.operator}): {self.reason}"


class NotDerivableError(Exception):
    """A rule cannot tell; `cause` is where the ignorance began, when that was earlier."""

    def __init__(self, reason: str, cause: Cause | None = None) -> None:
        super().__init__(reason)
        self.cause = cause


class ContradictionError(Exception):
    """The operator refuses arguments of these shapes."""


@dataclass(frozen=True)
class Sized:
    """A tensor of known shape; `scalar_type` is its element type."""

    dims: Dims
    scalar_type: int = 6


Single: TypeAlias = Sized | Cause | Number | str | None
Argument: TypeAlias = Single | tuple[Single, ...]


@dataclass(frozen=True)
class Call:
    """An operator with its arguments, without the outputs.

    The accessors raise NotDerivableError for what is not known, and for an argument of another
    kind than the operator's schema has there (so a schema that changed is never misread).
    """

    args: tuple[Argument, ...]
    outputs: int = 1

    def argument(self, position: int) -> Argument:
        """The argument, whatever it is."""
        if position >= len(self.args):
            raise NotDerivableError(f"has no argument {position}")
        return self.args[position]

    def tensor(self, position: int) -> Sized:
        """A tensor argument."""
        return _sized(self.argument(position), position)

    def dims(self, position: int) -> Dims:
        """The shape of a tensor argument."""
        return self.tensor(position).dims

    def tensors(self, position: int) -> tuple[Sized, ...]:
        """A list of tensors."""
        return tuple(_sized(item, position) for item in self._items(position))

    def optional_tensors(self, position: int) -> tuple[Sized | None, ...]:
        """A list of tensors, some of which may be missing."""
        return tuple(
            None if item is None else _sized(item, position) for item in self._items(position)
        )

    def all_dims(self) -> tuple[Dims, ...]:
        """The shapes of all tensor arguments, lists left out."""
        known: list[Dims] = []
        for argument in self.args:
            if isinstance(argument, Cause):
                raise _unknown(argument)
            if isinstance(argument, Sized):
                known.append(argument.dims)
        return tuple(known)

    def is_absent(self, position: int) -> bool:
        """True when the argument is None."""
        return self.argument(position) is None

    def number(self, position: int) -> Number:
        """A number argument."""
        found = self.argument(position)
        if isinstance(found, Cause):
            raise _unknown(found)
        if not isinstance(found, int | float):
            raise NotDerivableError(f"argument {position} is not a number")
        return found

    def integer(self, position: int) -> int:
        """An integer argument."""
        return _integer(self.argument(position), position)

    def flag(self, position: int) -> bool:
        """A boolean argument."""
        return bool(self.number(position))

    def integers(self, position: int) -> tuple[int, ...]:
        """A list of integers; a lone integer counts as a list of one."""
        found = self.argument(position)
        if isinstance(found, int) and not isinstance(found, bool):
            return (found,)
        items = self._items(position)
        if len(items) > _MAX_INTEGERS:
            raise NotDerivableError(f"argument {position} has {len(items)} items")
        return tuple(_integer(item, position) for item in items)

    def numbers(self, position: int) -> tuple[float, ...]:
        """A list of numbers."""
        result: list[float] = []
        for item in self._items(position):
            if isinstance(item, Cause):
                raise _unknown(item)
            if not isinstance(item, int | float):
                raise NotDerivableError(f"argument {position} is not a list of numbers")
            result.append(float(item))
        return tuple(result)

    def _items(self, position: int) -> tuple[Single, ...]:
        found = self.argument(position)
        if isinstance(found, Cause):
            raise _unknown(found)
        if not isinstance(found, tuple):
            raise NotDerivableError(f"argument {position} is not a list")
        return found


MALFORMED = (IndexError, ValueError, ZeroDivisionError, OverflowError)
"""What a rule runs into when a file's arguments are not those of the operator's schema."""

_MAX_INTEGERS = 4096
"""Longer lists are no shapes; their product would be slow."""

ShapeRule: TypeAlias = Callable[[Call], Sequence[Dims]]
"""Gives the shapes of the outputs, in order."""
NumberRule: TypeAlias = Callable[[Call], Number]
"""Gives the number that a primitive operator returns."""


def _unknown(cause: Cause) -> NotDerivableError:
    return NotDerivableError(str(cause), cause)


def _sized(found: Argument, position: int) -> Sized:
    if isinstance(found, Cause):
        raise _unknown(found)
    if not isinstance(found, Sized):
        raise NotDerivableError(f"argument {position} is not a tensor")
    return found


def _integer(found: Argument, position: int) -> int:
    if isinstance(found, Cause):
        raise _unknown(found)
    if not isinstance(found, int) or isinstance(found, bool):
        raise NotDerivableError(f"argument {position} is not an integer")
    return found


def axis_of(axis: int, rank: int) -> int:
    """A dimension's index counted from the front; a number has one dimension to name.

    Raises:
        ContradictionError: there is no such dimension.
    """
    count = max(rank, 1)
    if not -count <= axis < count:
        raise ContradictionError(f"names dimension {axis} of {rank}")
    return axis % count


def with_dim(dims: Dims, axis: int, size: int) -> Dims:
    """The shape with one dimension changed."""
    return (*dims[:axis], size, *dims[axis + 1 :])


def broadcast(*shapes: Dims) -> Dims:
    """The common shape of operands.

    Raises:
        ContradictionError: there is none.
    """
    rank = max((len(dims) for dims in shapes), default=0)
    result = [1] * rank
    for dims in shapes:
        for axis, size in enumerate(dims, rank - len(dims)):
            if size != 1 and result[axis] not in (1, size):
                raise ContradictionError(f"cannot join shapes {text(*shapes)}")
            if size != 1:
                result[axis] = size
    return tuple(result)


def text(*shapes: Dims) -> str:
    """Shapes as people write them."""
    return ", ".join("x".join(map(str, dims)) or "one number" for dims in shapes)


def reshaped(dims: Dims, wanted: Sequence[int], placeholder: int = -1) -> Dims:
    """A reshape's output; at most one wanted size is the placeholder.

    Raises:
        ContradictionError: the elements do not fit.
    """
    known = prod(size for size in wanted if size != placeholder)
    open_axes = [axis for axis, size in enumerate(wanted) if size == placeholder]
    count = prod(dims)
    if len(open_axes) > 1 or any(size < 0 for size in wanted if size != placeholder):
        raise ContradictionError(f"cannot be given the shape {list(wanted)}")
    if open_axes and known > 0 and count % known == 0:
        return with_dim(tuple(wanted), open_axes[0], count // known)
    if open_axes or known != count:
        raise ContradictionError(f"{text(dims)} does not fit the shape {list(wanted)}")
    return tuple(wanted)
