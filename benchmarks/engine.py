"""The native runtime against the stock one: same bits, latency, time to load.

``python -m benchmarks.engine FOLDER`` runs every program in a folder on both, in turn and in one
process. Inputs come from the ``.npz`` beside a program, or are random. Ratios below 1 mean that
the native runtime is faster. Loading is timed three times: with the analysis of the
program (the first time that it is loaded), with its description in the user's cache (every later
time), and with a description in the file. Each load is followed by a run, so that the time until
the first output is there, too.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from onearena.engine.description_cache import ENVIRONMENT_VARIABLE
from onearena.engine.embedding import embed_description
from onearena.engine.runtime import Runtime
from onearena.errors import OnearenaError
from onearena.pte import open_pte
from onearena.runtime.bindings import runtime_module
from onearena.runtime.inputplan import InputSource, MethodFacts
from onearena.runtime.session import Session
from onearena.runtime.userinputs import check_inputs, load_inputs

_LOADS = 5
_SECONDS = 4.0
_MIN_PAIRS, _MAX_PAIRS = 7, 200
_REST_S = 0.2
"""Long enough for the threads of XNNPACK's pool to fall asleep: after a run they wait for the next
one busily, on a processor that the load after it would have (`pthreadpool`, some 10 ms)."""


@dataclass(frozen=True)
class Row:
    """One method of one program; times in milliseconds."""

    program: str
    method: str
    is_exact: bool
    stock_ms: float
    native_ms: float
    latency_ratio: float
    stock_load_ms: float
    first_load_ms: float
    native_load_ms: float
    described_load_ms: float
    stock_output_ms: float
    first_output_ms: float
    native_output_ms: float
    described_output_ms: float


def main() -> int:
    """Prints the table; exit code 1 when a bit differs."""
    parser = arguments(__doc__)
    parser.add_argument("--seconds", type=float, default=_SECONDS, help="of timed runs, per method")
    args = parser.parse_args()
    return print_table(
        args, _HEADER, partial(measure, seconds=args.seconds), line=_line, summary=_summary
    )


def arguments(text: str | None) -> argparse.ArgumentParser:
    """What all benchmarks of a folder of programs take."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", help="a program's name without .pte")
    parser.add_argument("--json", type=Path, help="also write the rows here")
    return parser


