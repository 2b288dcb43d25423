"""Large problems made to be hard: a plan comes, in bounded time and memory.

Each problem is planned in a process of its own, which may neither use much more of a processor than
the time limit nor much memory: the system ends one that does.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from random import Random

import pytest

from onearena.lifetime import Interval
from onearena.planners import plan
from onearena.problem import Buffer, Member, Problem, Window
from onearena.verification.native import verify_plan

_LIMIT_S = 1.0
_CPU_S = 60
"""Far more than it takes, which depends on the machine; a search without an end takes more."""
_MEMORY_BYTES = 512 << 20
"""What planning may take, beside the problem and what was imported."""


def _buffer(number: int, size: int, start: int, end: int) -> Buffer:
    return Buffer(number, size, 1 << number % 7, 0, (Interval(start, end),))


def _nested(count: int, random: Random) -> Problem:
    """Lives like the skins of an onion: every pair meets."""
    lives = range(count)
    return Problem(
        tuple(_buffer(k, 1 + random.randrange(1 << 20), k, 2 * count - k) for k in lives)
    )


def _at_once(count: int, random: Random) -> Problem:
    return Problem(tuple(_buffer(k, 1 + random.randrange(1 << 20), 0, 1) for k in range(count)))


def _anywhere(count: int, random: Random) -> Problem:
    buffers = []
    for number in range(count):
        start = random.randrange(count)
        end = start + 1 + random.randrange(1 << random.randrange(12))
        buffers.append(_buffer(number, 1 << random.randrange(24), start, end))
    return Problem(tuple(buffers))


def _pinned(count: int, random: Random) -> Problem:
    """Every other buffer lies at a place that leaves holes."""
    lives = range(count)
    return Problem(
        tuple(
            Buffer(k, 3000, 1, 0, (Interval(k, k + 2),), 4096 * k if k % 2 else None) for k in lives
        )
    )


def _grouped(count: int, random: Random) -> Problem:
    """Groups of two, far apart in time and in the arena."""
    problem = _anywhere(count, random)
    pairs = range(0, count - 1, 2)
    groups = tuple((Member(k, 0), Member(k + 1, 64 * random.randrange(1 << 16))) for k in pairs)
    flat = tuple(Buffer(b.id, b.size_bytes, 64, 0, b.lifetime) for b in problem.buffers)
    return Problem(flat, groups)


def _windowed(count: int, random: Random) -> Problem:
    """Buffers of which half is free, now the lower one, now the upper one."""
    buffers = []
    for number in range(count):
        start = random.randrange(count)
        life = Interval(start, start + 64)
        windows = tuple(
            Window(Interval(start + 8 * k, start + 8 * k + 4), 512 * (k % 2), 512 * (k % 2) + 512)
            for k in range(8)
        )
        buffers.append(Buffer(number, 1024, 16, 0, (life,), windows=windows))
    return Problem(tuple(buffers))


_KINDS: dict[str, tuple[Callable[[int, Random], Problem], int]] = {
    "nested": (_nested, 4_000),
    "at once": (_at_once, 20_000),
    "anywhere": (_anywhere, 20_000),
    "pinned": (_pinned, 20_000),
    "grouped": (_grouped, 4_000),
    "windowed": (_windowed, 4_000),
}


def _child(kind: str, count: int) -> None:
    """Plans and prints what it took."""
    make, _ = _KINDS[kind]
    problem = make(count, Random(0))
    before = resource.getrusage(resource.RUSAGE_SELF)
    resource.setrlimit(resource.RLIMIT_CPU, (int(before.ru_utime) + _CPU_S,) * 2)
    found = plan(problem, time_limit_s=_LIMIT_S)
    after = resource.getrusage(resource.RUSAGE_SELF)
    if verify_plan(problem, found):
        raise SystemExit("the plan is wrong")
    taken = {
        "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "bytes": (after.ru_maxrss - before.ru_maxrss) * 1024,
        "gap": found.gap,
    }
    print(json.dumps(taken))


def measured(kind: str, count: int) -> dict[str, float]:
    """What planning a problem took, in a process of its own."""
    words = [sys.executable, "-m", "tests.native.test_adversarial", kind, str(count)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-2000:]}"
    result: dict[str, float] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize("kind", _KINDS)
def test_it_is_planned_within_its_limits(kind: str) -> None:
    found = measured(kind, _KINDS[kind][1])
    assert found["bytes"] < _MEMORY_BYTES
    assert found["gap"] >= 0


if __name__ == "__main__":
    _child(sys.argv[1], int(sys.argv[2]))
