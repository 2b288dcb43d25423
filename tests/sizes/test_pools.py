"""The pools of a program, and what is said of what is not known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import onearena
from onearena.errors import AnalysisError, FormatError, UsageError
from onearena.pte.container import PteFile
from onearena.pte.reader import open_pte
from onearena.pte.schema import (
    BackendDelegateInlineData,
    Buffer,
    ExtraTensorInfo,
    NamedData,
    SubsegmentOffsets,
    Tensor,
)
from onearena.sizes.pools import MethodPools, program_pools
from onearena.sizes.results import Arena, Place, Pool
from onearena.sizes.targets import HOST64, TARGETS, find_target
from tests.cli.programs import chain_payload
from tests.pte.build import FLOAT, INLINE, LONG, Method, file_bytes, pte_file, read_bytes
from tests.sizes.models import topk

M55 = find_target("cortex-m55")
TYPE_OF_TOMORROW = 99


def written(*methods: Method, **fields: Any) -> PteFile:
    """The file as read back, so that its sizes are those on disk."""
    return read_bytes(file_bytes(pte_file(*methods, **fields)))


def pools_of(method: Method, **fields: Any) -> MethodPools:
    return program_pools(written(method, **fields)).methods[0]


def with_delegate(backend: str) -> Method:
    method = Method()
    a, b = method.tensor(4096, offset=0), method.tensor(4096, offset=16384)
    method.input(a).output(b)
    method.call_delegate(method.delegate(backend, 0), a, b)
    return method


def test_targets() -> None:
    cores = ("m0", "m0plus", "m3", "m4", "m7", "m23", "m33", "m35p", "m55", "m85")
    assert set(TARGETS) == {"host64", *(f"cortex-{core}" for core in cores)}
    assert find_target("host64") is HOST64
    with pytest.raises(UsageError, match="'cortex-m99' is not a target; there are host64"):
        find_target("cortex-m99")


def test_arenas_and_border() -> None:
    method = Method()
    planned = method.tensor(3, offset=0)
    far = method.tensor(5, offset=0, memory_id=3)
    brought = method.tensor(7, scalar_type=LONG)
    fetched = method.tensor(9)
    constant = method.tensor(2, data_buffer_idx=1)
    strange = method.tensor(2, scalar_type=TYPE_OF_TOMORROW)
    both = method.tensor_list(planned, fetched)
    number = method.integer(1)
    method.input(planned, brought, number).output(far, both, constant, brought, strange)
    pools = pools_of(method)
    assert pools.arenas == (Arena(1, 12), Arena(2, 0), Arena(3, 20))
    assert pools.arena_bytes == 32
    borders = [
        [(t.position, t.value, t.size_bytes, t.place) for t in tensors]
        for tensors in (pools.inputs, pools.outputs)
    ]
    assert borders == [
        [(0, planned, 12, Place.ARENA), (1, brought, 56, Place.APPLICATION)],
        [
            (0, far, 20, Place.ARENA),
            (1, planned, 12, Place.ARENA),
            (1, fetched, 36, Place.APPLICATION),
            (2, constant, 8, Place.PROGRAM),
            (3, brought, 56, Place.INPUT),
            (4, strange, None, Place.APPLICATION),
        ],
    ]
    assert pools.application.size_bytes is None
    assert pools.application.at_least_bytes == 56 + 36
    assert pools.total.size_bytes is None


def test_the_total_is_the_sum() -> None:
    method = Method()
    a, b = method.tensor(4), method.tensor(4, offset=0)
    method.input(a).output(b)
    method.call("aten::relu.out", a, b, b)
    pools = pools_of(method)
    allocator = pools.method_allocator_bytes
    assert allocator is not None
    assert pools.temp == Pool.known(3 * 40)
    assert pools.total == Pool.known(allocator + 3 * 40 + 16 + 16)


def test_temp_memory_is_the_most_of_one_instruction() -> None:
    pools = pools_of(topk(3, 700, dimension=1))
    assert pools.temp_bytes == 700 * 16
    assert pools.resolve_temp_bytes == 8 * 40
    small = pools_of(topk(3, dimension=0))
    assert small.temp_bytes == small.resolve_temp_bytes
    assert [use.name for use in small.temp_uses] == ["aten::topk.values"]


def test_the_most_of_several_calls_of_an_operator() -> None:
    method = topk(3, 700, dimension=1)
    (source, first) = method.tensor(900, offset=0), method.boolean(True)
    outs = (method.tensor(2, offset=0), method.tensor(2, offset=64, scalar_type=LONG))
    two, along = method.integer(2), method.integer(0)
    method.call("aten::topk.values", source, two, along, first, first, *outs)
    assert pools_of(method).temp_bytes == 900 * 16


@pytest.mark.parametrize(
    ("sizes", "dimension", "note"),
    [((4, 5), 2, "its tensor has no dimension 2"), ((4, -5), 0, "its tensor has a negative size")],
)
def test_topk_that_makes_no_sense(sizes: tuple[int, ...], dimension: int, note: str) -> None:
    method = Method()
    source = method.value(Tensor(scalar_type=FLOAT, sizes=sizes, dim_order=(0, 1)))
    along, out = method.integer(dimension), method.tensor(1, offset=0)
    method.call("aten::topk.values", source, along, along, out, out)
    pools = pools_of(method)
    assert (pools.temp_bytes, pools.temp.notes) == (None, (f"aten::topk.values: {note}",))


@pytest.mark.parametrize(
    ("operator", "note"),
    [
        ("llama::custom_sdpa.out", "depends on the number of threads"),
        ("mine::op.out", "an operator of no library"),
        ("aten::topk.values", "not those of aten::topk.values"),
    ],
)
def test_temp_memory_that_is_not_known(operator: str, note: str) -> None:
    method = Method()
    a = method.tensor(4, offset=0)
    method.call(operator, a, a, a, a)
    method.call("aten::relu.out", a, a)
    pools = pools_of(method)
    assert pools.temp_bytes is None
    assert pools.temp.at_least_bytes == pools.resolve_temp_bytes == 4 * 40
    assert pools.temp.notes[0].startswith(f"{operator}: ")
    assert note in pools.temp.notes[0]
    assert pools.total.size_bytes is None


@pytest.mark.parametrize(
    "operator",
    [
        "aten::relu.out",
        "executorch_prim::et_view.default",
        "quantized_decomposed::add.out",
        "cortex_m::quantized_add.out",
        "dim_order_ops::_to_dim_order_copy.out",
        "llama::update_cache.out",
    ],
)
def test_operators_without_temp_memory(operator: str) -> None:
    method = Method()
    method.call(operator, method.tensor(4, offset=0))
    assert pools_of(method).temp_uses == ()


def test_xnnpack_on_a_host() -> None:
    pools = pools_of(with_delegate("XnnpackBackend"), segments=[chain_payload()])
    # sigmoid, tanh, sigmoid: the two tensors between them share one place
    assert pools.workspace.disabled.size_bytes == pools.workspace.per_model.size_bytes
    assert pools.workspace.per_model.size_bytes is not None
    assert 16384 <= pools.workspace.per_model.size_bytes < 2 * 16384
    assert pools.temp_bytes == 0


def test_workspaces_add_up_when_they_are_not_shared() -> None:
    method = with_delegate("XnnpackBackend")
    method.call_delegate(method.delegate("XnnpackBackend", 1), 0, 1)
    method.delegate("XnnpackBackend", 1)  # is never called
    workspace = pools_of(method, segments=[chain_payload(), chain_payload()]).workspace
    assert workspace.per_model.size_bytes is not None
    assert workspace.disabled.size_bytes == 2 * workspace.per_model.size_bytes
    assert workspace.shared_globally == workspace.per_model


def test_xnnpack_on_a_microcontroller() -> None:
    file = written(with_delegate("XnnpackBackend"), segments=[chain_payload()])
    pools = program_pools(file, M55).methods[0]
    assert pools.workspace.disabled.size_bytes is None
    assert pools.method_allocator_bytes is None
    assert pools.method_allocator.notes == ("what XnnpackBackend takes on cortex-m55 is not known",)


def test_a_payload_that_cannot_be_read() -> None:
    pools = pools_of(with_delegate("XnnpackBackend"), segments=[b"no payload of that kind"])
    assert pools.workspace.disabled.size_bytes is None
    assert pools.workspace.disabled.notes == ("the payload of delegate 0 cannot be read",)


def test_other_delegates() -> None:
    pools = pools_of(with_delegate("EthosUBackend"), segments=[b"payload"])
    assert pools.temp_bytes is None
    assert pools.method_allocator_bytes is not None
    other = pools_of(with_delegate("OtherBackend"), segments=[b"payload"])
    assert other.method_allocator_bytes is None
    assert other.workspace.disabled == Pool.known(0)


def test_sizes_of_the_file() -> None:
    method = with_delegate("EthosUBackend")
    method.delegate("EthosUBackend", 0, location=INLINE)
    method.delegate("EthosUBackend", 0)  # the same payload again
    file = written(
        method,
        segments=[b"p" * 100, b"c" * 200, b"s" * 300, b"n" * 400],
        constant_segment=SubsegmentOffsets(1, (0,)),
        mutable_data_segments=(SubsegmentOffsets(2, (0,)),),
        named_data=(NamedData("a", 3), NamedData("b", 3)),
        backend_delegate_data=(BackendDelegateInlineData((b"i" * 10,)),),
        constant_buffer=(Buffer((b"",)), Buffer((b"k" * 20,))),
    )
    pools = program_pools(file)
    assert pools.payload_bytes == 110
    assert pools.constant_bytes == 220
    assert pools.initial_state_bytes == 300
    assert pools.flash.named_bytes == 400
    assert pools.file_bytes == file.source.size_bytes
    assert 0 < pools.program_bytes < pools.file_bytes - 1000
    flash = pools.flash
    assert flash.description_bytes == pools.program_bytes - 30
    assert [(part.name, part.size_bytes) for part in flash.parts] == [
        ("program description", flash.description_bytes),
        ("constants", 220),
        ("delegate payloads", 110),
        ("initial state", 300),
        ("named data", 400),
        ("padding", flash.padding_bytes),
    ]
    assert flash.padding_bytes > 0
    assert sum(part.size_bytes for part in flash.parts) == flash.file_bytes


def test_a_segment_with_two_purposes_counts_once() -> None:
    file = written(
        with_delegate("EthosUBackend"),
        segments=[b"p" * 100, b"unused" * 20],
        constant_segment=SubsegmentOffsets(0, (0,)),
        mutable_data_segments=(SubsegmentOffsets(0, (0,)),),
        named_data=(NamedData("a", 0),),
    )
    flash = program_pools(file).flash
    assert [part.name for part in flash.parts] == ["program description", "constants", "padding"]
    assert flash.padding_bytes >= 120  # what nothing names is in it
    assert sum(part.size_bytes for part in flash.parts) == flash.file_bytes


@pytest.mark.parametrize("target", ["host64", "cortex-m55"])
def test_sizes_from_a_path(tmp_path: Path, target: str) -> None:
    path = tmp_path / "a.pte"
    path.write_bytes(file_bytes(pte_file(topk(3, 700, dimension=1))))
    found = onearena.program_sizes(path, target)
    assert isinstance(found, onearena.ProgramPools)
    assert found.to_json() == onearena.program_sizes(str(path), target=target).to_json()
    with open_pte(path) as file:
        assert found == program_pools(file, find_target(target))


def test_sizes_for_no_target(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'z80' is not a target; there are host64"):
        onearena.program_sizes(tmp_path / "a.pte", "z80")
    with pytest.raises(FormatError, match="no such file"):
        onearena.program_sizes(tmp_path / "a.pte")


def test_a_second_file_is_said() -> None:
    method = Method()
    method.tensor(4, extra_tensor_info=ExtraTensorInfo(fully_qualified_name="w", location=1))
    file = written(method)
    assert any(".ptd" in note for note in program_pools(file).notes)
    without = program_pools(written(Method()))
    assert not any(".ptd" in note for note in without.notes)


def _broken(kind: str) -> Method:
    method = Method()
    a = method.tensor(4, offset=0)
    if kind == "value":
        method.call("aten::relu.out", 7)
    elif kind == "operator":
        method.call("aten::relu.out", a)
        method.operators.clear()
    elif kind == "delegate":
        method.call_delegate(-1, a)
    elif kind == "input":
        method.input(7)
    elif kind == "arena":
        method.arenas[2] = -7
    else:
        method.input(method.tensor_list(7))
    return method


@pytest.mark.parametrize("kind", ["value", "operator", "delegate", "input", "list", "arena"])
def test_contradictions_are_named(kind: str) -> None:
    with pytest.raises(AnalysisError, match=r"^test.pte: method 'forward': .* (-?7|0|-1)"):
        program_pools(written(_broken(kind)))
