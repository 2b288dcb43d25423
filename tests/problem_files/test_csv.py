"""MiniMalloc's CSV: what is understood, what is refused and where, and that nothing is lost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from onearena.errors import FormatError, UsageError
from onearena.lifetime import Interval
from onearena.problem import Buffer, Member, Plan, Problem, Window
from onearena.problem_files.csv_format import check_csv, parse_csv, plan_table, problem_table
from tests.problem_files.problems import everything, problems


def parse(text: str) -> Problem:
    return parse_csv(text, "x.csv")[0]


def one(header: str, row: str) -> Buffer:
    (buffer,) = parse(f"{header}\n{row}\n").buffers
    return buffer


def test_required_columns_in_any_order() -> None:
    assert parse("size,upper,id,lower\n64,9,a,2\n32,3,b,-4\n") == Problem(
        (
            Buffer(0, 64, 1, 0, (Interval(2, 9),), name="a"),
            Buffer(1, 32, 1, 0, (Interval(-4, 3),), name="b"),
        )
    )


@pytest.mark.parametrize("name", ["id", "buffer", "buffer_id"])
@pytest.mark.parametrize("lower", ["lower", "begin", "start"])
@pytest.mark.parametrize(("upper", "last_step"), [("upper", 9), ("end", 8)])
def test_aliases_and_the_inclusive_end(name: str, lower: str, upper: str, last_step: int) -> None:
    buffer = one(f"{name},{lower},{upper},size,gaps", f"a,2,{last_step},64,4-{last_step - 3}")
    assert buffer.lifetime == (Interval(2, 4), Interval(6, 9))


def test_gaps_end_inclusively_with_the_column() -> None:
    assert one("id,lower,end,size,gaps", "a,0,9,64,3-3@0:8").windows == (
        Window(Interval(3, 4), 0, 8),
    )


def test_everything_else() -> None:
    header = "id,lower,upper,size,alignment,gaps,offset,hint,region,last,memory"
    row = "a,-9,9,64,16,-7--5 2-3@8:16 3-4@0:0,128,256,64:4096,1,2 0"
    assert one(header, row) == Buffer(
        0,
        64,
        16,
        2,
        (Interval(-9, -7), Interval(-5, 9)),
        128,
        "a",
        (Window(Interval(2, 3), 8, 16), Window(Interval(3, 4), 0, 0)),
        Interval(64, 4096),
        True,
        (0,),
        256,
    )
    assert one(header, "a,0,9,64,,,,,,,0") == Buffer(0, 64, 1, 0, (Interval(0, 9),), name="a")


def test_gaps_at_the_border_and_an_empty_lifetime() -> None:
    header = "id,lower,upper,size,gaps"
    assert one(header, "a,0,9,4,0-2 8-9").lifetime == (Interval(2, 8),)
    assert one(header, "a,0,9,4,0-9").lifetime == ()
    assert one(header, "a,5,5,4,").lifetime == ()


def test_the_limits_of_64_bits() -> None:
    low, high = -(1 << 63), (1 << 63) - 1
    buffer = one("id,lower,upper,size", f"a,{low},{high},{high}")
    assert buffer.lifetime == (Interval(low, high),)
    assert buffer.size_bytes == high


@pytest.mark.parametrize(
    "text",
    [
        "id,lower,upper,size\r\na,0,1,2\r\n",
        "\ufeffid,lower,upper,size\na,0,1,2",
        "id,lower,upper,size\na,0,1,2\n\n  \n\n",
        '"id", lower ,"upper",size\n"a", 0,"1", +2 \n',
        "id,lower,upper,size\ra,0,1,2\r",
    ],
    ids=["CRLF", "mark", "blank end", "quotes", "CR"],
)
def test_ways_to_write_the_same(text: str) -> None:
    # a file loses its mark when its bytes are decoded
    assert parse(text.lstrip("\ufeff")).buffers == (
        Buffer(0, 2, 1, 0, (Interval(0, 1),), name="a"),
    )


def test_ids_are_any_strings() -> None:
    text = 'id,lower,upper,size\n"a,b",0,1,2\n"two\nlines ""x""",0,1,2\n,0,1,2\n 7,0,1,2\n'
    found = [buffer.name for buffer in parse(text).buffers]
    assert found == ["a,b", 'two\nlines "x"', "", " 7"]


