"""Descriptions are kept for the files that they were made of, and for no others."""

from __future__ import annotations

import os
import shutil
import stat
import time
from pathlib import Path
from typing import Any

import pytest

import onearena.engine.runtime
from onearena.engine import description_cache
from onearena.engine.description import describe
from onearena.engine.description_cache import DescriptionCache, FileStamp, default_cache
from onearena.engine.embedding import find_description
from onearena.engine.runtime import Runtime
from onearena.errors import FormatError
from onearena.pte import open_pte
from tests.cases.running import difference
from tests.engine.edits import SEEDS
from tests.engine.test_seeds import random_runs

PATHS = sorted(SEEDS.glob("*.pte"))


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "model.pte"
    shutil.copyfile(PATHS[0], path)
    return path


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if files had been written a while ago."""
    monkeypatch.setattr(description_cache, "_SETTLED_NS", 0)


def _kept(folder: Path) -> list[Path]:
    return list(folder.glob("*")) if folder.is_dir() else []


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
@pytest.mark.usefixtures("settled")
def test_an_unchanged_program_is_analysed_once(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONEARENA_CACHE_DIR", str(tmp_path / "cache"))
    calls = random_runs(path)
    model = Runtime().load(path)
    first = [model.method(call.method).run(*call.inputs) for call in calls]

    def analysed(*_: Any) -> None:
        raise AssertionError("analysed again")

    monkeypatch.setattr(onearena.engine.runtime, "describe", analysed)
    model = Runtime().load(path)
    second = [model.method(call.method).run(*call.inputs) for call in calls]
    assert difference(first, second) is None
    with pytest.raises(AssertionError, match="analysed again"):
        Runtime().load(path, use_cache=False)
    (entry,) = _kept(tmp_path / "cache")
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600
    assert stat.S_IMODE(entry.parent.stat().st_mode) == 0o700


@pytest.mark.usefixtures("settled")
def test_a_changed_program_is_not_found(program: Path, tmp_path: Path) -> None:
    cache = DescriptionCache(tmp_path / "cache")
    good = program.read_bytes()
    with open_pte(program) as file:
        description = describe(file)

    def keep() -> None:
        cache.put(program, FileStamp.of(program), description)
        assert cache.get(program) == description

    keep()
    program.write_bytes(good + b"\0")
    assert cache.get(program) is None
    program.write_bytes(good)
    keep()
    os.utime(program, ns=(0, 1))
    assert cache.get(program) is None
    keep()
    times = program.stat()
    changed = bytearray(good)
    changed[200] ^= 1
    time.sleep(0.02)  # more than a tick of the file system's clock
    program.write_bytes(changed)  # the same size, and the old time of modification
    os.utime(program, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert cache.get(program) is None
    program.write_bytes(good)
    keep()
    replacement = program.with_name("other.pte")
    shutil.copyfile(program, replacement)
    replacement.replace(program)
    assert cache.get(program) is None
    program.unlink()
    assert cache.get(program) is None


@pytest.mark.usefixtures("settled")
def test_a_program_that_changes_while_it_is_analysed_is_not_kept(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONEARENA_CACHE_DIR", str(tmp_path / "cache"))

    def slow(file: Any, *_: Any) -> bytes:
        result = describe(file)
        os.utime(program, ns=(0, 1))
        return result

    monkeypatch.setattr(onearena.engine.runtime, "describe", slow)
    with pytest.raises(FormatError, match="was replaced or changed while it was loaded"):
        Runtime().load(program)
    assert not _kept(tmp_path / "cache")


def test_a_program_written_just_now_is_not_kept(program: Path, tmp_path: Path) -> None:
    cache = DescriptionCache(tmp_path / "cache")
    os.utime(program)
    cache.put(program, FileStamp.of(program), b"description")
    assert not _kept(tmp_path / "cache")


@pytest.mark.usefixtures("settled")
def test_damaged_entries_and_those_of_other_versions_are_not_used(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = DescriptionCache(tmp_path / "cache")
    with open_pte(program) as file:
        description = describe(file)
    cache.put(program, FileStamp.of(program), description)
    (entry,) = _kept(tmp_path / "cache")
    good = entry.read_bytes()
    for position in range(0, len(good), 7):
        bad = bytearray(good)
        bad[position] ^= 1
        entry.write_bytes(bad)
        assert cache.get(program) is None
    for length in range(0, len(good), 11):
        entry.write_bytes(good[:length])
        assert cache.get(program) is None
    entry.write_bytes(good)
    assert cache.get(program) == description
    cache.put(program, FileStamp.of(program), b"ONEARENA" + bytes(20))
    assert cache.get(program) is None
    cache.put(program, FileStamp.of(program), description)
    monkeypatch.setattr("onearena.__version__", "0.0.1")
    assert cache.get(program) is None


@pytest.mark.usefixtures("settled")
def test_a_folder_that_cannot_be_used_is_no_error(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (program, program / "inside", Path("/proc/nothing")):
        monkeypatch.setenv("ONEARENA_CACHE_DIR", str(folder))
        Runtime().load(program)
    monkeypatch.setenv("ONEARENA_CACHE_DIR", str(tmp_path / "full"))

    def no_space(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", no_space)
    Runtime().load(program)
    assert not _kept(tmp_path / "full")


@pytest.mark.usefixtures("settled")
def test_a_folder_that_others_may_write_to_is_not_used(program: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    cache = DescriptionCache(folder)
    head = b"ONEARENA" + (3).to_bytes(4, "little")
    cache.put(program, FileStamp.of(program), head)
    assert cache.get(program) == head
    for mode in (0o770, 0o707):
        folder.chmod(mode)
        assert cache.get(program) is None
        cache.put(program, FileStamp.of(program), head, "another")
        folder.chmod(0o700)
        assert cache.get(program, "another") is None
    assert cache.get(program) == head


@pytest.mark.usefixtures("settled")
def test_what_killed_processes_leave_goes(program: Path, tmp_path: Path) -> None:
    cache = DescriptionCache(tmp_path / "cache")
    cache.put(program, FileStamp.of(program), b"")
    old, new = (tmp_path / "cache" / name for name in ("old.tmp", "new.tmp"))
    old.write_bytes(b"half")
    new.write_bytes(b"half")
    os.utime(old, (0, 0))
    cache.put(program, FileStamp.of(program), b"")
    assert not old.exists()
    assert new.exists()


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("use_cache", [True, False])
def test_a_file_replaced_while_it_is_loaded(
    use_cache: bool, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was described is not what is mapped, even where both are of one size."""
    monkeypatch.setenv("ONEARENA_CACHE_DIR", str(tmp_path / "cache"))
    Runtime().load(program)
    other = tmp_path / "other.pte"

    def replacing(find: Any) -> Any:
        def found(path: Any) -> Any:
            result = find(path)
            shutil.copyfile(program, other)
            other.replace(program)
            return result

        return found

    find = find_description
    monkeypatch.setattr(onearena.engine.runtime, "find_description", replacing(find))
    with pytest.raises(FormatError, match="was replaced or changed while it was loaded"):
        Runtime().load(program, use_cache=use_cache)


