"""Programs loaded, run and unloaded by several threads, with the thread sanitizer watching."""

from __future__ import annotations

from tests.cases.conftest import Program
from tests.engine.building import (
    THREAD,
    Described,
    Native,
    described,
    native_test,
    seed_cases,
    shaped_cases,
)
from tests.native.test_sanitized import pytestmark

__all__ = ["described", "native_test", "pytestmark"]


def test_no_race(native_test: Native, described: Described, program: Program) -> None:
    image, *_, recorder = shaped_cases(program, described)
    seeds = [case for case in seed_cases(described) if "convnet" in case or "dynamic.pte" in case]
    assert native_test("threads", image, *seeds, recorder, flavour=THREAD) == "ok\n"
    assert native_test("base", flavour=THREAD) == "ok\n"
