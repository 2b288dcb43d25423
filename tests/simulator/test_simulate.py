"""What a simulation finds in programs built by hand, and how it says so."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="simulates with torch")

from onearena.errors import (  # noqa: E402
    ExecutionError,
    RuntimeUnavailableError,
    UnsupportedError,
    UsageError,
)
from onearena.simulator import machine  # noqa: E402
from onearena.simulator.simulate import simulate  # noqa: E402
from tests.pte.build import BOOL, LONG, Method, file_bytes  # noqa: E402
from tests.pte.samples import kernels  # noqa: E402
from tests.simulator.programs import (  # noqa: E402
    ADD,
    MM,
    NEG,
    RELU,
    chain,
    clobbers,
    simulated,
    written,
)


@pytest.mark.parametrize(
    "offsets",
    [
        (0, 64, 128, 192, 256),
        (0, 64, 0, 128, 192),
        (0, 0, 64, 128, 192),  # relu may work in place
        (0, 64, 0, 0, 0),
        (0, 64, 128, 128, 64),
    ],
)
def test_right_plans(tmp_path: Path, offsets: tuple[int, ...]) -> None:
    report = simulated(tmp_path, chain(*offsets))
    assert report.safe, clobbers(report)
    assert (report.methods[0].inputs, report.methods[0].executed) == (5, 20)


def test_the_clobber_has_a_name(tmp_path: Path) -> None:
    """c lies over the second half of b, which is needed two instructions later."""
    (found,) = clobbers(simulated(tmp_path, chain(0, 64, 96, 192, 256)))
    assert (found.kind, found.input, found.arena) == ("overwritten", 0, 1)
    assert (found.start, found.end) == (96, 128)
    assert (found.victim, found.base, found.culprit) == (1, 1, 2)
    assert (found.written, found.instruction) == (0, 1)
    assert (found.needed, found.last_needed) == (1, 3)
    assert found.text == (
        "instruction 1 (aten::neg.out) writes value 2 over bytes [96, 128) of arena 1 of value 1, "
        "written at instruction 0 (aten::relu.out); needed at instruction 1 (aten::neg.out), last "
        "at instruction 3 (aten::add.out)"
    )


@pytest.mark.parametrize(
    ("offsets", "victim", "culprit", "instruction"),
    [
        ((0, 64, 64, 128, 192), 1, 2, 1),  # in place, but b is read once more
        ((0, 64, 128, 64, 192), 1, 3, 2),
        ((0, 64, 128, 192, 80), 1, 4, 3),  # the output lies over a part of its operand
        ((0, 16, 128, 192, 256), 0, 1, 0),
    ],
)
def test_overlaps(
    tmp_path: Path, offsets: tuple[int, ...], victim: int, culprit: int, instruction: int
) -> None:
    found = clobbers(simulated(tmp_path, chain(*offsets)))
    assert (victim, culprit, instruction) in {(c.victim, c.culprit, c.instruction) for c in found}


def test_equal_bytes_are_no_excuse(tmp_path: Path) -> None:
    """Both values are all zeros, so the bytes are right by accident."""
    method = Method()
    a, b, c, d = (method.tensor(16, offset=offset) for offset in (0, 64, 64, 128))
    zero, one = method.integer(0), method.integer(1)
    method.input(a).output(d)
    method.call("aten::mul.Scalar_out", a, zero, b, b)
    method.call("aten::mul.Scalar_out", a, zero, c, c)
    method.call(ADD, b, c, one, d, d)
    (found,) = clobbers(simulated(tmp_path, method))
    assert (found.victim, found.culprit, found.needed) == (1, 2, 2)


def test_products_do_not_work_in_place(tmp_path: Path) -> None:
    method = Method()
    a, b, c = (method.tensor(4, 4, offset=offset) for offset in (0, 64, 0))
    method.input(a, b).output(c)
    method.call(MM, a, b, c, c)
    (found,) = clobbers(simulated(tmp_path, method))
    assert (found.victim, found.culprit, found.needed) == (0, 2, 0)


@pytest.mark.parametrize(("offset", "right"), [(64 + 16, True), (64, False), (64 + 32, False)])
def test_slices_inside_their_operand(tmp_path: Path, offset: int, right: bool) -> None:
    """Rows 1 and 2 of y, copied to where they are already, or to other rows."""
    method = Method()
    x, y = method.tensor(4, 4, offset=0), method.tensor(4, 4, offset=64)
    rows, z = method.tensor(2, 4, offset=offset), method.tensor(2, 4, offset=192)
    zero, one, three = (method.integer(number) for number in (0, 1, 3))
    method.input(x).output(z, y)
    method.call(RELU, x, y, y)
    method.call("aten::slice_copy.Tensor_out", y, zero, one, three, one, rows, rows)
    method.call(NEG, rows, z, z)
    found = clobbers(simulated(tmp_path, method))
    assert (not found) == right
    assert all((c.victim, c.culprit, c.instruction) == (1, 2, 1) for c in found)


def test_a_concatenation_over_its_operand(tmp_path: Path) -> None:
    def program(offset: int) -> Method:
        method = Method()
        x, y = method.tensor(4, 4, offset=0), method.tensor(4, 4, offset=128)
        out = method.tensor(8, 4, offset=offset)
        method.input(x).output(out)
        method.call(RELU, x, y, y)
        method.call("aten::cat.out", method.tensor_list(x, y), method.integer(0), out, out)
        return method

    assert simulated(tmp_path, program(64)).safe, "y is in its slot"
    (found,) = clobbers(simulated(tmp_path, program(128)))
    assert (found.victim, found.culprit, found.needed) == (1, 2, 1)


def test_an_update_in_place_over_its_operand(tmp_path: Path) -> None:
    def program(offset: int) -> Method:
        method = Method()
        x, y, z = (method.tensor(16, offset=o) for o in (0, 64, offset))
        method.input(x).output(y)
        method.call(RELU, x, y, y)
        method.call(NEG, x, z, z)
        method.call("aten::add_.Tensor", y, z, method.integer(1), y)
        return method

    assert simulated(tmp_path, program(128)).safe
    found = clobbers(simulated(tmp_path, program(96)))
    assert (1, 2) in {(c.victim, c.culprit) for c in found}


def test_two_arenas(tmp_path: Path) -> None:
    """Equal offsets in two arenas are two places; in one they are not."""

    def program(arena: int) -> Method:
        method = Method()
        a, b = method.tensor(16, offset=0), method.tensor(16, offset=64)
        c = method.tensor(16, offset=0, memory_id=3)
        d = method.tensor(16, offset=64, memory_id=3)
        e = method.tensor(16, offset=0, memory_id=arena)
        one = method.integer(1)
        method.input(a).output(e, c)
        method.call(RELU, a, b, b)
        method.call(NEG, b, c, c)
        method.call("aten::exp.out", c, d, d)
        method.call(ADD, d, b, one, e, e)
        return method

    assert simulated(tmp_path, program(1)).safe
    assert simulated(tmp_path, program(1)).methods[0].arena_bytes == (128, 0, 128)
    (found,) = clobbers(simulated(tmp_path, program(3)))
    assert (found.arena, found.victim, found.culprit, found.needed) == (3, 2, 4, 4)
    assert found.text.endswith("needed by the caller, after the last instruction")


def test_a_view_lies_with_its_base(tmp_path: Path) -> None:
    def program(at: int, spoiled_at: int) -> Method:
        method = Method()
        a, b = method.tensor(16, offset=0), method.tensor(16, offset=64)
        spoiled = method.tensor(16, offset=spoiled_at)
        view, d = method.tensor(4, 4, offset=at), method.tensor(4, 4, offset=256)
        method.input(a).output(d, spoiled)
        method.call(RELU, a, b, b)
        method.call(NEG, b, spoiled, spoiled)
        method.call("aten::exp.out", view, d, d)
        return method

    assert simulated(tmp_path, program(64, 128)).safe
    original = written(tmp_path, program(64, 128), name="original.pte")
    (torn,) = clobbers(simulated(tmp_path, program(128, 192), original=original))
    assert (torn.kind, torn.victim, torn.base) == ("unwritten", 3, 1)
    (spoiled,) = clobbers(simulated(tmp_path, program(64, 96)))
    assert (spoiled.victim, spoiled.base, spoiled.culprit) == (1, 1, 2)
    assert (spoiled.needed, spoiled.last_needed) == (1, 2), "the view is read last"
    # exactly over the base, the spoiler looks like the base; the original knows better
    assert simulated(tmp_path, program(64, 64)).safe
    (found,) = clobbers(simulated(tmp_path, program(64, 64), original=original))
    assert (found.victim, found.base, found.culprit) == (3, 1, 2)


def _counter(at: int) -> Method:
    """State of 64 bytes at 64, updated in place; a value at `at` after that."""
    method = Method()
    x, state = method.tensor(16, offset=0), method.tensor(16, offset=64)
    y, z = method.tensor(16, offset=192), method.tensor(16, offset=at)
    one = method.integer(1)
    method.input(x).output(z)
    method.call(ADD, x, state, one, y, y)
    method.call("aten::copy_", state, y, method.boolean(False), state)
    method.call(RELU, y, z, z)
    return method


def test_state_is_kept_between_runs(tmp_path: Path) -> None:
    assert simulated(tmp_path, _counter(256)).safe
    assert simulated(tmp_path, _counter(80), inputs=1).safe, "nobody reads it again"
    (found,) = clobbers(simulated(tmp_path, _counter(80), inputs=2))
    assert (found.input, found.start, found.end) == (1, 80, 128)
    assert (found.victim, found.culprit, found.instruction) == (1, 3, 2)
    assert (found.needed, found.written) == (0, 1)


def test_values_outside_their_arena(tmp_path: Path) -> None:
    method = chain(0, 64, 128, 192, 256)
    method.arenas[1] = 300
    (found,) = clobbers(simulated(tmp_path, method))
    assert (found.kind, found.victim, found.input) == ("bounds", 4, -1)
    assert found.text == ("value 4 has bytes [256, 320) of arena 1, which is an arena of 300 bytes")
    method = Method()
    x = method.tensor(4, offset=0, memory_id=0)
    method.input(x).output(x)
    (found,) = clobbers(simulated(tmp_path, method))
    assert found.text == "value 0 has bytes [0, 16) of arena 0, which is no such arena"


def test_memory_of_the_caller_and_empty_tensors(tmp_path: Path) -> None:
    method = Method()
    x, y = method.tensor(4, 4), method.tensor(4, 4, offset=0)
    nothing, out = method.tensor(0, 4, offset=0), method.tensor(4, 4)
    method.input(x, nothing).output(out)
    method.call(RELU, x, y, y)
    method.call("aten::cat.out", method.tensor_list(y, nothing), method.integer(0), out, out)
    assert simulated(tmp_path, method).safe


def test_own_inputs(tmp_path: Path) -> None:
    """Jumps on a boolean input: only one way is wrong."""
    method = Method()
    flag, x = method.tensor(scalar_type=BOOL, offset=0), method.tensor(16, offset=64)
    y, z, out = (method.tensor(16, offset=offset) for offset in (128, 160, 256))
    never = method.boolean(False)
    method.input(flag, x).output(out)
    method.call(RELU, x, y, y)
    method.jump_if_false(flag, 4)
    method.call(NEG, x, z, z)
    method.jump_if_false(never, 4)
    method.call("aten::exp.out", y, out, out)
    path = written(tmp_path, method)
    x_given = torch.ones(16)
    assert simulate(path, inputs=[(torch.tensor(False), x_given)] * 2).safe
    report = simulate(path, inputs=[(torch.tensor(False), x_given), (torch.tensor(True), x_given)])
    (found,) = clobbers(report)
    assert (found.input, found.victim, found.culprit) == (1, 2, 3)
    with pytest.raises(UsageError, match="takes 2 inputs"):
        simulate(path, inputs=[(x_given,)])


def test_a_delegate_is_refused(tmp_path: Path) -> None:
    method = Method()
    x, y = method.tensor(4, offset=0), method.tensor(4, offset=16)
    method.input(x).output(y)
    method.call(RELU, x, y, y)
    method.call_delegate(method.delegate("EthosUBackend", 0), x, y)
    path = written(tmp_path, method, chainless(), segments=[b"payload"])
    with pytest.raises(
        UnsupportedError,
        match="method 'forward': instruction 1 calls delegate EthosUBackend: a simulation has no",
    ):
        simulate(path)
    assert simulate(path, method="other").safe


def chainless() -> Method:
    """A method without instructions."""
    method = Method("other")
    method.output(method.integer(7))
    return method


def test_operators_that_cannot_run(tmp_path: Path) -> None:
    def program(operator: str, *sizes: int) -> Method:
        method = Method()
        x, y = method.tensor(4, offset=0), method.tensor(*sizes, offset=64)
        method.input(x).output(y)
        method.call(operator, x, y, y)
        return method

    with pytest.raises(ExecutionError, match=r"instruction 0: nobody::knows\.out: nothing that"):
        simulated(tmp_path, program("nobody::knows.out", 4))
    with pytest.raises(ExecutionError, match=r"instruction 0: aten::relu\.out: makes a tensor of"):
        simulated(tmp_path, program(RELU, 2))
    with pytest.raises(ExecutionError, match="has 3 arguments, the installed operator 4"):
        simulated(tmp_path, program(ADD, 4))
    method = Method()
    x, y, z = (method.tensor(n, offset=64 * n) for n in (2, 3, 4))
    method.input(x, y).output(z)
    method.call(ADD, x, y, method.integer(1), z, z)
    with pytest.raises(ExecutionError, match=r"instruction 0: aten::add\.out: failed: "):
        simulated(tmp_path, method)


@pytest.mark.parametrize("size_bytes", [1 << 44, (1 << 63) - 1])
def test_arenas_that_no_machine_has(size_bytes: int, tmp_path: Path) -> None:
    """Refused before memory is asked for that the system may promise and not have."""
    file = kernels()
    (plan,) = file.program.execution_plan or ()
    plan = replace(plan, non_const_buffer_sizes=(0, size_bytes))
    changed = replace(file.program, execution_plan=(plan,))
    path = tmp_path / "huge.pte"
    path.write_bytes(file_bytes(file.with_program(changed, file.segments)))
    with pytest.raises(ExecutionError, match=f"{size_bytes}.* do not fit into this machine's"):
        simulate(path)


def test_a_loop_that_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "MAX_INSTRUCTIONS", 50)
    method = Method()
    never = method.boolean(False)
    method.output(never)
    method.jump_if_false(never, 0)
    with pytest.raises(ExecutionError, match="a run does not end"):
        simulated(tmp_path, method)


def test_a_loop_of_numbers(tmp_path: Path) -> None:
    """Rows are copied one by one until a counter says so; numbers stay from run to run."""
    method = Method()
    x = method.tensor(3, 4, offset=0)
    row, out = method.tensor(4, offset=48), method.tensor(3, 4, offset=64, shape_dynamism=1)
    counter, one, three, done = (
        method.integer(0),
        method.integer(1),
        method.integer(3),
        method.boolean(False),
    )
    zero = method.integer(0)
    method.input(x).output(out)
    method.call("aten::select_copy.int_out", x, zero, counter, row, row)
    method.call("executorch_prim::et_copy_index.tensor", out, row, counter)
    method.call("executorch_prim::add.Scalar", counter, one, counter)
    method.call("executorch_prim::eq.Scalar", counter, three, done)
    method.jump_if_false(done, 0)
    method.call("executorch_prim::sub.Scalar", counter, counter, counter)
    report = simulated(tmp_path, method)
    assert report.safe, clobbers(report)
    assert report.methods[0].executed == 5 * (3 * 5 + 1)


def test_a_random_integer_input_stays_in_range(tmp_path: Path) -> None:
    method = Method()
    table, index = method.tensor(5, 4, offset=0), method.tensor(3, scalar_type=LONG, offset=96)
    out, none = method.tensor(3, 4, offset=128), method.integer(-1)
    no = method.boolean(False)
    method.input(table, index).output(out)
    method.call("aten::embedding.out", table, index, none, no, no, out, out)
    assert simulated(tmp_path, method).safe


def test_bad_arguments(tmp_path: Path) -> None:
    path = written(tmp_path, chain(0, 64, 128, 192, 256), chainless())
    with pytest.raises(UsageError, match="at least 1 input, not 0"):
        simulate(path, inputs=0)
    with pytest.raises(UsageError, match="no method 'backward', it has: forward, other"):
        simulate(path, method="backward")
    with pytest.raises(UsageError, match="inputs are for one method"):
        simulate(path, inputs=[()])
    with pytest.raises(UsageError, match="'riscv' is no Cortex-M"):
        simulate(path, target="riscv")
    other = written(tmp_path, _counter(256), chainless(), name="other.pte")
    with pytest.raises(UsageError, match="is not the one in"):
        simulate(path, original=other)


def test_without_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, chain(0, 64, 128, 192, 256))
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(RuntimeUnavailableError, match="pip install 'onearena\\[run\\]'"):
        simulate(path)
