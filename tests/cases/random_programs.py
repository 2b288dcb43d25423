"""Random programs, optimized with random switches and compared on the stock runtime.

``python -m tests.cases.random_programs --count 10000`` checks many; see docs/random-programs.md.
They run in child processes, so that a crash of the runtime is a finding and not the end. Of
each kind of finding the first ones are shrunk and printed with the command that repeats them.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import multiprocessing
import os
import shlex
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any

import torch

from tests.cases.random_cases import Case, case_of, draw_case, text_of
from tests.cases.random_checks import FindingError, UnusableError, examine, warm_up
from tests.cases.random_shrinking import shrunk
from tests.cases.sabotage import SABOTAGES

SETTINGS = 2
"""Draws of switches for each program."""
_BATCH = 60
_SILENCE_S = 900.0
"""A child that says nothing for so long hangs."""
_SHRUNK_PER_KIND = 2
_MODULE = "tests.cases.random_programs"
Tell = Callable[[str], None]
Entry = dict[str, Any]
Check = Callable[[Case, Path, Callable[[str], None]], Any]


@dataclass
class Summary:
    """What became of many cases.

    Attributes:
        verdicts: of pairs of program and switches: fine, unusable, finding.
        programs: hashes of the exported graphs, with how they were exported, that ran.
        counts: sums of what `Outcome` counts.
        reasons: why cases are unusable.
        operations: in how many of these programs each operation occurs.
        switches: with how many pairs each switch was not as by default.
        findings: kind, text and (where it was shrunk) the case.
    """

    verdicts: Counter[str] = field(default_factory=Counter)
    programs: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    operations: Counter[str] = field(default_factory=Counter)
    switches: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    def add(self, entry: Entry) -> None:
        """Counts the verdict of a case."""
        self.verdicts[entry["verdict"]] += 1
        if entry["verdict"] == "unusable":
            self.reasons[entry["what"]] += 1
        if entry["verdict"] != "fine":
            return
        if entry["program"] not in self.programs:
            self.programs.add(entry["program"])
            self.operations.update(entry["operations"])
        self.switches.update(entry["switches"])
        self.counts.update({name: int(value) for name, value in entry["outcome"].items()})

    def lines(self) -> list[str]:
        """For people."""
        counts, pairs = self.counts, self.verdicts["fine"] + self.verdicts["finding"]
        misfits = self.verdicts["fine"] - counts["fits"]
        return [
            f"{pairs} pairs of program and switches, {len(self.programs)} distinct programs, "
            f"{self.verdicts['finding']} findings; {self.verdicts['unusable']} pairs that the "
            f"exporter or the stock runtime refuses; {self.seconds:.0f} s, "
            f"{self.cpu_seconds:.0f} s of a processor",
            f"{counts['smaller']} came out smaller; {misfits} memory maps were too small; "
            f"{counts['pieces']} pieces in forced strips; {counts['faults']} faults "
            f"planted, {counts['noticed']} noticed, the others made no difference",
            "unusable: " + (_listed(self.reasons) or "none"),
            "operations: " + _listed(self.operations),
            "switches: " + _listed(self.switches),
        ]


def _listed(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counter.items()))


# -- in a child ---------------------------------------------------------------------------


def _examine_many(cases: list[tuple[int, int]], directory: Path, check: Check) -> None:
    """Every verdict is a line of `verdicts.jsonl`."""
    useless: dict[int, str] = {}
    seed_before = -1
    for seed, number in cases:
        if seed != seed_before:
            _remove_programs(directory)
        seed_before = seed
        if seed in useless:
            _write(directory, seed=seed, number=number, verdict="unusable", what=useless[seed])
            continue
        case = draw_case(seed, number)
        entry = judge(case, directory, check, seed=seed, number=number)
        if entry["verdict"] == "unusable":
            useless[seed] = entry["what"]


def judge(case: Case, directory: Path, check: Check, **known: Any) -> Entry:
    """Examines one case and writes down what it does, and the verdict."""

    def note(doing: str) -> None:
        _write(directory, doing=doing, **known)

    entry: Entry = {**known, "verdict": "fine", "what": ""}
    try:
        outcome = check(case, directory, note)
        entry["outcome"] = asdict(outcome) if outcome is not None else {}
        entry.update(_described(case))
    except UnusableError as error:
        entry.update(verdict="unusable", what=str(error))
    except FindingError as error:
        entry.update(verdict="finding", what=str(error))
    except Exception as error:  # a mistake in the code is a finding too
        entry.update(verdict="finding", what=f"{type(error).__name__}: {error}")
    _write(directory, **entry)
    return entry


def _described(case: Case) -> Entry:
    graph, variant = case.graph, case.variant
    text = repr((graph.inputs, graph.steps, graph.outputs, variant))
    plain, default = asdict(case.options), asdict(type(case.options)())
    return {
        "program": hashlib.sha256(text.encode()).hexdigest()[:16],
        "operations": sorted({step.name for step in graph.steps}),
        "switches": [name for name, value in plain.items() if value != default[name]],
    }


def _remove_programs(directory: Path) -> None:
    for path in directory.glob("*.pte"):
        if not path.name.startswith("missed"):
            path.unlink()


def _write(directory: Path, **entry: Any) -> None:
    with open(directory / "verdicts.jsonl", "a", encoding="utf-8") as stream:
        stream.write(json.dumps(entry) + "\n")


# -- in the parent ------------------------------------------------------------------------


def in_child(work: Callable[[], object], directory: Path) -> int:
    """Forks; returns the exit code, negative for a signal, that of SIGKILL when it hangs."""
    child = multiprocessing.get_context("fork").Process(target=_quietly, args=(work,))
    child.start()
    started = time.time()
    while child.exitcode is None:
        child.join(1.0)
        path = directory / "verdicts.jsonl"
        last = path.stat().st_mtime if path.exists() else started
        if child.exitcode is None and time.time() - max(last, started) > _SILENCE_S:
            child.kill()
    return child.exitcode


def _cpu_seconds() -> float:
    """Of this process and of children that have ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _quietly(work: Callable[[], object]) -> None:
    """The exporter and the runtime print a lot."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    work()


def entries_of(directory: Path) -> list[Entry]:
    """What a child has written."""
    path = directory / "verdicts.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def run_many(
    cases: list[tuple[int, int]],
    tell: Tell,
    *,
    check: Check = examine,
    until: float = float("inf"),
) -> Summary:
    """Examines (seed, number) pairs; a crash of one is a verdict like the others.

    Args:
        tell: gets what is printed.
        check: examines one case.
        until: `time.monotonic()` after which no new batch begins.
    """
    summary, start, cpu = Summary(), time.monotonic(), _cpu_seconds()
    position = 0
    while position < len(cases) and time.monotonic() < until:
        batch = cases[position : position + _BATCH]
        with tempfile.TemporaryDirectory(prefix="onearena-random-") as name:
            directory = Path(name)
            code = in_child(partial(_examine_many, batch, directory, check), directory)
            entries = entries_of(directory)
        done = [entry for entry in entries if "verdict" in entry]
        position += len(done)
        if code != 0:
            done.append(_death(batch, done, entries, code))
            position += 1
        for entry in done:
            summary.add(entry)
            if entry["verdict"] == "finding":
                _report(entry, summary, tell, check)
        summary.seconds = time.monotonic() - start
        summary.cpu_seconds = _cpu_seconds() - cpu
        tell(
            f"... {position} of {len(cases)}: {dict(summary.verdicts)} in {summary.seconds:.0f} s "
            f"({summary.cpu_seconds:.0f} s of a processor)"
        )
    return summary


def _death(
    batch: list[tuple[int, int]], done: list[Entry], entries: list[Entry], code: int
) -> Entry:
    """The verdict on what a child died of."""
    seed, number = batch[min(len(done), len(batch) - 1)]
    last = entries[-1].get("doing", "start") if entries else "start"
    verdict = "unusable" if last in ("start", "export", "stock") else "finding"
    return {
        "seed": seed,
        "number": number,
        "verdict": verdict,
        "what": f"{last}: the process died ({code})",
    }


def _report(entry: Entry, summary: Summary, tell: Tell, check: Check) -> None:
    """Shrinks what is new, and prints how to repeat it."""
    kind, case = kind_of(entry["what"]), draw_case(entry["seed"], entry["number"])
    text = f"seed {entry['seed']}, switches {entry['number']}: {entry['what']}"
    if sum(found.startswith(kind) for found in summary.findings) < _SHRUNK_PER_KIND:
        small = shrink_finding(case, kind, check)
        text += f"\n  shrunk to: {text_of(small)}"
        case = small
    text += f"\n  repeat with: {command_of(case)}"
    summary.findings.append(f"{kind}: {text}")
    tell(f"FINDING {text}")


def command_of(case: Case) -> str:
    """The command that examines a case again."""
    return f"python -m {_MODULE} --case {shlex.quote(text_of(case))}"


def kind_of(what: str) -> str:
    """Findings of one kind begin alike."""
    return what.split(":", 1)[0]


def shrink_finding(case: Case, kind: str, check: Check = examine) -> Case:
    """A smaller case with a finding of the same kind; every attempt has its own process."""
    with tempfile.TemporaryDirectory(prefix="onearena-shrink-") as name:
        directory = Path(name)

        def fails(candidate: Case) -> bool:
            (directory / "verdicts.jsonl").unlink(missing_ok=True)
            code = in_child(partial(judge, candidate, directory, check), directory)
            entries = entries_of(directory)
            if code != 0:
                entry = _death([(0, 0)], [], entries, code)
                return entry["verdict"] == "finding" and kind_of(entry["what"]) == kind
            last = entries[-1]
            return last["verdict"] == "finding" and kind_of(last["what"]) == kind

        return shrunk(case, fails)


# -- the command line ---------------------------------------------------------------------


def main() -> int:
    """The command line: 0 when all is fine, 1 when there is a finding."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="programs (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument(
        "--settings", type=int, default=SETTINGS, help="draws of switches for each program"
    )
    parser.add_argument("--minutes", type=float, help="stop after so long")
    parser.add_argument("--case", help="examine this case only, as it was printed")
    parser.add_argument(
        "--sabotage", choices=SABOTAGES, help="make `optimize` or `verify` wrong: does it show?"
    )
    parser.add_argument("--json", type=Path, help="write the verdicts' numbers here")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.sabotage is not None:
        SABOTAGES[options.sabotage]()
    if options.case is not None:
        return _repeat(case_of(options.case))
    warm_up()
    gc.collect()
    gc.freeze()  # children need not look at all that was imported
    pairs = [
        (seed, number)
        for seed in range(options.seed, options.seed + options.count)
        for number in range(options.settings)
    ]
    until = time.monotonic() + options.minutes * 60 if options.minutes else float("inf")
    summary = run_many(pairs, lambda line: print(line, flush=True), until=until)
    print("\n".join(summary.lines()))
    if options.json is not None:
        options.json.write_text(json.dumps(_numbers(summary), indent=1), encoding="utf-8")
    return 1 if summary.findings else 0


def _numbers(summary: Summary) -> Entry:
    found = {member.name: getattr(summary, member.name) for member in fields(summary)}
    return {**found, "programs": len(summary.programs)}


def _repeat(case: Case) -> int:
    with tempfile.TemporaryDirectory() as name:
        try:
            print(f"fine: {examine(case, Path(name), print)}")
        except (UnusableError, FindingError) as error:
            print(f"{type(error).__name__}: {error}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
