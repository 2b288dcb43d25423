"""Random programs of kernels: planned in place, they compute what they computed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from onearena.pipeline import Options, optimize
from onearena.pte import open_pte
from onearena.pte.schema import SubsegmentOffsets, Tensor
from onearena.runtime.session import Session
from tests.pte.build import Method, file_bytes, pte_file

pytest.importorskip("executorch.runtime", reason="runs kernels of the installed executorch")

PROGRAMS = 40
CALLS = 14
EDGE = 24


@dataclass
class Net:
    """A method that grows call by call, each tensor in memory of its own.

    Attributes:
        squares, rows: the values of 24x24 and of 24 elements so far.
    """

    rng: random.Random
    method: Method = field(default_factory=Method)
    squares: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)

    def tensor(self, *sizes: int) -> int:
        end = self.method.arenas.get(1, 0)
        return self.method.tensor(*sizes, offset=-(-end // 64) * 64)

    def square(self) -> int:
        """One of the last values, or any."""
        return self.rng.choice(self.squares[-2:] if self.rng.random() < 0.7 else self.squares)

    def call(self, name: str, *args: int) -> None:
        out = self.tensor(EDGE, EDGE)
        self.method.call(name, *args, out, out)
        self.squares.append(out)


def _unary(net: Net) -> None:
    name = net.rng.choice(["sigmoid", "tanh", "relu", "abs", "exp", "neg"])
    net.call(f"aten::{name}.out", net.square())


def _binary(net: Net) -> None:
    name = net.rng.choice(["add", "sub", "mul", "maximum"])
    operands = [net.square(), net.square() if net.rng.random() < 0.6 else net.rng.choice(net.rows)]
    net.rng.shuffle(operands)
    alpha = [net.method.integer(1)] if name in ("add", "sub") else []
    net.call(f"aten::{name}.out", *operands, *alpha)


def _softmax(net: Net) -> None:
    dim = net.method.integer(net.rng.choice([0, 1, -1]))
    net.call("aten::_softmax.out", net.square(), dim, net.method.boolean(False))


def _copy(net: Net) -> None:
    sizes = net.method.int_list(net.method.integer(EDGE), net.method.integer(EDGE))
    if net.rng.random() < 0.5:
        net.call("aten::view_copy.out", net.square(), sizes)
    else:
        operand = net.rng.choice([net.square(), net.rng.choice(net.rows)])
        net.call("aten::expand_copy.out", operand, sizes, net.method.boolean(False))


def _layer_norm(net: Net) -> None:
    method = net.method
    y, mean, rstd = net.tensor(EDGE, EDGE), net.tensor(EDGE, 1), net.tensor(EDGE, 1)
    shape = method.int_list(method.integer(EDGE))
    weight, bias = net.rng.choice(net.rows), net.rng.choice(net.rows)
    outs = (y, mean, rstd, method.tensor_list(y, mean, rstd))
    operands = (net.square(), shape, weight, bias, method.double(1e-5))
    method.call("aten::native_layer_norm.out", *operands, *outs)
    net.squares.append(y)


def _select_scatter(net: Net) -> None:
    numbers = (
        net.method.integer(net.rng.randrange(2)),
        net.method.integer(net.rng.randrange(EDGE)),
    )
    net.call("aten::select_scatter.out", net.square(), net.rng.choice(net.rows), *numbers)


def _not_in_place(net: Net) -> None:
    if net.rng.random() < 0.5:
        net.call("aten::mm.out", net.square(), net.square())
    else:
        dims = net.method.int_list(net.method.integer(1), net.method.integer(0))
        net.call("aten::permute_copy.out", net.square(), dims)


CALLERS: tuple[Callable[[Net], None], ...] = (
    *(_unary, _unary, _binary, _binary, _softmax, _copy),
    *(_layer_norm, _select_scatter, _not_in_place),
)


def _program(seed: int) -> bytes:
    net = Net(random.Random(seed))
    net.squares += [net.tensor(EDGE, EDGE) for _ in range(2)]
    net.rows += [net.tensor(EDGE) for _ in range(2)]
    net.method.input(*net.squares, *net.rows)
    for _ in range(CALLS):
        net.rng.choice(CALLERS)(net)
    others = net.rng.sample(net.squares[:-1], net.rng.randrange(2))
    net.method.output(net.squares[-1], *others)
    constants = SubsegmentOffsets(0, (0,))
    return file_bytes(pte_file(net.method, segments=[bytes(16)], constant_segment=constants))


def _run(path: Path) -> list[bytes]:
    generator = np.random.default_rng(0)
    found: list[bytes] = []
    with Session(path) as session:
        for _ in range(2):
            shapes = [(EDGE, EDGE), (EDGE, EDGE), (EDGE,), (EDGE,)]
            inputs = [generator.standard_normal(s).astype(np.float32) for s in shapes]
            found += [output.numpy().tobytes() for output in session.run("forward", inputs)]
    return found


def _in_place(path: Path) -> int:
    """The calls whose output lies on an operand."""
    with open_pte(path) as file:
        plan = (file.program.execution_plan or ())[0]
        places = {
            index: entry.val.allocation_info.offset
            for index, entry in enumerate(plan.values or ())
            if isinstance(entry.val, Tensor) and entry.val.allocation_info is not None
        }
        calls = [i.instr_args.args for i in (plan.chains or ())[0].instructions or ()]  # type: ignore[union-attr]
    count = 0
    for args in calls:
        tensors = [value for value in args or () if value in places]
        output = tensors[-1]
        count += any(v != output and places[v] == places[output] for v in tensors)
    return count


def test_random_programs_compute_the_same(tmp_path: Path) -> None:
    before, after = tmp_path / "before.pte", tmp_path / "after.pte"
    in_place = 0
    for seed in range(PROGRAMS):
        before.write_bytes(_program(seed))
        optimize(before, after, Options(time_limit_s=0.02))
        assert _run(before) == _run(after), f"seed {seed}"
        in_place += _in_place(after)
    assert in_place > 2 * PROGRAMS
