"""`onearena report`: one line, and nothing written, for what it cannot do."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path

import pytest

from tests.cli.programs import overlapping, spread_out
from tests.cli.test_cli import run
from tests.report.programs import no_methods_file, rich_file


def refused(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    """The one line about what cannot be done."""
    code, out, err = run(capsys, "report", *args)
    assert code == 2
    assert out == ""
    assert err.startswith("onearena: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    return err


@pytest.mark.parametrize("option", ["--png", "--svg", "--problem"])
def test_files_of_one_method_need_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    if option != "--problem":
        pytest.importorskip("matplotlib")
    suffix = {"--png": ".png", "--svg": ".svg", "--problem": ".csv"}[option]
    target = tmp_path / f"x{suffix}"
    line = refused(capsys, str(rich_file(tmp_path)), option, str(target))
    assert line.endswith("it has 'forward', 'decode'\n")
    assert "--method NAME" in line
    line = refused(capsys, str(no_methods_file(tmp_path)), option, str(target))
    assert line.endswith("it has no methods\n")
    assert not target.exists()


def test_a_method_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, other = rich_file(tmp_path), spread_out(tmp_path)
    line = refused(capsys, str(source), "--method", "backward")
    assert line.endswith("rich.pte: has no method 'backward'; it has 'forward', 'decode'\n")
    line = refused(capsys, str(source), "--method", "decode", "--compare", str(other))
    assert line.endswith("spread.pte: has no method 'decode'; it has 'forward'\n")


@pytest.mark.parametrize(
    ("option", "name", "expected"),
    [
        ("-o", "report.txt", "must end with .html, .htm or .md"),
        ("--png", "map.jpg", "must end with .png"),
        ("--svg", "map", "must end with .svg"),
        ("--problem", "p.txt", "must end with .csv or .json"),
    ],
)
def test_other_suffixes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, name: str, expected: str
) -> None:
    line = refused(capsys, str(spread_out(tmp_path)), option, str(tmp_path / name))
    assert line.endswith(f"{expected}\n")


@pytest.mark.parametrize(
    "option", ["-o", "--trace", "--csv", "--png", "--svg", "--model-explorer", "--problem"]
)
def test_places_where_nothing_can_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    source = spread_out(tmp_path)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name, expected in (
        ("folder", "is a directory"),
        ("missing/out.csv", "there is no directory"),
        ("pipe", "is not a regular file"),
        ("spread.pte", "would overwrite"),
    ):
        line = refused(capsys, str(source), option, str(tmp_path / name))
        assert expected in line
    for name in ("", "-"):
        assert "is not the path of a file to write" in refused(capsys, str(source), option, name)
    assert source.read_bytes() == spread_out(tmp_path).read_bytes()


def test_a_link_or_another_name_of_an_input_is_not_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, other = spread_out(tmp_path), overlapping(tmp_path)
    link, hard = tmp_path / "link.csv", tmp_path / "hard.csv"
    link.symlink_to(source)
    hard.hardlink_to(other)
    assert "would overwrite" in refused(capsys, str(source), "--csv", str(link))
    args = [str(source), "--compare", str(other), "--csv", str(hard)]
    assert "would overwrite" in refused(capsys, *args)


def test_one_file_for_two_things(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "x.csv"
    args = [str(spread_out(tmp_path)), "--csv", str(target), "--problem"]
    assert "x.csv: is named twice, as a file to write" in refused(capsys, *args, str(target))
    assert "is named twice" in refused(capsys, *args, str(tmp_path / "." / "x.csv"))
    assert not target.exists()


@pytest.mark.parametrize("option", ["-o", "--csv", "--trace"])
def test_a_name_that_is_too_long(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    target = tmp_path / f"{'x' * 300}.html"
    line = refused(capsys, str(spread_out(tmp_path)), option, str(target))
    assert line == f"onearena: {target}: cannot be written (File name too long)\n"


def test_a_disk_that_is_full(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    source, target = spread_out(tmp_path), tmp_path / "x.csv"
    target.write_text("old", encoding="utf-8")
    monkeypatch.setattr(Path, "replace", fail)
    line = refused(capsys, str(source), "--csv", str(target))
    assert line == f"onearena: {target}: cannot be written (No space left on device)\n"
    assert target.read_text(encoding="utf-8") == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"spread.pte", "x.csv"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_read_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, folder = spread_out(tmp_path), tmp_path / "folder"
    folder.mkdir(mode=stat.S_IRUSR | stat.S_IXUSR)
    assert "cannot be written" in refused(capsys, str(source), "--csv", str(folder / "x.csv"))


def test_bad_inputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, broken = spread_out(tmp_path), tmp_path / "broken.pte"
    broken.write_bytes(source.read_bytes()[:100])
    target = tmp_path / "out.csv"
    for bad in (str(tmp_path), str(tmp_path / "none.pte"), str(broken), ""):
        refused(capsys, bad)
        refused(capsys, bad, "--csv", str(target))
        refused(capsys, str(source), "--compare", bad, "--csv", str(target))
    assert not target.exists()


def test_without_matplotlib(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    table = tmp_path / "x.csv"
    for option, name in (("--png", "x.png"), ("--svg", "x.svg")):
        args = ["--csv", str(table), option, str(tmp_path / name)]
        line = refused(capsys, str(spread_out(tmp_path)), *args)
        assert line == 'onearena: pictures need matplotlib: pip install "onearena[report]"\n'
    assert not table.exists()
