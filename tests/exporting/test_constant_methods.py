"""Exporters of language models add methods that return a number each: they cost nothing."""

from __future__ import annotations

from pathlib import Path

import onearena
from tests.pte.build import Method, file_bytes, pte_file


def stateful() -> Method:
    """State far behind everything else."""
    method = Method()
    x, y, out = (method.tensor(64, offset=256 * k) for k in range(3))
    kept = method.tensor(64, offset=8192)
    method.input(x).output(out)
    method.call("aten::add.out", x, kept, method.integer(1), y, y)
    method.call("aten::relu.out", y, kept, kept)
    method.call("aten::relu.out", y, out, out)
    return method


def constant() -> Method:
    """A method that returns a number."""
    method = Method("get_max_seq_len")
    return method.output(method.integer(2048))


def other() -> Method:
    """A method with memory of its own."""
    method = Method("other")
    x, out = method.tensor(64, offset=0), method.tensor(64, offset=256)
    method.input(x).output(out)
    method.call("aten::relu.out", x, out, out)
    return method


def planned_bytes(directory: Path, *methods: Method) -> int:
    """What `forward` takes after `optimize`."""
    path, small = directory / "model.pte", directory / "small.pte"
    path.write_bytes(file_bytes(pte_file(*methods)))
    report = onearena.optimize(path, small)
    assert onearena.verify(small).safe
    after = report.methods[0].after
    assert after is not None
    assert report.methods[0].state_bytes == 256
    return after.arena_bytes


def test_state_moves_beside_constants(tmp_path: Path) -> None:
    alone = planned_bytes(tmp_path, stateful())
    assert alone < 2048
    assert planned_bytes(tmp_path, stateful(), constant()) == alone


def test_state_stays_where_other_methods_may_look_for_it(tmp_path: Path) -> None:
    assert planned_bytes(tmp_path, stateful(), other()) > 8192
