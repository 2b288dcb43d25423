"""The command line: golden output, stable JSON keys, exit codes, one line for bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from onearena.cli.main import joined, main
from tests.cli.programs import overlapping, spread_out
from tests.report.programs import rich_file

GOLDEN = Path(__file__).parent / "golden"


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = main(args)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def check_golden(name: str, text: str, directory: Path) -> None:
    """Compares with a committed file; ONEARENA_UPDATE_GOLDEN=1 rewrites it."""
    text = text.replace(str(directory), "DIR")
    path = GOLDEN / name
    if os.environ.get("ONEARENA_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_optimize_prints_before_and_after(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = spread_out(tmp_path)
    code, out, err = run(capsys, "optimize", str(source), "-o", str(tmp_path / "out.pte"))
    assert (code, err) == (0, "")
    check_golden("optimize.txt", out, tmp_path)


def test_optimize_json_has_the_stable_keys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = spread_out(tmp_path), tmp_path / "out.pte"
    code, out, _ = run(capsys, "optimize", str(source), "-o", str(target), "--json")
    report = json.loads(out)
    method = report["methods"][0]
    sizes = {"arena_bytes", "workspace_bytes", "total_bytes"}
    assert code == 0
    assert method["before"].keys() == sizes
    assert method["after"].keys() == sizes
    assert method.keys() >= {
        "name",
        "lower_bound_bytes",
        "gap",
        "delegate_calls",
        "opened_calls",
        "pinned_values",
        "notes",
    }
    assert (method["delegate_calls"], method["opened_calls"]) == (1, 1)
    # relu, three nodes and relu, all in place: one tensor is alive at once, and a tail of 64 bytes
    assert method["after"] == {
        "arena_bytes": 16384 + 64,
        "workspace_bytes": 0,
        "total_bytes": 16384 + 64,
    }
    assert method["lower_bound_bytes"] == 16384
    assert report["file_bytes"] == {
        "before": source.stat().st_size,
        "after": target.stat().st_size,
    }
    check_golden("optimize.json", out, tmp_path)


def test_inspect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = spread_out(tmp_path)
    code, out, _ = run(capsys, "inspect", str(source))
    assert code == 0
    check_golden("inspect.txt", out, tmp_path)
    code, out, _ = run(capsys, "inspect", str(source), "--json")
    report = json.loads(out)
    assert "after" not in report["methods"][0]
    assert report["file_bytes"] == {"before": source.stat().st_size}
    check_golden("inspect.json", out, tmp_path)


def test_verify_says_safe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = spread_out(tmp_path), tmp_path / "out.pte"
    run(capsys, "optimize", str(source), "-o", str(target))
    for path in (source, target):
        code, out, _ = run(capsys, "verify", str(path), "--json")
        assert code == 0
        assert json.loads(out)["safe"] is True
        assert json.loads(out)["violations"] == []


def test_verify_names_every_violation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = overlapping(tmp_path)
    code, out, _ = run(capsys, "verify", str(source))
    assert code == 1
    check_golden("verify.txt", out, tmp_path)
    code, out, _ = run(capsys, "verify", str(source), "--json")
    report = json.loads(out)
    assert (code, report["safe"]) == (1, False)
    assert report["violations"][0]["method"] == "forward"


def test_the_same_input_gives_the_same_output(tmp_path: Path) -> None:
    source = spread_out(tmp_path)
    first, second = tmp_path / "1.pte", tmp_path / "2.pte"
    assert main(["optimize", str(source), "-o", str(first)]) == 0
    assert main(["optimize", str(source), "-o", str(second)]) == 0
    assert first.read_bytes() == second.read_bytes()


def test_optimizing_again_changes_nothing(tmp_path: Path) -> None:
    source, once, twice = spread_out(tmp_path), tmp_path / "1.pte", tmp_path / "2.pte"
    main(["optimize", str(source), "-o", str(once)])
    main(["optimize", str(once), "-o", str(twice)])
    assert once.read_bytes() != source.read_bytes()
    assert twice.read_bytes() == once.read_bytes()


@pytest.mark.parametrize("command", ["inspect", "verify", "optimize", "compare"])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no such file"),
        (b"", "empty"),
        (b"hello world, this is text", "not a .pte"),
        (b"\x10\0\0\0ET12" + bytes(8), "outside"),
        (b"\x10\0\0\0BP08" + bytes(64), "bundled"),
    ],
)
def test_bad_input_is_one_line_and_code_2(
    command: str,
    content: bytes | None,
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bad = tmp_path / "bad.pte"
    if content is not None:
        bad.write_bytes(content)
    extra = {"optimize": ["-o", str(tmp_path / "x.pte")], "compare": [str(bad)]}
    code, out, err = run(capsys, command, str(bad), *extra.get(command, []))
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert words in err
    assert "bad.pte" in err
    assert "Traceback" not in err
    assert not (tmp_path / "x.pte").exists()


def test_bad_output_paths(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = spread_out(tmp_path)
    before = source.read_bytes()
    link = tmp_path / "link.pte"
    link.symlink_to(source)
    for target in (source, link, tmp_path, tmp_path / "missing" / "x.pte"):
        code, _, err = run(capsys, "optimize", str(source), "-o", str(target))
        assert code == 2
        assert err.startswith("onearena: ")
    assert source.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.pte", "spread.pte"]


@pytest.mark.parametrize("command", ["optimize", "bundle"])
def test_a_missing_folder_is_found_out_before_the_work(
    command: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def work(*args: object, **options: object) -> None:
        raise AssertionError("nobody could have the result")

    monkeypatch.setattr("onearena.pipeline._optimize", work)
    monkeypatch.setattr("onearena.bundling.bundle._record", work)
    source = spread_out(tmp_path)
    for folder in ("missing", source.name):
        code, _, err = run(capsys, command, str(source), "-o", str(tmp_path / folder / "x.pte"))
        assert code == 2
        assert "there is no directory" in err


def test_bad_usage_is_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    for args in (
        [],
        ["nonsense"],
        ["optimize", "x.pte"],
        ["optimize", "x", "-o", "y", "--time-limit", "-1"],
    ):
        with pytest.raises(SystemExit) as stopped:
            main(args)
        assert stopped.value.code == 2
        error = capsys.readouterr().err
        assert error.startswith("onearena")
        assert error.count("\n") == 1


def test_a_pipe_sees_no_progress_and_may_close_early(tmp_path: Path) -> None:
    source = spread_out(tmp_path)
    command = [sys.executable, "-m", "onearena", "inspect", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "\r" not in done.stdout
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() in (0, 1)


def test_the_planner_needs_neither_torch_nor_executorch(tmp_path: Path) -> None:
    source = spread_out(tmp_path)
    code = (
        "import sys, onearena\n"
        f"onearena.optimize({str(source)!r}, {str(tmp_path / 'o.pte')!r})\n"
        f"onearena.inspect({str(source)!r}); onearena.verify({str(source)!r})\n"
        "print([m for m in ('torch', 'executorch', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_inspect_can_measure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = spread_out(tmp_path)
    for found, reason in ((4096, None), (None, "no runtime here")):
        monkeypatch.setattr(
            "onearena.runtime.workspace.measure_workspace",
            lambda path, method, found=found, reason=reason: SimpleNamespace(
                bytes=found, reason=reason
            ),
        )
        code, out, _ = run(capsys, "inspect", str(source), "--measure", "--json")
        method = json.loads(out)["methods"][0]
        assert code == 0
        assert method["before"].get("workspace_measured_bytes") == found
        assert any("no runtime here" in note for note in method["notes"]) == (found is None)


def test_public_names_are_listed_before_they_are_loaded() -> None:
    code = "import onearena; print({*onearena.__all__} <= {*dir(onearena)})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_public_names_survive_their_modules(tmp_path: Path) -> None:
    """A sub-package of the same name would hide a function once it is imported."""
    code = (
        "import onearena, onearena.pipeline, onearena.runtime.compare, onearena.cli.main\n"
        "import types\n"
        "print([n for n in onearena.__all__ if isinstance(getattr(onearena, n), types.ModuleType)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_target_that_is_no_file_is_refused_and_a_link_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = spread_out(tmp_path)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for target in (str(fifo), "", "-"):
        code, _, err = run(capsys, "optimize", str(source), "-o", target)
        assert (code, err.count("\n")) == (2, 1)
    assert fifo.is_fifo()
    behind, link = tmp_path / "behind.pte", tmp_path / "link.pte"
    link.symlink_to(behind)
    assert main(["optimize", str(source), "-o", str(link)]) == 0
    assert link.is_symlink()
    assert behind.is_file()


@pytest.mark.parametrize(
    ("redirection", "name", "code"),
    [(">&-", "spread.pte", 0), ("2>&-", "missing.pte", 2), (">/dev/full", "spread.pte", 2)],
)
def test_closed_and_full_streams(redirection: str, name: str, code: int, tmp_path: Path) -> None:
    spread_out(tmp_path)
    command = f"exec {sys.executable} -m onearena inspect {tmp_path / name} {redirection}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert "Traceback" not in done.stderr


def test_what_is_not_known_is_said_and_not_shown_as_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = rich_file(tmp_path)
    assert main(["inspect", str(source)]) == 0
    decode = capsys.readouterr().out.split("method decode")[1]
    assert "not counted: what SomeNpu allocates by itself, which is unknown" in decode
    assert main(["inspect", str(source), "--json"]) == 0
    methods = json.loads(capsys.readouterr().out)["methods"]
    assert [method["unknown_backends"] for method in methods] == [[], ["SomeNpu"]]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["check", "a", "--max-growth", "-1%"], ["check", "a", "--max-growth=-1%"]),
        (["--budget", "-.5kB", "-1"], ["--budget=-.5kB", "-1"]),
        (["--a", "--b", "-1", "--c"], ["--a", "--b=-1", "--c"]),
        (["--json", "--", "--max-growth", "-1%"], ["--json", "--", "--max-growth", "-1%"]),
        (["--a=1", "-1", "-o", "-1", "--b", "-x"], ["--a=1", "-1", "-o", "-1", "--b", "-x"]),
        (["--", "-1"], ["--", "-1"]),
        ([], []),
    ],
)
def test_negative_amounts_belong_to_their_option(given: list[str], expected: list[str]) -> None:
    assert list(joined(given)) == expected
