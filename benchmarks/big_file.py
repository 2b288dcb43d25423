"""Makes a program of any size out of a small one, by adding weights that nothing reads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from onearena.delegates.xnnpack.payload import build_payload, read_payload
from onearena.flatbuf.data import ByteRange, ByteSource, Data
from onearena.payloads import XNNPACK_BACKEND
from onearena.pte import PteFile, Segment, open_pte, write_pte
from onearena.pte.schema import NamedData

BLOCK_BYTES = 32 << 20
IN_SEGMENT = 1


def enlarge(small: Path, big: Path, added_bytes: int) -> int:
    """Write `big`: `small` and random numbers, half among the constants of its first delegate,
    half as named data. Return the size of the file in bytes.
    """
    with open_pte(small) as file, _noise(big.parent) as noise:
        half = (ByteRange(noise, 0, BLOCK_BYTES),) * (added_bytes // BLOCK_BYTES // 2)
        segments = list(file.segments)
        number = _first_payload(file)
        segments[number] = replace(segments[number], data=_longer(segments[number].data, half))
        segments.append(Segment(half))
        named = NamedData("onearena.benchmark", len(segments) - 1)
        program = replace(file.program, named_data=(*(file.program.named_data or ()), named))
        return write_pte(file.with_program(program, tuple(segments)), big)


def _first_payload(file: PteFile) -> int:
    """The segment with the first payload of XNNPACK."""
    for plan in file.program.execution_plan or ():
        for delegate in plan.delegates or ():
            where = delegate.processed
            if delegate.id == XNNPACK_BACKEND and where and where.location == IN_SEGMENT:
                return where.index
    raise ValueError(f"{file.path} has no XNNPACK payload in a segment")


def _longer(data: Data, constants: Data) -> Data:
    payload = read_payload(data, "payload")
    return build_payload(replace(payload, constants=(*payload.constants, *constants)))


@contextmanager
def _noise(directory: Path) -> Iterator[ByteSource]:
    """A block of random bytes in a file, which no file system can compress or leave out."""
    path = directory / "noise"
    path.write_bytes(os.urandom(BLOCK_BYTES))
    try:
        with ByteSource.open(path) as source:
            yield source
    finally:
        path.unlink()
