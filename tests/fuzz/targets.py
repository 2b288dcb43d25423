"""What is fuzzed. A target takes a file's bytes and may raise only an OnearenaError.

Later layers add theirs to :data:`TARGETS`; every mutated file goes to every target.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from zlib import crc32

from onearena.delegates.xnnpack.payload import build_payload, read_payload
from onearena.flatbuf.data import Data, read_data
from onearena.pipeline import Options, inspect, optimize, verify
from onearena.pte import PteFile, open_pte
from onearena.pte.schema import BackendDelegateDataReference, Program
from tests.flatbuf.canonical import canonical
from tests.fuzz.commands import commands
from tests.pte.build import SEGMENT, file_bytes, read_bytes

Target = Callable[[bytes], None]

_FROM_DISK_EVERY = 64
_PIPELINE_EVERY = 8


def rewrite(data: bytes) -> None:
    """Read, write, read again: nothing changes, and a second write changes no byte."""
    file = read_bytes(data)
    written = file_bytes(file)
    again = read_bytes(written)
    assert _program(again.program) == _program(file.program)
    assert _segments(again) == _segments(file)
    assert file_bytes(again) == written


def payloads(data: bytes) -> None:
    """Decode every XNNPACK payload, build it, decode it again: nothing changes."""
    file = read_bytes(data)
    for content in _xnnpack_payloads(file):
        payload = read_payload(content, "payload")
        again = read_payload((read_data(build_payload(payload)),), "again")
        assert canonical(again.graph) == canonical(payload.graph)
        assert read_data(again.constants) == read_data(payload.constants)


def from_disk(data: bytes) -> None:
    """Some of the files also through the memory-mapped path."""
    if crc32(data) % _FROM_DISK_EVERY:
        return
    with tempfile.NamedTemporaryFile(suffix=".pte") as out:
        Path(out.name).write_bytes(data)
        with open_pte(out.name) as file:
            assert _program(file.program) == _program(read_bytes(data).program)


def _program(program: Program) -> object:
    return canonical(replace(program, segments=None))


def _segments(file: PteFile) -> list[bytes]:
    return [read_data(segment.data) for segment in file.segments]


def _xnnpack_payloads(file: PteFile) -> Iterator[Data]:
    """Each payload once, however many delegates refer to it."""
    seen: set[tuple[int, int]] = set()
    for plan in file.program.execution_plan or ():
        for delegate in plan.delegates or ():
            reference = delegate.processed
            if delegate.id != "XnnpackBackend" or reference is None:
                continue
            place = (reference.location, reference.index)
            content = None if place in seen else _content(file, reference)
            seen.add(place)
            if content is not None:
                yield content


def _content(file: PteFile, reference: BackendDelegateDataReference) -> Data | None:
    if reference.location == SEGMENT:
        inside = reference.index < len(file.segments)
        return file.segments[reference.index].data if inside else None
    inline = file.program.backend_delegate_data or ()
    return inline[reference.index].data if reference.index < len(inline) else None


def pipeline(data: bytes) -> None:
    """Inspect, verify and optimize, for some of the files, as the command line does."""
    if crc32(data) % _PIPELINE_EVERY:
        return
    with tempfile.TemporaryDirectory() as directory:
        source, target = Path(directory, "in.pte"), Path(directory, "out.pte")
        source.write_bytes(data)
        inspect(source)
        before = verify(source)
        report = optimize(source, target, Options(time_limit_s=0.01))
        for method in report.methods:
            assert method.after is not None
            assert method.after.total_bytes <= method.before.total_bytes
        if before.safe:
            assert verify(target).safe


def command_line(data: bytes) -> None:
    """One of the commands, for some of the files."""
    commands(data, _good())


@cache
def _good() -> bytes:
    """A program that every command takes, to be compared with."""
    return (Path(__file__).parents[1] / "cortex_m/programs/conv2d_x3_m55.pte").read_bytes()


TARGETS: tuple[Target, ...] = (rewrite, payloads, from_disk, pipeline, command_line)
