"""Writing files: nothing lost, aligned, all or nothing, weights not through memory."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onearena.errors import FormatError, UsageError, VerificationError
from onearena.flatbuf.data import ByteRange, ByteSource, read_data
from onearena.pte import PteFile, Segment, open_pte, write_pte
from onearena.pte.writer import layout
from tests.flatbuf.canonical import canonical
from tests.pte.build import Method, file_bytes, pte_file, read_bytes
from tests.pte.samples import delegated, everything, kernels, old_inline, smallest

_SAMPLES = [smallest, kernels, delegated, everything, old_inline]


def _source(path: Path, sample: Callable[[], PteFile] = everything) -> Path:
    path.write_bytes(file_bytes(sample()))
    return path


def _contents(path: Path) -> tuple[object, list[bytes]]:
    with open_pte(path) as file:
        program = canonical(replace(file.program, segments=None))
        return program, [read_data(segment.data) for segment in file.segments]


@pytest.mark.parametrize("sample", _SAMPLES)
def test_untouched_file_is_written_back_unchanged(
    sample: Callable[[], PteFile], tmp_path: Path
) -> None:
    source, target = _source(tmp_path / "a.pte", sample), tmp_path / "b.pte"
    with open_pte(source) as file:
        size = write_pte(file, target)
        alignments = [segment.alignment for segment in file.segments]
    assert _contents(target) == _contents(source)
    assert size == target.stat().st_size
    assert target.read_bytes() == source.read_bytes()
    with open_pte(target) as again:
        assert [segment.alignment for segment in again.segments] == alignments


@st.composite
def _files(draw: st.DrawFn) -> PteFile:
    alignments = st.sampled_from([1, 2, 16, 64, 128, 1024, 4096])
    sizes = st.integers(0, 300)
    pieces = draw(st.lists(st.tuples(sizes, alignments), max_size=6))
    segments = [Segment((b"s" * size,), alignment) for size, alignment in pieces]
    return pte_file(Method("x" * draw(st.integers(0, 40))), segments=segments)


@settings(deadline=None)
@given(_files())
def test_segments_are_aligned_from_the_start_of_the_file(file: PteFile) -> None:
    found = read_bytes(file_bytes(file))
    for written, wanted in zip(found.segments, file.segments, strict=True):
        assert read_data(written.data) == read_data(wanted.data)
        (piece,) = written.data
        assert isinstance(piece, ByteRange)
        assert piece.offset % wanted.alignment == 0 or not wanted.size_bytes


@settings(deadline=None)
@given(_files())
def test_writing_again_changes_no_byte(file: PteFile) -> None:
    data = file_bytes(file)
    assert file_bytes(read_bytes(data)) == data


@pytest.mark.parametrize("length", range(0, 64, 8))
def test_leading_empty_segments_are_at_the_base(length: int) -> None:
    """Their offsets are 0 whatever the program's size is, so that the size depends on nothing."""
    pieces = [Segment((), 1), Segment((b"",), 16), Segment((b"full",), 4096), Segment((b"x",), 64)]
    found = read_bytes(file_bytes(pte_file(Method("x" * length), segments=pieces)))
    offsets = [entry.offset for entry in found.program.segments or ()]
    assert offsets == [0, 0, 0, 64]


def test_alignment_of_inline_data_is_kept(tmp_path: Path) -> None:
    source = tmp_path / "a"
    source.write_bytes(bytes(1024) + b"constants")
    with ByteSource.open(source) as data:
        file = old_inline()
        (empty, buffer) = file.program.constant_buffer or ()
        buffer = replace(buffer, storage=(ByteRange(data, 1024, 9),))
        program = replace(file.program, constant_buffer=(empty, buffer))
        written = file_bytes(replace(file, program=program))
    assert written.index(b"constants") % 1024 == 0