def test_many_gaps_in_one_field() -> None:
    gaps = " ".join(f"{k}-{k + 1}" for k in range(1, 100_000, 2))
    assert len(gaps) > 131072
    assert len(one("id,lower,upper,size,gaps", f"a,0,100000,8,{gaps}").lifetime) == 50_000


def test_no_rows_is_an_empty_problem() -> None:
    assert parse("id,lower,upper,size\n") == Problem(())


_H = "id,lower,upper,size"
_BAD = [
    ("", "x.csv: has no header line"),
    ("\n\n", "x.csv: has no header line"),
    ("id,lower,size\n", "line 1: the column upper (or end) is missing"),
    ("lower,upper,size\n", "line 1: the column id is missing"),
    ("id,lower,upper,size,size\n", "line 1, column 'size': is there twice"),
    ("id,lower,upper,size,buffer\n", "line 1, column 'buffer': means the same as 'id'"),
    ("id,lower,upper,size,end\n", "line 1, column 'end': means the same as 'upper'"),
    ("id,lower,upper,size,colour\n", "line 1, column 'colour': is unknown"),
    ("id,lower,upper,size,\n", "line 1, column '': is unknown"),
    ("id,lower,upper,Size\n", "line 1, column 'Size': is unknown"),
    (f"\n{_H}\n", "line 1: is blank, but more lines follow"),
    (f"{_H}\na,0,1,2\n\nb,0,1,2\n", "line 3: is blank, but more lines follow"),
    (f"{_H}\na,0,1\n", "line 2: has 3 fields, the header has 4"),
    (f"{_H}\na,0,1,2,3\n", "line 2: has 5 fields, the header has 4"),
    (f"{_H}\na,0,1,2\nb,x,1,2\n", "line 3, column 'lower': 'x' is not an integer"),
    (f"{_H}\na,0,,2\n", "line 2, column 'upper': is empty"),
    ("id,begin,end,size\na,0,1.5,2\n", "line 2, column 'end': '1.5' is not an integer"),
    (f"{_H}\na,0,1,0x10\n", "line 2, column 'size': '0x10' is not an integer"),
    (f"{_H}\na,0,1,1_000\n", "line 2, column 'size': '1_000' is not an integer"),
    (f"{_H}\na,0,1,٣\n", "line 2, column 'size': '٣' is not an integer"),
    (f"{_H}\na,0,1,--3\n", "line 2, column 'size': '--3' is not an integer"),
    (f"{_H}\na,0,1,-3\n", "line 2, column 'size': -3 must not be below 0"),
    (f"{_H}\na,0,1,9223372036854775808\n", "line 2, column 'size': does not fit into 64 bits"),
    (f"{_H}\na,-9223372036854775809,1,2\n", "line 2, column 'lower': does not fit into 64"),
    (f"{_H}\na,0,1,{'9' * 9999}\n", "does not fit into 64 bits"),
    (
        "id,lower,end,size\na,0,9223372036854775807,2\n",
        "line 2, column 'end': does not fit into 64 bits",
    ),
    (f"{_H}\na,5,4,2\n", "line 2, column 'upper': ends at 4, before it starts at 5"),
    (f'{_H}\n"a\nb",0,1,2\n"a\nb",0,1,2\n', "line 4, column 'id': 'a\\nb' is in line 2 already"),
    (f'{_H}\n"a",0,1,"2\n', "line 2: is not CSV"),
    (f'{_H}\n"a"b,0,1,2\n', "line 2: is not CSV"),
    (f"{_H},alignment\na,0,1,2,0\n", "line 2, column 'alignment': 0 must not be below 1"),
    (f"{_H},offset\na,0,1,2,-1\n", "line 2, column 'offset': -1 must not be below 0"),
    (f"{_H},hint\na,0,1,2,-1\n", "line 2, column 'hint': -1 must not be below 0"),
    (f"{_H},region\na,0,1,2,7\n", "line 2, column 'region': '7' is not of the form"),
    (f"{_H},region\na,0,1,2,7:3\n", "line 2, column 'region': ends at 3, before it starts at 7"),
    (f"{_H},last\na,0,1,2,yes\n", "line 2, column 'last': 'yes' is neither 0 nor 1"),
    (f"{_H},memory\na,0,1,2,\n", "line 2, column 'memory': names no arena"),
    (f"{_H},memory\na,0,1,2,1 1\n", "line 2, column 'memory': '1 1' names an arena twice"),
    (f"{_H},memory\na,0,1,2,-1\n", "line 2, column 'memory': -1 must not be below 0"),
    (f"{_H},gaps\na,0,9,2,4\n", "line 2, column 'gaps': '4' is not of the form"),
    (f"{_H},gaps\na,0,9,2,3-4@1\n", "line 2, column 'gaps': '3-4@1' is not of the form"),
    (f"{_H},gaps\na,0,9,2,3-4@\n", "line 2, column 'gaps': '3-4@' is not of the form"),
    (f"{_H},gaps\na,0,9,2,8-10\n", "line 2, column 'gaps': '8-10' is not inside the lifetime"),
    (f"{_H},gaps\na,0,9,2,4-3\n", "line 2, column 'gaps': ends at 3, before it starts at 4"),
    (f"{_H},gaps\na,0,9,2,4-4\n", "line 2, column 'gaps': the gap [4, 4) is empty"),
    (f"{_H},gaps\na,0,9,2,1-4 3-5\n", "the gaps [1, 4) and [3, 5) overlap"),
    (f"{_H},gaps\na,0,9,2,3-4@0:3\n", "the bytes 0:3 are not inside the 2 bytes"),
    (f"{_H},gaps\na,0,9,2,3-4@2:1\n", "the bytes 2:1 are not inside the 2 bytes"),
    (f"{_H},gaps\na,0,9,2,3-99999999999999999999\n", "does not fit into 64 bits"),
]


