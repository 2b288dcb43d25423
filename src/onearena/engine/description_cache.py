"""Descriptions of programs that were loaded before, in a folder of the user's.

Analysing a program takes several times as long as loading it; a file that has not changed since
needs no second analysis. An entry belongs to one path, and holds for the file that it was made
of: the same device, inode, size and times. Nothing here raises an error: a cache that cannot be
read or written is as good as none.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import struct
import tempfile
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

import onearena
from onearena.engine.description import is_current

ENVIRONMENT_VARIABLE = "ONEARENA_CACHE_DIR"
"""Where the cache is; empty for no cache."""
_MOST_ENTRIES = 256
_SETTLED_NS = 1_000_000_000
"""A file that was touched within this time may change again without a new time: the coarsest
clock of today's file systems that tells times apart has ticks of 10 ms, remote ones of 1 s."""
_MAGIC = b"ONEACCH1"
_HEAD = struct.Struct("<8s5QI")
"""Magic, the file's stamp, the checksum of all else."""
_SUFFIX = ".description"
_UNFINISHED = ".tmp"
_UNFINISHED_S = 3600
"""After so long nobody writes a file any more."""


@dataclass(frozen=True)
class FileStamp:
    """What changes whenever somebody writes to a file, or puts another in its place."""

    device: int
    inode: int
    size_bytes: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> FileStamp | None:
        """The stamp of a file; None when there is none to be had."""
        try:
            found = Path(path).stat()
        except OSError:
            return None
        size, times = found.st_size, (found.st_mtime_ns, found.st_ctime_ns)
        return cls(found.st_dev, found.st_ino, size, *times)

    @property
    def is_settled(self) -> bool:
        """Whether any later change is sure to give another stamp."""
        return max(self.modified_ns, self.changed_ns) + _SETTLED_NS <= time.time_ns()

    def pack(self, checksum: int) -> bytes:
        """The head of an entry."""
        mask = (1 << 64) - 1  # times before 1970 are negative
        stamp = (self.device, self.inode, self.size_bytes, self.modified_ns, self.changed_ns)
        return _HEAD.pack(_MAGIC, *(number & mask for number in stamp), checksum)


class DescriptionCache:
    """Descriptions by path, the newest few hundred of them."""

    def __init__(self, folder: Path) -> None:
        """A cache in a folder, which is made when it is first needed."""
        self._folder = folder

    def get(self, path: str | os.PathLike[str], kind: str = "") -> bytes | None:
        """The description of the file as it is now; None when there is none.

        Args:
            path: of the file.
            kind: of description; a file may have one of each.
        """
        stamp = FileStamp.of(path)
        if stamp is None:
            return None
        try:
            entry = self._entry(path, kind).read_bytes() if self._is_ours() else b""
        except OSError:
            return None
        description = entry[_HEAD.size :]
        if entry[: _HEAD.size] != stamp.pack(_checksum(description)):
            return None
        return description if is_current(description) else None

    def put(
        self,
        path: str | os.PathLike[str],
        before: FileStamp | None,
        description: bytes,
        kind: str = "",
    ) -> None:
        """Keeps a description.

        Args:
            path: the file that it describes.
            before: the file's stamp, taken before it was analysed. Nothing is kept when the file
                changed since, or only just now: it may be of a state that lasted for a moment.
            description: of the file.
            kind: as in :meth:`get`.
        """
        if before is None or before != FileStamp.of(path) or not before.is_settled:
            return
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._is_ours():
                return
            self._write(self._entry(path, kind), before.pack(_checksum(description)) + description)
            self._forget_old()

    def _is_ours(self) -> bool:
        """Whether nobody else can put entries there: a description says what is run how."""
        found = self._folder.stat()
        return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)

    def _write(self, entry: Path, content: bytes) -> None:
        handle, name = tempfile.mkstemp(suffix=_UNFINISHED, dir=self._folder)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
            Path(name).replace(entry)
        except OSError:
            Path(name).unlink()
            raise

    def _forget_old(self) -> None:
        entries = list(self._folder.glob(f"*{_SUFFIX}"))
        if len(entries) > _MOST_ENTRIES:
            entries.sort(key=lambda entry: entry.stat().st_mtime_ns)
            for entry in entries[: len(entries) - _MOST_ENTRIES]:
                entry.unlink(missing_ok=True)
        for left in self._folder.glob(f"*{_UNFINISHED}"):  # by a process that was killed
            if left.stat().st_mtime < time.time() - _UNFINISHED_S:
                left.unlink(missing_ok=True)

    def _entry(self, path: str | os.PathLike[str], kind: str) -> Path:
        version = f"{onearena.__version__} {kind}".strip()
        key = os.fsencode(os.path.realpath(path)) + b"\0" + version.encode()
        return self._folder / (hashlib.sha256(key).hexdigest()[:40] + _SUFFIX)


def default_cache() -> DescriptionCache | None:
    """The user's cache, see the XDG base directory specification; None when there is to be none."""
    chosen = os.environ.get(ENVIRONMENT_VARIABLE)
    if chosen is not None:
        return DescriptionCache(Path(chosen)) if chosen else None
    home = os.environ.get("XDG_CACHE_HOME", "")
    try:
        # the specification says that relative paths are to be ignored
        base = Path(home) if Path(home).is_absolute() else Path.home() / ".cache"
    except RuntimeError:
        return None
    return DescriptionCache(base / "onearena" / "descriptions")


def _checksum(description: bytes) -> int:
    return zlib.crc32(description)
