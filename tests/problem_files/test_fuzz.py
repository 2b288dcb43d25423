"""Mutated files: both readers take them or refuse them in one clear line; the same every time."""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from onearena.problem_files import read_plan, read_problem, write_problem
from onearena.problem_files.csv_format import problem_table
from onearena.problem_files.json_format import parse_problem, plan_text, problem_text
from tests.fuzz.harness import limits, run_one
from tests.fuzz.mutate_bytes import mutate_bytes
from tests.problem_files.problems import everything

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")

_COUNT = 1500
_TOKENS = (
    *(b",", b'"', b"\n", b"\r\n", b" ", b"-", b"@", b":", b"0", b"-1", b"9223372036854775807"),
    *(b"9223372036854775808", b"[", b"]", b"{", b"}", b"null", b"true", b"1e9", b"\\ud800"),
    *(b"id", b"end", b"upper", b"gaps", b"memory", b"3-4@0:8", b"\xef\xbb\xbf", b"\xff", b"\0"),
)
_NUMBER = re.compile(rb"-?[0-9]+")
_NUMBERS = (b"0", b"1", b"2", b"7", b"-3", b"64", b"9223372036854775807", b"9223372036854775808")


@dataclass(frozen=True)
class _Target:
    """Reads a file of these bytes; what can be read can be written and read again."""

    path: Path

    def __call__(self, data: bytes) -> None:
        self.path.write_bytes(data)
        if self.path.stem == "plan":
            read_plan(self.path)
            return
        file = read_problem(self.path)
        text = problem_text(file.problem, file.memories)
        assert parse_problem(text, "again") == (file.problem, file.memories)
        if file.table is not None:
            write_problem(self.path, file.problem)
            again = read_problem(self.path).problem
            assert problem_text(again) == text or file.problem.buffers[0].name == ""


def _seeds() -> dict[str, bytes]:
    from tests.problem_files.test_store import _PLAN

    csv = problem_table(everything()).text()
    plain = b'buffer,size,start,end,gaps\r\n"x, y",64,0,9,3-4@0:8 5-6\r\nz,8,-4,3,\r\n'
    return {
        "plain.csv": plain,
        "full.csv": csv.encode(),
        "full.json": problem_text(everything()).encode(),
        "plan.json": plan_text(_PLAN, None).encode(),
    }


def _mutate(data: bytes, other: bytes, random: Random) -> bytes:
    if random.random() < 0.3:
        return mutate_bytes(data, other, random)
    if random.random() < 0.5:
        place = random.choice([*_NUMBER.finditer(data)])
        return data[: place.start()] + random.choice(_NUMBERS) + data[place.end() :]
    out = bytearray(data)
    for _ in range(random.randint(1, 3)):
        at = random.randint(0, len(out))
        out[at : at + random.randint(0, 4)] = random.choice(_TOKENS)
    return bytes(out)


@pytest.mark.parametrize("name", ["plain.csv", "full.csv", "full.json", "plan.json"])
def test_mutated_files_are_read_or_refused(name: str, tmp_path: Path) -> None:
    seeds = _seeds()
    target = _Target(tmp_path / name)
    outcomes: Counter[str] = Counter()
    assert run_one(target, seeds[name]) == "ok"
    with limits():
        for index in range(_COUNT):
            random = Random(f"{name}-{index}")
            data = _mutate(seeds[name], random.choice([*seeds.values()]), random)
            outcome = run_one(target, data)
            assert "\n" not in outcome, f"input {index}: {data!r}\n{outcome}"
            outcomes[outcome] += 1
    # the mutations are neither all fatal nor all harmless
    assert outcomes["ok"] > _COUNT // 20
    assert outcomes["FormatError"] > _COUNT // 5
