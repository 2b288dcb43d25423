"""Mutations of a file's bytes: flips, boundary numbers, cut and spliced ranges, moved offsets."""

from __future__ import annotations

import struct
from collections.abc import Callable
from random import Random

Mutation = Callable[[bytearray, Random], None]

_BYTES = (0, 1, 2, 4, 0x7F, 0x80, 0xFF)
_U16 = (0, 1, 2, 4, 5, 8, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF)
_U32 = (0, 1, 2, 3, 4, 8, 16, 0xFF, 0xFFFF, 0x10000, 0x3FFFFFFF, 0x7FFFFFFF, 0x80000000)
_U32_HIGH = (0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFC, 0xFFFFFF00, 0xC0000000)
_U64 = (0, 1, 1 << 31, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
_MAX_MUTATIONS = 4
_MAX_GROWTH_BYTES = 4096


def mutate_bytes(data: bytes, other: bytes, random: Random) -> bytes:
    """A few random mutations of `data`; `other` is a second file to take pieces from."""
    out = bytearray(data)
    for _ in range(random.randint(1, _MAX_MUTATIONS)):
        if not out:
            break
        if random.random() < 0.05:
            _splice(out, other, random)
        else:
            random.choice(_MUTATIONS)(out, random)
    return bytes(out)


def _place(out: bytearray, random: Random, width: int = 1) -> int:
    """A position, half of the time near the start, where headers and vtables are."""
    end = max(len(out) - width, 0)
    if random.random() < 0.5:
        end = min(end, 256)
    return random.randint(0, end) // width * width


def _range(out: bytearray, random: Random) -> tuple[int, int]:
    start = random.randint(0, len(out) - 1)
    size = min(1 << random.randint(0, 9), len(out) - start)
    return start, start + size


def _flip_bit(out: bytearray, random: Random) -> None:
    out[_place(out, random)] ^= 1 << random.randrange(8)


def _put_byte(out: bytearray, random: Random) -> None:
    out[_place(out, random)] = random.choice((*_BYTES, random.randrange(256)))


def _put(format: str, values: tuple[int, ...]) -> Mutation:
    width = struct.calcsize(format)

    def mutation(out: bytearray, random: Random) -> None:
        if len(out) >= width:
            struct.pack_into(format, out, _place(out, random, width), random.choice(values))

    return mutation


def _nudge(out: bytearray, random: Random) -> None:
    """A number that is there becomes a little larger or smaller."""
    if len(out) >= 4:
        at = _place(out, random, 4)
        (value,) = struct.unpack_from("<I", out, at)
        step = random.choice((-8, -4, -2, -1, 1, 2, 4, 8))
        struct.pack_into("<I", out, at, (value + step) & 0xFFFFFFFF)


def _retarget(out: bytearray, random: Random) -> None:
    """One offset now points where another one points: shared and confused objects."""
    if len(out) >= 4:
        at, taken = _place(out, random, 4), _place(out, random, 4)
        target = taken + struct.unpack_from("<I", out, taken)[0]
        struct.pack_into("<I", out, at, (target - at) & 0xFFFFFFFF)


def _size_relative(out: bytearray, random: Random) -> None:
    """A number close to the distance to the end, or to the file's size."""
    if len(out) >= 8:
        at = _place(out, random, 4)
        base = random.choice((len(out), len(out) - at))
        struct.pack_into("<I", out, at, max(base + random.randint(-8, 8), 0))


def _truncate(out: bytearray, random: Random) -> None:
    del out[random.randrange(len(out)) :]


def _append(out: bytearray, random: Random) -> None:
    out += random.randbytes(random.randint(1, 16)) * random.choice((1, 1, 50))


def _delete(out: bytearray, random: Random) -> None:
    start, end = _range(out, random)
    del out[start:end]


def _duplicate(out: bytearray, random: Random) -> None:
    start, end = _range(out, random)
    copies = random.choice((1, 1, 1, _MAX_GROWTH_BYTES // (end - start)))
    out[end:end] = out[start:end] * copies


def _copy_over(out: bytearray, random: Random) -> None:
    start, end = _range(out, random)
    at = _place(out, random)
    out[at : at + end - start] = out[start:end]


def _fill(out: bytearray, random: Random) -> None:
    start, end = _range(out, random)
    out[start:end] = random.choice((b"\0", b"\xff")) * (end - start)


def _splice(out: bytearray, other: bytes, random: Random) -> None:
    """The head of one file with the tail of another."""
    cut = random.randrange(len(out))
    out[cut:] = other[random.choice((cut, random.randrange(len(other)))) :]


_MUTATIONS: tuple[Mutation, ...] = (
    _flip_bit,
    _flip_bit,
    _put_byte,
    _put("<H", _U16),
    _put("<I", _U32),
    _put("<I", _U32_HIGH),
    _put("<Q", _U64),
    _nudge,
    _nudge,
    _retarget,
    _retarget,
    _size_relative,
    _truncate,
    _append,
    _delete,
    _duplicate,
    _copy_over,
    _fill,
)
