"""What native code prints to the standard error descriptor, kept away from our own output."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from onearena.closing import Closing

_RUNTIME_LINE = re.compile(r"\[[\w.+-]+:\d+\] (?P<text>.*\S)")
"""How the runtime logs: `[method.cpp:1334] Invalid number of inputs provided.`"""
_NOISE = re.compile(r"\[cpuinfo_utils\.cpp|\] arg \d+ with type id \d+$")
_MAX_CHARACTERS = 300
_READ_BYTES = 64 * 1024


class NativeLog(Closing):
    """A file that stands in for standard error while :meth:`capture` is active.

    Both ways to it are led there: descriptor 2 (native code) and `sys.stderr` (where the
    runtime's bindings send their messages). They belong to the whole process: what other
    threads write meanwhile lands in the file too. Close it when done, or use it as a context
    manager.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Keeps the text in the file `path`, or in an unnamed one."""
        if path is None:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (see close())
        else:
            self._file = path.open("w+b", buffering=0)
        self._text = io.TextIOWrapper(self._file, "utf-8", "backslashreplace", write_through=True)

    @contextlib.contextmanager
    def capture(self) -> Iterator[None]:
        """Forgets the last text and keeps what is printed to standard error inside the block."""
        self._file.seek(0)
        self._file.truncate()
        _flush(sys.stderr)
        with contextlib.redirect_stderr(self._text), self._captured_descriptor():
            yield

    @contextlib.contextmanager
    def _captured_descriptor(self) -> Iterator[None]:
        try:
            saved = os.dup(2)
        except OSError:  # the process has no standard error: nothing to keep apart
            yield
            return
        try:
            os.dup2(self._file.fileno(), 2)
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)

    def message(self) -> str | None:
        """The last meaningful message of the last block in one line, or None."""
        size = os.fstat(self._file.fileno()).st_size
        start = max(0, size - _READ_BYTES)
        return last_message(os.pread(self._file.fileno(), _READ_BYTES, start))

    def close(self) -> None:
        """Releases the file."""
        self._text.close()


def _flush(stream: object) -> None:
    """Flushes a stream that may be None, closed, or something of the host's own."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        stream.flush()  # type: ignore[attr-defined]


def last_message(log: bytes) -> str | None:
    """The meaningful part of a runtime log in one printable line; None when there is none.

    The runtime reports an error at its root first and then once per level ("KernelCall
    failed at instruction 0:2"): of its messages, the first and the last are kept. Without
    any, the last line of other text serves.
    """
    lines = [line.strip() for line in log.decode("utf-8", "replace").splitlines()]
    lines = [line for line in lines if line and not _NOISE.search(line)]
    messages = [found["text"] for line in lines if (found := _RUNTIME_LINE.match(line))]
    if not messages:
        messages = lines[-1:]
    kept = dict.fromkeys((*messages[:1], *messages[-1:]))
    text = printable("; ".join(message.rstrip(" .:") for message in kept))
    return text[:_MAX_CHARACTERS] or None


def printable(text: str) -> str:
    """`text` in one line without control characters: parts of it come from the program file."""
    return "".join(character if character.isprintable() else " " for character in text).strip()
