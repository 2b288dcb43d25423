"""ETRecord, ETDump and the Inspector on planned programs, on the installed runtime.

The wheel's runtime is built with the event tracer, so that profiles and intermediate outputs are
the real ones. The programs are small; what is compared is which source line an event belongs to.
"""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from executorch.devtools import BundledProgram, Inspector
from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from executorch.devtools.etrecord import ETRecord
from executorch.exir import ExecutorchBackendConfig

import onearena
from onearena.errors import FormatError, UsageError
from onearena.runtime.bindings import runtime_module
from tests.cases.lowering import quiet
from tests.exporting import nets

Events = Counter[tuple[str, tuple[int, ...], tuple[str, ...]]]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("profiles")


@cache
def programs(name: str) -> tuple[Any, Any]:
    """A program as ExecuTorch makes it, and as we do."""
    edge = {"breaks": nets.breaks, "moves": nets.recorded_moves}[name]
    with quiet():
        planned = onearena.to_executorch(edge())
    return planned.stock, planned


@dataclass(frozen=True)
class Copied:
    """A file, saved as programs are."""

    path: Path

    def save(self, path: str) -> None:
        shutil.copyfile(self.path, path)


def inspector(program: Any, inputs: tuple[Any, ...], stem: Path, etrecord: Any = None) -> Any:
    """Runs a program with tracing, and puts trace and ETRecord together, both from files."""
    path, trace, debug = (str(stem.with_suffix(end)) for end in (".pte", ".etdump", ".debug"))
    record = str(stem.with_suffix(".etrecord"))
    program.save(path)
    (etrecord or program.get_etrecord()).save(record)
    module = runtime_module()._load_for_executorch(
        path, enable_etdump=True, debug_buffer_size=1 << 22
    )
    if not module.has_etdump():
        pytest.skip("this runtime is built without the event tracer")
    module.forward(list(inputs))
    module.write_etdump_result_to_file(trace, debug)
    with quiet():
        return Inspector(etdump_path=trace, etrecord=record, debug_buffer_path=debug)


def lines(event: Any) -> tuple[str, ...]:
    """Which lines of this test's networks an event belongs to."""
    traces = [str(trace) for trace in event.stack_traces.values()]
    return tuple(
        sorted(line for trace in traces for line in trace.splitlines() if "nets.py" in line)
    )


def operators(found: Any) -> Events:
    """What ran: name, debug handles, source lines; of kernels and delegate calls."""
    events: Events = Counter()
    for block in found.event_blocks:
        for event in block.events:
            if event.name.startswith("native_call") or event.name == "DELEGATE_CALL":
                handles = event.debug_handles or ()
                handles = (handles,) if isinstance(handles, int) else tuple(handles)
                events[event.name, handles, lines(event)] += 1
    return events


@pytest.mark.parametrize(
    ("name", "inputs"), [("breaks", (nets.IMAGE,)), ("moves", (nets.X[None],))]
)
def test_the_profile_names_the_same_lines(
    name: str, inputs: tuple[Any, ...], directory: Path
) -> None:
    stock, planned = programs(name)
    expected = operators(inspector(stock, inputs, directory / f"{name}_stock"))
    found = operators(inspector(planned, inputs, directory / f"{name}_planned"))
    assert found == expected
    assert sum(bool(where) for _, _, where in found) >= 3


@pytest.mark.parametrize("kind", ["file", "object"])
def test_the_command_lines_program_names_the_same_lines(kind: str, directory: Path) -> None:
    stock, _ = programs("moves")
    inputs = (nets.X[None],)
    expected = operators(inspector(stock, inputs, directory / "exported"))
    small, record = directory / "small.pte", directory / "exported.etrecord"
    onearena.optimize(directory / "exported.pte", small)
    moved = onearena.etrecord_for(small, record if kind == "file" else stock.get_etrecord())
    assert operators(inspector(Copied(small), inputs, directory / "of_ours", moved)) == expected
    wrong = inspector(Copied(small), inputs, directory / "wrong_maps", stock.get_etrecord())
    assert operators(wrong) != expected