def test_segment_table_of_the_program_is_recomputed() -> None:
    file = read_bytes(file_bytes(everything()))
    fewer = file.with_program(file.program, file.segments[:2])
    found = read_bytes(file_bytes(fewer))
    assert len(found.segments) == len(found.program.segments or ()) == 2
    none = read_bytes(file_bytes(file.with_program(file.program, ())))
    assert (none.segments, none.program.segments) == ((), ())


def test_changed_program_keeps_segments(tmp_path: Path) -> None:
    source, target = _source(tmp_path / "a.pte"), tmp_path / "b.pte"
    with open_pte(source) as file:
        changed = file.with_program(replace(file.program, version=9), file.segments)
        write_pte(changed, target)
    assert _contents(target)[1] == _contents(source)[1]
    with open_pte(target) as found:
        assert found.program.version == 9


def test_segments_may_mix_memory_and_file(tmp_path: Path) -> None:
    source, target = _source(tmp_path / "a.pte"), tmp_path / "b.pte"
    with open_pte(source) as file:
        mixed = Segment((b"new ", *file.segments[1].data, b" end"), 64)
        write_pte(file.with_program(file.program, (mixed, *file.segments[1:])), target)
        expected = b"new " + read_data(file.segments[1].data) + b" end"
    assert _contents(target)[1][0] == expected


def test_file_mode_follows_the_umask(tmp_path: Path) -> None:
    target = tmp_path / "b.pte"
    before = os.umask(0o027)
    try:
        write_pte(kernels(), target)
    finally:
        os.umask(before)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


# All or nothing


def _names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_check_sees_the_whole_file_before_the_target_exists(tmp_path: Path) -> None:
    target = tmp_path / "b.pte"
    seen: list[object] = []

    def check(path: Path) -> None:
        assert path != target
        assert path.parent == target.parent
        assert not target.exists()
        seen.append(_contents(path))

    write_pte(everything(), target, check)
    assert seen == [_contents(target)]


@pytest.mark.parametrize("error", [VerificationError, KeyboardInterrupt, ZeroDivisionError])
def test_failing_check_leaves_nothing(error: type[BaseException], tmp_path: Path) -> None:
    def check(path: Path) -> None:
        raise error("no")

    with pytest.raises(error):
        write_pte(everything(), tmp_path / "b.pte", check)
    assert _names(tmp_path) == []


def test_failing_check_leaves_an_existing_target(tmp_path: Path) -> None:
    target = tmp_path / "b.pte"
    target.write_bytes(b"precious")

    def check(path: Path) -> None:
        raise VerificationError("no")

    with pytest.raises(VerificationError):
        write_pte(everything(), target, check)
    assert target.read_bytes() == b"precious"
    assert _names(tmp_path) == ["b.pte"]


def test_existing_target_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "b.pte"
    target.write_bytes(b"old" * 9999)
    write_pte(kernels(), target)
    assert target.read_bytes() == file_bytes(kernels())
    assert _names(tmp_path) == ["b.pte"]


def test_killed_while_writing_leaves_the_target(tmp_path: Path) -> None:
    """The process kills itself in the middle of the copy."""
    target = tmp_path / "b.pte"
    target.write_bytes(b"precious")
    source = _source(tmp_path / "a.pte")
    script = """
        import os, signal, sys
        from onearena.pte import open_pte, write_pte, writer
        copy = writer._copy_chunk
        def copy_then_die(chunk, out):
            copy(chunk, out)
            if os.fstat(out).st_size > 1000:
                os.kill(os.getpid(), signal.SIGKILL)
        writer._copy_chunk = copy_then_die
        write_pte(open_pte(sys.argv[1]), sys.argv[2])
    """
    assert _run(script, source, target).returncode == -signal.SIGKILL
    assert target.read_bytes() == b"precious"
    left = [name for name in _names(tmp_path) if name not in ("a.pte", "b.pte")]
    assert len(left) == 1, "the temporary file that the killed process was writing"


def _run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)]
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, "PYTHONPATH": paths}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


# Targets that are refused


