"""How large something is: of a method, or of a whole program; or why that is not known.

Of a whole program is what its methods need together when they are loaded one beside the other
as in the stock Python runtime: an arena, or the shared workspace, is as large as the largest
method's; what each method or delegate keeps for itself is added up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from onearena.checking.budget import ARENA, WORKSPACE, Quantity
from onearena.sizes.file_parts import FileSizes
from onearena.summary.model import MethodSummary, ProgramSummary


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of bytes.

    Attributes:
        size_bytes: None when it is not known.
        methods: of a whole program, the methods that set it.
        unknown: why it is not known.
    """

    size_bytes: int | None
    methods: tuple[str, ...] = ()
    unknown: str | None = None


@dataclass(frozen=True)
class Sizes:
    """What is known about a program.

    Attributes:
        summary: of the file.
        file: what it is made of; None if that is not known.
        allocators: by method, what its method allocator must hold; empty if nobody asked.
    """

    summary: ProgramSummary
    allocators: Mapping[str, Amount] = field(default_factory=dict)
    file: FileSizes | None = None

    @property
    def method_names(self) -> tuple[str, ...]:
        """In program order."""
        return tuple(method.name for method in self.summary.methods)


def method_amount(sizes: Sizes, name: str, quantity: Quantity) -> Amount:
    """A quantity of one method of the program."""
    method = sizes.summary.method(name)
    assert method is not None
    assert quantity.is_per_method
    if quantity.name == "method_allocator":
        return sizes.allocators.get(name, Amount(None, unknown="it was not computed"))
    if quantity.memory_id is not None:
        return Amount(_arenas(method).get(quantity.memory_id, 0))
    return _METHOD[quantity.name](method)


def program_amount(sizes: Sizes, quantity: Quantity) -> Amount:
    """A quantity of the whole program."""
    summary = sizes.summary
    if quantity.name == "file":
        return Amount(summary.file_bytes)
    if quantity.name == "constants":
        return Amount(summary.constants_bytes)
    if quantity.name == "total":
        return _sum([program_amount(sizes, ARENA), program_amount(sizes, WORKSPACE)])
    if quantity == ARENA:
        ids = {number for method in summary.methods for number in _arenas(method)}
        return _sum([program_amount(sizes, Quantity("arena", number)) for number in sorted(ids)])
    found = {name: method_amount(sizes, name, quantity) for name in sizes.method_names}
    join = _each if quantity.name in ("indirection", "method_allocator") else _largest
    return join(found)


def _arenas(method: MethodSummary) -> Mapping[int, int]:
    return {arena.memory_id: arena.size_bytes for arena in method.arenas}


def _workspace(method: MethodSummary) -> Amount:
    size, backends = method.workspace.global_bytes, method.workspace.unknown
    if size is None:
        return Amount(None, unknown=f"the workspace of {', '.join(backends)} is not known")
    return Amount(size)


def _total(method: MethodSummary) -> Amount:
    return _sum([Amount(method.arena_bytes), _workspace(method)])


def _indirection(method: MethodSummary) -> Amount:
    called = [delegate for delegate in method.delegates if delegate.calls]
    unknown = dict.fromkeys(d.backend for d in called if d.indirection_bytes is None)
    if unknown:
        return Amount(None, unknown=f"what {', '.join(unknown)} keeps is not known")
    return Amount(sum(delegate.indirection_bytes or 0 for delegate in called))


_METHOD: Mapping[str, Callable[[MethodSummary], Amount]] = {
    "arena": lambda method: Amount(method.arena_bytes),
    "workspace": _workspace,
    "total": _total,
    "state": lambda method: Amount(method.state_bytes),
    "indirection": _indirection,
}


def _sum(amounts: list[Amount]) -> Amount:
    for amount in amounts:
        if amount.size_bytes is None:
            return amount
    names = dict.fromkeys(name for amount in amounts for name in amount.methods)
    return Amount(sum(amount.size_bytes or 0 for amount in amounts), tuple(names))


def _unknown(found: Mapping[str, Amount]) -> Amount | None:
    for name, amount in found.items():
        if amount.size_bytes is None:
            return Amount(None, (name,), amount.unknown)
    return None


def _largest(found: Mapping[str, Amount]) -> Amount:
    unknown = _unknown(found)
    if unknown is not None or not found:
        return unknown or Amount(0)
    name = max(found, key=lambda name: found[name].size_bytes or 0)
    size = found[name].size_bytes
    return Amount(size, (name,) if size else ())


def _each(found: Mapping[str, Amount]) -> Amount:
    unknown = _unknown(found)
    if unknown is not None:
        return unknown
    taking = tuple(name for name, amount in found.items() if amount.size_bytes)
    return Amount(sum(amount.size_bytes or 0 for amount in found.values()), taking)
