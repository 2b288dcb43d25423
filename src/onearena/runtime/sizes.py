"""Proposes input sizes for methods whose shapes are only known at run time.

The file records upper bounds: not which dimensions move, nor how they are tied. Sensible
guesses are groups of dimensions that exporters tie (height and width, the sequence, the
batch, equal bounds) at fractions of their bound. What the program refuses, or computes from
memory it never wrote, is thrown away by the caller.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from onearena.runtime.signature import Signature, SizeSet, TensorInput

_Dim = tuple[int, int]
"""(input position, dimension)"""

_SMALLEST = 4  # smaller dimensions are channels or coordinates: they do not move
_SMALLEST_SPATIAL = 8


@dataclass(frozen=True)
class Group:
    """Dimensions that are scaled together.

    The first of the candidates is the likeliest to be accepted: when it is refused, the
    others are hopeless.
    """

    what: str
    candidates: tuple[SizeSet, ...]


def size_groups(signature: Signature) -> Iterator[Group]:
    """Groups of smaller sizes to try, the likeliest first."""
    dims = _movable(signature)
    seen: set[frozenset[_Dim]] = set()
    for what, chosen in _guesses(signature, dims):
        if chosen and chosen not in seen:
            seen.add(chosen)
            yield Group(what, _candidates(signature, chosen))


def _movable(signature: Signature) -> dict[_Dim, int]:
    """The bound of every dimension that may be smaller."""
    return {
        (position, dim): bound
        for position, spec in enumerate(signature.inputs)
        if isinstance(spec, TensorInput) and spec.is_dynamic
        for dim, bound in enumerate(spec.sizes)
        if bound >= _SMALLEST
    }


def _guesses(signature: Signature, dims: dict[_Dim, int]) -> Iterator[tuple[str, frozenset[_Dim]]]:
    ranks = {p: len(x.sizes) for p, x in enumerate(signature.inputs) if isinstance(x, TensorInput)}
    images = {d for d in dims if ranks[d[0]] >= 4 and d[1] >= ranks[d[0]] - 2}
    if all(dims[d] >= _SMALLEST_SPATIAL for d in images):
        yield "last two dimensions", frozenset(images)
    bounds = sorted(set(dims.values()), key=lambda b: -sum(x == b for x in dims.values()))
    for bound in bounds:
        yield f"dimensions of {bound}", frozenset(d for d in dims if dims[d] == bound)
    for back in (1, 2):
        chosen = frozenset(d for d in dims if d[1] == ranks[d[0]] - back)
        yield f"dimension -{back}", chosen
    yield "first dimension", frozenset(d for d in dims if d[1] == 0)
    yield "all dimensions", frozenset(dims)


def _candidates(signature: Signature, chosen: frozenset[_Dim]) -> tuple[SizeSet, ...]:
    """Half of the bound; sizes that are no simple fraction of it; a quarter."""
    tried = [_scaled(signature, chosen, 1, 2)]
    if len({dim for _, dim in chosen}) > 1:
        tried.append(_unequal(signature, chosen))
    tried += [_uneven(signature, chosen)]
    tried += [_scaled(signature, chosen, 3, 4), _scaled(signature, chosen, 1, 4)]
    bound = signature.bound
    return tuple(dict.fromkeys(sizes for sizes in tried if sizes != bound))


def _scaled(signature: Signature, chosen: frozenset[_Dim], above: int, below: int) -> SizeSet:
    return _with(signature, {d: _bound(signature, d) * above // below for d in chosen})


def _uneven(signature: Signature, chosen: frozenset[_Dim]) -> SizeSet:
    """About 0.7 of the bound, an odd number."""
    return _with(signature, {d: _bound(signature, d) * 7 // 10 | 1 for d in chosen})


def _unequal(signature: Signature, chosen: frozenset[_Dim]) -> SizeSet:
    """The last of the dimensions at a half, the others at the bound: tied dimensions refuse."""
    last = max(dim for _, dim in chosen)
    return _with(signature, {d: _bound(signature, d) // 2 for d in chosen if d[1] == last})


def _bound(signature: Signature, dim: _Dim) -> int:
    sizes = signature.bound[dim[0]]
    assert sizes is not None
    return sizes[dim[1]]


def _with(signature: Signature, changed: dict[_Dim, int]) -> SizeSet:
    """The bound with some dimensions changed, none below 1 nor above the bound."""
    return tuple(
        None
        if sizes is None
        else tuple(
            max(1, min(bound, changed.get((position, dim), bound)))
            for dim, bound in enumerate(sizes)
        )
        for position, sizes in enumerate(signature.bound)
    )
