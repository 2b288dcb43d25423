"""Advice on language models: logits of the last token instead of those of all tokens."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import prod

from onearena.advice.edit import changed, is_free, resized
from onearena.advice.ground import Ground
from onearena.advice.model import Advice, AdviceKind, Basis
from onearena.lifetime import Interval, intersection
from onearena.problem import Buffer
from onearena.pte.tensors import ELEMENT_BYTES, ScalarType
from onearena.summary.build import value_name
from onearena.timeline.steps import Step

_PRODUCTS = (
    "FullyConnected",
    "aten::linear",
    "aten::mm",
    "aten::addmm",
    "aten::bmm",
    "aten::matmul",
)
_TOKEN_TYPES = (ScalarType.INT, ScalarType.LONG)


def last_token_advice(ground: Ground) -> Iterable[Advice]:
    """For each output of shape [..., tokens, classes], where an input holds that many tokens."""
    for value in ground.steps.outputs:
        found = _without_other_tokens(ground, value)
        if found is not None:
            yield found


def _without_other_tokens(ground: Ground, value: int) -> Advice | None:
    steps, timeline = ground.steps, ground.timeline
    shape = steps.tensor(value).sizes or ()
    tokens = shape[-2] if len(shape) >= 2 else 1
    if tokens < 2 or prod(shape[:-2]) != 1 or not _is_token_count(ground, tokens):
        return None
    chain = _chain(ground, value)
    if chain is None or not all(is_free(timeline, v) for v in chain[0] if v in timeline.buffer_of):
        return None
    values, product = chain
    replaced: dict[int, Buffer] = {}
    for v in values:
        number = timeline.buffer_of.get(v)
        if number is not None:
            size = timeline.storage.memories[v].size_bytes // tokens
            replaced[number] = resized(timeline.problem.buffers[number], size)
    if not replaced:
        return None
    row = _last_row(ground, product, tokens, replaced)
    after = ground.with_problem(changed(timeline.problem, replaced, added=row))
    if after is None:
        return None
    return Advice(
        AdviceKind.LAST_TOKEN,
        ground.method.plan.name,
        "compute logits for the last token only",
        "slice the hidden states to the last position in front of the output layer",
        Basis.OPTIMIZED,
        ground.optimized_bytes,
        after,
        (f"{value_name(steps, value)} of {tokens} x {shape[-1]}",),
        ("right only if the caller reads nothing but the last token's logits",),
    )


def _is_token_count(ground: Ground, tokens: int) -> bool:
    for value in ground.steps.inputs:
        tensor = ground.steps.tensor(value)
        if tensor.scalar_type in _TOKEN_TYPES and (tensor.sizes or ())[-1:] == (tokens,):
            return True
    return False


def _chain(ground: Ground, value: int) -> tuple[tuple[int, ...], Step] | None:
    """The values from the product that makes the logits to the output, and that product."""
    steps = ground.steps
    count = prod(steps.tensor(value).sizes or ())
    chain = [value]
    for step in reversed(steps.steps[1:-1]):
        if chain[-1] not in step.roles.writes:
            continue
        label = step.label.removeprefix("XNNPACK ")
        if label.startswith(_PRODUCTS):
            return tuple(chain), step
        same = [v for v in step.roles.reads if prod(steps.tensor(v).sizes or ()) == count]
        if len(step.roles.reads) != 1 or not same or same[0] in chain:
            return None
        chain.append(same[0])
    return None


def _last_row(
    ground: Ground, product: Step, tokens: int, replaced: dict[int, Buffer]
) -> tuple[Buffer, ...]:
    """The last row is copied out in front of the product; what it comes from may die there."""
    steps, timeline = ground.steps, ground.timeline
    now = steps.steps.index(product)
    sources = [v for v in product.roles.reads if v in timeline.buffer_of]
    if not sources:
        return ()
    source = timeline.problem.buffers[timeline.buffer_of[sources[0]]]
    if source.lifetime and source.lifetime[-1].end == now + 1 and is_free(timeline, sources[0]):
        earlier = intersection(source.lifetime, (Interval(0, now),))
        replaced[source.id] = replace(source, lifetime=earlier)
    tensor = steps.tensor(sources[0])
    size = prod(tensor.sizes or ()) * ELEMENT_BYTES.get(tensor.scalar_type, 1) // tokens
    lifetime = (Interval(now - 1, now + 1),)
    return (replace(resized(source, size), lifetime=lifetime, offset=None, name="last row"),)
