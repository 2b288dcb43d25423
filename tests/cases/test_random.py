"""Random programs with random switches; docs/random-programs.md says what is checked.

The programs run in a process of their own, which imports PyTorch once and forks.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from onearena.delegates.xnnpack import rows
from onearena.options import Options
from tests.cases.random_cases import NOT_DRAWN, Case, Variant, case_of, draw_case, text_of
from tests.cases.random_checks import FindingError, examine
from tests.cases.random_graphs import Graph, Network, Step
from tests.cases.random_operations import OPERATIONS
from tests.cases.random_shrinking import shrunk

PROGRAMS, PAIRS = 250, 500
COUNT = 270
"""So many are drawn: the exporter and the stock runtime refuse some."""
SHAPE = (1, 8, 12, 16)
POOL = Step("max_pool_wide", (0,), (2, 1, 0, 1))


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the module; its exit code tells whether there are findings."""
    root = Path(__file__).parents[2]
    paths = [str(root), *sys.path]
    return subprocess.run(
        [sys.executable, "-m", "tests.cases.random_programs", *arguments],
        cwd=root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_random_programs(tmp_path: Path) -> None:
    finished = run("--count", str(COUNT), "--json", str(tmp_path / "numbers.json"))
    assert finished.returncode == 0, finished.stdout + finished.stderr[-2000:]
    found: dict[str, Any] = json.loads((tmp_path / "numbers.json").read_text())
    assert found["findings"] == []
    assert found["programs"] >= PROGRAMS, finished.stdout
    assert found["verdicts"]["fine"] >= PAIRS, finished.stdout
    # the draws reach what they should reach
    counts = found["counts"]
    assert counts["smaller"] > PAIRS / 2
    assert counts["pieces"] > PAIRS
    assert counts["noticed"] > counts["faults"] / 2
    assert found["verdicts"].get("unusable", 0) < found["verdicts"]["fine"] / 10
    assert set(OPERATIONS) - set(found["operations"]) == set()
    assert set(found["switches"]) == set(Options.__dataclass_fields__) - NOT_DRAWN


# -- cases that failed once ---------------------------------------------------------------


REPEATED = {
    # the scale of a dynamically quantized image comes from all of its rows
    "one scale for all rows": Case(
        Graph(1000022, (SHAPE,), (POOL, Step("conv", (1,), (8, 1, 2, 0, 1, 1, True))), (2,)),
        Variant(int8="dynamic"),
    ),
    # an operand that comes twice is read from one slot of the result, and copied into the other
    "a slot that its own call reads": Case(
        Graph(
            2000166,
            ((1, 8, 8, 8),),
            (Step("hardtanh", (0,)), Step("cat", (0, 1, 1), (1, (1, 0, 1, 0, 2)))),
            (2,),
        ),
        number=2,
    ),
    # a transpose that changes nothing is a copy; strips had called it another value
    "a copy in strips": Case(
        Graph(1000021, (SHAPE,), (POOL, Step("permute", (1,), (0, 1, 2, 3))), (2,)),
        options=Options(simplify=False),
        number=1,
    ),
    # what a kernel cuts apart in place was written in strips, under other names
    "strips in what is split": Case(
        Graph(
            31000050,
            ((1, 2, 8, 8),),
            (Step("relu6", (0,)), Step("add", (1, 1)), Step("split", (2,), (1, 1))),
            (3,),
        )
    ),
    # the other half of what is split has no place
    "a part that nobody reads": Case(
        Graph(
            31000168,
            ((1, 2, 17, 16),),
            (Step("silu", (0,)), Step("split", (1,), (0, 1))),
            (2,),
        )
    ),
    # the operand of a dynamically quantized convolution is declared as it was before a transpose
    "dimensions in another order": Case(
        Graph(
            31000133,
            ((1, 8, 17, 16),),
            (Step("hardtanh", (0,)), Step("conv", (1,), (8, 1, 1, 1, 1, 1, False))),
            (2,),
        ),
        Variant(int8="dynamic"),
    ),
    # ExecuTorch's plan lets the second branch overwrite what came out of the first one
    "two branches": Case(
        Graph(
            62000371,
            ((2, 2, 12, 8),),
            (Step("choose", (0,), ("simple",)), Step("choose", (0,), ("mixed",))),
            (2, 1),
        )
    ),
    # an input that was moved to where a copy of state is written was no fault to the verifier
    "a copy of state": Case(
        Graph(
            51000175,
            ((1, 2, 17, 16), (1, 2, 17, 16)),
            (
                Step("running_sum", (0,), (0,)),
                Step("conv_relu", (2,), (4, 3, 1, 1, 1, 2, True)),
                Step("remember", (3,), (True,)),
                Step("max_pool", (4,)),
            ),
            (5,),
        ),
        Variant(per_op=True),
    ),
    # a transpose that restores an order was traced to memory that by then was another value's
    "an order that is restored later": Case(
        Graph(
            51000601,
            ((1, 2, 12, 16), (1, 2, 12, 16)),
            (
                Step("gelu", (0,)),
                Step("variance", (1,)),
                Step("square", (2,)),
                Step("cat", (4, 3, 1), (3, (1, 0, 1, 0, 2))),
                Step("cat_outer", (5, 5), (1, (1, 0, 1))),
            ),
            (6,),
        ),
        number=2,
    ),
    # two copies of one value have one content, and one was moved over the other
    "copies over copies": Case(
        Graph(
            52000871,
            ((1, 4, 8, 16), (1, 4, 1, 16)),
            (
                Step("negative", (1,)),
                Step("product", (2, 2), (False,)),
                Step("square", (3,)),
                Step("div", (4, 4)),
            ),
            (5, 4, 5, 5),
        ),
        Variant(any_height=True, elides_views=False, arenas=3),
        Options(time_limit_s=0.02, simplify=False, rematerialise=False, arena_base=32),
        number=1,
    ),
    "dimensions in another order, of a transpose": Case(
        Graph(
            54000072,
            ((1, 8, 17, 8), (1, 8, 17, 8)),
            (
                Step("permute", (0,), (0, 2, 3, 1)),
                Step("conv", (2,), (8, 1, 2, 0, 1, 1, True)),
            ),
            (3,),
        ),
        Variant(int8="dynamic"),
    ),
    # two regions in strips, of which one needs what the other one writes in pieces
    "strips behind strips": Case(
        Graph(
            32000110,
            ((2, 2, 17, 16), (2, 2, 17, 16)),
            (
                Step("remember", (1,), (False,)),
                Step("conv_relu6", (2,), (2, 3, 1, 1, 1, 1, True)),
                Step("cat", (0, 1, 3), (2, (2, 0, 0, 1))),
                Step("div", (4, 4)),
                Step("softplus", (5,)),
                Step("avg_pool_wide", (6,), (3, 2, 0)),
            ),
            (7,),
        )
    ),
}


@pytest.mark.parametrize("name", REPEATED)
def test_what_failed_once(name: str, tmp_path: Path) -> None:
    examine(REPEATED[name], tmp_path)


def test_rows_with_one_scale_are_found_when_they_are_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "_rows_share_scale", lambda value: False)
    with pytest.raises(FindingError, match="does not compute rows of a value of the original"):
        examine(REPEATED["one scale for all rows"], tmp_path)


