"""Small programs built by hand, and their simulation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from onearena.simulator.results import Clobber, SimulationReport
from onearena.simulator.simulate import simulate
from tests.pte.build import Method, file_bytes, pte_file

RELU, NEG, ADD, MM = "aten::relu.out", "aten::neg.out", "aten::add.out", "aten::mm.out"


def written(folder: Path, *methods: Method, name: str = "program.pte", **fields: Any) -> Path:
    """A file of these methods."""
    path = folder / name
    path.write_bytes(file_bytes(pte_file(*methods, **fields)))
    return path


def simulated(folder: Path, *methods: Method, **options: Any) -> SimulationReport:
    """The simulation of a file of these methods."""
    return simulate(written(folder, *methods), **options)


def clobbers(report: SimulationReport) -> tuple[Clobber, ...]:
    """What is wrong with the only method."""
    (method,) = report.methods
    return method.clobbers


def chain(*offsets: int) -> Method:
    """a → b → c → d, then b + d; every tensor has 64 bytes. Values 0 to 4 lie at the offsets."""
    method = Method()
    a, b, c, d, e = (method.tensor(4, 4, offset=offset) for offset in offsets)
    one = method.integer(1)
    method.input(a).output(e)
    method.call(RELU, a, b, b)
    method.call(NEG, b, c, c)
    method.call("aten::exp.out", c, d, d)
    method.call(ADD, b, d, one, e, e)
    return method
