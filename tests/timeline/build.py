"""From small programs to their steps, storage and timelines."""

from __future__ import annotations

from onearena.delegates.xnnpack.simplify_switches import NO_SIMPLIFICATIONS
from onearena.opening import OpenedMethod, open_method
from onearena.program import analyse_steps, boundaries
from onearena.pte.container import PteFile
from onearena.pte.schema import SubsegmentOffsets
from onearena.timeline.build import Timeline, build_timeline
from onearena.timeline.steps import MethodSteps, method_steps
from onearena.timeline.storage import Storage, analyse_storage
from tests.delegates.nets import Net
from tests.pte.build import Method, pte_file


def program(method: Method, *nets: Net) -> PteFile:
    """A file with one method; its delegate number k, added with `xnnpack`, has payload k."""
    constants = SubsegmentOffsets(len(nets), (0,))
    segments = [*(net.payload() for net in nets), bytes(16)]
    return pte_file(method, segments=segments, constant_segment=constants)


def xnnpack(method: Method, *args: int, payload: int = 0) -> int:
    """Adds a call of payload number `payload`; returns its instruction."""
    known = [d.processed.index for d in method.delegates if d.processed is not None]
    if payload not in known:
        method.delegate("XnnpackBackend", payload)
        known.append(payload)
    return method.call_delegate(known.index(payload), *args)


def steps_of(method: Method, *nets: Net) -> MethodSteps:
    """The steps of the method as it stands."""
    file = program(method, *nets)
    return analyse_steps(file, (file.program.execution_plan or ())[0])[1]


def storage_of(method: Method, *nets: Net) -> Storage:
    return analyse_storage(steps_of(method, *nets), frozenset())


def opened_method(method: Method, *nets: Net) -> tuple[OpenedMethod, MethodSteps]:
    """The method with its calls opened, and the steps it then has."""
    file = program(method, *nets)
    plan = (file.program.execution_plan or ())[0]
    payloads, _ = analyse_steps(file, plan)
    opened = open_method(plan, payloads, "test", switches=NO_SIMPLIFICATIONS)
    edges = boundaries(plan, payloads)
    return opened, method_steps(opened.plan, opened.calls, "test", edges)


def timeline_of(method: Method, *nets: Net, is_open: bool = False) -> Timeline:
    if not is_open:
        return build_timeline(steps_of(method, *nets))
    opened, steps = opened_method(method, *nets)
    return build_timeline(steps, opened.added)


def alive(storage: Storage, value: int) -> list[int]:
    """The steps at which a value is alive."""
    return [s for i in storage.lifetimes[value] for s in range(i.start, i.end)]
