"""`onearena bundle`, checked by ExecuTorch's own reader of bundled programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("executorch")

import numpy as np
import torch

import onearena
from onearena.bundling.file import read_bundle, write_bundle
from onearena.bundling.schema import BundledCase, BundledSuite, BundledTensor, BundledValue
from onearena.cli.bundle import render
from onearena.errors import UnsupportedError, UsageError
from onearena.flatbuf.data import ByteSource, read_data
from onearena.runtime.bindings import runtime_module
from onearena.runtime.jobs import run_job
from onearena.runtime.recording import dim_order
from tests.runtime.hostile import crashing, rewritten

Programs = Callable[[str], Path]
Bundles = Callable[[str], tuple[Path, onearena.BundleReport]]
Cli = Callable[..., tuple[int, str, str]]


def cases_of(path: Path) -> list[tuple[str, int]]:
    with ByteSource.open(path) as source:
        return [
            (suite.method_name or "", len(suite.test_cases or ()))
            for suite in read_bundle(source).method_test_suites or ()
        ]


def verify(path: Path) -> int:
    """Runs every case on ExecuTorch's API; returns how many there were.

    Raises:
        RuntimeError: an output is not what is expected.
    """
    count = 0
    for method, cases in cases_of(path):
        bundle = runtime_module()._load_bundled_program_from_buffer(path.read_bytes())
        for case in range(cases):
            bundle.verify_result_with_bundled_expected_output(method, case, 0, 0)
            count += 1
    return count


@pytest.mark.parametrize(
    ("name", "methods", "stateful"),
    [
        ("network", ["forward"], False),
        ("dynamic", ["forward"], False),
        ("lookup", ["forward"], False),
        ("cache", ["forward"], True),
        ("several", ["forward", "other", "table"], False),
    ],
)
def test_the_runtime_finds_what_it_expects(
    bundled: Bundles, name: str, methods: list[str], stateful: bool
) -> None:
    path, report = bundled(name)
    assert [method.name for method in report.methods] == methods
    assert {method.is_stateful for method in report.methods} == {stateful}
    assert bool(report.notes) == stateful
    assert verify(path) == 3 * len(methods)
    assert path.stat().st_size == report.size_bytes


def test_cases_differ(bundled: Bundles) -> None:
    path, _ = bundled("dynamic")
    with ByteSource.open(path) as source:
        (suite,) = read_bundle(source).method_test_suites or ()
    sizes = {
        value.val.sizes
        for case in suite.test_cases or ()
        for value in case.inputs or ()
        if isinstance(value.val, BundledTensor)
    }
    assert len(sizes) > 1


def test_methods_that_a_bundle_cannot_test(
    program: Programs, bundled: Bundles, tmp_path: Path
) -> None:
    _, report = bundled("several")
    assert dict(report.skipped) == {
        "count": "output 0 is not a tensor",
        "rate": "output 0 is not a tensor",
    }
    with pytest.raises(UsageError, match=r"'count' cannot be tested .* output 0 is not a tensor"):
        onearena.bundle(program("several"), tmp_path / "count.bpte", method="count")
    with pytest.raises(UsageError, match=r"'forward' cannot be tested .* input 4 is None"):
        onearena.bundle(program("scalars"), tmp_path / "scalars.bpte")


def changed(path: Path, target: Path, change: Callable[[bytes], bytes]) -> Path:
    """The bundle with the first expected output of its first case changed."""
    with ByteSource.open(path) as source:
        root = read_bundle(source)
        assert root.program is not None
        (suite,) = root.method_test_suites or ()
        first, *rest = suite.test_cases or ()
        output, *others = first.expected_outputs or ()
        assert isinstance(output.val, BundledTensor)
        assert output.val.data is not None
        data = change(read_data(output.val.data))
        tensor = BundledValue(replace(output.val, data=(data,)))
        case = BundledCase(first.inputs, (tensor, *others))
        program = ByteSource.from_bytes(read_data(root.program))
        write_bundle(program, [BundledSuite(suite.method_name, (case, *rest))], target)
    return target


def last_bit(data: bytes) -> bytes:
    """The last number, one bit larger or smaller."""
    return data[:-4] + bytes([data[-4] ^ 1]) + data[-3:]


def test_a_wrong_expectation_is_found(bundled: Bundles, tmp_path: Path) -> None:
    path, _ = bundled("network")
    assert verify(changed(path, tmp_path / "same.bpte", lambda data: data)) == 3
    wrong = changed(path, tmp_path / "wrong.bpte", last_bit)
    with pytest.raises(RuntimeError):
        verify(wrong)
    job = {"path": str(wrong), "cases": [("forward", 2)], "operators": []}
    (failure,) = run_job("check", job, timeout_s=100)["failures"]
    assert "method 'forward', case 0: Method's output data mismatched" in failure


def test_state_goes_from_case_to_case(bundled: Bundles) -> None:
    path, _ = bundled("cache")
    bundle = runtime_module()._load_bundled_program_from_buffer(path.read_bytes())
    with pytest.raises(RuntimeError):
        bundle.verify_result_with_bundled_expected_output("forward", 2, 0, 0)


def test_expected_outputs_of_the_original(program: Programs, tmp_path: Path, run_cli: Cli) -> None:
    original, small = program("network"), tmp_path / "small.pte"
    onearena.optimize(original, small)
    path = tmp_path / "model.bpte"
    code, out, _ = run_cli(small, "-o", path, "--reference", original, "--runs", 1)
    assert code == 0
    assert f"expected outputs: {original}" in out
    assert verify(path) == 1


def test_a_program_that_does_something_else(
    program: Programs, tmp_path: Path, run_cli: Cli
) -> None:
    path = tmp_path / "model.bpte"
    other = program("network_other_weights")
    code, out, errors = run_cli(program("network"), "-o", path, "--reference", other, "--json")
    assert code == 1
    assert "does not do what it does in" in errors
    assert json.loads(out)["output"] is None
    assert list(tmp_path.iterdir()) == []


def test_real_inputs(program: Programs, tmp_path: Path, run_cli: Cli) -> None:
    image = np.linspace(-1, 1, 3 * 16 * 16, dtype=np.float32).reshape(1, 3, 16, 16)
    np.save(tmp_path / "x.npy", image)
    path = tmp_path / "model.bpte"
    code, out, _ = run_cli(program("network"), "-o", path, "--input", tmp_path / "x.npy", "--json")
    assert code == 0
    report = json.loads(out)
    assert report["methods"] == [
        {"name": "forward", "cases": 1, "inputs": 1, "outputs": 1, "is_stateful": False}
    ]
    assert report["size_bytes"] - report["program_bytes"] > image.nbytes
    with ByteSource.open(path) as source:
        (suite,) = read_bundle(source).method_test_suites or ()
        ((value,),) = [case.inputs or () for case in suite.test_cases or ()]
        assert isinstance(value.val, BundledTensor)
        assert value.val.data is not None
        assert read_data(value.val.data) == image.tobytes()
    assert verify(path) == 1


def test_text(bundled: Bundles) -> None:
    path, report = bundled("several")
    lines = render(report)
    assert lines[0].startswith(f"{path}: {path.stat().st_size:,} bytes, ")
    assert lines[1] == "  method forward: 3 cases of 1 input and 1 output"
    assert "  method count: no test (output 0 is not a tensor)" in lines
    assert "the program itself, on executorch 1." in lines[-1]
    lines = render(bundled("cache")[1])
    assert lines[1] == "  method forward: 3 cases of 2 inputs and 1 output"
    assert "run its cases in order" in lines[-1]


def test_the_same_input_gives_the_same_bundle(
    program: Programs, bundled: Bundles, tmp_path: Path
) -> None:
    path, _ = bundled("network")
    again, other = tmp_path / "again.bpte", tmp_path / "other.bpte"
    onearena.bundle(program("network"), again, runs=3)
    onearena.bundle(program("network"), other, runs=3, seed=1)
    assert path.read_bytes() == again.read_bytes() != other.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--runs", "0"], "runs must be at least 1"),
        (["--seed", "-1"], "the seed must not be negative"),
        (["--timeout", "0"], "--timeout must be positive"),
        (["--method", "nine"], "no method 'nine', it has: forward"),
        (["--input", "a.npy", "--runs", "3"], "does not go with --runs"),
        (["--input", "a.txt"], "inputs come from .npy, .npz and .pt files"),
        (["--extract", "--runs", "3"], "--extract goes with -o only"),
        (["--reference", "{other}"], "method 'forward' takes"),
    ],
)
def test_bad_usage(
    program: Programs, tmp_path: Path, run_cli: Cli, arguments: list[str], message: str
) -> None:
    path = tmp_path / "model.bpte"
    given = [text.format(other=program("cache")) for text in arguments]
    with pytest.raises(onearena.OnearenaError, match=message):
        run_cli(program("network"), "-o", path, *given)
    assert not path.exists()


def test_outputs_that_are_inputs(program: Programs, tmp_path: Path) -> None:
    path = tmp_path / "model.pte"
    path.write_bytes(program("network").read_bytes())
    with pytest.raises(UsageError, match="overwrite its own input"):
        onearena.bundle(path, path)
    with pytest.raises(UsageError, match="overwrite its own input"):
        onearena.bundle(program("network"), path, reference=path)
    assert path.read_bytes() == program("network").read_bytes()


def test_a_program_that_crashes(program: Programs, tmp_path: Path) -> None:
    bad = rewritten(program("lookup"), tmp_path / "bad.pte", crashing)
    with pytest.raises(onearena.OnearenaError) as caught:
        onearena.bundle(bad, tmp_path / "model.bpte")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "model.bpte").exists()


@pytest.mark.parametrize(
    ("tensor", "preferred", "expected"),
    [
        (torch.zeros(1, 3, 4, 5), (0, 1, 2, 3), (0, 1, 2, 3)),
        (torch.zeros(1, 4, 5, 3).permute(0, 3, 1, 2), (0, 2, 3, 1), (0, 2, 3, 1)),
        (torch.zeros(1, 4, 5, 3).permute(0, 3, 1, 2), (0, 1, 2, 3), (0, 2, 3, 1)),
        (torch.zeros(0, 3), (1, 0), (1, 0)),
        (torch.tensor(1.0), (), ()),
    ],
)
def test_the_order_of_dimensions(
    tensor: Any, preferred: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    assert dim_order(tensor, preferred, "output") == expected


def test_strides_without_an_order() -> None:
    with pytest.raises(UnsupportedError, match="have no order of dimensions"):
        dim_order(torch.zeros(4, 4)[:, ::2], (0, 1), "output")