class ExactRow(Protocol):
    """A row of a table: a dataclass that knows whether the outputs were equal."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def is_exact(self) -> bool:
        """Whether all outputs were equal bit for bit."""
        ...


R = TypeVar("R", bound=ExactRow)


def print_table(
    args: argparse.Namespace,
    header: str,
    measure: Callable[[Path], Iterable[R]],
    *,
    line: Callable[[R], str],
    summary: Callable[[Sequence[R]], str],
) -> int:
    """Measures the programs of a folder and prints each row when it is there.

    Returns:
        The exit code: 1 when a bit differs.
    """
    rows: list[R] = []
    print(header, flush=True)
    for path in sorted(args.folder.glob("*.pte")):
        if args.only and path.stem not in args.only:
            continue
        try:
            for row in measure(path):
                rows.append(row)
                print(line(row), flush=True)
        except OnearenaError as error:
            print(f"| {path.stem} | {error} |", flush=True)
    if rows:
        print(summary(rows))
    if args.json is not None:
        args.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    return 0 if all(row.is_exact for row in rows) else 1


def measure(path: Path, seconds: float) -> Iterator[Row]:
    """Both runtimes on every method of a program."""
    with open_pte(path) as file:
        plans = file.program.execution_plan or ()
        facts = [MethodFacts.of(file, plan) for plan in plans]
    for fact in facts:
        name = fact.signature.name
        inputs = example_inputs(path, fact, len(facts) == 1)
        loads = _load_times(path, name, inputs)
        with Session(path) as session:
            stock = session.load(name)
            native = Runtime().load(path).method(name)
            exact = all(
                same_bits(tuple(stock(copies(inputs), True)), native.run(*inputs)) for _ in range(3)
            )
            stock_ms, native_ms, ratio = _interleaved(
                partial(stock, inputs, True), partial(native.run, *inputs), seconds
            )
        yield Row(*(path.stem, name, exact, stock_ms, native_ms, ratio), *loads)


def example_inputs(path: Path, facts: MethodFacts, is_only: bool) -> list[Any]:
    beside = path.with_suffix(".npz")
    if is_only and beside.is_file():
        return check_inputs(facts.signature, load_inputs([str(beside)]))
    return InputSource(facts, facts.default_plan(0)).inputs(0)


def copies(values: Sequence[Any]) -> list[Any]:
    return [value.clone() if hasattr(value, "clone") else value for value in values]


def _load_times(path: Path, method: str, inputs: Sequence[Any]) -> tuple[float, ...]:
    """Milliseconds until a method is ready: stock; native for the first time, later, and with a
    description in the file. Then the same four until the first output."""
    module = runtime_module()

    def stock(path: Path) -> Callable[[], Any]:
        check = module.Verification.InternalConsistency
        loaded = module._load_program(str(path), program_verification=check).load_method(method)
        return partial(loaded.call, inputs, True)

    def native(path: Path, use_cache: bool = True) -> Callable[[], Any]:
        return partial(Runtime().load(path, use_cache=use_cache).method(method).run, *inputs)

    with tempfile.TemporaryDirectory() as folder:
        os.environ[ENVIRONMENT_VARIABLE] = str(Path(folder) / "cache")
        described = Path(folder) / path.name
        embed_description(path, described)
        first = partial(native, path, use_cache=False)
        ways = (partial(stock, path), first, partial(native, path), partial(native, described))
        for way in ways:
            way()()
        rounds = [[_timed_load_ms(way) for way in ways] for _ in range(_LOADS)]
    loads, outputs = zip(*(zip(*times, strict=True) for times in rounds), strict=True)
    return tuple(
        statistics.median(times)
        for columns in (loads, outputs)
        for times in zip(*columns, strict=True)
    )


def _timed_load_ms(load: Callable[[], Callable[[], Any]]) -> tuple[float, float]:
    """Until it is loaded, and until it has run once; as in a process that did nothing before."""
    time.sleep(_REST_S)
    start = time.perf_counter()
    run = load()
    loaded = time.perf_counter()
    run()
    return (loaded - start) * 1e3, (time.perf_counter() - start) * 1e3


def _interleaved(
    stock: Callable[[], Any], native: Callable[[], Any], seconds: float
) -> tuple[float, float, float]:
    """Medians of both, and of the ratios of pairs; each goes first in every other pair."""
    for warm_up in (stock, native, stock, native):
        warm_up()
    end = time.perf_counter() + seconds
    pairs: list[tuple[float, float]] = []
    while len(pairs) < _MIN_PAIRS or (time.perf_counter() < end and len(pairs) < _MAX_PAIRS):
        if len(pairs) % 2:
            second = _timed_ms(native)
            first = _timed_ms(stock)
        else:
            first = _timed_ms(stock)
            second = _timed_ms(native)
        pairs.append((first, second))
    ratio = statistics.median(b / a for a, b in pairs)
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs), ratio


def _timed_ms(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1e3


def same_bits(expected: Sequence[Any], found: Sequence[Any]) -> bool:
    """Whether all bits are equal, and types, shapes and strides."""
    import torch

    if len(expected) != len(found):
        return False
    for a, b in zip(expected, found, strict=True):
        if not isinstance(a, torch.Tensor):
            if type(a) is not type(b) or a != b:
                return False
            continue
        if (a.dtype, a.shape, a.stride()) != (b.dtype, b.shape, b.stride()):
            return False
        flat_a, flat_b = a.contiguous().reshape(-1), b.contiguous().reshape(-1)
        if not torch.equal(flat_a.view(torch.uint8), flat_b.view(torch.uint8)):
            return False
    return True


_HEADER = """\
| program | method | bits | stock ms | native ms | latency | stock load ms | first load ms \
| load ms | described load ms | first | load | described | first to output | load to output |
|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"""


def _line(row: Row) -> str:
    return (
        f"| {row.program} | {row.method} | {'equal' if row.is_exact else 'DIFFERENT'} "
        f"| {row.stock_ms:.3f} | {row.native_ms:.3f} | {row.latency_ratio:.3f} "
        f"| {row.stock_load_ms:.1f} | {row.first_load_ms:.1f} | {row.native_load_ms:.1f} "
        f"| {row.described_load_ms:.1f} | {row.first_load_ms / row.stock_load_ms:.2f} "
        f"| {row.native_load_ms / row.stock_load_ms:.2f} "
        f"| {row.described_load_ms / row.stock_load_ms:.2f} "
        f"| {row.first_output_ms / row.stock_output_ms:.2f} "
        f"| {row.native_output_ms / row.stock_output_ms:.2f} |"
    )


def _summary(rows: Sequence[Row]) -> str:
    def mean(values: Iterable[float]) -> float:
        return math.exp(statistics.fmean(math.log(value) for value in values))

    exact = sum(row.is_exact for row in rows)
    latency = mean(row.latency_ratio for row in rows)
    first = mean(row.first_load_ms / row.stock_load_ms for row in rows)
    load = mean(row.native_load_ms / row.stock_load_ms for row in rows)
    described = mean(row.described_load_ms / row.stock_load_ms for row in rows)
    output = mean(row.native_output_ms / row.stock_output_ms for row in rows)
    first_output = mean(row.first_output_ms / row.stock_output_ms for row in rows)
    return (
        f"\n{exact} of {len(rows)} equal bit for bit; geometric means: latency {latency:.3f}, "
        f"load {load:.2f} (the first time {first:.2f}), with a description in the file "
        f"{described:.2f}; load and first run {output:.2f} (the first time {first_output:.2f})"
    )


if __name__ == "__main__":
    sys.exit(main())