@pytest.mark.usefixtures("settled")
def test_the_oldest_entries_go(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(description_cache, "_MOST_ENTRIES", 2)
    cache = DescriptionCache(tmp_path / "cache")
    head = b"ONEARENA" + (3).to_bytes(4, "little")
    paths = [program.with_name(f"{k}.pte") for k in range(4)]
    for age, path in enumerate(paths):
        shutil.copyfile(program, path)
        before = set(_kept(tmp_path / "cache"))
        cache.put(path, FileStamp.of(path), head)
        for entry in set(_kept(tmp_path / "cache")) - before:
            os.utime(entry, (age, age))
    assert len(_kept(tmp_path / "cache")) == 2
    assert cache.get(paths[0]) is None
    assert cache.get(paths[3]) == head


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def folder() -> Path:
        cache = default_cache()
        assert cache is not None
        return cache._folder

    monkeypatch.setenv("ONEARENA_CACHE_DIR", "")
    assert default_cache() is None
    monkeypatch.setenv("ONEARENA_CACHE_DIR", str(tmp_path))
    assert folder() == tmp_path
    monkeypatch.delenv("ONEARENA_CACHE_DIR")
    monkeypatch.setenv("HOME", str(tmp_path))
    for relative in ("", "not/absolute"):
        monkeypatch.setenv("XDG_CACHE_HOME", relative)
        assert folder() == tmp_path / ".cache" / "onearena" / "descriptions"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert folder() == tmp_path / "x" / "onearena" / "descriptions"
