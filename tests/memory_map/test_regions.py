"""Memory maps as they are typed: what is read, and what is refused in one line."""

from __future__ import annotations

import pytest

from onearena.errors import UsageError
from onearena.memory_map import MemoryMap, Region, parse_memory_map
from onearena.memory_map.check import verify_regions
from tests.pte.build import Method


def test_map_of_the_documentation() -> None:
    found = parse_memory_map("dtcm:64K:1,sram:512K:2")
    assert found.regions == (Region("dtcm", 65536, 1, 1), Region("sram", 524288, 2, 2))
    assert found.memory_ids == (1, 2)
    assert found.region(2).name == "sram"


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("1", 1),
        ("1000", 1000),
        ("64k", 65536),
        ("64KiB", 65536),
        ("64KB", 65536),
        ("2M", 2 << 20),
        ("1G", 1 << 30),
        ("5B", 5),
    ],
)
def test_capacities(text: str, size_bytes: int) -> None:
    assert parse_memory_map(f"ram:{text}:3").regions == (Region("ram", size_bytes, 3, 1),)


def test_costs_are_given_or_double() -> None:
    assert [r.cost for r in parse_memory_map("a:1K:1,b:1K:2,c:1K:3").regions] == [1, 2, 4]
    assert [r.cost for r in parse_memory_map("a:1K:1:3, b:1K:2:3 ,c:1K:3:10").regions] == [3, 3, 10]


def test_text_is_read_back() -> None:
    found = parse_memory_map("a:1K:1:3,b:2M:7:9")
    assert str(found) == "a:1024:1:3,b:2097152:7:9"
    assert parse_memory_map(str(found)) == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is not name:capacity:memory_id[:cost]"),
        ("dtcm", "'dtcm' is not name:capacity:memory_id[:cost]"),
        ("dtcm:64K", "'dtcm:64K' is not name"),
        ("a:1K:1:2:3", "is not name"),
        ("a:1K:1,", "'' is not name"),
        ("a:64X:1", "'64X' is no capacity"),
        ("a:-1:1", "'-1' is no capacity"),
        ("a:1.5K:1", "'1.5K' is no capacity"),
        ("a::1", "'' is no capacity"),
        ("a:\u0663K:1", "is no capacity"),
        ("a:9999999999999999999:1", "is no capacity"),
        ("a:999999999999999G:1", "a: capacity 1,073,741,823,999,998,926,258,176 is not from 1 to"),
        ("a:0:1", "a: capacity 0 is not from 1 to"),
        ("a:0K:1", "a: capacity 0 is not from 1 to"),
        ("a:1K:x", "memory_id 'x' is no number"),
        ("a:1K:-1", "memory_id '-1' is no number"),
        ("a:1K:0", "a: memory_id 0 is reserved"),
        ("a:1K:65", "a: memory_id 65 is not from 1 to 64"),
        ("a:1K:99999999999", "memory_id '99999999999' is no number"),
        ("a:1K:1:0", "a: cost 0 is not from 1 to"),
        ("a:1K:1:fast", "cost 'fast' is no number"),
        (":1K:1", "'' is no name"),
        ("1a:1K:1", "'1a' is no name"),
        ("a b:1K:1", "'a b' is no name"),
        ("a\x1b[31m:1K:1", r"'a\x1b[31m' is no name"),
        ("a:1K:1,a:1K:2", "name a occurs twice"),
        ("a:1K:1,b:1K:1", "memory_id 1 occurs twice"),
        ("a:1K:1:2,b:1K:2:1", "b costs 1, less than a (2)"),
        ("a:1K:1:2,b:1K:2", "give every region a cost, or none"),
        (",".join(f"r{k}:1K:{k}" for k in range(1, 67)), "66 regions, more than 64"),
    ],
)
def test_nonsense_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_memory_map(text)
    found = str(error.value)
    assert message in found
    assert found.isprintable()
    assert len(found) < 200


def test_empty_map_is_refused() -> None:
    with pytest.raises(UsageError, match="no region"):
        MemoryMap(())


def test_check_finds_what_is_outside_of_the_map() -> None:
    memory_map = parse_memory_map("dtcm:256:1,sram:512:3")
    method = Method()
    inside = method.tensor(64, offset=0, memory_id=1)
    other = method.tensor(128, offset=0, memory_id=3)
    method.call("aten::relu.out", inside, other, other)
    assert verify_regions(method.plan(), memory_map) == ()

    method.tensor(4, offset=256, memory_id=1)
    method.tensor(4, offset=16, memory_id=2)
    messages = [v.message for v in verify_regions(method.plan(), memory_map)]
    assert messages == [
        "dtcm (256 B, memory_id 1) is asked for 272 B",
        "memory_id 2 has 32 B and is not in the memory map",
        "value 3 lies in memory_id 2, which is not in the memory map",
    ]
