"""The kernels in C compute what ExecuTorch's do, in the scratch that onearena says they need."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="the host computes with torch")

from tests.qemu.conftest import Machines
from tests.qemu.cores import CORES, Core
from tests.qemu.host import reference
from tests.qemu.operators import OPERATORS, random_operator

COUNT = 30


@pytest.mark.parametrize("core", CORES, ids=str)
@pytest.mark.parametrize("name", OPERATORS)
def test_kernels_agree_with_the_reference(machines: Machines, name: str, core: Core) -> None:
    operators = [random_operator(name, core.isa, seed) for seed in range(COUNT)]
    references = [reference(operator.file, seed) for seed, operator in enumerate(operators)]
    cases = []
    for number, (operator, known) in enumerate(zip(operators, references, strict=True)):
        cases.append(known.case(f"full_{number}", operator.file))
        cases.append(known.case(f"starved_{number}", operator.starved))
    runs = machines(core).run(cases)
    for number, (operator, known) in enumerate(zip(operators, references, strict=True)):
        full, starved = runs[f"full_{number}"], runs[f"starved_{number}"]
        assert known.expected.is_met_by(full.plain), f"operator {number}"
        assert known.expected.is_met_by(full.strict), f"operator {number}"
        refused = ("scratch", 0, operator.scratch_bytes) if operator.scratch_bytes else None
        assert starved.strict.refused == refused, f"operator {number}"
    values = {byte for known in references for output in known.expected.outputs for byte in output}
    assert len(values) > 64, "outputs differ, so that errors show"
