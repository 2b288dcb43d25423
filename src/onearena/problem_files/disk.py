"""Files as a whole: read with a limit, written beside the target and renamed over it."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from onearena.errors import FormatError, UsageError
from onearena.pte.writer import output_path

MAX_FILE_BYTES = 256 << 20


def read_text(path: str | os.PathLike[str]) -> str:
    """The whole file as text, without a byte order mark.

    Raises:
        FormatError: it cannot be read, is no regular file, is larger than
            :data:`MAX_FILE_BYTES`, or is not UTF-8.
    """
    name = os.fspath(path) or "''"
    data = _read(Path(path), name)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(f"{name}: line {line}: byte {error.start} is not UTF-8") from None


def _read(path: Path, name: str) -> bytes:
    try:
        # looked at before it is opened: opening a pipe would wait for somebody to write
        if not path.is_file():
            raise FormatError(f"{name}: {'is not a file' if path.exists() else 'no such file'}")
        with path.open("rb") as file:
            size_bytes = os.fstat(file.fileno()).st_size
            if size_bytes > MAX_FILE_BYTES:
                raise FormatError(f"{name}: is larger than {MAX_FILE_BYTES >> 20} MiB")
            data = file.read(size_bytes)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise FormatError(f"{name}: cannot be read ({reason})") from None
    return data


def target_path(
    path: str | os.PathLike[str],
    inputs: Iterable[str | os.PathLike[str]] = (),
    outputs: Iterable[str | os.PathLike[str]] = (),
) -> Path:
    """Where to write; links are followed.

    Args:
        inputs: files that are read.
        outputs: other files that will be written.

    Raises:
        UsageError: it cannot be a file to write, its directory is missing, or it is one of the
            `inputs` or `outputs`.
    """
    name = os.fspath(path)
    try:
        target = output_path(path)
        for other in outputs:
            if _is_same(target, other):
                raise UsageError(f"{name}: is named twice, as a file to write")
        for other in inputs:
            if _is_same(target, other):
                raise UsageError(f"{name}: would overwrite {os.fspath(other)}")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise UsageError(f"{name}: cannot be written ({reason or error})") from None
    return target


def _is_same(target: Path, other: str | os.PathLike[str]) -> bool:
    if target == Path(os.path.realpath(other)):
        return True
    with contextlib.suppress(OSError):  # one of them does not exist
        return target.samefile(other)
    return False


def write_bytes(data: bytes, target: Path) -> None:
    """Writes a file that is never seen half written.

    Raises:
        UsageError: it cannot be written.
    """
    temporary = target.parent / f".onearena-{secrets.token_hex(8)}.tmp"
    try:
        try:
            with temporary.open("xb") as out:
                out.write(data)
            temporary.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
    except OSError as error:
        raise UsageError(f"{target}: cannot be written ({error.strerror})") from error
