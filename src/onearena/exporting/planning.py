"""The planner as an algorithm of ExecuTorch's memory planning.

`planning_algorithm` is called like `executorch.exir.memory_planning.greedy` (ExecuTorch 1.5.1) and
may stand beside it in a `MemoryPlanningAlgorithmSuite`. At that point of an export nothing is known
of what is inside delegates: they stay closed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from onearena.errors import PlanError, VerificationError
from onearena.exporting.submodules import Submodules, find_submodules
from onearena.lifetime import Interval, Lifetime
from onearena.planners import plan as plan_problem
from onearena.problem import Buffer, Plan, Problem
from onearena.verification.plan import verify_plan

DEFAULT_TIME_LIMIT_S = 0.5


def planning_algorithm(
    alignment: int,
    specs: Collection[Any],
    graph_module: Any,
    graph_signature: Any,
    extra_padding: int = 0,
    *,
    time_limit_s: float = DEFAULT_TIME_LIMIT_S,
) -> Any:
    """Plans the tensors of a graph, for ExecuTorch's `MemoryPlanningAlgorithmSuite`.

    What a control-flow operator keeps in memory for its branches is reserved only while it runs
    and its results are read, and moves along with them; ExecuTorch's `greedy` reserves it for the
    whole method, at one place for all of them. The result is never larger than that of `greedy`,
    unless that one lets tensors overlap that are alive together.

    Args:
        alignment: of every offset, in bytes.
        specs: `TensorSpec`s with lifetimes; their `mem_id`, where they have one, stays.
        graph_module: what they belong to; its submodules have been planned before.
        graph_signature: of the method; not looked at.
        extra_padding: bytes to leave free at the end of every memory.
        time_limit_s: seconds to search for a plan that is above its lower bound. Give another one
            with `functools.partial(planning_algorithm, time_limit_s=5)`.

    Returns:
        A `MemoryAlgoResult`: a place per spec, the size of every memory.

    Raises:
        PlanError: a spec contradicts itself (no lifetime, no place for its storage).
        VerificationError: the plan is not safe; a fault of ours.
    """
    ordered = _in_order(specs, alignment)
    places = _Places(alignment, ordered, find_submodules(graph_module, ordered, alignment))
    found = plan_problem(places.problem, time_limit_s=time_limit_s)
    stock = _greedy(alignment, ordered, graph_module, graph_signature, extra_padding)
    theirs = places.as_plan(stock)
    if theirs is not None and theirs.total_bytes < found.total_bytes:
        found = theirs
    violations = verify_plan(places.problem, found)
    if violations:
        raise VerificationError(f"the plan is not safe: {violations[0]}")
    return places.result(found, extra_padding)


def _in_order(specs: Collection[Any], alignment: int) -> list[Any]:
    """The specs in an order that depends on the graph alone (some versions hand over a set)."""
    found = list(specs)
    for spec in found:
        spec.realign(alignment)
        if None in spec.lifetime:
            raise PlanError(f"{_name(spec)}: nothing reads or writes it")
    if isinstance(specs, Sequence):
        return found
    return sorted(found, key=lambda s: (s.lifetime, s.allocated_memory, _name(s)))


def _greedy(
    alignment: int, specs: list[Any], graph_module: Any, signature: Any, padding: int
) -> Any:
    """What ExecuTorch's own algorithm makes of the same tensors."""
    from executorch.exir.memory_planning import greedy

    return greedy(alignment, specs, graph_module, signature, padding)


