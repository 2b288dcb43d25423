"""Sizes and growth as people write them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from onearena.errors import UsageError

MAX_SIZE_BYTES = (1 << 63) - 1
_UNITS = {
    "": 1,
    "B": 1,
    "kB": 1000,
    "KB": 1000,
    "MB": 1000**2,
    "GB": 1000**3,
    "KiB": 1024,
    "MiB": 1024**2,
    "GiB": 1024**3,
}
_NUMBER = r"([0-9][0-9_ ]{0,40}(?:\.[0-9]{1,20})?)"
_SIZE = re.compile(rf"{_NUMBER} ?([A-Za-z]*)")
_NEGATIVE = re.compile(r"[-\N{MINUS SIGN}] ?[0-9.]")
_PERCENT = re.compile(rf"{_NUMBER} ?%")
_MAX_PERCENT = 1_000_000
_SHOWN = 60


def quoted(text: str) -> str:
    """A text of the user in an error message: in quotes, control characters escaped, not long."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


def parse_size(text: str) -> int:
    """Bytes from a text such as 2MB, 1.5 MiB, 64kB or 2_000_000.

    kB (or KB), MB and GB are powers of 1000, KiB, MiB and GiB powers of 1024; without a unit it
    is bytes. Spaces and `_` between digits are ignored.

    Raises:
        UsageError: it is no size, no whole number of bytes, or too large for 63 bits.
    """
    _refuse_negative(text)
    found = _SIZE.fullmatch(text.strip())
    if not found or found[2] not in _UNITS:
        raise UsageError(
            f"{quoted(text)} is not a size such as 2MB, 1.5MiB, 64kB or 2000000 (units: "
            f"{', '.join(unit for unit in _UNITS if unit)})"
        )
    size = _number(found[1]) * _UNITS[found[2]]
    if size.denominator != 1:
        raise UsageError(f"{quoted(text)} is not a whole number of bytes")
    if size > MAX_SIZE_BYTES:
        raise UsageError(f"{quoted(text)} is more than 63 bits can hold")
    return int(size)


def _refuse_negative(text: str) -> None:
    if _NEGATIVE.match(text.strip()):
        raise UsageError(f"{quoted(text)} must not be negative")


def _number(text: str) -> Fraction:
    return Fraction(text.replace("_", "").replace(" ", ""))


@dataclass(frozen=True, slots=True)
class Growth:
    """How much more than before is accepted: a part of it, plus a number of bytes.

    Attributes:
        text: as it was given.
        percent: of what it was.
        size_bytes: on top.
    """

    text: str
    percent: Fraction
    size_bytes: int

    def limit_bytes(self, before_bytes: int) -> int:
        """The most that is accepted."""
        return before_bytes + int(before_bytes * self.percent / 100) + self.size_bytes


NO_GROWTH = Growth("0", Fraction(0), 0)


def parse_growth(text: str) -> Growth:
    """A growth such as 1%, 0.5% or 64kB.

    Raises:
        UsageError: it is neither a percentage nor a size.
    """
    stripped = text.strip()
    if _NEGATIVE.match(stripped):
        raise UsageError(f"growth: {quoted(text)} must not be negative")
    if not stripped.endswith("%"):
        try:
            return Growth(stripped, Fraction(0), parse_size(stripped))
        except UsageError as error:
            raise UsageError(f"growth: {error}, and not a percentage such as 1%") from None
    found = _PERCENT.fullmatch(stripped)
    if not found:
        raise UsageError(f"growth: {quoted(text)} is not a percentage such as 1% or 0.5%")
    percent = _number(found[1])
    if percent > _MAX_PERCENT:
        raise UsageError(f"growth: {quoted(text)} is more than {_MAX_PERCENT}%")
    return Growth(stripped, percent, 0)
