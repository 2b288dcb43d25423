"""`onearena check`: golden output, stable JSON keys, exit codes, bad input, hostile names."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest

from onearena.cli.main import main
from onearena.report.check_markdown import MARKER, MAX_CHARACTERS
from onearena.report.markdown import code_span
from tests.checking.programs import HOSTILE, delegated_method, relu_method, write
from tests.cli.programs import spread_out
from tests.cli.test_cli import check_golden, run


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with programs, which is the working directory."""
    spread_out(tmp_path)
    write(tmp_path / "base.pte", delegated_method())
    write(tmp_path / "dark.pte", delegated_method("dark", "MysteryBackend"), relu_method("relu"))
    write(tmp_path / "two.pte", relu_method("encode", 3000), relu_method("decode", tensor_name="k"))
    write(tmp_path / "hostile.pte", relu_method(HOSTILE, tensor_name=HOSTILE))
    monkeypatch.chdir(tmp_path)
    return tmp_path


SPREAD = ("check", "spread.pte", "--budget", "arena=60kB,workspace=1MiB", "--budget", "file=2kB")


def test_text(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, *SPREAD)
    assert (code, err) == (1, "")
    check_golden("check.txt", out, models)


def test_text_against_a_base(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capsys, "check", "spread.pte", "--against", "base.pte", "--max-growth", "30%"
    )
    assert code == 1
    check_golden("check_against.txt", out, models)


def test_several_models(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capsys, "check", "two.pte", "dark.pte", "--budget=total=20kB,arena=1MB,arena.2=0"
    )
    assert code == 1
    check_golden("check_several.txt", out, models)
    code, out, _ = run(capsys, "check", "dark.pte", "--budget=total=1MB", "--allow-unknown")
    assert code == 0
    assert "warning: total: not known: the workspace of MysteryBackend is not known" in out
    assert "--allow-unknown" not in out