class _Places:
    """Specs and submodules as buffers of a problem, and offsets back to them.

    Specs with a `storage_base` lie inside another spec's memory and are no buffers.
    """

    def __init__(self, alignment: int, specs: list[Any], submodules: Submodules) -> None:
        self._specs = specs
        self._submodules = submodules
        self._own = [spec for spec in specs if storage_of(spec) is None]
        position = {id(spec): k for k, spec in enumerate(self._own)}
        life = {id(spec): list(spec.lifetime) for spec in self._own}
        self._home: dict[int, tuple[int, int]] = {}
        for spec in specs:
            owner, delta = _owner(spec)
            if id(owner) not in position:
                raise PlanError(f"{_name(spec)}: the tensor whose storage it uses is not planned")
            _check_inside(spec, owner, delta, alignment)
            self._home[id(spec)] = (position[id(owner)], delta)
            span = life[id(owner)]
            span[:] = min(span[0], spec.lifetime[0]), max(span[1], spec.lifetime[1])
        buffers = [
            Buffer(
                k, s.allocated_memory, alignment, memory_of(s), _life(life[id(s)]), name=_name(s)
            )
            for k, s in enumerate(self._own)
        ]
        buffers += submodules.buffers(len(buffers), alignment)
        self.problem = Problem(tuple(buffers))

    def as_plan(self, result: Any) -> Plan | None:
        """ExecuTorch's result as a plan of our problem; None where it breaks one of its rules."""
        offsets = [result.spec_dict[spec].mem_offset for spec in self._own]
        offsets += [0] * len(self._submodules.regions)  # its algorithm never moves them
        plan = Plan(tuple(offsets), self._heights(offsets), {}, "greedy")
        return None if verify_plan(self.problem, plan) else plan

    def _heights(self, offsets: Sequence[int]) -> dict[int, int]:
        heights = dict.fromkeys(self.problem.arenas, 0)
        for buffer, offset in zip(self.problem.buffers, offsets, strict=True):
            heights[buffer.arena] = max(heights[buffer.arena], offset + buffer.size_bytes)
        return heights

    def result(self, plan: Plan, extra_padding: int) -> Any:
        """The plan as ExecuTorch wants it."""
        from executorch.exir.memory_planning import MemoryAlgoResult, SpecAllocResult

        objects = _shared_objects(self.problem, plan)
        placed: dict[Any, Any] = {}
        for spec in self._specs:
            buffer, delta = self._home[id(spec)]
            place = plan.offsets[buffer] + delta
            placed[spec] = SpecAllocResult(memory_of(spec), objects[buffer], place)
        for spec, region in self._submodules.moved():
            buffer = len(self._own) + region
            place = plan.offsets[buffer] + spec.mem_offset
            placed[spec] = SpecAllocResult(spec.mem_id, objects[buffer], place)
        sizes = [0] * max(2, 1 + max(plan.height_bytes, default=0))
        for arena, height in plan.height_bytes.items():
            sizes[arena] = height
        for arena in {memory_of(spec) for spec in self._own}:
            sizes[arena] += extra_padding
        return MemoryAlgoResult(placed, sizes)


def memory_of(spec: Any) -> int:
    """The memory_id of a spec; 1 where nobody chose one, as in ExecuTorch's algorithms."""
    return 1 if spec.mem_id is None else int(spec.mem_id)


def storage_of(spec: Any) -> Any:
    """The spec whose storage a spec uses; None where it has its own.

    ExecuTorch 1.5 calls it `storage_base`, 1.4 `inplace_base`.
    """
    if hasattr(spec, "storage_base"):
        return spec.storage_base
    return getattr(spec, "inplace_base", None)


def _owner(spec: Any) -> tuple[Any, int]:
    """Whose memory a spec lies in, and how many bytes from its start."""
    owner, delta, seen = spec, 0, {id(spec)}
    while (base := storage_of(owner)) is not None:
        if id(base) in seen:
            raise PlanError(f"{_name(spec)}: uses its own storage in a circle")
        seen.add(id(base))
        delta += int(getattr(owner, "storage_base_offset", 0))
        owner = base
    return owner, delta


def _check_inside(spec: Any, owner: Any, delta: int, alignment: int) -> None:
    if spec is owner:
        return
    if delta % alignment:
        raise PlanError(f"{_name(spec)}: {delta} bytes into a storage are not aligned")
    if delta < 0 or delta + spec.allocated_memory > owner.allocated_memory:
        raise PlanError(f"{_name(spec)}: does not fit into the storage of {_name(owner)}")


def _life(span: Sequence[int]) -> Lifetime:
    """ExecuTorch's lifetimes name the last node, too."""
    return (Interval(span[0], span[1] + 1),)


def _name(spec: Any) -> str:
    dtype = str(spec.dtype).removeprefix("torch.")
    return f"tensor {dtype} {list(spec.shape)} of nodes {spec.lifetime[0]} to {spec.lifetime[1]}"


def _shared_objects(problem: Problem, plan: Plan) -> list[int]:
    """By buffer, a number that buffers have in common when bytes connect them.

    ExecuTorch calls this `mem_obj_id`; its verifier wants it to be equal for two tensors that
    share a byte.
    """
    numbers = [0] * len(problem.buffers)
    end: dict[int, int] = {}
    count = 0
    for buffer in sorted(problem.buffers, key=lambda b: (b.arena, plan.offsets[b.id])):
        start = plan.offsets[buffer.id]
        if start >= end.get(buffer.arena, 0):
            count += 1
        numbers[buffer.id] = count - 1
        end[buffer.arena] = max(end.get(buffer.arena, 0), start + buffer.size_bytes)
    return numbers
