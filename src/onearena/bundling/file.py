"""Reading and writing bundled programs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from onearena.bundling.schema import FILE_IDENTIFIER, VERSION, BundledProgram, BundledSuite
from onearena.errors import FormatError, UnsupportedError
from onearena.flatbuf.data import ByteRange, ByteSource, Data
from onearena.flatbuf.decode import decode_root
from onearena.flatbuf.encode import encode_root
from onearena.pte.writer import output_path, refuse_input, write_data

PathLike = str | os.PathLike[str]


def write_bundle(
    program: ByteSource,
    suites: Sequence[BundledSuite],
    path: PathLike,
    check: Callable[[Path], None] | None = None,
) -> int:
    """Writes a bundled program, and returns its size in bytes.

    Args:
        program: a ``.pte`` file, which is copied as it is.
        suites: sorted by the methods' names here, as ExecuTorch does.
        check: is called with the path of the finished file before it gets its name, and may raise.

    Raises:
        UnsupportedError: the file would exceed the format's 2 GiB.
        UsageError: the path cannot be written.
    """
    whole: Data = (ByteRange(program, 0, program.size_bytes),)
    ordered = tuple(sorted(suites, key=lambda suite: suite.method_name or ""))
    root = BundledProgram(VERSION, ordered, whole)
    try:
        data = encode_root(root, FILE_IDENTIFIER).data
    except UnsupportedError as error:
        raise UnsupportedError(f"{program.name}: a bundled program of it: {error}") from None
    return write_data(data, output_path(path), check)


def read_bundle(source: ByteSource) -> BundledProgram:
    """Decodes a bundled program; the program inside stays where it is.

    Raises:
        FormatError: it is none, or corrupt.
        UnsupportedError: it has fields that this version does not know.
    """
    root = decode_root(
        source, 0, source.size_bytes, BundledProgram, (FILE_IDENTIFIER,), source.name
    )
    if root.program is None:
        raise FormatError(f"{source.name}: there is no program in the bundle")
    return root


def extract(path: PathLike, output: PathLike) -> int:
    """Writes the program in a bundle to a file of its own; returns its size in bytes.

    Raises:
        FormatError: `path` is not a bundled program.
        UsageError: `output` cannot be written, or is `path`.
    """
    with ByteSource.open(path) as source:
        target = output_path(output)
        refuse_input(target, path)
        program = read_bundle(source).program
        assert program is not None
        return write_data(program, target)
