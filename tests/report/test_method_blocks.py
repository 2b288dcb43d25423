"""Methods that are equal are said once."""

from __future__ import annotations

from onearena.report.text import method_blocks


def test_equal_methods_in_a_row_are_said_once() -> None:
    bodies = [("forward", "  a"), ("x", "  b"), ("y\n", "  b"), ("z", "  a"), ("w", "  b")]
    assert list(method_blocks(bodies)) == [
        "method forward\n  a",
        "methods x, y\\n, each\n  b",
        "method z\n  a",
        "method w\n  b",
    ]
    assert list(method_blocks([])) == []
