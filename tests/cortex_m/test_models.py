"""The promised plans of the example networks, exported here (needs the ethos-u extra)."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("executorch.backends.cortex_m.passes")
# the imports below need what was just asked for
from examples.cortex_m.table import CASES, TARGETS, Case, measure

from onearena.cortex_m.check import check_target
from onearena.pte.reader import open_pte


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.network}, {case.label}")
def test_plans_reach_their_bound(case: Case, target: str, tmp_path: Path) -> None:
    row = measure(case, target, tmp_path)
    assert row.is_optimal
    assert row.after_bytes == row.bound_bytes
    if target == "cortex-m55":
        assert row.after_bytes == case.promised_bytes
    assert row.after_bytes <= min(case.promised_bytes, row.before_bytes)
    with open_pte(tmp_path / "small.pte") as file:
        assert check_target(file, target) == ()
