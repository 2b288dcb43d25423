"""ExecuTorch's memory planning pass, with onearena's planner. Importing it needs ExecuTorch."""

from __future__ import annotations

import functools
from typing import Any

from onearena.errors import RuntimeUnavailableError
from onearena.exporting.planning import DEFAULT_TIME_LIMIT_S, planning_algorithm

try:
    from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite
    from executorch.exir.passes import MemoryPlanningPass as _StockPass
except ImportError as error:
    raise RuntimeUnavailableError(
        "MemoryPlanningPass needs ExecuTorch; install it with: pip install 'onearena[run]'"
    ) from error


class MemoryPlanningPass(_StockPass):  # type: ignore[misc] # untyped base
    """Goes where ExecuTorch's pass of this name goes: `ExecutorchBackendConfig`.

    For exports that must end in ExecuTorch's own `to_executorch`. Delegates stay closed, and the
    order of the graph stays; :func:`onearena.to_executorch` does more.

    Args:
        memory_planning_algo: another algorithm, as ExecuTorch's pass takes it; onearena's without.
        time_limit_s: seconds to search for each plan that is above its lower bound.
        options: everything else that ExecuTorch's pass takes, such as `alloc_graph_input`.
    """

    def __init__(
        self,
        memory_planning_algo: Any = None,
        *,
        time_limit_s: float = DEFAULT_TIME_LIMIT_S,
        **options: Any,
    ) -> None:
        if memory_planning_algo is None:
            algorithm = functools.partial(planning_algorithm, time_limit_s=time_limit_s)
            memory_planning_algo = MemoryPlanningAlgorithmSuite([algorithm])
        super().__init__(memory_planning_algo, **options)
