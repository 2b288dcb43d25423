"""Our JSON: the schema as documented, what is refused and where, and that nothing is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from onearena.errors import FormatError, UnsupportedError
from onearena.lifetime import Interval
from onearena.problem import Buffer, Member, Memory, Plan, Problem, Window
from onearena.problem_files.json_format import parse_plan, parse_problem, plan_text, problem_text
from tests.problem_files.problems import everything, grouped_problems, memories, plans

_BUFFER = {"size": 8, "lifetime": [[0, 3]]}


def _document(**changes: Any) -> dict[str, Any]:
    return {"format": "onearena-problem/1", "buffers": [_BUFFER, _BUFFER], **changes}


def _with_buffer(**changes: Any) -> dict[str, Any]:
    return _document(buffers=[_BUFFER, {**_BUFFER, **changes}])


def test_all_keys() -> None:
    text = """{
      "format": "onearena-problem/1",
      "buffers": [
        {"name": "a", "size": 64, "alignment": 16, "arenas": [1, 0],
         "lifetime": [[-2, 3], [5, 9]], "offset": 128, "hint": 0, "region": [0, 4096],
         "windows": [{"lifetime": [0, 2], "bytes": [8, 16]}], "last": true},
        {"size": 64, "lifetime": []}
      ],
      "groups": [[{"buffer": 1, "delta": -8}]],
      "may_share": [[0, 1]],
      "memories": [{"arena": 1, "capacity": 4096, "weight": 3}, {"arena": 7}]
    }"""
    first = Buffer(
        0,
        64,
        16,
        1,
        (Interval(-2, 3), Interval(5, 9)),
        128,
        "a",
        (Window(Interval(0, 2), 8, 16),),
        Interval(0, 4096),
        True,
        (0,),
        0,
    )
    assert parse_problem(text, "x.json") == (
        Problem((first, Buffer(1, 64, 1, 0, ())), ((Member(1, -8),),), ((0, 1),)),
        (Memory(1, 4096, 3), Memory(7)),
    )


_LARGE = 1 << 63
_BAD: list[tuple[Any, str]] = [
    ([], "the file: is not an object"),
    ({}, "the file: the key 'format' is missing"),
    ({"format": 1, "buffers": []}, "format: is not a string such as"),
    ({"format": "onearena-problem/1"}, "the file: the key 'buffers' is missing"),
    (_document(extra=1), "the file: has the unknown key 'extra'"),
    (_document(buffers={}), "buffers: is not an array"),
    (_document(buffers=[1]), "buffers[0]: is not an object"),
    (_with_buffer(colour=1), "buffers[1]: has the unknown key 'colour'"),
    (_document(buffers=[{"size": 1}]), "buffers[0]: the key 'lifetime' is missing"),
    (_with_buffer(size=-1), "buffers[1].size: -1 must not be below 0"),
    (_with_buffer(size=1.0), "buffers[1].size: is not an integer"),
    (_with_buffer(size=True), "buffers[1].size: is not an integer"),
    (_with_buffer(size="8"), "buffers[1].size: is not an integer"),
    (_with_buffer(size=_LARGE), "buffers[1].size: does not fit into 64 bits"),
    (_with_buffer(size=None), "buffers[1].size: is not an integer"),
    (_with_buffer(alignment=0), "buffers[1].alignment: 0 must not be below 1"),
    (_with_buffer(offset=-1), "buffers[1].offset: -1 must not be below 0"),
    (_with_buffer(hint=None), "buffers[1].hint: is not an integer"),
    (_with_buffer(name=3), "buffers[1].name: is not a string"),
    (_with_buffer(name="\ud800"), "buffers[1].name: holds half a surrogate pair"),
    (_with_buffer(last=1), "buffers[1].last: is neither true nor false"),
    (_with_buffer(lifetime=3), "buffers[1].lifetime: is not an array"),
    (_with_buffer(lifetime=[[0]]), "buffers[1].lifetime[0]: has 1 items, not 2"),
    (_with_buffer(lifetime=[[3, 1]]), "buffers[1].lifetime[0]: ends at 1, before it starts at 3"),
    (_with_buffer(lifetime=[[0, _LARGE]]), "buffers[1].lifetime[0][1]: does not fit"),
    (_with_buffer(lifetime=[[0, 0]]), "buffers[1].lifetime: the intervals are not in order"),
    (_with_buffer(lifetime=[[0, 2], [2, 3]]), "buffers[1].lifetime: the intervals are not"),
    (_with_buffer(lifetime=[[5, 6], [0, 1]]), "buffers[1].lifetime: the intervals are not"),
    (_with_buffer(arenas=[]), "buffers[1].arenas: names no arena"),
    (_with_buffer(arenas=[1, 1]), "buffers[1].arenas: names an arena twice"),
    (_with_buffer(arenas=[-1]), "buffers[1].arenas[0]: -1 must not be below 0"),
    (_with_buffer(region=[-1, 4]), "buffers[1].region: starts below 0"),
    (_with_buffer(region=[5, 4]), "buffers[1].region: ends at 4, before it starts at 5"),
    (_with_buffer(windows=[{}]), "buffers[1].windows[0]: the key 'lifetime' is missing"),
    (
        _with_buffer(windows=[{"lifetime": [2, 4], "bytes": [0, 1]}]),
        "buffers[1].windows[0].lifetime: is not inside",
    ),
    (
        _with_buffer(windows=[{"lifetime": [0, 1], "bytes": [0, 9]}]),
        "buffers[1].windows: the bytes 0:9 are not inside the 8 bytes",
    ),
    (
        _with_buffer(windows=[{"lifetime": [1, 1], "bytes": [0, 1]}]),
        "buffers[1].windows: the window [1, 1) is empty",
    ),
    (
        _with_buffer(windows=[{"lifetime": [0, 2], "bytes": [0, 1]}] * 2),
        "buffers[1].windows: the windows [0, 2) and [0, 2) overlap",
    ),
    (_document(groups=[[]]), "groups[0]: is an empty group"),
    (_document(groups=[[{"buffer": 2, "delta": 0}]]), "groups[0][0].buffer: 2 must not be above 1"),
    (_document(groups=[[{"buffer": 0}]]), "groups[0][0]: the key 'delta' is missing"),
    (
        _document(groups=[[{"buffer": 0, "delta": 0}], [{"buffer": 0, "delta": 0}]]),
        "groups[1][0].buffer: buffer 0 is in a group already",
    ),
    (_document(may_share=[[0, 1, 1]]), "may_share[0]: has 3 items, not 2"),
    (_document(may_share=[[0, 2]]), "may_share[0][1]: 2 must not be above 1"),
    (_document(may_share=[[1, 1]]), "may_share[0]: names one buffer twice"),
    (_document(memories=[{"arena": 0}, {"arena": 0}]), "memories[1].arena: arena 0 is there"),
    (_document(memories=[{"arena": 0, "capacity": -1}]), "memories[0].capacity: -1 must not be"),
    (_document(memories=[{"arena": 0, "weight": 0}]), "memories[0].weight: 0 must not be below 1"),
]


@pytest.mark.parametrize(("document", "message"), _BAD)
def test_malformed_files(document: object, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse_problem(json.dumps(document), "x.json")
    error = str(caught.value)
    assert error.startswith(f"x.json: {message}")
    assert error.isprintable()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1, column 1: is not JSON"),
        ('{"format": "onearena-problem/1",\n"buffers": [}', "line 2, column 13: is not JSON"),
        ('{"format": "onearena-problem/1", "buffers": []} x', "is not JSON (Extra data)"),
        ('{"format": "onearena-problem/1", "buffers": NaN}', "buffers: is not an array"),
        ("[" * 100_000, "nested too deeply"),
        (
            f'{{"format": "onearena-problem/1", "buffers": [{{"size": {"9" * 9999}, '
            '"lifetime": []}]}',
            "buffers[0].size: does not fit into 64 bits",
        ),
        (
            '{"format": "onearena-problem/1", "buffers": [{"size": 1, "size": 2}]}',
            "buffers[0]: has the key 'size' twice",
        ),
    ],
)
def test_malformed_json(text: str, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse_problem(text, "x.json")
    assert message in str(caught.value)


def test_other_formats_and_versions_are_named() -> None:
    plan = plan_text(Plan((), {}, {}, "none"))
    with pytest.raises(UnsupportedError, match="'onearena-plan/1', not 'onearena-problem/1'"):
        parse_problem(plan, "x.json")
    newer = json.dumps(_document(format="onearena-problem/2", colours=[]))
    with pytest.raises(UnsupportedError, match="'onearena-problem/2'"):
        parse_problem(newer, "x.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"extra": 1}, "the file: has the unknown key 'extra'"),
        ({"method": 1}, "method: is not a string"),
        ({"optimal": 0}, "optimal: is neither true nor false"),
        ({"arenas": [{"arena": 0, "height": 1}]}, "arenas[0]: the key 'lower_bound' is missing"),
        (
            {"arenas": [{"arena": 0, "height": 1, "lower_bound": 1}] * 2},
            "arenas[1].arena: arena 0 is there already",
        ),
        ({"buffers": [{"offset": -1}]}, "buffers[0].offset: -1 must not be below 0"),
        ({"buffers": [{"offset": 1, "name": 1}]}, "buffers[0].name: is not a string"),
        ({"buffers": [{"offset": 1, "arena": 0}, {"offset": 1}]}, "buffers: some name an arena"),
    ],
)
def test_malformed_plans(change: dict[str, Any], message: str) -> None:
    document = json.loads(plan_text(Plan((1,), {0: 9}, {0: 9}, "first fit")))
    assert parse_plan(json.dumps(document), "x.json").offsets == (1,)
    with pytest.raises(FormatError) as caught:
        parse_plan(json.dumps({**document, **change}), "x.json")
    assert str(caught.value).startswith(f"x.json: {message}")


@given(grouped_problems(), memories)
def test_round_trip(problem: Problem, given_memories: tuple[Memory, ...]) -> None:
    text = problem_text(problem, given_memories)
    assert parse_problem(text, "x.json") == (problem, given_memories)
    assert problem_text(problem, given_memories) == text
    json.loads(text)


@given(plans())
def test_plans_round_trip(plan: Plan) -> None:
    assert parse_plan(plan_text(plan), "x.json") == plan


def test_a_written_problem_and_plan() -> None:
    text = problem_text(everything(), (Memory(1, 4096),))
    assert text.splitlines()[2:4] == [
        '"buffers": [',
        '{"name": "a, or b", "size": 64, "lifetime": [[0, 4], [6, 9]], "alignment": 16},',
    ]
    assert text.endswith('"memories": [\n{"arena": 1, "capacity": 4096}\n]\n}\n')
    plan = Plan((0, 128, 4), {0: 160, 1: 52}, {0: 160, 1: 48}, "exact", True, (0, 0, 1))
    assert json.loads(plan_text(plan, everything())) == {
        "format": "onearena-plan/1",
        "method": "exact",
        "optimal": True,
        "arenas": [
            {"arena": 0, "height": 160, "lower_bound": 160},
            {"arena": 1, "height": 52, "lower_bound": 48},
        ],
        "buffers": [
            {"name": "a, or b", "offset": 0, "arena": 0},
            {"name": 'the "second"', "offset": 128, "arena": 0},
            {"name": "third", "offset": 4, "arena": 1},
        ],
    }
