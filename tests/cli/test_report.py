"""`onearena report`: golden output, the files it writes, and one line for what it cannot do."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from onearena.cli.main import main
from onearena.problem_files import read_problem
from onearena.report.summary_json import summary_json
from onearena.report.totals import known_pools
from onearena.summary.build import summarize
from tests.cli.programs import spread_out
from tests.cli.test_cli import check_golden, run
from tests.pte.build import Method, file_bytes, pte_file
from tests.report.programs import empty_file, hostile_file, no_methods_file, rich_file

# -- printing ---------------------------------------------------------------------------------


def test_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "report", str(rich_file(tmp_path)))
    assert (code, err) == (0, "")
    check_golden("report.txt", out, tmp_path)
    assert "\x1b" not in out


def test_text_of_one_method(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "report", str(rich_file(tmp_path)), "--method", "decode")
    assert code == 0
    assert "method decode" in out
    assert "method forward" not in out


def test_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = spread_out(tmp_path)
    small = tmp_path / "small.pte"
    assert main(["optimize", str(source), "-o", str(small)]) == 0
    capsys.readouterr()
    code, out, _ = run(capsys, "report", str(source), "--compare", str(small))
    assert code == 0
    assert "forward: total" in out
    head = out.split("\n\nmethod ")[0].splitlines()[6:]
    check_golden("report_compare.txt", "\n".join(head) + "\n", tmp_path)


def test_json_is_the_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, trace = rich_file(tmp_path), tmp_path / "t.json"
    code, out, err = run(capsys, "report", str(source), "--json", "--trace", str(trace))
    assert (code, err) == (0, "")
    content = json.loads(out)
    assert content.pop("written") == [str(trace)]
    assert content == summary_json(summarize(source), pools=known_pools(source))
    assert trace.exists()


def test_json_of_two_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = rich_file(tmp_path), spread_out(tmp_path)
    code, out, _ = run(capsys, "report", str(first), "--compare", str(second), "--json")
    assert code == 0
    content = json.loads(out)
    assert content["compared_with"] == summary_json(summarize(second), pools=known_pools(second))
    assert content["written"] == []


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_stream_that_lacks_characters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    assert main(["report", str(hostile_file(tmp_path))]) == 0
    stream.flush()
    text = raw.getvalue().decode(encoding)
    assert ("█" in text) == (encoding == "utf-8")
    assert ("###" in text) == (encoding != "utf-8")
    assert "\x1b" not in text


def test_a_terminal_is_used_in_its_full_width(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        encoding = "utf-8"

        def isatty(self) -> bool:
            return True

    stream = Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("COLUMNS", "60")
    source = _long_program(tmp_path)
    assert main(["report", str(source)]) == 0
    charts = [line for line in stream.getvalue().splitlines() if line.endswith("█")]
    assert max(map(len, charts)) == 60


def _long_program(directory: Path) -> Path:
    """A hundred kernels, in place."""
    method = Method()
    a, b = method.tensor(64, offset=0), method.tensor(64, offset=256)
    method.input(a).output(b)
    for _ in range(100):
        method.call("aten::relu.out", a, b, b)
    path = directory / "long.pte"
    path.write_bytes(file_bytes(pte_file(method)))
    return path


# -- files ------------------------------------------------------------------------------------


def test_all_files_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    source = rich_file(tmp_path)
    before = source.read_bytes()
    targets = {
        "-o": "r.html",
        "--trace": "r.trace.json",
        "--csv": "r.csv",
        "--png": "r.png",
        "--svg": "r.svg",
        "--model-explorer": "r.nodes.json",
        "--problem": "r.problem.csv",
    }
    options = [text for name, file in targets.items() for text in (name, str(tmp_path / file))]
    code, out, err = run(capsys, "report", str(source), "--method", "forward", *options)
    assert (code, err) == (0, "")
    *lines, last = out.splitlines()
    *files, problem = [f"written: {tmp_path / file}" for file in targets.values()]
    assert lines == files
    assert last.startswith(f"{problem} (without 2 pairs that may share an address;")
    starts = {
        "r.html": b"<!doctype html>",
        "r.trace.json": b'{"displayTimeUnit":"ms"',
        "r.csv": b"method,value,name",
        "r.png": b"\x89PNG\r\n\x1a\n",
        "r.svg": b"<?xml",
        "r.nodes.json": b'{\n  "forward"',
        "r.problem.csv": b"id,lower,upper,size",
    }
    for file, start in starts.items():
        assert (tmp_path / file).read_bytes()[: len(start)].lower() == start.lower(), file
    assert source.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"rich.pte", *targets.values()}


def test_markdown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "report.md"
    code, out, _ = run(capsys, "report", str(rich_file(tmp_path)), "-o", str(target))
    assert (code, out) == (0, f"written: {target}\n")
    assert "| `forward` | 66,048 |" in target.read_text(encoding="utf-8")


def test_files_for_all_methods_hold_all_methods(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, table, nodes = tmp_path / "t", tmp_path / "c", tmp_path / "n"
    args = ["--trace", str(trace), "--csv", str(table), "--model-explorer", str(nodes)]
    assert run(capsys, "report", str(rich_file(tmp_path)), *args)[0] == 0
    for file in (trace, table, nodes):
        text = file.read_text(encoding="utf-8")
        assert "forward" in text
        assert "decode" in text
    assert run(capsys, "report", str(rich_file(tmp_path)), *args, "--method", "decode")[0] == 0
    for file in (trace, table, nodes):
        assert "forward_" not in file.read_text(encoding="utf-8")


def test_plan_reads_the_problem_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = rich_file(tmp_path)
    for name in ("problem.csv", "problem.JSON"):
        target = tmp_path / name
        args = ["--method", "forward", "--problem", str(target)]
        assert run(capsys, "report", str(source), *args)[0] == 0
        code, out, _ = run(capsys, "plan", str(target), "--json")
        assert code == 0
        method = summarize(source).methods[0]
        assert json.loads(out)["lower_bound_bytes"] == method.bound_bytes
        assert len(read_problem(target).problem.buffers) == len(method.tensors)


def test_what_csv_cannot_say_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.report.test_problem_file import with_view

    target = tmp_path / "problem.csv"
    code, out, _ = run(capsys, "report", str(with_view(tmp_path)), "--problem", str(target))
    assert code == 0
    remark = "1 alias group as plain buffers, without 2 pairs that may share an address; "
    remark += "this makes it stricter, a .json is exact"
    assert out == f"written: {target} ({remark})\n"


def test_a_file_that_is_there_is_replaced_and_a_link_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_text("old", encoding="utf-8")
    link.symlink_to(real)
    assert run(capsys, "report", str(spread_out(tmp_path)), "--csv", str(link))[0] == 0
    assert link.is_symlink()
    assert real.read_text(encoding="utf-8").startswith("method,")


def test_programs_without_memory_or_methods(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for source in (empty_file(tmp_path), no_methods_file(tmp_path)):
        assert run(capsys, "report", str(source))[0] == 0
        names = ["t.json", "c.csv", "n.json", "r.md", "r.html"]
        trace, table, nodes, markdown, html = (str(tmp_path / name) for name in names)
        args = ["--trace", trace, "--csv", table, "--model-explorer", nodes]
        for output in (markdown, html):
            assert run(capsys, "report", str(source), *args, "-o", output)[0] == 0
