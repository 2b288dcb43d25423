"""Which kernels of a method to run once more.

From the peak, like the search for strips: of what is alive where most is alive, and neither read
nor written there, whatever cheap kernels have made is made again behind it. Each of these values
is tried alone, and all of them together; the best is kept when it lowers what the method needs,
and the search goes on: what the kernels read may be made again, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from onearena.delegates.xnnpack.work import MOST_WORK
from onearena.drafts import Draft, Drafter, best_of
from onearena.peak import live_bytes
from onearena.pte.schema import KernelCall
from onearena.pte.tensors import ELEMENT_BYTES, tensor_bytes
from onearena.repetition import Repeat, repeatable, repeats_over
from onearena.timeline.steps import MethodSteps

_MAX_ROUNDS = 6
_TRIED = 4
"""So many values are tried alone."""
_NEAR = 0.97
"""Steps with at least this share of the peak count as peaks."""
_GAIN = 0.998
"""What a round must bring at least, in relation to before."""
_SMALL = 1 / 512
"""Values that are smaller than this share of the peak are kept: no round would bring enough."""
_ELEMENT = 16
"""What an element that a kernel makes counts, in multiplications of a delegate."""


def repeat_drafts(maker: Drafter, start: Draft) -> list[Draft]:
    """Drafts with kernels that run once more, each better than the one before and than `start`.

    Raises:
        FormatError: a payload contradicts itself.
    """
    return list(_drafts(maker, start))


def _drafts(maker: Drafter, best: Draft) -> Iterator[Draft]:
    steps = maker.method.steps
    kernels = [k for k, args in enumerate(steps.instructions) if isinstance(args, KernelCall)]
    spare = maker.more_work(_work(steps, kernels)) - best.more_work
    for _ in range(_MAX_ROUNDS):
        limit, found = best.search_bytes * _GAIN, None
        for repeats in _trials(maker, best):
            work = _work(maker.method.steps, [entry.instruction for entry in repeats])
            other = maker.repeating(repeats) if work <= spare else None
            if other is None:
                continue
            draft = replace(_like(other, best), repeat_work=best.repeat_work + work)
            cost = draft.search_bytes
            if cost < limit and draft.least_bytes <= best.least_bytes:
                limit, found = cost, (other, draft, work)
        if found is None:
            return
        maker, best, work = found
        spare -= work
        yield best


def _like(maker: Drafter, draft: Draft) -> Draft:
    """The draft of another form that is made as this one was."""
    if not draft.opened.payloads and not draft.opened.calls:
        return maker.closed()
    return best_of(maker.opened(draft.regions))


def _trials(maker: Drafter, draft: Draft) -> Iterator[tuple[Repeat, ...]]:
    """In instructions of the form that the maker has."""
    method, storage = draft.timeline.method, draft.timeline.storage
    live = live_bytes(draft.timeline)
    peak = max(live, default=0)
    is_full = [size >= _NEAR * peak for size in live]
    writers = repeatable(method, storage)
    sizes = {value: tensor_bytes(method.tensor(value)) or 0 for value in writers}
    writers = {value: k for value, k in writers.items() if sizes[value] >= _SMALL * peak}
    found = dict(repeats_over(method, storage, is_full, writers))
    order = draft.moved or tuple(range(len(method.instructions)))
    choices = [
        tuple(Repeat(order[r.instruction], order[r.before]) for r in found[value])
        for value in sorted(found, key=lambda value: -sizes[value])
    ]
    yield from choices[:_TRIED]
    if len(choices) > 1:
        yield tuple(r for repeats in choices for r in repeats)


def _work(method: MethodSteps, instructions: Iterable[int]) -> int:
    """Of kernels, by what they make."""
    total = 0
    for number in instructions:
        for value in method.steps[method.first_step[number]].roles.writes:
            tensor = method.tensor(value)
            width = ELEMENT_BYTES.get(tensor.scalar_type, 1)
            total += (tensor_bytes(tensor) or 0) // width
    return min(total * _ELEMENT, MOST_WORK)
