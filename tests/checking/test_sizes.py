"""Sizes, growth and budgets as people write them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onearena.checking.budget import Quantity, key_text, parse_budgets, parse_key
from onearena.checking.sizes import MAX_SIZE_BYTES, parse_growth, parse_size
from onearena.errors import UsageError


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("0", 0),
        ("17", 17),
        ("17B", 17),
        ("2MB", 2_000_000),
        ("2 MB", 2_000_000),
        (" 2MB ", 2_000_000),
        ("64kB", 64_000),
        ("64KB", 64_000),
        ("64KiB", 65_536),
        ("1.5MiB", 1_572_864),
        ("1.5 MiB", 1_572_864),
        ("0.1GB", 100_000_000),
        ("1GiB", 1 << 30),
        ("2_000_000", 2_000_000),
        ("2 000 000 B", 2_000_000),
        (str(MAX_SIZE_BYTES), MAX_SIZE_BYTES),
    ],
)
def test_sizes(text: str, size_bytes: int) -> None:
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "MB", "-1", "+1", "2M", "2mb", "2TB", "2 M B", "1e6", "0x10", "1.MB", ".5MB"),
        *("0.3B", "0.0001kB", "2MB 1", "2,5MB", "\uff12MB", "\u0662", "inf", "nan", "_1"),
        *(str(MAX_SIZE_BYTES + 1), "9" * 30 + "GB", "9" * 10_000, "2MB\n3MB", "2\x1b[31mMB"),
    ],
)
def test_not_sizes(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_size(text)
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 250


@given(st.integers(0, MAX_SIZE_BYTES))
def test_a_number_of_bytes_is_itself(size_bytes: int) -> None:
    assert parse_size(str(size_bytes)) == size_bytes
    assert parse_size(f"{size_bytes:_}") == size_bytes


@given(st.text(max_size=30))
def test_any_text_is_a_size_or_a_usage_error(text: str) -> None:
    try:
        assert 0 <= parse_size(text) <= MAX_SIZE_BYTES
    except UsageError as error:
        assert str(error).isprintable()  # noqa: PT017


def test_growth() -> None:
    assert parse_growth("1%").limit_bytes(1000) == 1010
    assert parse_growth("0.5 %").limit_bytes(1000) == 1005
    assert parse_growth("0.1%").limit_bytes(999) == 999  # whole bytes, never rounded up
    assert parse_growth("64kB").limit_bytes(1000) == 65_000
    assert parse_growth("0").limit_bytes(1000) == 1000
    assert parse_growth("0%").limit_bytes(0) == 0
    # exact where floating point is not
    assert parse_growth("0.1%").percent == Fraction(1, 10)
    assert parse_growth("100%").limit_bytes(MAX_SIZE_BYTES) == 2 * MAX_SIZE_BYTES


@pytest.mark.parametrize("text", ["", "%", "-1%", "1%%", "1 percent", "1e2%", "9999999%", "-64kB"])
def test_not_growth(text: str) -> None:
    with pytest.raises(UsageError, match="growth"):
        parse_growth(text)


@pytest.mark.parametrize("text", ["-1%", " -64kB", "- 5", "-.5%", "\N{MINUS SIGN}1%"])
def test_negative_growth_is_called_so(text: str) -> None:
    with pytest.raises(UsageError, match=r"growth: .* must not be negative$"):
        parse_growth(text)


def test_budgets() -> None:
    arena, second = Quantity("arena"), Quantity("arena", 2)
    assert parse_budgets(["arena=2MB, total=3MB", "pre:arena.2=64kB"]) == {
        (None, arena): 2_000_000,
        (None, Quantity("total")): 3_000_000,
        ("pre", second): 64_000,
    }
    assert parse_key("a:b=c:arena") == ("a:b=c", arena)
    assert key_text(("a:b", second)) == "a:b:arena.2"
    # the same twice is harmless
    assert parse_budgets(["arena=1kB", "arena=1000"]) == {(None, arena): 1000}
    assert parse_budgets(["arena=0"]) == {(None, arena): 0}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("arena", "WHAT|QUANTITY=SIZE"),
        ("arena=", "not a size"),
        ("=2MB", "cannot be budgeted"),
        ("arena=1MB,", "QUANTITY=SIZE"),
        ("arena=1,000", "comma separates"),
        ("area=1MB", "there are arena, arena.N, workspace"),
        ("arena.0=1MB", "reserved"),
        ("arena.01=1MB", "cannot be budgeted"),
        ("arena.9999999=1MB", "cannot be budgeted"),
        (":arena=1MB", "no method"),
        ("forward:file=1MB", "whole program"),
        ("forward:constants=1MB", "whole program"),
        ("arena=1MB,arena=2MB", "given twice"),
        ("f:total=1MB,f:total=2MB", "f:total is given twice"),
    ],
)
def test_not_budgets(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_budgets([text])
