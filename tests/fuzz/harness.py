"""Runs targets on mutated files under a limit of time and memory, and keeps what fails."""

from __future__ import annotations

import faulthandler
import resource
import signal
import traceback
import tracemalloc
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

from onearena.errors import OnearenaError
from tests.fuzz.mutate_bytes import mutate_bytes
from tests.fuzz.mutate_tables import mutate_tables
from tests.fuzz.seeds import Seed
from tests.fuzz.targets import Target

CPU_SECONDS_PER_INPUT = 5.0
SECONDS_PER_INPUT = 120.0
"""For waiting without working; generous, because the machine may be busy with other things."""

_CPU_SECONDS_UNTIL_ABORT = 60
_STDERR = 2
_MAX_INPUT_BYTES = 64 << 10
_ADDRESS_SPACE_BYTES = 1 << 30
_TRACED_EVERY = 200
_TRACED_LIMIT_BYTES = 64 << 20
_TABLE_SHARE = 0.35


class Hang(BaseException):
    """An input took longer than :data:`CPU_SECONDS_PER_INPUT` or :data:`SECONDS_PER_INPUT`."""


@dataclass(frozen=True)
class Failure:
    """An input that a target answered with anything but success or an OnearenaError."""

    index: int
    seed: str
    target: str
    data: bytes
    trace: str


@dataclass
class Report:
    """Outcomes by target and name of the error (`rewrite: FormatError`), `ok` for success."""

    inputs: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)


def make_input(seeds: Sequence[Seed], run: int, index: int) -> tuple[Seed, bytes]:
    """Input number `index` of the run; the same on every machine."""
    random = Random(f"{run}-{index}")
    seed, other = random.choice(seeds), random.choice(seeds)
    if random.random() < _TABLE_SHARE:
        data = mutate_tables(seed.data, random)
        if len(data) > _MAX_INPUT_BYTES:
            return seed, data[:_MAX_INPUT_BYTES]
        if random.random() < 0.8:
            return seed, data
        return seed, mutate_bytes(data, other.data, random)
    return seed, mutate_bytes(seed.data, other.data, random)


def fuzz(
    targets: Sequence[Target], seeds: Sequence[Seed], run: int, count: int, first: int = 0
) -> Report:
    """Runs inputs `first` to `first + count` and returns what happened."""
    report = Report()
    with limits():
        for index in range(first, first + count):
            seed, data = make_input(seeds, run, index)
            report.inputs += 1
            for target in targets:
                outcome = run_one(target, data, traced=index % _TRACED_EVERY == 0)
                if outcome.rstrip().endswith("Hang"):  # once may be a stall of the machine
                    outcome = run_one(target, data)
                name = outcome.splitlines()[-1].split(":")[0]
                report.outcomes[f"{target.__name__}: {name}"] += 1
                if "\n" in outcome:
                    failure = Failure(index, seed.name, target.__name__, data, outcome)
                    report.failures.append(failure)
    return report


def run_one(target: Target, data: bytes, traced: bool = False) -> str:
    """`ok`, the name of the OnearenaError, or a traceback of several lines."""
    try:
        try:
            _set_timers(SECONDS_PER_INPUT, CPU_SECONDS_PER_INPUT, _CPU_SECONDS_UNTIL_ABORT)
            if traced:
                _run_traced(target, data)
            else:
                target(data)
        finally:
            _set_timers(0, 0, 0)  # a signal that came inside a long C call may raise only here
    except OnearenaError as error:
        return _judge(error)
    except (Exception, Hang):
        return traceback.format_exc()
    return "ok"


def _set_timers(real: float, cpu: float, abort: float) -> None:
    signal.setitimer(signal.ITIMER_REAL, real)
    signal.setitimer(signal.ITIMER_PROF, cpu)
    signal.setitimer(signal.ITIMER_VIRTUAL, abort)


def _judge(error: OnearenaError) -> str:
    """Deliberate errors must be one short line."""
    text = str(error)
    if not text or not text.isprintable() or len(text) > 1000:
        return f"message is not one clear line:\n{text!r}"
    return type(error).__name__


def _run_traced(target: Target, data: bytes) -> None:
    tracemalloc.start()
    try:
        target(data)
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    if peak > _TRACED_LIMIT_BYTES:
        raise MemoryError(f"{peak} bytes allocated for a file of {len(data)}")


@contextmanager
def limits() -> Iterator[None]:
    """Hangs raise, hangs inside C abort with a traceback, memory blow-ups are MemoryErrors."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + _ADDRESS_SPACE_BYTES, before[1]))
    handlers = {s: signal.signal(s, _raise_hang) for s in (signal.SIGALRM, signal.SIGPROF)}
    faulthandler.register(signal.SIGVTALRM, file=_STDERR, chain=True)
    try:
        yield
    finally:
        _set_timers(0, 0, 0)
        faulthandler.unregister(signal.SIGVTALRM)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)


def _raise_hang(number: int, frame: object) -> None:
    raise Hang


def _address_space() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[0]) * resource.getpagesize()
