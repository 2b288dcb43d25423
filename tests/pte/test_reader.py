"""Opening files: what is understood, and one clear line for everything that is not."""

from __future__ import annotations

import os
import struct
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from onearena.errors import FormatError, OnearenaError, UnsupportedError
from onearena.flatbuf.data import ByteRange, ByteSource, read_data
from onearena.flatbuf.encode import encode_root
from onearena.pte import PteFile, open_pte
from onearena.pte.header import HEADER_BYTES, HEADER_OFFSET, ExtendedHeader
from onearena.pte.reader import read_pte
from onearena.pte.schema import DataSegment, NamedData, Program
from tests.flatbuf.canonical import canonical
from tests.pte.build import Method, file_bytes, pte_file, read_bytes
from tests.pte.samples import (
    CONSTANTS,
    delegated,
    everything,
    kernels,
    old_inline,
    payload,
    smallest,
)


def _with_entries(*entries: tuple[int, int], tail: bytes = bytes(256)) -> bytes:
    """A file whose segment table says (offset, size) and whose segments are `tail`."""
    table = tuple(DataSegment(offset, size) for offset, size in entries)
    program = replace(pte_file(Method()).program, segments=table)
    encoded = encode_root(program, b"ET12", reserved_bytes=HEADER_BYTES)
    data = bytearray(read_data(encoded.data))
    base = len(data) + -len(data) % 128
    header = ExtendedHeader(len(data), base, len(tail)).to_bytes()
    data[HEADER_OFFSET : HEADER_OFFSET + HEADER_BYTES] = header
    return bytes(data).ljust(base, b"\0") + tail


def _segments(file: PteFile) -> list[bytes]:
    return [read_data(segment.data) for segment in file.segments]


def _open(path: Path, data: bytes) -> PteFile:
    path.write_bytes(data)
    return open_pte(path)


@pytest.mark.parametrize("sample", [smallest, kernels, delegated, everything, old_inline])
def test_samples_are_read_as_they_were_built(sample: object, tmp_path: Path) -> None:
    assert callable(sample)
    built: PteFile = sample()
    with _open(tmp_path / "a.pte", file_bytes(built)) as found:
        assert canonical(replace(found.program, segments=None)) == canonical(built.program)
        assert _segments(found) == _segments(built)
        assert found.path == str(tmp_path / "a.pte")


def test_segments_are_ranges_of_the_file(tmp_path: Path) -> None:
    with _open(tmp_path / "a.pte", file_bytes(everything())) as file:
        for segment in file.segments:
            (piece,) = segment.data
            assert isinstance(piece, ByteRange)
            assert piece.source is file.source
            assert piece.offset % segment.alignment == 0


def test_alignment_found_is_that_of_the_place() -> None:
    file = read_bytes(_with_entries((0, 5), (16, 8), (128, 16), (200, 1)))
    base = min(piece.offset for piece in file.segments[0].data if isinstance(piece, ByteRange))
    expected = [(base + offset) & -(base + offset) for offset in (0, 16, 128, 200)]
    assert [segment.alignment for segment in file.segments] == expected


def test_several_names_may_share_a_segment() -> None:
    file = read_bytes(file_bytes(everything()))
    named = file.program.named_data
    assert named == (NamedData("one", 4), NamedData("other name, same data", 4))
    assert read_data(file.segments[4].data) == b"named" * 9


def test_mutable_data_segments() -> None:
    file = read_bytes(file_bytes(everything()))
    (state,) = file.program.mutable_data_segments or ()
    assert (state.segment_index, state.offsets) == (1, (0, 0, 5))
    assert read_data(file.segments[1].data) == b"state" * 3


def test_old_files_hold_constants_and_payloads_inline(tmp_path: Path) -> None:
    with _open(tmp_path / "old.pte", file_bytes(old_inline())) as file:
        buffers = file.program.constant_buffer or ()
        assert [read_data(b.storage or ()) for b in buffers] == [b"", CONSTANTS]
        (inline,) = file.program.backend_delegate_data or ()
        assert read_data(inline.data or ()) == payload()
        for piece in (*(buffers[1].storage or ()), *(inline.data or ())):
            assert isinstance(piece, ByteRange)
            assert piece.offset % 16 == 0


