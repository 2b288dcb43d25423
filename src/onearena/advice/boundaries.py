"""Advice on inputs and outputs: let the caller bring them, or pass them as int8."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from onearena.advice.edit import changed, group_members, is_free, joined, resized
from onearena.advice.ground import Ground
from onearena.advice.model import Advice, AdviceKind, Basis
from onearena.delegates.xnnpack.schema import Datatype, XNNConvert
from onearena.problem import Buffer
from onearena.pte.tensors import ELEMENT_BYTES, ScalarType
from onearena.summary.build import value_name
from onearena.timeline.steps import Step

_QUANTIZE = "quantized_decomposed::quantize_per_tensor"
_DEQUANTIZE = "quantized_decomposed::dequantize_per_tensor"
_EIGHT_BIT = (Datatype.QINT8, Datatype.QUINT8)


def boundary_advice(ground: Ground) -> Iterable[Advice]:
    """Advice that holds for all planned inputs, and for all planned outputs, together."""
    steps = ground.steps
    yield from _unplanned(ground, AdviceKind.UNPLANNED_INPUTS, steps.inputs)
    yield from _unplanned(ground, AdviceKind.UNPLANNED_OUTPUTS, steps.outputs)
    yield from _quantized(ground, AdviceKind.INT8_INPUTS)
    yield from _quantized(ground, AdviceKind.INT8_OUTPUTS)


# -- memory of the caller ---------------------------------------------------------------------


def _unplanned(ground: Ground, kind: AdviceKind, values: tuple[int, ...]) -> Iterable[Advice]:
    timeline = ground.timeline
    chosen = [v for v in values if v in timeline.buffer_of and v not in timeline.storage.state]
    removed = frozenset(b for v in chosen for b in group_members(timeline, v))
    other = set(ground.steps.inputs + ground.steps.outputs).difference(values)
    if not removed or any(timeline.buffer_of.get(v) in removed for v in other):
        return
    after = ground.with_problem(changed(timeline.problem, removed=removed))
    if after is None:
        return
    word = "inputs" if kind is AdviceKind.UNPLANNED_INPUTS else "outputs"
    flag = f"alloc_graph_{word.removesuffix('s')}"
    size = sum(timeline.storage.memories[v].size_bytes for v in chosen)
    yield Advice(
        kind,
        ground.method.plan.name,
        f"leave the {word} out of the plan",
        f"export with MemoryPlanningPass({flag}=False); the caller then brings {size:,} B itself",
        Basis.OPTIMIZED,
        ground.optimized_bytes,
        after,
        tuple(value_name(ground.steps, v) for v in chosen),
    )


# -- int8 -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Seam:
    """A float tensor at the boundary, and its int8 counterpart, if that has a value."""

    value: int
    quantized: int | None
    scalar_type: int


def _quantized(ground: Ground, kind: AdviceKind) -> Iterable[Advice]:
    timeline = ground.timeline
    is_input = kind is AdviceKind.INT8_INPUTS
    values = ground.steps.inputs if is_input else ground.steps.outputs
    seams = [s for v in values if (s := _seam(ground, v, is_input)) and is_free(timeline, v)]
    if not seams:
        return
    replaced: dict[int, Buffer] = {}
    removed: set[int] = set()
    for seam in seams:
        number = timeline.buffer_of[seam.value]
        count = timeline.storage.memories[seam.value].size_bytes // 4
        buffer = resized(timeline.problem.buffers[number], count * ELEMENT_BYTES[seam.scalar_type])
        if seam.quantized is not None and is_free(timeline, seam.quantized):
            other = timeline.buffer_of[seam.quantized]
            buffer = joined(buffer, timeline.problem.buffers[other])
            removed.add(other)
        replaced[number] = buffer
    after = ground.with_problem(changed(timeline.problem, replaced, removed))
    if after is None:
        return
    word = "inputs" if is_input else "outputs"
    passes = "QuantizeInputs" if is_input else "QuantizeOutputs"
    yield Advice(
        kind,
        ground.method.plan.name,
        f"pass the {word} as int8",
        f"run {passes} of executorch.exir.passes.quantize_io_pass before lowering",
        Basis.OPTIMIZED,
        ground.optimized_bytes,
        after,
        tuple(value_name(ground.steps, seam.value) for seam in seams),
    )


def _seam(ground: Ground, value: int, is_input: bool) -> _Seam | None:
    """The quantization that is all that happens to an input, or all that makes an output."""
    steps = ground.steps.steps
    if ground.steps.tensor(value).scalar_type != ScalarType.FLOAT:
        return None
    inner = steps[1:-1]
    touching = [
        step for step in inner if value in (step.roles.reads if is_input else step.roles.writes)
    ]
    others = [
        step for step in inner if value in (step.roles.writes if is_input else step.roles.reads)
    ]
    if len(touching) != 1 or others:
        return None
    return _conversion(ground, touching[0], value, is_input)


def _conversion(ground: Ground, step: Step, value: int, is_input: bool) -> _Seam | None:
    roles = step.roles
    partners = roles.writes if is_input else roles.reads
    partner = partners[0] if len(partners) == 1 else None
    if step.node is None:
        name = _QUANTIZE if is_input else _DEQUANTIZE
        if not step.label.startswith(name) or partner is None:
            return None
        scalar_type = ground.steps.tensor(partner).scalar_type
        return _Seam(value, partner, scalar_type) if ELEMENT_BYTES.get(scalar_type) == 1 else None
    if step.call is None or step.node.kind is not XNNConvert:
        return None
    inside = step.node.outputs[0] if is_input else step.node.inputs[0]
    datatype = step.call.graph.values[inside].tensor.datatype
    if datatype not in _EIGHT_BIT:
        return None
    types: Mapping[int, ScalarType] = {
        Datatype.QINT8: ScalarType.CHAR,
        Datatype.QUINT8: ScalarType.BYTE,
    }
    return _Seam(value, partner, types[datatype])