def test_what_is_not_known_says_how_to_let_it_pass(
    models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for more in ([], ["--markdown"]):
        args = ("check", "dark.pte", "--budget=dark:workspace=1MB,relu:arena=1", *more)
        code, out, _ = run(capsys, *args)
        assert code == 1
        lines = [line for line in out.splitlines() if "--allow-unknown" in line]
        assert len(lines) == 1  # what is over its limit does not pass by it
        assert lines[0].endswith("; --allow-unknown lets it pass")
        assert "dark:workspace" in lines[0]


def test_markdown(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, *SPREAD, "--against", "base.pte", "--markdown")
    assert code == 1
    assert out.startswith(f"{MARKER}\n")
    check_golden("check.md", out, models)
    code, text, _ = run(capsys, *SPREAD, "--against", "base.pte", "--markdown", "out.md")
    assert code == 1
    assert not text.startswith(MARKER)
    assert (models / "out.md").read_text(encoding="utf-8") == out


def test_markdown_when_all_is_well(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "check", "spread.pte", "--budget=arena=1MB", "--markdown")
    assert code == 0
    check_golden("check_ok.md", out, models)


def test_json(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, *SPREAD, "--against", "base.pte", "--json")
    report = json.loads(out)
    assert code == 1
    assert report.keys() == {"ok", "models"}
    assert report["ok"] is False
    (model,) = report["models"]
    assert model.keys() == {
        *("path", "against", "max_growth", "ok", "verdict", "checks"),
        *("new_methods", "removed_methods", "notes"),
    }
    check = next(check for check in model["checks"] if check["quantity"] == "arena")
    assert check.keys() == {
        *("method", "quantity", "verdict", "bytes", "set_by", "before_bytes", "budget_bytes"),
        *("growth_limit_bytes", "over_bytes", "reason", "explanations"),
    }
    assert (check["bytes"], check["before_bytes"], check["over_bytes"]) == (65536, 32768, 32768)
    assert check["explanations"][0]["parts"][0].keys() == {"name", "description", "bytes"}
    check_golden("check.json", out, models)


def test_config(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (models / "onearena.toml").write_text(
        '[models."spread.*"]\narena = "60kB"\n[models."t*.pte"]\narena = "1MB"\n'
    )
    config = ("--config", "onearena.toml")
    assert run(capsys, "check", "two.pte", *config)[0] == 0
    assert run(capsys, "check", "two.pte", "spread.pte", *config)[0] == 1
    # the command line wins
    assert run(capsys, "check", "spread.pte", *config, "--budget=arena=70kB")[0] == 0
    code, out, _ = run(capsys, "check", "two.pte", "base.pte", *config)
    assert code == 0
    assert "note: no budget of onearena.toml applies to it" in out


def test_a_directory_of_bases(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(models / "old/spread.pte", delegated_method())
    code, out, _ = run(capsys, "check", "two.pte", "spread.pte", "--against", "old", "--json")
    two, spread = json.loads(out)["models"]
    assert code == 1
    assert (two["against"], two["ok"]) == (None, True)
    assert two["notes"] == ["new: there is no base to compare it with"]
    assert (spread["against"], spread["ok"]) == ("old/spread.pte", False)


def test_the_method_allocator(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = {}
    for target in ("host64", "cortex-m55"):
        budget = "--budget=method_allocator=1GB"
        code, out, _ = run(capsys, "check", "two.pte", budget, "--target", target, "--json")
        assert code == 0
        (check,) = json.loads(out)["models"][0]["checks"]
        assert check["set_by"] == ["encode", "decode"]
        sizes[target] = check["bytes"]
    assert 0 < sizes["cortex-m55"] < sizes["host64"]


# -- hostile names ------------------------------------------------------------------------------


def test_hostile_names_in_text(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "check", "hostile.pte", "--budget=arena=1", "--against", "base.pte")
    assert code == 1
    lines = out.splitlines()
    assert all(line.isprintable() for line in lines)
    assert r"a|b`c`\n<img src=x>\x1b[31m@octocat \u202e" in out


def test_hostile_names_in_markdown(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(
        capsys, *("check", "hostile.pte", "--budget=arena=1"), "--against=two.pte", "--markdown"
    )
    assert all(line.isprintable() for line in out.splitlines())
    assert out.count(MARKER) == 1
    heads = {"| | before | after | change | limit | verdict |": 7, "| | bytes | share | |": 5}
    bars = 0
    for line in out.splitlines():
        # outside of code spans nothing of the file is left
        bare = re.sub(r"`[^`]*`", "", line)
        if line != MARKER:
            assert not re.search(r"[`<>@\\\[]|http|octocat", bare), line
        bars = heads.get(line, bars)
        if line.startswith("|"):
            assert line.count("|") == bars, line
    assert "octocat" in out


@pytest.mark.parametrize(
    "text", ["", " ", "`", "``a``", "|", "a\\|b", "<!--", "\n", "\ud800", "x" * 999]
)
def test_code_span(text: str) -> None:
    span = code_span(text)
    assert span[0] == span[-1] == "`"
    inside = span[1:-1]
    assert inside.strip()
    assert inside.isprintable()
    assert not set("`|<>") & set(inside)
    assert len(span) < 200


def test_a_comment_is_never_too_long(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    methods = [relu_method(f"{number}{'|' * 200}") for number in range(300)]
    names = ",".join(f"{method.name}:arena=1" for method in methods)
    for number in range(12):
        write(models / f"{number}.pte", *methods)
    paths = [f"{number}.pte" for number in range(12)]
    _, out, _ = run(capsys, "check", *paths, "two.pte", f"--budget={names}", "--markdown")
    assert out == ""  # two.pte does not have these methods: bad usage
    code, out, _ = run(capsys, "check", *paths, f"--budget={names}", "--markdown")
    assert code == 1
    assert len(out) <= MAX_CHARACTERS + 200
    assert "260 more checks: see the log." in out
    assert re.search(r"\n\d+ more models: see the log\.", out)


def test_a_long_name_does_not_hide_the_quantity(
    models: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(models / "long.pte", relu_method("|" * 3000))
    for markdown in ([], ["--markdown"]):
        _, out, _ = run(capsys, "check", "long.pte", "--budget=arena=1,state=0", *markdown)
        assert out.count(":arena") == 2
        assert out.count(":state") == 1
        assert max(map(len, out.splitlines())) < 1100


@pytest.mark.parametrize(("encoding", "signs"), [("ascii", False), ("utf-8", True)])
def test_signs_only_where_they_can_be_printed(
    models: Path, monkeypatch: pytest.MonkeyPatch, encoding: str, signs: bool
) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    assert main(["check", "hostile.pte", "--budget=arena=1"]) == 1
    text = stream.buffer.getvalue().decode(encoding)
    assert ("\N{BALLOT X}" in text) is signs
    assert "OVER" in text


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["check", "--help"])
    assert stopped.value.code == 0
    assert "such as 1% or 64kB" in " ".join(capsys.readouterr().out.split())


# -- bad input ----------------------------------------------------------------------------------

BUDGET = "--budget=arena=1MB"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["spread.pte"], "nothing to check"),
        ([BUDGET], "required: program"),
        (["nowhere.pte", BUDGET], "nowhere.pte: no such file"),
        ([".", BUDGET], "is not a file"),
        (["notes.txt", BUDGET], "notes.txt: is not a .pte file"),
        (["empty.pte", BUDGET], "the file is empty"),
        (["spread.pte", "nowhere.pte", BUDGET], "nowhere.pte: no such file"),
        (["spread.pte", "--budget=arena=1,arena=2"], "given twice"),
        (["spread.pte", "--budget=nothing=1"], "cannot be budgeted"),
        (["spread.pte", "--budget=g:arena=1"], "no such method"),
        (["spread.pte", BUDGET, "--max-growth=1%"], "needs --against"),
        (["spread.pte", "--against=base.pte", "--max-growth=-1%"], "'-1%' must not be negative"),
        (["spread.pte", "--against=base.pte", "--max-growth", "-1%"], "'-1%' must not be negative"),
        (["spread.pte", "--against=base.pte", "--max-growth", "-64kB"], "must not be negative"),
        (["spread.pte", "--against=base.pte", "--max-growth"], "expected one argument"),
        (["spread.pte", "--budget=arena=-5"], "'-5' must not be negative"),
        (["spread.pte", "--against=nowhere.pte"], "nowhere.pte: no such file"),
        (["spread.pte", "--against=notes.txt"], "notes.txt: is not a .pte"),
        (["spread.pte", "--against=base.pte", "--against=two.pte"], "2 bases for 1 model"),
        (["spread.pte", "--config=nowhere.toml"], "nowhere.toml: no such file"),
        (["spread.pte", "--config=spread.pte"], "spread.pte: "),
        (["spread.pte", BUDGET, "--target=z80"], "'z80' is not a target"),
        (["spread.pte", BUDGET, "--json", "--markdown"], "both print"),
        ([BUDGET, "spread.pte", "--markdown", "two.pte"], "would replace a program"),
        ([BUDGET, "spread.pte", "--markdown", "TWO.PTE"], "would replace a program"),
        (["spread.pte", "--config=c.toml", "--markdown=c.toml"], "would overwrite"),
        (["spread.pte", BUDGET, "--markdown=no/where.md"], "no directory"),
        (["spread.pte", BUDGET, "--markdown=."], "."),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    models: Path, capfd: pytest.CaptureFixture[str], args: list[str], words: str
) -> None:
    (models / "notes.txt").write_text("not a program, but long enough for a header")
    (models / "empty.pte").write_bytes(b"")
    before = {path: path.read_bytes() for path in models.iterdir() if path.is_file()}
    try:
        code = main(["check", *args])
    except SystemExit as stopped:  # by argparse
        code = int(str(stopped.code))
    out, err = capfd.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("onearena")
    assert err.count("\n") == 1
    assert words in err
    assert before == {path: path.read_bytes() for path in models.iterdir() if path.is_file()}
