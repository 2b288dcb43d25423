"""The compiled planner and verifier; see cpp/include/onearena."""

from collections.abc import Callable
from types import MemberDescriptorType
from typing import Any

class MalformedProblemError(ValueError): ...

class Problem:
    def __init__(self) -> None: ...
    def add_buffer(
        self,
        size: int,
        alignment: int,
        begin: int,
        end: int,
        gaps: list[tuple[int, int, int, int]],
        offset: int,
        hint: int,
        low: int,
        high: int,
        is_last: bool,
        memories: list[int],
        /,
    ) -> None: ...
    def add_group(self, members: list[tuple[int, int]], /) -> None: ...
    def add_pair(self, first: int, second: int, /) -> None: ...
    def add_memory(self, capacity: int, weight: int, /) -> None: ...

class Plan:
    status: str
    offsets: list[int]
    memories: list[int]
    heights: list[int]
    lower_bounds: list[int]
    cost: int
    cost_bound: int
    method: str
    nodes: int
    conflict: list[int]

def plan(
    problem: Problem,
    time_limit_s: float = 1.0,
    threads: int = 1,
    seed: int = 0,
    fit_only: bool = False,
    node_limit: int = ...,
    switched_off: int = 0,
) -> Plan: ...
def lower_bound(problem: Problem, memory: int = 0) -> int: ...
def verify(
    problem: Problem, offsets: list[int], memories: list[int], heights: list[int]
) -> list[tuple[str, int, int]]: ...

class Replanner:
    def __init__(self, problem: Problem) -> None: ...
    def replan(self, sizes: list[int]) -> list[int]: ...

class TableReader:
    def __init__(
        self,
        classes: list[
            tuple[
                type[Any],
                int,
                list[tuple[MemberDescriptorType, int, int, str, Any, list[int]]],
            ]
        ],
    ) -> None: ...
    def decode(self, buffer: memoryview, make_blob: Callable[[int, int], Any]) -> Any: ...

def schedule(
    memories: list[tuple[int, bool, bool]],
    operations: list[tuple[int, list[tuple[list[int], list[tuple[int, int]]]]]],
    precedes: list[tuple[int, int]],
    state_limit: int = ...,
    beam_width: int = ...,
    window: int = ...,
) -> tuple[list[int], int, int, int]: ...
def peak_of(
    memories: list[tuple[int, bool, bool]],
    operations: list[tuple[int, list[tuple[list[int], list[tuple[int, int]]]]]],
    precedes: list[tuple[int, int]],
    order: list[int],
) -> int: ...
