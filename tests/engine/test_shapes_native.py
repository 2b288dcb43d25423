"""Layouts for live sizes, under the address and undefined behaviour sanitizers."""

from __future__ import annotations

from tests.engine.building import Native, native_test
from tests.native.test_sanitized import pytestmark

__all__ = ["native_test", "pytestmark"]


def test_layouts_and_planted_overlaps(native_test: Native) -> None:
    assert native_test("planning").strip() == "ok"
