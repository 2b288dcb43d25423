"""Which instructions of a method may move, and a simple way to move them to where less is alive.

Only kernels whose effect is known move: out variants of ATen operators that neither draw
random numbers nor touch state, aliased memory or numbers computed at run time. Delegate
calls and everything else keep their order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from onearena.ordering import Operation, Sizes, lower_live_bytes
from onearena.pte.schema import ExecutionPlan, KernelCall
from onearena.timeline.numbers import computed_numbers, named_values
from onearena.timeline.steps import MethodSteps, Step
from onearena.timeline.storage import Storage

_MOVABLE_NAMESPACES = ("aten::", "dim_order_ops::")
_RANDOM = ("rand", "bernoulli", "dropout", "normal", "multinomial", "poisson", "exponential")


@dataclass(frozen=True)
class Reordered:
    """A method with its instructions in another order; `order[new] = old`."""

    plan: ExecutionPlan
    order: tuple[int, ...]


def reorder_kernels(method: MethodSteps, storage: Storage) -> Reordered | None:
    """A better order of the method's instructions; None when nothing moves."""
    chains = method.plan.chains or ()
    if not method.flow.is_straight or len(chains) != 1:
        return None
    return _Reorder(method, storage).run()


def reordered_plan(plan: ExecutionPlan, order: tuple[int, ...]) -> ExecutionPlan:
    """A method with one chain, its instructions in another order (`order[new] = old`); one that
    the order leaves out goes, and one that it has twice is there twice."""
    chain = (plan.chains or ())[0]
    instructions, traces = chain.instructions or (), chain.stacktrace
    if traces is not None and len(traces) == len(instructions):
        traces = tuple(traces[k] for k in order)
    moved = tuple(instructions[k] for k in order)
    chain = replace(chain, instructions=moved, stacktrace=traces)
    return replace(plan, chains=(chain,))


class Dependences:
    """Which instructions may move, and which memory orders the others."""

    def __init__(self, method: MethodSteps, storage: Storage) -> None:
        """Looks at the instructions of a method in their order."""
        self._method = method
        self._storage = storage
        self._computed = computed_numbers(method)
        self._grouped = {value for group in storage.groups for value in group}
        self.root = {value: value for value in storage.memories}
        for group in storage.groups:
            self.root.update((value, group[0]) for value in group)

    def keys(self, value: int) -> set[int]:
        """The value itself and all memory that it may name."""
        targets = self._storage.accesses.points_to.get(value, frozenset())
        return {value, *(self.root.get(target, target) for target in (value, *targets))}

    def is_movable(self, instruction: int) -> bool:
        """True for kernels whose effect is known; calls keep their order, the verifier insists."""
        method, storage = self._method, self._storage
        call = method.instructions[instruction]
        first, end = method.first_step[instruction : instruction + 2]
        if not isinstance(call, KernelCall) or not self._is_known(method.steps[first], call):
            return False
        roles = [step.roles for step in method.steps[first:end]]
        writes = {value for found in roles for value in found.writes}
        fixed = self._grouped | storage.state | storage.pinned.keys()
        if not writes or any(v not in storage.memories or v in fixed for v in writes):
            return False
        if any(storage.state.intersection(found.reads) for found in roles):
            return False
        return not self._computed.intersection(named_values(method.plan, call.args or ()))

    def _is_known(self, step: Step, call: KernelCall) -> bool:
        name = (self._method.plan.operators or ())[call.op_index].name or ""
        if not name.startswith(_MOVABLE_NAMESPACES) or any(r in name for r in _RANDOM):
            return False
        return step.roles.understood and not step.roles.aliases and not step.roles.in_place


class _Reorder:
    def __init__(self, method: MethodSteps, storage: Storage) -> None:
        self._method = method
        self._storage = storage
        self._dependences = Dependences(method, storage)

    def run(self) -> Reordered | None:
        operations = [self._operation(k) for k in range(len(self._method.instructions))]
        order = lower_live_bytes(operations, self._sizes())
        if order == tuple(range(len(order))):
            return None
        return Reordered(reordered_plan(self._method.plan, order), order)

    def _sizes(self) -> Sizes:
        """By the memory that values share; state, outputs and pinned values stay to the end."""
        sizes: dict[int, int] = {}
        root = self._dependences.root
        for value, memory in self._storage.memories.items():
            key = root[value]
            sizes[key] = max(sizes.get(key, 0), memory.size_bytes)
        lasting = (*self._method.outputs, *self._storage.state, *self._storage.pinned)
        return Sizes(sizes, frozenset(root.get(value, value) for value in lasting))

    def _operation(self, instruction: int) -> Operation:
        first, end = self._method.first_step[instruction : instruction + 2]
        keys = self._dependences.keys
        reads: set[int] = set()
        writes: set[int] = set()
        for step in self._method.steps[first:end]:
            reads.update(key for value in step.roles.reads for key in keys(value))
            writes.update(key for value in step.roles.writes for key in keys(value))
            for base, view in step.roles.aliases:
                reads.update(keys(base))
                writes.update(keys(view))
        movable = self._dependences.is_movable(instruction)
        return Operation(frozenset(reads - writes), frozenset(writes), movable)