# -- whether it would notice --------------------------------------------------------------


@pytest.mark.parametrize(
    ("sabotage", "seed", "kind", "needed"),
    [
        ("arithmetic", 84, "optimized differs", "transient_indirection=Pointers.ON"),
        ("plans", 0, "(optimize|strips)", ""),
        ("verifier", 0, "verify misses a fault", ""),
    ],
)
def test_a_wrong_optimizer_is_noticed(sabotage: str, seed: int, kind: str, needed: str) -> None:
    drawn = draw_case(seed)
    finished = run("--sabotage", sabotage, "--seed", str(seed), "--count", "1", "--settings", "1")
    assert finished.returncode == 1, finished.stdout + finished.stderr[-2000:]
    assert re.search(f"^FINDING seed {seed}, switches 0: {kind}: ", finished.stdout, re.MULTILINE)
    found = re.search("^  shrunk to: (.*)$", finished.stdout, re.MULTILINE)
    assert found is not None
    small = case_of(found[1])
    assert len(small.graph.steps) <= 2 < len(drawn.graph.steps)
    assert needed in text_of(small)
    assert len(text_of(small)) < len(text_of(drawn))
    assert "repeat with: python -m tests.cases.random_programs --case 'Case(" in finished.stdout


# -- drawing and shrinking ----------------------------------------------------------------


def test_a_seed_gives_one_case() -> None:
    assert draw_case(7, 1) == draw_case(7, 1)
    assert draw_case(7) != draw_case(8)
    one, other = draw_case(7, 0), draw_case(7, 1)
    assert (one.graph, one.variant) == (other.graph, other.variant)
    assert one.options != other.options


@pytest.mark.parametrize("seed", range(40))
def test_text_makes_the_case_again(seed: int) -> None:
    for number in range(5):
        case = draw_case(seed, number)
        assert case_of(text_of(case)) == case


def test_draws_cover_what_they_should() -> None:
    cases = [draw_case(seed, number) for seed in range(150) for number in range(2)]
    assert {step.name for case in cases for step in case.graph.steps} == set(OPERATIONS)
    assert {case.variant.int8 for case in cases} == {"", "static", "dynamic"}
    assert any(case.variant.any_height and case.variant.any_batch for case in cases)
    assert any(len(case.graph.outputs) > 2 for case in cases)
    assert any(case.graph.inputs[0][0] > 1 and not case.variant.is_dynamic for case in cases)
    for name in Options.__dataclass_fields__.keys() - NOT_DRAWN:
        values = {getattr(case.options, name) for case in cases}
        assert len(values) > 1, name
        assert getattr(Options(), name) in values, name


STEPS = (
    Step("relu", (0,)),
    Step("softplus", (1,)),
    Step("add", (1, 2)),
    Step("tanh", (3,)),
    Step("abs", (0,)),
)


def test_shrinking_keeps_what_fails() -> None:
    options = Options(reorder=False, strips=False, max_latency=2.0)
    variant = Variant(per_op=True, arenas=3)
    case = Case(Graph(0, ((1, 4, 8, 8),), STEPS, (4, 5)), variant, options, number=3)

    def fails(candidate: Case) -> bool:
        names = [step.name for step in candidate.graph.steps]
        return "softplus" in names and not candidate.options.reorder

    small = shrunk(case, fails)
    graph = Graph(0, ((1, 4, 8, 8),), (Step("softplus", (0,)),), (1,))
    assert small == Case(graph, options=Options(reorder=False), number=3)
    assert Network(small.graph).shapes == [(1, 4, 8, 8)] * 2


def test_shrinking_ends() -> None:
    case = Case(Graph(0, ((1, 4, 8, 8),), STEPS, (4, 5)))
    asked: list[Case] = []

    def fails(candidate: Case) -> bool:
        asked.append(candidate)
        return False

    assert shrunk(case, fails, limit=5) == case
    assert len(asked) == 5
