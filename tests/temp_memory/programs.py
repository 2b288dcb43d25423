"""Programs with Ethos-U calls, built by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from struct import pack

from onearena.pte.container import PteFile
from tests.pte.build import CHAR, FLOAT, Method, file_bytes, pte_file

BACKEND = "EthosUBackend"
COMMANDS = b"COP1" + bytes(28)

Tensors = Sequence[tuple[int, int]]
"""Bytes and offset in the scratch, of int8 vectors."""


def block(name: str, data: bytes, external: int = 0) -> bytes:
    """One block of a payload."""
    header = pack("<16sIB11s", name.encode(), len(data), external, bytes(11))
    return header + data + bytes(-len(data) % 16)


def tensors(found: Tensors) -> bytes:
    """The data of a block of inputs or outputs."""
    entries = (pack("<9i", 1, 1, 1, 1, 1, size, 1, offset, 1) for size, offset in found)
    return pack("<i", len(found)) + b"".join(entries)


def payload(
    scratch_bytes: int = 256,
    inputs: Tensors = ((64, 0),),
    outputs: Tensors = ((64, 64),),
    commands: bytes = COMMANDS,
) -> bytes:
    """A payload as ExecuTorch packs Vela's output."""
    return b"".join(
        (
            block("vela_bin_stream", b""),
            block("cmd_data", commands),
            block("weight_data", b"\1" * 40),
            block("scratch_size", pack("<I", scratch_bytes)),
            block("inputs", tensors(inputs)),
            block("outputs", tensors(outputs)),
            block("vela_end_stream", b""),
        )
    )


def two_calls() -> tuple[Method, dict[str, int]]:
    """Two calls with a kernel in between; `kept` lives across the first call, `apart` across the
    second. All in one row, so that every overlap is a planner's.

    Returns:
        The method, and its values by name.
    """
    method = Method()
    names = ("x", "q", "r", "wide", "s", "t", "kept", "y")
    kinds = {"x": FLOAT, "wide": FLOAT, "y": FLOAT}
    values: dict[str, int] = {}
    offset = 0
    for name in names:
        kind = kinds.get(name, CHAR)
        values[name] = method.tensor(64, scalar_type=kind, offset=offset)
        offset += 256 if kind == FLOAT else 64
    v = values
    method.input(v["x"]).output(v["y"])
    first, second = method.delegate(BACKEND, 0), method.delegate(BACKEND, 1)
    method.call("aten::one.out", v["x"], v["q"], v["q"])
    method.call("aten::one.out", v["q"], v["kept"], v["kept"])
    method.call_delegate(first, v["q"], v["r"])
    method.call("aten::one.out", v["r"], v["wide"], v["wide"])
    method.call("aten::two.out", v["wide"], v["kept"], v["s"], v["s"])
    method.call_delegate(second, v["s"], v["t"])
    method.call("aten::one.out", v["t"], v["y"], v["y"])
    return method, values


def two_calls_file(first_bytes: int = 512, second_bytes: int = 256) -> PteFile:
    """The file of :func:`two_calls` with what its calls take."""
    method, _ = two_calls()
    return pte_file(method, segments=[payload(first_bytes), payload(second_bytes)])


def write(file: PteFile, path: Path) -> Path:
    """The file on disk."""
    path.write_bytes(file_bytes(file))
    return path
