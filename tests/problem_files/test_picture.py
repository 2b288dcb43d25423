"""Pictures of plans: where the boxes are, and that extreme plans do not make extreme pictures."""

from __future__ import annotations

import builtins
import io
import sys
import time
from typing import Any

import pytest

from onearena.errors import UsageError
from onearena.lifetime import Interval
from onearena.problem import Buffer, Plan, Problem, Window
from onearena.report.picture import Box, boxes_of, draw_png, require_pillow
from tests.problem_files.problems import everything

_PLAN = Plan((0, 128, 64), {0: 160, 1: 112}, {0: 160, 1: 64}, "by hand", arenas=(0, 0, 1))


def _image(problem: Problem, plan: Plan) -> Any:
    image = pytest.importorskip("PIL.Image")
    return image.open(io.BytesIO(draw_png(problem, plan)))


def test_boxes_follow_gaps_and_windows() -> None:
    boxes = boxes_of(everything(), _PLAN)
    assert boxes[0] == [
        Box(0, Interval(0, 4), 0, 64),
        Box(0, Interval(6, 9), 0, 64),
        Box(1, Interval(-3, 5), 128, 160),
    ]
    assert [box for box in boxes[1] if box.steps.start < box.steps.end] == [
        Box(2, Interval(2, 4), 64, 80),
        Box(2, Interval(4, 5), 64, 112),
        Box(2, Interval(5, 6), 72, 72),
        Box(2, Interval(6, 8), 64, 112),
    ]


def test_a_picture_shows_boxes_and_the_bound() -> None:
    problem = Problem(
        (Buffer(0, 10, 1, 0, (Interval(0, 5),)), Buffer(1, 4, 1, 0, (Interval(5, 9),)))
    )
    image = _image(problem, Plan((0, 0), {0: 20}, {0: 10}, "by hand"))
    width, height = image.size
    colours = [
        image.getpixel((x * width // 10, y)) for x, y in ((2, height - 99), (7, height - 99))
    ]
    nothing = image.getpixel((width * 8 // 10, height // 3))
    assert len({*colours, nothing}) == 3
    reds = [y for y in range(height) if image.getpixel((width - 40, y))[0] == 200]
    assert reds
    assert abs(reds[0] - height // 2) < 30


@pytest.mark.parametrize(
    ("problem", "plan"),
    [
        (Problem(()), Plan((), {}, {}, "none")),
        (Problem((Buffer(0, 0, 1, 0, ()),)), Plan((0,), {0: 0}, {0: 0}, "none")),
        (
            Problem((Buffer(0, 1 << 60, 1, 0, (Interval(-(1 << 63), (1 << 63) - 1),)),)),
            Plan((1 << 60,), {0: 1 << 61}, {0: 1 << 60}, "none"),
        ),
        (
            Problem(tuple(Buffer(k, 8, 1, k, (Interval(0, 1),), name="ü\n") for k in range(500))),
            Plan((0,) * 500, dict.fromkeys(range(500), 8), dict.fromkeys(range(500), 8), "none"),
        ),
    ],
    ids=["nothing", "empty", "huge", "many arenas"],
)
def test_extremes(problem: Problem, plan: Plan) -> None:
    width, height = _image(problem, plan).size
    assert 100 < width < 5000
    assert 100 < height < 5000


def test_many_buffers_and_windows_are_quick() -> None:
    pytest.importorskip("PIL")
    some = tuple(Buffer(k, 64, 1, 0, (Interval(k, k + 9),)) for k in range(60_000))
    windows = tuple(Window(Interval(2 * k, 2 * k + 1), 0, 8) for k in range(5_000))
    lives = tuple(Interval(10_000 + 2 * k, 10_001 + 2 * k) for k in range(5_000))
    split = Buffer(60_000, 64, 1, 0, (Interval(0, 10_000), *lives), None, "", windows)
    offsets = (*(64 * (k % 10) for k in range(60_000)), 640)
    start = time.process_time()
    draw_png(Problem((*some, split)), Plan(offsets, {0: 704}, {0: 576}, "by hand"))
    assert time.process_time() - start < 20


def test_without_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.split(".")[0] == "PIL":
            raise ImportError(name)
        return original(name, *args, **kwargs)

    for name in [name for name in sys.modules if name.split(".")[0] == "PIL"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UsageError, match=r"pip install onearena\[png\]"):
        require_pillow()
