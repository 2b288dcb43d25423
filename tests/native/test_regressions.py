"""Problems on which an earlier state of the planner was wrong, with their true optimum."""

from __future__ import annotations

import pytest

from onearena.lifetime import Interval
from onearena.planners import lower_bound_bytes, plan
from onearena.problem import Buffer, Member, Problem, Window
from onearena.verification.native import verify_plan


def buffer(
    number: int,
    size: int,
    life: tuple[int, int],
    alignment: int = 1,
    window: tuple[int, int, int, int] | None = None,
    is_last: bool = False,
) -> Buffer:
    windows = (Window(Interval(*window[:2]), *window[2:]),) if window else ()
    lifetime = (Interval(*life),)
    return Buffer(number, size, alignment, 1, lifetime, windows=windows, is_last=is_last)


def group(*members: tuple[int, int]) -> tuple[Member, ...]:
    return tuple(Member(*member) for member in members)


CASES = {
    # nothing rests on the floor: but one may rest on another that starts higher
    "waste with alignments": (
        Problem((buffer(0, 5, (1, 2)), buffer(1, 5, (1, 2), 3), buffer(2, 2, (1, 2), 3))),
        13,
    ),
    # a part that was solved is taken back when the next one is not
    "parts are taken back": (
        Problem(
            (
                buffer(0, 2, (1, 2)),
                buffer(1, 4, (3, 4)),
                buffer(2, 3, (1, 4)),
                buffer(3, 3, (1, 2), 2),
            )
        ),
        8,
    ),
    # what moves up must still end below the capacity, also where it is not occupied
    "exchange with a window": (
        Problem(
            (
                buffer(0, 5, (2, 3)),
                buffer(1, 10, (2, 3), window=(2, 3, 4, 9)),
                buffer(2, 2, (2, 4)),
            )
        ),
        12,
    ),
    "exchange with a window, smallest": (
        Problem((buffer(0, 2, (0, 1)), buffer(1, 2, (0, 1), window=(0, 1, 0, 1)))),
        3,
    ),
    # only what is occupied at the time must end below a buffer that is last
    "last above a window": (
        Problem(
            (
                buffer(0, 1, (1, 2), is_last=True),
                buffer(1, 5, (1, 3), window=(1, 2, 0, 2)),
                buffer(2, 2, (6, 7), is_last=True),
                buffer(3, 5, (1, 2)),
                buffer(4, 4, (2, 7)),
            )
        ),
        10,
    ),
    # one that is lifted must really rise, wherever its other pieces could rest
    "waste makes progress": (
        Problem(
            (
                buffer(0, 4, (2, 3)),
                Buffer(
                    1,
                    5,
                    1,
                    1,
                    (Interval(2, 3), Interval(5, 6)),
                    windows=(Window(Interval(5, 6), 4, 5),),
                ),
                Buffer(2, 1, 1, 1, (Interval(2, 6),), offset=8),
            )
        ),
        13,
    ),
    # units that hold each other in a circle, with different alignments
    "circle with alignment": (
        Problem(
            (
                buffer(0, 14, (2, 3)),
                buffer(1, 0, (5, 6), 4),
                buffer(2, 2, (2, 3)),
                buffer(3, 1, (2, 3)),
            ),
            (group((2, 21), (1, 16)), group((0, 0), (3, 18))),
        ),
        20,
    ),
    # a member of a group that occupies nothing makes nobody last
    "last without bytes": (
        Problem(
            (
                buffer(0, 1, (1, 2)),
                buffer(1, 0, (5, 6), 3, is_last=True),
                buffer(2, 4, (1, 2)),
            ),
            (group((0, 6), (1, 6)),),
        ),
        5,
    ),
    # merged pairs must keep away from what is last, too
    "pair beside a last one": (
        Problem(
            (buffer(0, 1, (4, 5), is_last=True), buffer(1, 1, (4, 5)), buffer(2, 1, (5, 6))),
            (group((0, -4), (2, 2)),),
            ((2, 1),),
        ),
        8,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_optimum_is_found(name: str) -> None:
    problem, best = CASES[name]
    found = plan(problem, time_limit_s=20)
    assert verify_plan(problem, found) == ()
    assert (found.height_bytes[1], found.optimal) == (best, True)


def test_a_pair_that_something_else_makes_impossible_lowers_no_bound() -> None:
    """The second and the third may share, but the first, tied to the third, is in the way."""
    buffers = (buffer(0, 4, (0, 3)), buffer(1, 4, (1, 3)), buffer(2, 4, (2, 4)))
    problem = Problem(buffers, (group((0, 0), (2, 0)),), ((1, 2),))
    assert lower_bound_bytes(problem, 1) == 8
    found = plan(problem, time_limit_s=20)
    assert (found.height_bytes[1], found.optimal) == (8, True)
