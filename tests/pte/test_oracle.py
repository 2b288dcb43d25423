"""Real programs: ExecuTorch decodes them as we do, and accepts and runs what we write."""

from __future__ import annotations

import dataclasses
import enum
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from onearena.delegates.xnnpack.payload import build_payload, read_payload
from onearena.flatbuf.data import read_data
from onearena.pte import PteFile, Segment, open_pte, write_pte
from tests.pte.build import SEGMENT, file_bytes

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")

_NAMES = ["weightless", "portable", "delegated", "stateful"]


def _models() -> dict[str, Any]:
    nn = torch.nn

    class Weightless(nn.Module):  # type: ignore[name-defined]
        def forward(self, x: Any) -> Any:
            return torch.relu(x) + x

    class Linear(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 8)

        def forward(self, x: Any) -> Any:
            y = nn.functional.softplus(self.first(x).relu())
            return self.second(y)

    class Stateful(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("state", torch.arange(8.0).reshape(1, 8))

        def forward(self, x: Any) -> Any:
            self.state.add_(x)
            return self.state * 2

    return {
        "weightless": Weightless(),
        "portable": Linear(),
        "delegated": Linear(),
        "stateful": Stateful(),
    }


def _export(name: str, model: Any, inputs: tuple[Any, ...]) -> bytes:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
    from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass

    program = torch.export.export(model.eval(), inputs)
    partitioner = [XnnpackPartitioner()] if name == "delegated" else []
    edge = to_edge_transform_and_lower(program, partitioner=partitioner)
    passes = [InitializedMutableBufferPass(["state"])] if name == "stateful" else []
    return bytes(edge.to_executorch(ExecutorchBackendConfig(passes=passes)).buffer)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Paths of small exported programs by name."""
    directory = tmp_path_factory.mktemp("programs")
    torch.manual_seed(0)
    result = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model in _models().items():
            result[name] = directory / f"{name}.pte"
            result[name].write_bytes(_export(name, model, (torch.randn(1, 8),)))
    return result


def _plain(value: Any) -> Any:
    """A form in which ExecuTorch's dataclasses and ours can be compared."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        if "storage" in fields or "data" in fields:
            return [_bytes(content) for content in fields.values()]
        return {name: plain for name, v in fields.items() if (plain := _plain(v)) is not None}
    if isinstance(value, list | tuple | bytes):
        return [_plain(item) for item in value] or None
    if isinstance(value, enum.Enum):
        return int(value.value)
    return value


def _bytes(content: Any) -> bytes:
    return bytes(content) if isinstance(content, bytes) else read_data(content or ())


@pytest.mark.parametrize("name", _NAMES)
def test_decoded_as_executorch_does(name: str, programs: dict[str, Path]) -> None:
    from executorch.exir._serialize._flatbuffer_program import _flatbuffer_to_program

    expected = _plain(_flatbuffer_to_program(programs[name].read_bytes()))
    with open_pte(programs[name]) as file:
        assert _plain(file.program) == expected
    assert expected["execution_plan"][0]["values"]


def _rebuild_payloads(file: PteFile) -> PteFile:
    """Every XNNPACK payload decoded and encoded again."""
    segments = list(file.segments)
    for plan in file.program.execution_plan or ():
        for delegate in plan.delegates or ():
            reference = delegate.processed
            assert reference is not None
            assert (delegate.id, reference.location) == ("XnnpackBackend", SEGMENT)
            old = segments[reference.index]
            new = build_payload(read_payload(old.data, "payload"))
            segments[reference.index] = Segment(new, old.alignment)
    return file.with_program(file.program, tuple(segments))


@pytest.mark.parametrize("name", _NAMES)
def test_rewritten_file_is_the_same_to_executorch(
    name: str, programs: dict[str, Path], tmp_path: Path
) -> None:
    from executorch.exir._serialize._program import deserialize_pte_binary

    target = tmp_path / "b.pte"
    with open_pte(programs[name]) as file:
        write_pte(file, target)
    before = deserialize_pte_binary(programs[name].read_bytes())
    assert deserialize_pte_binary(target.read_bytes()) == before


def _run(path: Path, count: int = 3) -> list[Any]:
    """Outputs of several runs of one loaded method (state carries over)."""
    from executorch.runtime import Runtime, Verification

    program = Runtime.get().load_program(path, verification=Verification.InternalConsistency)
    method = program.load_method("forward")
    generator = torch.Generator().manual_seed(1)
    inputs = [torch.randn(1, 8, generator=generator) for _ in range(count)]
    return [method.execute([value])[0].clone() for value in inputs]


@pytest.mark.parametrize("change", [lambda file: file, _rebuild_payloads])
@pytest.mark.parametrize("name", _NAMES)
def test_rewritten_file_runs_and_gives_the_same_bits(
    name: str, change: Callable[[PteFile], PteFile], programs: dict[str, Path], tmp_path: Path
) -> None:
    target = tmp_path / "b.pte"
    with open_pte(programs[name]) as file:
        write_pte(change(file), target)
    for before, after in zip(_run(programs[name]), _run(target), strict=True):
        assert torch.equal(before, after)


def test_the_programs_are_what_their_names_say(programs: dict[str, Path]) -> None:
    found = {}
    for name, path in programs.items():
        with open_pte(path) as file:
            plan = (file.program.execution_plan or ())[0]
            state = len(file.program.mutable_data_segments or ())
            sizes = [segment.size_bytes for segment in file.segments]
            found[name] = (len(plan.delegates or ()), state, any(sizes))
    assert found == {
        "weightless": (0, 0, False),
        "portable": (0, 0, True),
        "delegated": (2, 0, True),
        "stateful": (0, 1, True),
    }


def test_state_is_really_carried_over(programs: dict[str, Path]) -> None:
    first, second, third = _run(programs["stateful"])
    assert not torch.equal(second - first, third - second)


def test_executorch_refuses_a_damaged_file(programs: dict[str, Path], tmp_path: Path) -> None:
    """The check above would notice: a FlatBuffer with a misplaced vtable does not load."""
    with open_pte(programs["portable"]) as file:
        data = bytearray(file_bytes(file))
    root = int.from_bytes(data[:4], "little")
    data[root : root + 4] = (-1 << 20).to_bytes(4, "little", signed=True)
    path = tmp_path / "damaged.pte"
    path.write_bytes(data)
    with pytest.raises(RuntimeError):
        _run(path)


def test_edited_fields_reach_executorch(programs: dict[str, Path], tmp_path: Path) -> None:
    from executorch.exir._serialize._program import deserialize_pte_binary

    with open_pte(programs["portable"]) as file:
        plan = (file.program.execution_plan or ())[0]
        renamed = replace(file.program, execution_plan=(replace(plan, name="other"),))
        write_pte(file.with_program(renamed, file.segments), tmp_path / "b.pte")
    found = deserialize_pte_binary((tmp_path / "b.pte").read_bytes()).program
    assert [plan.name for plan in found.execution_plan] == ["other"]
