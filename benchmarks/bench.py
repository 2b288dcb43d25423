"""Measures every zoo program before and after ``onearena optimize`` on the real runtime.

``python -m benchmarks.bench --old PYTHON`` exports the programs, optimizes them, runs both files
in this environment and in that of PYTHON (an older ExecuTorch), prints tables, writes them to
``results.md`` and ``results.json`` and says which of the project's numbers are reached. The exit
code is 1 if one is not.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from onearena import __version__

from .ablation import ablation
from .environments import ROOT, BenchmarkError, Environment, run
from .goals import Goal, check
from .optimizing import optimize
from .records import Row, read_row
from .tables import render
from .zoo.entries import ZOO, ZooEntry, entry

OPTIMIZE_RUNS = 3
_PASSES = "## What each pass brings"


@dataclass(frozen=True)
class Bench:
    """A run of the benchmark: which programs, where files are, what to run them with."""

    programs: tuple[ZooEntry, ...]
    stock: Path
    optimized: Path
    environments: tuple[Environment, ...]
    quick: bool

    @property
    def versions(self) -> list[str]:
        """Versions of ExecuTorch, in the order of the environments."""
        return [environment.version for environment in self.environments]

    def rows(self) -> list[Row]:
        """Measure everything; a program that fails is said and left out.

        When interrupted, return what is there.
        """
        self.optimized.mkdir(parents=True, exist_ok=True)
        rows = []
        for program in self.programs:
            try:
                rows.append(self._row(program))
            except BenchmarkError as error:
                print(f"{program.name:20} FAILED\n{error}", file=sys.stderr, flush=True)
            except KeyboardInterrupt:
                print(f"{program.name:20} interrupted", file=sys.stderr, flush=True)
                break
        return rows

    def _row(self, program: ZooEntry) -> Row:
        files = self._file(self.stock, program), self._file(self.optimized, program)
        done = optimize(*files, self.versions, 1 if self.quick else OPTIMIZE_RUNS)
        example = files[0].with_suffix(".npz")
        trials = {
            environment.version: environment.trial(program.name, *files, example, quick=self.quick)
            for environment in self.environments
        }
        row = Row(program.name, program.description, done, trials)
        print(_progress(row, self.versions), flush=True)
        return row

    @staticmethod
    def _file(directory: Path, program: ZooEntry) -> Path:
        return directory / f"{program.name}.pte"


def _progress(row: Row, versions: Sequence[str]) -> str:
    parts = [f"{row.name:20}"]
    for each in versions:
        trial = row.trials[each]
        exact = "bit-exact" if trial.difference is None else "DIFFERENT"
        parts.append(
            f"{each}: {exact}  memory {row.ratio(each):.3f}  time {trial.latency.value:.3f}"
        )
    return "  ".join(parts)


def export(directory: Path, programs: Sequence[ZooEntry]) -> None:
    """Export what is not there yet."""
    print(f"exporting what is not yet in {directory.name}", flush=True)
    names = [program.name for program in programs]
    run([sys.executable, "-m", "benchmarks.zoo.export", "--out", str(directory), *names])


def zoo_directory(cache: Path) -> Path:
    """Return where programs go: a place of their own for each version of what makes them."""
    sources = sorted((ROOT / "benchmarks" / "zoo").glob("*.py"))
    sources += [ROOT / "requirements" / name for name in ("run.txt", "zoo.txt")]
    content = hashlib.sha256(b"".join(path.read_bytes() for path in sources))
    return cache / f"zoo-{content.hexdigest()[:12]}"


def about(bench: Bench) -> list[str]:
    """Say what was measured where."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return [
        f"Written by `make bench` on {today}: onearena {__version__}, "
        f"ExecuTorch {' and '.join(bench.versions)}, PyTorch {version('torch')}, "
        f"Python {platform.python_version()}, {_processor()}, {os.cpu_count()} cores.",
        "Both sides run on the stock runtime. The workspace is what XNNPACK really allocated, its "
        "sharing as it is by default. A latency ratio is the median over pairs of interleaved "
        "runs, each side first in every other pair; below 1 the optimized file is faster. CPU time "
        "is that of all cores, likewise.",
    ]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def write(directory: Path, page: str, rows: Sequence[Row], goals: Sequence[Goal]) -> None:
    """Write ``results.md`` and ``results.json``."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "results.md").write_text(page, encoding="utf-8")
    content = {"programs": [asdict(row) for row in rows], "goals": [asdict(g) for g in goals]}
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    (directory / "results.json").write_text(text, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    options = _parse(arguments)
    bench = _bench(options)
    if options.programs is None:
        export(bench.stock, bench.programs)
    kept = _kept(options, bench)
    known = _known_passes(options.out) if options.again else ""
    rows = [*kept, *bench.rows()]
    rows.sort(key=lambda row: [program.name for program in ZOO].index(row.name))
    goals = check(rows, bench.versions)
    page = render(rows, bench.versions, goals, [*about(bench), *_age(kept)])
    write(options.out, page, rows, goals)  # an hour's work is safe, whatever the rest does
    if options.passes:
        known = f"\n\n{_passes(bench, rows)}\n"
    if known:
        page += f"\n{_PASSES}{known}"
        write(options.out, page, rows, goals)
    print(f"\n{page}")
    is_whole = {row.name for row in rows} >= {program.name for program in bench.programs}
    return 0 if all(goal.is_met for goal in goals) and is_whole else 1


def _kept(options: argparse.Namespace, bench: Bench) -> list[Row]:
    """With --again, the rows of programs that are not measured now."""
    if not options.again:
        return []
    rest = {program.name for program in ZOO} - {program.name for program in bench.programs}
    try:
        content = json.loads((options.out / "results.json").read_text(encoding="utf-8"))
        rows = [read_row(row) for row in content["programs"] if row["name"] in rest]
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.exit(f"bench: there are no results to keep in {options.out}: {error!r}")
    return [row for row in rows if set(row.trials) == {*bench.versions}]


def _known_passes(out: Path) -> str:
    """What an earlier run says of the passes."""
    return (out / "results.md").read_text(encoding="utf-8").partition(f"\n{_PASSES}")[2]


def _age(kept: Sequence[Row]) -> list[str]:
    """What a page has to say of rows that are of an earlier run."""
    if not kept:
        return []
    return [f"Of an earlier run: {', '.join(row.name for row in kept)}."]


def _passes(bench: Bench, rows: Sequence[Row]) -> str:
    paths = (bench.stock / f"{row.name}.pte" for row in rows)
    print("planning with and without each pass", flush=True)
    return ablation([path for path in paths if path.exists()])


def _bench(options: argparse.Namespace) -> Bench:
    pythons = [Path(sys.executable), *options.old]
    return Bench(
        programs=tuple(entry(name) for name in options.names) or ZOO,
        stock=options.programs or zoo_directory(options.cache.absolute()),
        optimized=options.cache.absolute() / "optimized",
        environments=tuple(Environment.of(python) for python in pythons),
        quick=options.quick,
    )


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bench",
        description="Measure zoo programs before and after on the real runtime.",
    )
    known = [program.name for program in ZOO]
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(known)}")
    parser.add_argument("--cache", type=Path, default=ROOT / ".cache" / "bench", metavar="DIR")
    parser.add_argument(
        "--old",
        type=Path,
        action="append",
        default=[],
        metavar="PYTHON",
        help="also measure with this Python and its ExecuTorch",
    )
    parser.add_argument(
        "--programs", type=Path, metavar="DIR", help="programs exported before (default: export)"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks", metavar="DIR")
    parser.add_argument(
        "--no-passes", dest="passes", action="store_false", help="leave out what each pass brings"
    )
    parser.add_argument(
        "--again",
        action="store_true",
        help="keep what --out has of the programs that are not named",
    )
    parser.add_argument("--quick", action="store_true", help="time less, for a first impression")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in known]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
