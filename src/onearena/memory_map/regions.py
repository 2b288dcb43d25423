"""A memory map as it is written on the command line: `dtcm:64K:1,sram:512K:2`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from onearena.errors import UsageError

MAX_MEMORY_ID = 64
"""`non_const_buffer_sizes` has an entry for every memory_id up to the largest one, and the runtime
makes an arena of each: a larger one is a mistake."""
MAX_CAPACITY_BYTES = 1 << 48
MAX_COST = 1_000_000
_SUFFIXES = {"": 0, "K": 10, "M": 20, "G": 30}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}")
_CAPACITY = re.compile(r"([0-9]{1,15})([KMG]?)(?:iB|B)?", re.ASCII | re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)
_SHAPE = "name:capacity:memory_id[:cost]"


@dataclass(frozen=True)
class Region:
    """A memory that planned tensors may lie in.

    Attributes:
        name: of letters, digits, `_`, `.` and `-`.
        capacity_bytes: positive.
        memory_id: positive; what the application tells this memory by.
        cost: of an access to a byte, compared with the other regions; positive.
    """

    name: str
    capacity_bytes: int
    memory_id: int
    cost: int

    def __str__(self) -> str:
        return f"{self.name} ({self.capacity_bytes:,} B, memory_id {self.memory_id})"


@dataclass(frozen=True)
class MemoryMap:
    """Regions, the fastest first.

    Raises:
        UsageError: there is none, a name or a memory_id occurs twice, a number is out of range,
            or a region is faster than one that is listed before it.
    """

    regions: tuple[Region, ...]

    def __post_init__(self) -> None:
        if not self.regions:
            raise UsageError("the memory map has no region")
        for region in self.regions:
            _check(region)
        _refuse_twice("name", (region.name for region in self.regions))
        _refuse_twice("memory_id", (region.memory_id for region in self.regions))
        for before, region in zip(self.regions, self.regions[1:], strict=False):
            if region.cost < before.cost:
                raise UsageError(
                    f"memory map: {region.name} costs {region.cost}, less than {before.name} "
                    f"({before.cost}): the fastest region comes first"
                )

    @cached_property
    def memory_ids(self) -> tuple[int, ...]:
        """In the order of the regions."""
        return tuple(region.memory_id for region in self.regions)

    def __str__(self) -> str:
        """As :func:`parse_memory_map` reads it."""
        return ",".join(f"{r.name}:{r.capacity_bytes}:{r.memory_id}:{r.cost}" for r in self.regions)

    def region(self, memory_id: int) -> Region:
        """The region with this memory_id, which there must be."""
        return self.regions[self.memory_ids.index(memory_id)]


def parse_memory_map(text: str) -> MemoryMap:
    """Reads `name:capacity:memory_id[:cost]`, several of them with commas between, the fastest
    first.

    Capacities are bytes, or have a suffix: `K` is 1,024, `M` 1,024 K, `G` 1,024 M (`KiB` is the
    same). Without costs each region costs twice as much as the one before it; either all regions
    have a cost or none.

    Raises:
        UsageError: it is something else; one line that names the entry.
    """
    entries = text.split(",")
    fields = [[field.strip() for field in entry.split(":")] for entry in entries]
    for entry, parts in zip(entries, fields, strict=True):
        if not 3 <= len(parts) <= 4:
            raise UsageError(f"memory map: {_shown(entry)} is not {_SHAPE}")
    if len({len(parts) for parts in fields}) > 1:
        raise UsageError("memory map: give every region a cost, or none")
    if len(fields) > MAX_MEMORY_ID:
        raise UsageError(f"memory map: {len(fields)} regions, more than {MAX_MEMORY_ID}")
    return MemoryMap(
        tuple(
            Region(
                parts[0],
                _capacity(parts[0], parts[1]),
                _number(parts[0], "memory_id", parts[2]),
                _number(parts[0], "cost", parts[3]) if len(parts) == 4 else 1 << min(position, 19),
            )
            for position, parts in enumerate(fields)
        )
    )


def _capacity(name: str, text: str) -> int:
    found = _CAPACITY.fullmatch(text)
    if found is None:
        raise UsageError(
            f"memory map: {_shown(name)}: {_shown(text)} is no capacity such as 65536, 64K or 1M"
        )
    return int(found[1]) << _SUFFIXES[found[2].upper()]


def _number(name: str, what: str, text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise UsageError(f"memory map: {_shown(name)}: {what} {_shown(text)} is no number")
    return int(text)


def _check(region: Region) -> None:
    if not _NAME.fullmatch(region.name):
        raise UsageError(
            f"memory map: {_shown(region.name)} is no name of letters, digits, '_', '.' and '-'"
        )
    if region.memory_id == 0:
        raise UsageError(f"memory map: {region.name}: memory_id 0 is reserved for constants")
    for what, value, most in (
        ("memory_id", region.memory_id, MAX_MEMORY_ID),
        ("capacity", region.capacity_bytes, MAX_CAPACITY_BYTES),
        ("cost", region.cost, MAX_COST),
    ):
        if not 0 < value <= most:
            raise UsageError(
                f"memory map: {region.name}: {what} {value:,} is not from 1 to {most:,}"
            )


def _refuse_twice(what: str, values: Iterable[object]) -> None:
    seen: set[object] = set()
    for value in values:
        if value in seen:
            raise UsageError(f"memory map: {what} {value} occurs twice")
        seen.add(value)


def _shown(text: str) -> str:
    return ascii(text if len(text) <= 40 else text[:40] + "...")
