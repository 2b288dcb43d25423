"""Inputs: random ones, ranges, the user's files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from onearena.errors import FormatError, OnearenaError, UsageError
from onearena.pte import open_pte
from onearena.runtime.compare import compare
from onearena.runtime.inputplan import InputPlan, InputSource, MethodFacts
from onearena.runtime.inputs import Strategy, random_inputs
from onearena.runtime.ranges import IntRange
from onearena.runtime.signature import Signature, TensorInput
from onearena.runtime.userinputs import check_inputs, load_inputs

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

Program = Callable[[str], Path]
IMAGE = Signature("forward", (TensorInput(6, (1, 3, 4, 4), (0, 1, 2, 3), is_dynamic=False),))


def _tensor(scalar_type: int, *sizes: int) -> Signature:
    order = tuple(range(len(sizes)))
    return Signature("forward", (TensorInput(scalar_type, sizes, order, is_dynamic=False),))


@pytest.mark.parametrize("code", [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 15, 27, 28, 29])
def test_every_element_type(code: int) -> None:
    signature = _tensor(code, 2, 3)
    (made,) = random_inputs(signature, {}, signature.bound, seed=0, run=0)
    assert str(made.dtype) == f"torch.{signature.inputs[0].dtype}"  # type: ignore[union-attr]
    assert made.shape == (2, 3)


def test_runs_differ_and_are_reproducible() -> None:
    first, again, other = (
        random_inputs(IMAGE, {}, IMAGE.bound, seed=3, run=run)[0] for run in (0, 0, 1)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_layout_follows_the_dimension_order() -> None:
    signature = Signature("f", (TensorInput(6, (1, 3, 4, 5), (0, 2, 3, 1), is_dynamic=False),))
    (made,) = random_inputs(signature, {}, signature.bound, seed=0, run=0)
    assert made.shape == (1, 3, 4, 5)
    assert made.is_contiguous(memory_format=torch.channels_last)


def test_integer_strategies() -> None:
    signature = _tensor(4, 1000)

    def draw(limits: IntRange, strategy: Strategy, run: int = 0) -> set[int]:
        (made,) = random_inputs(
            signature, {0: limits}, signature.bound, seed=0, run=run, strategy=strategy
        )
        return set(made.tolist())

    assert draw(IntRange(0, 5), Strategy.INFERRED) == {0, 1, 2, 3, 4}
    assert draw(IntRange(0, 5), Strategy.BINARY) == {0, 1}
    assert draw(IntRange(0, 1), Strategy.BINARY) == {0}
    assert draw(IntRange(0, 5), Strategy.ZERO) == {0}


def test_positions_go_on_where_the_last_run_stopped() -> None:
    signature = _tensor(4, 2)
    limits = {0: IntRange(0, 6, is_position=True)}
    made = [
        random_inputs(signature, limits, signature.bound, seed=0, run=run)[0].tolist()
        for run in range(4)
    ]
    assert made == [[0, 1], [2, 3], [4, 5], [1, 2]]


def test_ranges_come_from_the_consumers(program: Program) -> None:
    with open_pte(program("lookup")) as file:
        facts = MethodFacts.of(file, (file.program.execution_plan or ())[0])
    assert facts.ranges[0] == IntRange(0, 50)  # rows of the table
    assert facts.ranges[1] == IntRange(0, 12)  # through a type copy and an elided view
    assert facts.ranges[3] == IntRange(0, 12)  # the gathered dimension
    assert not facts.is_stateful
    assert facts.needs_probe


def test_cache_positions_and_state(program: Program) -> None:
    with open_pte(program("cache")) as file:
        facts = MethodFacts.of(file, (file.program.execution_plan or ())[0])
    assert facts.ranges[0] == IntRange(0, 50)
    assert facts.ranges[1] == IntRange(0, 16, is_position=True)
    assert facts.is_stateful


def test_float_methods_need_no_trial(program: Program) -> None:
    with open_pte(program("network")) as file:
        facts = MethodFacts.of(file, (file.program.execution_plan or ())[0])
    assert not facts.needs_probe
    plan = facts.default_plan(seed=5)
    assert InputPlan.from_json(plan.to_json()) == plan
    source = InputSource(facts, plan)
    assert source.sizes(3) == ((1, 3, 16, 16),)
    assert not torch.equal(source.inputs(0)[0], source.inputs(1)[0])


def test_npy_npz_and_torch_files(tmp_path: Path) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "one.npy", array)
    np.savez(tmp_path / "two.npz", b=array, a=array + 1)
    torch.save([torch.ones(2), {"x": torch.zeros(1)}], tmp_path / "three.pt")
    names = ("one.npy", "two.npz", "three.pt")
    loaded = load_inputs([str(tmp_path / name) for name in names])
    assert len(loaded) == 5
    assert np.array_equal(loaded[1], array)  # in the order of the archive, not of the names


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("absent.npy", None),
        ("corrupt.npy", b"\x93NUMPY\x01\x00 not a header"),
        ("empty.npy", b""),
        ("text.npy", b"0.1 0.2"),
        ("corrupt.npz", b"PK\x03\x04 cut"),
        ("corrupt.pt", b"\x80\x02nonsense"),
        ("image.png", b"\x89PNG"),
    ],
)
def test_bad_files_are_one_clear_line(tmp_path: Path, name: str, content: bytes | None) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(FormatError, match=name) as caught:
        load_inputs([str(path)])
    assert "\n" not in str(caught.value)


def test_pickled_objects_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    torch.save(Path("anything"), tmp_path / "objects.pt")
    for name in ("objects.npy", "objects.pt"):
        with pytest.raises(FormatError, match=name):
            load_inputs([str(tmp_path / name)])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "takes 1 inputs .*0 were given"),
        ([np.zeros((1, 3, 4, 4))], "is float64, the method takes float32"),
        ([np.zeros((3, 4, 4), np.float32)], r"has the shape \[3, 4, 4\]"),
        ([np.zeros((1, 3, 4, 5), np.float32)], r"has the shape \[1, 3, 4, 5\]"),
        ([np.array(["x"])], "is <U1"),
        ([3], "is int"),
    ],
)
def test_inputs_are_checked(values: list[object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_inputs(IMAGE, values)


def test_dynamic_inputs_may_be_smaller() -> None:
    signature = Signature("f", (TensorInput(6, (1, 8), (0, 1), is_dynamic=True),))
    assert check_inputs(signature, [np.zeros((1, 5), np.float32)])[0].shape == (1, 5)
    with pytest.raises(UsageError, match="up to"):
        check_inputs(signature, [np.zeros((1, 9), np.float32)])


def test_comparing_with_given_inputs(program: Program, tmp_path: Path) -> None:
    pytest.importorskip("executorch")
    network = program("network")
    image = np.random.default_rng(0).standard_normal((1, 3, 16, 16)).astype(np.float32)
    np.save(tmp_path / "x.npy", image)
    for given in (str(tmp_path / "x.npy"), image, torch.from_numpy(image)):
        report = compare(network, network, inputs=[given], runs=2, measure=False)
        assert report.bit_exact
    scalars = [np.ones(3, np.float32), 3, 2.5, True, None]
    assert compare(
        program("scalars"), program("scalars"), inputs=scalars, runs=1, measure=False
    ).bit_exact
    with pytest.raises(UsageError, match="must be 3"):
        compare(program("scalars"), program("scalars"), inputs=[scalars[0], 4, 2.5, True, None])
    with pytest.raises(UsageError, match="is float64"):
        compare(network, network, inputs=[image.astype(np.float64)])
    with pytest.raises(OnearenaError, match="no such file"):
        compare(network, network, inputs=[tmp_path / "absent.npy"])
    with pytest.raises(UsageError, match="name one of"):
        compare(program("several"), program("several"), inputs=[image])
