"""What the heap grows by in a first run, and what pointers made for each run cost.

``python -m benchmarks.heap DIRECTORY`` takes the programs ``NAME.pte`` of a directory and
measures four files of each on the stock runtime: the program as exported and as optimized, both
as they are and with transient indirection (:mod:`onearena.delegates.xnnpack.indirection`). The
heap is what glibc's malloc has handed out, before and after the first run in a fresh process:
the workspace of XNNPACK and all that its operators keep, pointers to input pixels above all. The
arena is not part of it. Times are medians of ratios of interleaved runs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from onearena import __version__
from onearena.apply import NewMethod, rewrite_file
from onearena.delegates.xnnpack.graph import Graph
from onearena.delegates.xnnpack.indirection import with_transient_indirection
from onearena.delegates.xnnpack.normalise import Normalisation
from onearena.delegates.xnnpack.opening import OpenedPayload
from onearena.opening import OpenedMethod
from onearena.options import Options
from onearena.payloads import read_payloads
from onearena.pipeline import optimize
from onearena.pte import open_pte
from onearena.pte.container import PteFile
from onearena.pte.schema import ExecutionPlan
from onearena.pte.writer import write_pte
from onearena.record import Record, encode_record, read_record
from onearena.runtime.compare import compare
from onearena.runtime.workspace import measure_workspace

from .ratios import geometric_mean
from .tables import table

RUNS = 2


@dataclass(frozen=True)
class HeapRow:
    """One program.

    Attributes:
        growth: bytes, of the stock file, the stock file with the flag, the optimized file and
            the optimized file with the flag.
        nodes: nodes that got the flag in the optimized file.
        times: what the flag does to the time of a run, of the stock and the optimized file;
            None when nothing got it, or times were not asked for.
        same_bits: whether all four give the same outputs.
    """

    name: str
    growth: tuple[int, int, int, int]
    nodes: int
    times: tuple[float, float] | None
    same_bits: bool

    def ratio(self, file: int) -> float:
        """Growth beside that of the stock file."""
        return self.growth[file] / self.growth[0]


def flag_file(source: Path, target: Path) -> int:
    """Writes a program with the flag on every node that knows it; returns how many got it."""
    with open_pte(source) as file:
        changed: dict[int, NewMethod] = {}
        count = 0
        for position, plan in enumerate(file.program.execution_plan or ()):
            method, nodes = _flagged(file, plan)
            count += nodes
            if nodes:
                changed[position] = method
        record = read_record(file) or Record(__version__, {}, None)
        write_pte(rewrite_file(file, changed, encode_record(record)), target)
    return count


def _flagged(file: PteFile, plan: ExecutionPlan) -> tuple[NewMethod, int]:
    originals = read_payloads(file, plan)
    payloads: dict[int, OpenedPayload] = {}
    count = 0
    for number, payload in originals.items():
        if payload.graph is None:
            continue
        graph, nodes = with_transient_indirection(payload.graph, file.path)
        if nodes:
            payloads[number] = _as_opened(graph)
            count += nodes
    return NewMethod(plan, OpenedMethod(plan, {}, frozenset(), payloads, 0, ()), originals), count


def _as_opened(graph: Graph) -> OpenedPayload:
    return OpenedPayload(graph, (), {}, Normalisation(0, 0, 0))


def measure(stock: Path, directory: Path, options: Options, timed: bool) -> HeapRow:
    """Makes the other three files of a program in a directory, and measures all four."""
    names = ("flagged", "optimized", "both")
    files = (stock, *(directory / f"{stock.stem}.{name}.pte" for name in names))
    flag_file(files[0], files[1])
    optimize(files[0], files[2], options)
    nodes = flag_file(files[2], files[3])
    growth = [_growth(file) for file in files]
    pairs = ((0, 1), (2, 3)) if timed else ()
    reports = [compare(files[a], files[b], runs=RUNS) for a, b in pairs]
    whole = compare(files[0], files[3], runs=RUNS, measure=False)
    same_bits = all(m.bit_exact for report in (*reports, whole) for m in report.methods)
    times = [report.latency_ratio_median for report in reports]
    a, b, c, d = growth
    flagged = (times[0], times[1]) if nodes and timed else None
    return HeapRow(stock.stem, (a, b, c, d), nodes, flagged, same_bits)


def _growth(path: Path) -> int:
    found = measure_workspace(path).heap_growth_bytes
    if found is None:
        raise SystemExit("the heap cannot be measured here: malloc does not say what it holds")
    return max(found, 1)


def render(rows: Sequence[HeapRow]) -> str:
    """The table, with the geometric means in its last row."""
    head = ("program", "stock", "flagged", "optimized", "both", "flagged/stock")
    more = ("optimized/stock", "both/stock", "nodes", "time of stock", "time of optimized", "bits")
    body = [
        (
            row.name,
            *(f"{size:,}" for size in row.growth),
            *(f"{row.ratio(file):.3f}" for file in (1, 2, 3)),
            str(row.nodes),
            *_times(row.times),
            "same" if row.same_bits else "OTHER",
        )
        for row in rows
    ]
    means = [geometric_mean(row.ratio(file) for row in rows) for file in (1, 2, 3)]
    timed = [row.times for row in rows if row.times is not None]
    slower = [geometric_mean(pair[k] for pair in timed) for k in (0, 1)]
    times = (slower[0], slower[1]) if timed else None
    mean = (*(f"{value:.3f}" for value in means), "", *_times(times), "")
    return table((*head, *more), [*body, ("geometric mean", *[""] * 4, *mean)])


def _times(times: tuple[float, float] | None) -> Iterable[str]:
    return ("-", "-") if times is None else tuple(f"{ratio:.3f}" for ratio in times)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures the programs that are named, or all of a directory."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.heap", description=__doc__)
    parser.add_argument("directory", type=Path, help="where the stock programs are")
    parser.add_argument("programs", nargs="*", metavar="NAME", help="which (default: all)")
    parser.add_argument("--untimed", action="store_true", help="measure memory only")
    parser.add_argument("--no-strips", action="store_true", help="optimize without strips")
    options = parser.parse_args(arguments)
    paths = sorted(options.directory.glob("*.pte"))
    if options.programs:
        paths = [options.directory / f"{name}.pte" for name in options.programs]
    rows = []
    for path in paths:
        with tempfile.TemporaryDirectory() as directory:
            switches = Options(strips=not options.no_strips)
            rows.append(measure(path, Path(directory), switches, not options.untimed))
        print(rows[-1], file=sys.stderr)
    print(render(rows))
    return 0 if all(row.same_bits for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