@pytest.mark.parametrize(("text", "message"), _BAD)
def test_malformed_files(text: str, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse(text)
    error = str(caught.value)
    assert error.startswith("x.csv: ")
    assert message in error
    assert error.isprintable()
    assert len(error) < 400


@given(problems(unique_names=True))
def test_round_trip(problem: Problem) -> None:
    text = problem_table(problem).text()
    again, table = parse_csv(text, "x.csv")
    assert again == problem
    assert table.text() == text


def test_a_written_problem() -> None:
    assert problem_table(everything()).text() == (
        "id,lower,upper,size,alignment,gaps,offset,hint,region,last,memory\n"
        '"a, or b",0,9,64,16,4-6,,,,0,0\n'
        '"the ""second""",-3,5,32,1,,128,,,0,0 1\n'
        "third,2,8,48,4,2-4@0:16 5-6@8:8,,256,0:4096,1,1\n"
    )


def test_nameless_buffers_are_called_by_position() -> None:
    nameless = Problem(tuple(replace(buffer, name="") for buffer in everything().buffers))
    again = parse(problem_table(nameless).text())
    assert [buffer.name for buffer in again.buffers] == ["0", "1", "2"]


def test_groups_and_pairs_have_no_csv() -> None:
    for problem in (
        replace(everything(), groups=((Member(0, 0),),)),
        replace(everything(), may_share=((0, 1),)),
    ):
        with pytest.raises(UsageError, match="only as JSON"):
            check_csv(problem)


def _plan(*offsets: int, arenas: tuple[int, ...] = ()) -> Plan:
    return Plan(offsets, {0: 9}, {0: 9}, "test", arenas=arenas)


def test_a_plan_keeps_the_columns() -> None:
    text = 'buffer_id,size,begin,end,gaps\r\n"x, y",64,0,9,3-4@0:8\r\nz,8,0,3,\r\n'
    problem, table = parse_csv(text, "x.csv")
    placed = plan_table(problem, table, _plan(0, 64)).text()
    assert placed == (
        'buffer_id,size,begin,end,gaps,offset\r\n"x, y",64,0,9,3-4@0:8,0\r\nz,8,0,3,,64\r\n'
    )
    pinned = tuple(
        replace(buffer, offset=offset)
        for buffer, offset in zip(problem.buffers, (0, 64), strict=True)
    )
    assert parse(placed) == Problem(pinned)


def test_a_plan_fills_the_offsets_and_the_arenas() -> None:
    text = "id,offset,memory,lower,upper,size\na,,0 1,0,9,64\nb,7,1,0,9,64\n"
    problem, table = parse_csv(text, "x.csv")
    placed = plan_table(problem, table, _plan(0, 7, arenas=(1, 1))).text()
    assert placed == "id,offset,memory,lower,upper,size\na,0,1,0,9,64\nb,7,1,0,9,64\n"
    assert plan_table(problem, None, _plan(0, 7)).text() == (
        "id,lower,upper,size,offset,memory\na,0,9,64,0,0\nb,0,9,64,7,1\n"
    )