def test_etrecords_that_cannot_be_moved(directory: Path, tmp_path: Path) -> None:
    _, planned = programs("moves")
    path, other = tmp_path / "planned.pte", tmp_path / "other.etrecord"
    planned.save(str(path))
    with pytest.raises(UsageError, match="is of to_executorch"):
        onearena.etrecord_for(path, planned.get_etrecord())
    other.write_bytes(b"no zip")
    with pytest.raises(FormatError, match=r"other\.etrecord: cannot be read as an ETRecord"):
        onearena.etrecord_for(path, other)
    with pytest.raises(FormatError, match="cannot be read as an ETRecord"):
        onearena.etrecord_for(path, tmp_path / "missing.etrecord")


def test_kernels_did_move() -> None:
    stock, planned = programs("moves")
    assert planned.debug_handle_map != stock.debug_handle_map
    (before,), (after,) = stock.debug_handle_map.values(), planned.debug_handle_map.values()
    assert sorted(map(str, before.values())) == sorted(map(str, after.values()))


def test_without_new_maps_the_profile_would_be_wrong(directory: Path) -> None:
    """The test above can fail: the maps of the stock program name other lines."""
    stock, planned = programs("moves")
    inputs = (nets.X[None],)
    expected = operators(inspector(stock, inputs, directory / "right"))
    record = stock.get_etrecord()
    assert operators(inspector(planned, inputs, directory / "wrong", record)) != expected


def test_events_inside_a_call_belong_to_the_call(directory: Path) -> None:
    """XNNPACK names its own operators; the Inspector knows the backend and nothing more."""
    _, planned = programs("breaks")
    found = inspector(planned, (nets.IMAGE,), directory / "inside")
    inner = [e for block in found.event_blocks for e in block.events if e.is_delegated_op]
    assert {event.delegate_backend_name for event in inner} == {"XnnpackBackend"}
    assert any("Convolution" in event.name for event in inner)


def numeric_gaps(program: Any, stem: Path) -> Any:
    """The Inspector's comparison of intermediate outputs with the eager model."""
    outputs = [torch.zeros(1, 8, 16, 16)]  # nobody looks at them
    case = MethodTestCase(inputs=[nets.IMAGE], expected_outputs=outputs)
    bundled = BundledProgram(program, [MethodTestSuite("forward", [case])])
    edge = program.get_etrecord()
    record = ETRecord(edge_dialect_program=edge.edge_dialect_program, graph_map={})
    record.add_executorch_program(bundled)
    found = inspector(program, (nets.IMAGE,), stem, record)
    with quiet():
        return found.calculate_numeric_gap("L1", reference_graph="edge_dialect_exported_program")


def test_intermediate_outputs_are_found(directory: Path) -> None:
    """Of closed calls: what opened ones log behind their outputs misleads the Inspector."""
    stock, _ = programs("breaks")
    with quiet():
        closed = onearena.to_executorch(nets.breaks(), open_delegates=False)
    expected = numeric_gaps(stock, directory / "gap_stock")
    found = numeric_gaps(closed, directory / "gap_closed")
    assert len(found) == len(expected) > 2
    gaps = [
        sorted(float(gap) for row in table["gap"] for gap in row) for table in (found, expected)
    ]
    assert gaps[0] == gaps[1]


def test_no_etrecord_no_harm() -> None:
    with quiet():
        program = onearena.to_executorch(nets.mapped(), ExecutorchBackendConfig())
    with pytest.raises(RuntimeError, match="not generated"):
        program.get_etrecord()


def test_the_stock_record_stays_as_it_was() -> None:
    stock, planned = programs("moves")
    assert stock.get_etrecord()._debug_handle_map == stock.debug_handle_map
    assert planned.get_etrecord()._debug_handle_map == planned.debug_handle_map
    assert planned.get_etrecord().edge_dialect_program is stock.get_etrecord().edge_dialect_program
