"""One arena at run time: tensors and XNNPACK's workspaces together, in files as they are.

``python -m benchmarks.engine_memory FOLDER`` runs every program in a folder on the native runtime
and prints what its activations take: on the stock runtime (the arenas that the file declares and
the workspace that XNNPACK makes for itself), in our arena with the calls closed as they are in the
file, what no plan for closed calls can be below, and in our arena with the calls opened by
`onearena optimize`. Outputs are compared bit for bit.
"""

from __future__ import annotations

import math
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.engine import arguments, copies, example_inputs, print_table, same_bits
from onearena.engine.memory import MethodMemory
from onearena.engine.runtime import Runtime
from onearena.joint import called_graphs, joint_bound, workspaces
from onearena.pipeline import optimize
from onearena.program import analyse_method, arena_bytes
from onearena.pte import open_pte
from onearena.runtime.inputplan import MethodFacts
from onearena.runtime.session import Session


@dataclass(frozen=True)
class Row:
    """One method of one program; bytes. `bound`: of closed calls at the exported sizes."""

    program: str
    method: str
    is_exact: bool
    stock: int
    closed: int
    bound: int
    opened: int


def main() -> int:
    """Prints the table; exit code 1 when a bit differs."""
    args = arguments(__doc__).parse_args()
    return print_table(args, _HEADER, measure, line=_line, summary=_summary)


def measure(path: Path) -> Iterator[Row]:
    """Every method of a program."""
    with open_pte(path) as file:
        plans = file.program.execution_plan or ()
        facts = [MethodFacts.of(file, plan) for plan in plans]
        methods = [analyse_method(file, plan) for plan in plans]
    with tempfile.TemporaryDirectory() as folder:
        opened = Path(folder) / path.name
        optimize(path, opened)
        for fact, method in zip(facts, methods, strict=True):
            name = fact.signature.name
            inputs = example_inputs(path, fact, len(facts) == 1)
            with Session(path) as session:
                expected = tuple(session.load(name)(copies(inputs), True))
            closed_exact, closed = _third_run(path, name, inputs, expected)
            opened_exact, after = _third_run(opened, name, inputs, expected)
            yield Row(
                *(path.stem, name, closed_exact and opened_exact),
                stock=arena_bytes(method.plan) + method.workspace_bytes,
                closed=_activations(closed),
                bound=joint_bound(method.timeline, workspaces(called_graphs(method))),
                opened=_activations(after),
            )


def _third_run(
    path: Path, method: str, inputs: Sequence[object], expected: Sequence[object]
) -> tuple[bool, MethodMemory]:
    """Whether the first run's outputs are the expected ones, and the memory of the third."""
    native = Runtime().load(path).method(method)
    exact = same_bits(expected, native.run(*inputs))
    for _ in range(2):
        native.run(*inputs)
    return exact, native.memory()


def _activations(memory: MethodMemory) -> int:
    inside = memory.arena_bytes + memory.private_bytes
    return inside + memory.workspace_bytes + memory.temp_elsewhere_bytes


_HEADER = """\
| program | method | bits | stock | closed | of stock | bound of closed | opened | of stock |
|---|---|---|---:|---:|---:|---:|---:|---:|"""


def _line(row: Row) -> str:
    return (
        f"| {row.program} | {row.method} | {'equal' if row.is_exact else 'DIFFERENT'} "
        f"| {row.stock:,} | {row.closed:,} | {row.closed / row.stock:.3f} | {row.bound:,} "
        f"| {row.opened:,} | {row.opened / row.stock:.3f} |"
    )


def _summary(rows: Sequence[Row]) -> str:
    closed, opened = (
        math.exp(statistics.fmean(math.log(part / row.stock) for part, row in pairs))
        for pairs in (
            [(row.closed, row) for row in rows],
            [(row.opened, row) for row in rows],
        )
    )
    return f"\nof stock (geometric means): closed {closed:.3f}, opened {opened:.3f}"


if __name__ == "__main__":
    sys.exit(main())
