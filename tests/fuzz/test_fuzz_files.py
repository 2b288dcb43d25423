"""A bounded run of the fuzzer (`python -m benchmarks.fuzz` runs it for longer), and its checks."""

from __future__ import annotations

import struct
import sys
import time

import pytest

from onearena.errors import FormatError
from tests.fuzz.harness import Hang, Report, fuzz, limits, make_input, run_one
from tests.fuzz.seeds import MAX_SEED_BYTES, Seed, load_seeds
from tests.fuzz.targets import TARGETS, Target

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")

_COUNT = 10_000
_PARTS = 4


@pytest.fixture(scope="module")
def seeds() -> tuple[Seed, ...]:
    return load_seeds()


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.__name__)
def test_seeds_are_valid(target: Target, seeds: tuple[Seed, ...]) -> None:
    for seed in seeds:
        assert len(seed.data) <= MAX_SEED_BYTES
        target(seed.data)


def test_seeds_hold_real_files(seeds: tuple[Seed, ...]) -> None:
    assert {"convnet.pte", "cond.pte", "int8.pte", "everything"} <= {seed.name for seed in seeds}


def _describe(report: Report) -> str:
    lines = [f"{f.target} on input {f.index} (from {f.seed}):\n{f.trace}" for f in report.failures]
    return "\n".join(lines[:3])


@pytest.mark.parametrize("part", range(_PARTS))
def test_mutated_files_succeed_or_are_refused(part: int, seeds: tuple[Seed, ...]) -> None:
    count = _COUNT // _PARTS
    report = fuzz(TARGETS, seeds, run=0, count=count, first=part * count)
    assert not report.failures, _describe(report)
    assert report.inputs == count
    # the mutations are neither all fatal nor all harmless
    for target in ("rewrite", "payloads"):
        assert report.outcomes[f"{target}: ok"] > count // 5
        assert report.outcomes[f"{target}: FormatError"] > count // 5
        assert report.outcomes[f"{target}: UnsupportedError"] > 0


def test_inputs_are_the_same_in_every_run(seeds: tuple[Seed, ...]) -> None:
    inputs = [make_input(seeds, 7, index) for index in range(50)]
    assert inputs == [make_input(seeds, 7, index) for index in range(50)]
    assert len({data for _, data in inputs}) > 45


# The harness itself must notice what it is there for.


def _crash(data: bytes) -> None:
    struct.unpack("<I", data[:3])


def _hang(data: bytes) -> None:
    time.sleep(600)


def _spin(data: bytes) -> None:
    while data:
        pass


def _devour(data: bytes) -> None:
    bytearray(4 << 30)


def _bloat(data: bytes) -> None:
    bytearray(100 << 20)


def _babble(data: bytes) -> None:
    raise FormatError("two\nlines")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (_crash, "struct.error"),
        (_hang, "Hang"),
        (_spin, "Hang"),
        (_devour, "MemoryError"),
        (_babble, "not one clear line"),
    ],
)
def test_bad_behaviour_is_noticed(
    target: Target, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.fuzz.harness.CPU_SECONDS_PER_INPUT", 0.2)
    monkeypatch.setattr("tests.fuzz.harness.SECONDS_PER_INPUT", 0.2 if target is _hang else 60.0)
    with limits():
        outcome = run_one(target, b"abc")
    assert "\n" in outcome
    assert words in outcome


def test_too_much_memory_is_noticed_when_traced() -> None:
    with limits():
        assert "bytes allocated for a file of 3" in run_one(_bloat, b"abc", traced=True)
        assert run_one(_bloat, b"abc") == "ok"


def test_failures_are_reported_with_their_input(seeds: tuple[Seed, ...]) -> None:
    report = fuzz([_crash, _babble], seeds[:1], run=0, count=3)
    assert len(report.failures) == 6
    assert report.outcomes == {"_crash: struct.error": 3, "_babble: 'two\\nlines'": 3}
    _, data = make_input(seeds[:1], 0, 2)
    assert report.failures[-1].data == data


@pytest.mark.parametrize("stalls", [1, 2])
def test_only_a_repeated_hang_is_a_failure(stalls: int, seeds: tuple[Seed, ...]) -> None:
    calls: list[int] = []

    def stall(data: bytes) -> None:
        calls.append(1)
        if len(calls) <= stalls:
            raise Hang

    report = fuzz([stall], seeds[:1], run=0, count=1)
    assert len(calls) == 2
    assert len(report.failures) == stalls - 1


def test_deliberate_errors_are_no_failures(seeds: tuple[Seed, ...]) -> None:
    def refuse(data: bytes) -> None:
        raise FormatError("no")

    report = fuzz([refuse], seeds[:1], run=0, count=3)
    assert report.outcomes == {"refuse: FormatError": 3}
    assert report.failures == []
