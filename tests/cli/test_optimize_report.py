"""`optimize --report`: a page about the program before and after."""

from __future__ import annotations

from pathlib import Path

import pytest

from onearena.cli.main import main
from tests.cli.programs import spread_out


def test_both_programs_are_on_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, output, page = spread_out(tmp_path), tmp_path / "out.pte", tmp_path / "page.html"
    assert main(["optimize", str(source), "-o", str(output), "--report", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert source.name in text
    assert output.name in text
    assert text.lower().startswith("<!doctype html>")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", ["out.pte", "page.txt", "missing/page.html", ""])
def test_a_page_that_cannot_be_written_is_refused_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    source, output = spread_out(tmp_path), tmp_path / "out.pte"
    page = str(tmp_path / name) if name else ""
    assert main(["optimize", str(source), "-o", str(output), "--report", page]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not output.exists()


def test_the_page_never_replaces_a_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = spread_out(tmp_path)
    odd = source.rename(tmp_path / "model.html")
    before = odd.read_bytes()
    output = tmp_path / "out.pte"
    assert main(["optimize", str(odd), "-o", str(output), "--report", str(odd)]) == 2
    assert odd.read_bytes() == before
    assert "overwrite" in capsys.readouterr().err
