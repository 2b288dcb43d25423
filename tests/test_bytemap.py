"""Byte ranges with owners, against a dictionary of bytes."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from onearena.bytemap import ByteMap

_SIZE = 24
_ranges = st.tuples(st.integers(0, _SIZE), st.integers(0, _SIZE))
_writes = st.lists(st.tuples(_ranges, st.sampled_from("abcd")), max_size=8)
Writes = list[tuple[tuple[int, int], str]]
Model = dict[int, str]


def _apply(writes: Writes) -> tuple[ByteMap[str], Model]:
    owned: ByteMap[str] = ByteMap()
    model: Model = {}
    for (start, end), owner in writes:
        owned.write(start, end, owner)
        model.update((byte, owner) for byte in range(start, end))
    return owned, model


@given(_writes, _ranges)
@example([((0, 2), "a")], (1, 1))
@example([((0, 9), "a")], (7, 3))
@example([((0, 2), "a")], (2, 4))
def test_read_gives_each_byte_its_last_owner(writes: Writes, asked: tuple[int, int]) -> None:
    owned, model = _apply(writes)
    start, end = asked
    pieces = owned.read(start, end)
    spelled = [(byte, owner) for low, high, owner in pieces for byte in range(low, high)]
    assert spelled == [(byte, model.get(byte)) for byte in range(start, end)]
    assert all(low < high for low, high, _ in pieces)


@given(_writes, _ranges)
@example([((0, 2), "a")], (1, 1))
@example([((0, 9), "a")], (7, 3))
@example([((0, 2), "a")], (2, 4))
def test_owners_in_address_order_each_once(writes: Writes, asked: tuple[int, int]) -> None:
    owned, model = _apply(writes)
    expected = dict.fromkeys(model[byte] for byte in range(*asked) if byte in model)
    assert owned.owners(*asked) == tuple(expected)


@given(_writes)
def test_items_are_all_owned_bytes(writes: Writes) -> None:
    owned, model = _apply(writes)
    items = list(owned.items())
    assert {byte: owner for low, high, owner in items for byte in range(low, high)} == model
    assert all(low < high for low, high, _ in items)
    assert all(a[1] <= b[0] for a, b in pairwise(items))


@given(_writes, _writes)
def test_a_copy_lives_its_own_life(before: Writes, after: Writes) -> None:
    owned, model = _apply(before)
    copy = owned.copy()
    for (start, end), owner in after:
        copy.write(start, end, owner)
    assert {b: o for low, high, o in owned.items() for b in range(low, high)} == model
    _, both = _apply([*before, *after])
    assert {b: o for low, high, o in copy.items() for b in range(low, high)} == both


def test_addresses_beyond_4_gib() -> None:
    owned: ByteMap[str] = ByteMap()
    owned.write(2**40, 2**41, "a")
    owned.write(2**40 + 5, 2**40 + 6, "b")
    assert owned.read(2**40, 2**40 + 7) == (
        (2**40, 2**40 + 5, "a"),
        (2**40 + 5, 2**40 + 6, "b"),
        (2**40 + 6, 2**40 + 7, "a"),
    )