def test_empty_segments_need_no_header() -> None:
    """What ExecuTorch writes for a program without any constant or payload."""
    program = replace(pte_file(Method()).program, segments=(DataSegment(),))
    file = read_bytes(read_data(encode_root(program, b"ET12").data))
    assert _segments(file) == [b""]


def test_program_version_and_absent_fields() -> None:
    data = read_data(encode_root(Program(version=7), b"ET12").data)
    file = read_bytes(data)
    assert file.program == Program(version=7)
    assert file.segments == ()


def _message(data: bytes, kind: type[OnearenaError] = FormatError) -> str:
    with pytest.raises(kind) as caught:
        read_bytes(data)
    assert str(caught.value).startswith("test.pte: ")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_overlapping_segments() -> None:
    assert "segment 1 overlaps the one before" in _message(_with_entries((0, 64), (63, 8)))


def test_unsorted_segments() -> None:
    assert "segment 1 overlaps the one before" in _message(_with_entries((128, 8), (0, 8)))


@pytest.mark.parametrize(
    "entry", [(0, 257), (256, 1), (1 << 40, 0), (2**64 - 1, 1), (0, 2**64 - 1)]
)
def test_segment_out_of_range(entry: tuple[int, int]) -> None:
    assert "segment 1 ends at byte" in _message(_with_entries((0, 0), entry))


def test_segments_without_a_header() -> None:
    program = replace(pte_file(Method()).program, segments=(DataSegment(0, 1),))
    message = _message(read_data(encode_root(program, b"ET12").data))
    assert "lists 1 segments, but the file has no extended header" in message


def test_segments_may_touch_and_be_empty() -> None:
    data = bytes(range(256))
    file = read_bytes(_with_entries((0, 10), (10, 0), (10, 246), (256, 0), tail=data))
    assert _segments(file) == [data[:10], b"", data[10:], b""]


@pytest.mark.parametrize("zeros", [0, 4096, 3 << 20])
def test_trailing_garbage(zeros: int) -> None:
    data = file_bytes(delegated())
    message = _message(data + bytes(zeros) + b"x")
    assert f"{zeros + 1} bytes after the end of the program (byte {len(data)})" in message


def test_endless_trailing_zeros_are_not_scanned(tmp_path: Path) -> None:
    path = tmp_path / "a.pte"
    path.write_bytes(file_bytes(delegated()))
    os.truncate(path, 1 << 38)  # a hole
    with pytest.raises(FormatError, match="bytes after the end of the program"):
        open_pte(path)


def test_trailing_garbage_behind_a_program_with_a_header_and_no_segments() -> None:
    data = _with_entries(tail=bytes(127) + b"!")
    assert "belong to no segment" in _message(data)


def test_trailing_padding_is_ignored() -> None:
    data = file_bytes(delegated())
    assert file_bytes(read_bytes(data + bytes(5000))) == data


def test_bundled_program() -> None:
    data = bytearray(file_bytes(kernels()))
    data[4:8] = b"BP08"
    assert "is a bundled program (BP08)" in _message(bytes(data))


@pytest.mark.parametrize("identifier", [b"ET11", b"XN01", bytes(4), b"\xff\n\r\0"])
def test_wrong_identifier(identifier: bytes) -> None:
    data = bytearray(file_bytes(kernels()))
    data[4:8] = identifier
    message = _message(bytes(data))
    assert "is not a .pte file: bytes 4-8 are" in message
    assert "b'ET12'" in message


def test_text_file() -> None:
    assert "is not a .pte file" in _message(b"hello, this is no program\n" * 9)


