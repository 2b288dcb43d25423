"""`onearena sizes`: golden output, stable keys, the header on disk, one line for bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onearena import __version__
from tests.cli.programs import spread_out
from tests.cli.test_cli import check_golden, run
from tests.pte.build import LONG, Method, file_bytes, pte_file


def kernels(directory: Path) -> Path:
    """Two methods of kernels, one of which takes temp memory; the application brings buffers."""
    encode, decode = Method("encode"), Method("decode.v2")
    a, b = encode.tensor(8, 100), encode.tensor(8, 100, offset=0)
    encode.input(a).output(b)
    encode.call("aten::relu.out", a, b, b)
    c, d = decode.tensor(8, 100, offset=0), decode.tensor(8, 5, offset=3200, memory_id=2)
    indices = decode.tensor(8, 5, scalar_type=LONG)
    flag, five, along = decode.boolean(True), decode.integer(5), decode.integer(1)
    outs = decode.tensor_list(d, indices)
    decode.input(c).output(d, indices)
    decode.call("aten::topk.values", c, five, along, flag, flag, d, indices, outs)
    path = directory / "kernels.pte"
    path.write_bytes(file_bytes(pte_file(encode, decode)))
    return path


def test_on_a_host(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "sizes", str(spread_out(tmp_path)))
    assert (code, err) == (0, "")
    check_golden("sizes.txt", out, tmp_path)


def test_on_a_microcontroller(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "sizes", str(kernels(tmp_path)), "--target", "cortex-m55")
    assert code == 0
    check_golden("sizes_m55.txt", out, tmp_path)


def test_what_is_not_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "sizes", str(spread_out(tmp_path)), "--target", "cortex-m4")
    assert code == 0
    check_golden("sizes_unknown.txt", out, tmp_path)


def test_json_has_the_stable_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "sizes", str(spread_out(tmp_path)), "--json")
    report = json.loads(out)
    pool = {"bytes", "at_least_bytes", "notes"}
    method = report["methods"][0]
    assert code == 0
    assert report.keys() == {
        "path",
        "target",
        "abi",
        "file_bytes",
        "methods",
        "notes",
        "header",
    }
    assert method["method_allocator"].keys() == pool
    assert method["temp_allocator"].keys() == pool | {"resolve_bytes", "uses"}
    assert method["xnnpack_workspace"].keys() == {"disabled", "per_model", "global"}
    assert method["arenas"] == [{"memory_id": 1, "bytes": 4 * 16384}]
    check_golden("sizes.json", out, tmp_path)


def test_header(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = tmp_path / "sizes.h"
    header.write_text("old", encoding="ascii")
    source = kernels(tmp_path)
    code, out, err = run(
        capsys, "sizes", str(source), "--target", "cortex-m55", "--header", str(header)
    )
    assert (code, err) == (0, "")
    assert out.endswith(f"\nwritten: {header}\n")
    text = header.read_text(encoding="ascii").replace(f"onearena {__version__}", "onearena VERSION")
    check_golden("sizes.h", text, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kernels.pte", "sizes.h"]


def test_json_and_header(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = tmp_path / "sizes.h"
    arguments = ("sizes", str(spread_out(tmp_path)), "--json", "--header", str(header))
    code, out, _ = run(capsys, *arguments)
    assert (code, json.loads(out)["header"]) == (0, str(header))
    assert "ONEARENA_FORWARD_ARENA_1_BYTES 65536u" in header.read_text(encoding="ascii")


@pytest.mark.parametrize("target", ["cortex-m99", "", "HOST64", "cortex-m55 "])
def test_a_target_that_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], target: str
) -> None:
    code, out, err = run(capsys, "sizes", str(spread_out(tmp_path)), "--target", target)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"{target!r} is not a target; there are host64, cortex-m0" in err


def test_the_header_is_not_the_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = spread_out(tmp_path)
    data = source.read_bytes()
    link = tmp_path / "link.pte"
    link.symlink_to(source)
    for header in (source, link):
        code, out, err = run(capsys, "sizes", str(source), "--header", str(header))
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "would overwrite" in err
    assert source.read_bytes() == data


def test_a_header_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = spread_out(tmp_path)
    for header in (tmp_path, tmp_path / "no" / "sizes.h", "-", ""):
        code, out, err = run(capsys, "sizes", str(source), "--header", str(header))
        assert (code, out, err.count("\n")) == (2, "", 1)
    assert [path.name for path in tmp_path.iterdir()] == ["spread.pte"]


def test_names_that_collide_write_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "twins.pte"
    source.write_bytes(file_bytes(pte_file(Method("a-b"), Method("a_b"))))
    code, out, err = run(capsys, "sizes", str(source), "--header", str(tmp_path / "sizes.h"))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "'a-b' and 'a_b' would both define ONEARENA_A_B_METHOD_ALLOCATOR_BYTES" in err
    assert not (tmp_path / "sizes.h").exists()
    assert run(capsys, "sizes", str(source))[0] == 0


@pytest.mark.parametrize("data", [b"", b"not a program at all", None])
def test_bad_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], data: bytes | None
) -> None:
    source = tmp_path / "bad.pte"
    if data is not None:
        source.write_bytes(data)
    code, out, err = run(capsys, "sizes", str(source), "--header", str(tmp_path / "sizes.h"))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "bad.pte" in err
    assert not (tmp_path / "sizes.h").exists()


def test_the_workspace_is_shown_when_it_is_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`optimize` plans all of it; a program without XNNPACK has no such rows."""
    source, small = spread_out(tmp_path), tmp_path / "small.pte"
    assert run(capsys, "optimize", str(source), "-o", str(small))[0] == 0
    code, out, _ = run(capsys, "sizes", str(small))
    assert code == 0
    rows = [line.split() for line in out.splitlines() if "XNNPACK workspace" in line]
    assert [row[-1] for row in rows] == ["0", "0", "0"]
    _, out, _ = run(capsys, "sizes", str(kernels(tmp_path)))
    assert "XNNPACK" not in out


def test_the_file_table_adds_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for source in (spread_out(tmp_path), kernels(tmp_path)):
        _, out, _ = run(capsys, "sizes", str(source))
        table = out.split("what the file holds\n")[1].split("\n\n")[0].splitlines()[1:]
        whole, *parts = (int(line[22:].split()[0].replace(",", "")) for line in table)
        assert whole == sum(parts) == source.stat().st_size