def _refused(file: PteFile, target: Path, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        write_pte(file, target)
    assert "\n" not in str(caught.value)


def test_own_input_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = _source(tmp_path / "a.pte")
    before = source.read_bytes()
    hard, soft = tmp_path / "hard.pte", tmp_path / "soft.pte"
    hard.hardlink_to(source)
    soft.symlink_to(source)
    monkeypatch.chdir(tmp_path)
    with open_pte(source) as file:
        for target in (source, hard, soft, Path("a.pte"), tmp_path / "." / "a.pte"):
            _refused(file, target, "would overwrite its own input")
    assert source.read_bytes() == before
    assert soft.is_symlink()


def test_input_opened_by_a_relative_path_is_recognized(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = _source(tmp_path / "a.pte")
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path)
    with open_pte("a.pte") as file:
        monkeypatch.chdir(tmp_path / "inner")
        _refused(file, source, "would overwrite its own input")
        write_pte(file, Path("a.pte"))
    assert (tmp_path / "inner" / "a.pte").read_bytes() == source.read_bytes()


def test_input_that_was_deleted_is_still_copied(tmp_path: Path) -> None:
    source, target = _source(tmp_path / "a.pte"), tmp_path / "b.pte"
    target.write_bytes(b"old")
    before = source.read_bytes()
    with open_pte(source) as file:
        source.unlink()
        write_pte(file, target)
        write_pte(file, source)
    assert target.read_bytes() == source.read_bytes() == before


def test_missing_directory(tmp_path: Path) -> None:
    _refused(kernels(), tmp_path / "no" / "b.pte", f"there is no directory {tmp_path / 'no'}")


def test_directory_as_target(tmp_path: Path) -> None:
    (tmp_path / "b.pte").mkdir()
    _refused(kernels(), tmp_path / "b.pte", "is a directory")
    assert _names(tmp_path) == ["b.pte"]


def test_file_as_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    _refused(kernels(), tmp_path / "file" / "b.pte", "there is no directory")


def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int, data: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", refuse)
    with pytest.raises(UsageError, match=r"cannot be written \(No space left on device"):
        write_pte(kernels(), tmp_path / "b.pte")
    monkeypatch.undo()
    assert _names(tmp_path) == []


# Copying


def test_input_that_shrank_is_noticed(tmp_path: Path) -> None:
    source, target = _source(tmp_path / "a.pte"), tmp_path / "b.pte"
    with open_pte(source) as file:
        pieces = layout(file)
        assert pieces
        os.truncate(source, source.stat().st_size - 10)
        _refused(file, target, "shrank while it was read")
    assert _names(tmp_path) == ["a.pte"]


@pytest.mark.parametrize("broken", ["fails", "missing"])
def test_copying_without_the_system_call(
    broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = _source(tmp_path / "a.pte"), tmp_path / "b.pte"

    def refuse(*arguments: object, **options: object) -> int:
        raise OSError(18, "Invalid cross-device link")

    if broken == "missing":
        monkeypatch.delattr(os, "copy_file_range", raising=False)
    else:
        monkeypatch.setattr(os, "copy_file_range", refuse, raising=False)
    with open_pte(source) as file:
        write_pte(file, target)
    assert target.read_bytes() == source.read_bytes()


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = _source(tmp_path / "a.pte"), tmp_path / "b.pte"
    write = os.write
    monkeypatch.delattr(os, "copy_file_range", raising=False)
    monkeypatch.setattr(os, "write", lambda out, data: write(out, bytes(data)[:7]))
    with open_pte(source) as file:
        write_pte(file, target)
    assert target.read_bytes() == source.read_bytes()


def test_corrupt_source_never_reaches_the_target(tmp_path: Path) -> None:
    source = tmp_path / "a.pte"
    source.write_bytes(file_bytes(everything())[:-1])
    with pytest.raises(FormatError):
        open_pte(source)
    assert _names(tmp_path) == ["a.pte"]