@pytest.mark.parametrize("size", range(1, 8))
def test_a_few_bytes(size: int) -> None:
    assert f"{size} bytes are too few" in _message(file_bytes(kernels())[:size])


@pytest.mark.parametrize("sample", [kernels, delegated, everything, old_inline])
def test_truncated_at_every_length(sample: object) -> None:
    """Refused, or (only unused bytes are missing) read in full."""
    assert callable(sample)
    data = file_bytes(sample())
    whole = canonical(read_bytes(data).program)
    for size in range(1, len(data)):
        try:
            found = read_bytes(data[:size])
        except FormatError:
            continue
        assert canonical(found.program) == whole, size
        assert _segments(found) == _segments(read_bytes(data)), size


def test_segment_bytes_cannot_be_cut_off() -> None:
    data = file_bytes(delegated())
    for size in range(len(data) - len(payload()), len(data)):
        assert "truncated?" in _message(data[:size])


def test_two_methods_of_one_name() -> None:
    """Programs ask for methods by name, and records keep what is known by name."""
    message = _message(file_bytes(pte_file(Method("step"), Method("other"), Method("step"))))
    assert message.endswith("has two methods named 'step'")


def test_newer_schema_is_refused_by_name() -> None:
    data = bytearray(file_bytes(smallest()))
    (root,) = struct.unpack_from("<I", data)
    vtable = struct.pack("<HH9H", 22, 8, *[0] * 8, 4)
    at = len(data)
    struct.pack_into("<I", data, 0, at + len(vtable) + 2)
    data += vtable + bytes(2) + struct.pack("<ii", len(vtable) + 2, 1)
    assert root < at
    message = _message(bytes(data), UnsupportedError)
    assert "table Program has field #8" in message
    assert "newer schema" in message


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no such file"):
        open_pte(tmp_path / "nothing.pte")


def test_directory(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="is not a file"):
        open_pte(tmp_path)


def test_empty_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="the file is empty"):
        _open(tmp_path / "a.pte", b"")


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b"])
def test_impossible_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(FormatError, match=r"cannot be opened|no such file"):
        open_pte(tmp_path / name)


def test_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.pte"
    path.write_bytes(file_bytes(kernels()))
    path.chmod(0)
    if os.access(path, os.R_OK):  # root reads everything: let the system call refuse

        def refuse(*arguments: object) -> int:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(FormatError, match=r"cannot be opened \(Permission denied\)"):
        open_pte(path)


def test_file_that_cannot_be_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """E.g. the attribute files of /sys have a size but cannot be mapped."""
    path = tmp_path / "a.pte"
    path.write_bytes(file_bytes(kernels()))

    def refuse(*arguments: object, **options: object) -> object:
        raise OSError(19, "No such device")

    monkeypatch.setattr("onearena.flatbuf.data.mmap.mmap", refuse)
    before = _open_descriptors()
    with pytest.raises(FormatError, match=r"cannot be mapped \(No such device\)"):
        open_pte(path)
    assert _open_descriptors() == before


def _open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir())) if sys.platform == "linux" else 0


def test_refused_files_are_closed_again(tmp_path: Path) -> None:
    before = _open_descriptors()
    for index, data in enumerate((b"garbage!" * 9, file_bytes(everything())[:-1])):
        with pytest.raises(FormatError):
            _open(tmp_path / f"{index}.pte", data)
    assert _open_descriptors() == before


def test_closing_twice_is_harmless(tmp_path: Path) -> None:
    before = _open_descriptors()
    file = _open(tmp_path / "a.pte", file_bytes(everything()))
    held = file.source.view(0, 8)
    file.close()
    file.close()
    assert bytes(held[4:8]) == b"ET12"
    held.release()
    assert _open_descriptors() == before


def test_fifo_does_not_block(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(FormatError, match="is not a file"):
        open_pte(path)


def test_source_of_bytes_names_itself() -> None:
    with pytest.raises(FormatError, match=r"^<bytes>: "):
        read_pte(ByteSource.from_bytes(b"nothing of the kind"))
