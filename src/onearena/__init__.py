"""onearena: one memory plan for an ExecuTorch program and all of its delegates.

The functions here are the library's whole public interface:

    import onearena
    report = onearena.optimize("model.pte", "small.pte")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from onearena.advice.explain import explain
    from onearena.advice.model import Advice, Explanation
    from onearena.bundling.bundle import bundle
    from onearena.bundling.results import BundleReport, NotReproducedError
    from onearena.engine.arena import Arena
    from onearena.engine.embedding import embed_description
    from onearena.engine.errors import ArenaBusyError, ArenaLimitError
    from onearena.engine.memory import MethodMemory
    from onearena.engine.model import LoadedMethod, Model
    from onearena.engine.runtime import Runtime
    from onearena.errors import InfeasibleError, OnearenaError, PlanError, PlanTimeoutError
    from onearena.exporting.convert import to_executorch
    from onearena.exporting.etrecord import etrecord_for
    from onearena.exporting.planning import planning_algorithm
    from onearena.exporting.planning_pass import MemoryPlanningPass as MemoryPlanningPass
    from onearena.exporting.program import OptimizedProgram as OptimizedProgram
    from onearena.lifetime import Interval
    from onearena.options import Options
    from onearena.pipeline import inspect, optimize, verify
    from onearena.planners.native import plan
    from onearena.problem import Buffer, Member, Memory, Plan, Problem, Window
    from onearena.problem_files.store import (
        ProblemFile,
        read_plan,
        read_problem,
        write_plan,
        write_problem,
    )
    from onearena.results import (
        Footprint,
        LiveTensor,
        MethodReport,
        Peak,
        ProgramReport,
        VerifyReport,
    )
    from onearena.runtime.compare import CompareReport, compare
    from onearena.simulator.results import Clobber, MethodSimulation, SimulationReport
    from onearena.simulator.simulate import simulate
    from onearena.sizes.file_parts import FileSizes
    from onearena.sizes.program import program_sizes
    from onearena.sizes.results import MethodPools, Pool, ProgramPools
    from onearena.summary.build import summarize
    from onearena.summary.model import ProgramSummary
    from onearena.verification.violation import Violation

_PUBLIC = {
    "OnearenaError": "onearena.errors",
    "Advice": "onearena.advice.model",
    "Explanation": "onearena.advice.model",
    "Arena": "onearena.engine.arena",
    "ArenaBusyError": "onearena.engine.errors",
    "bundle": "onearena.bundling.bundle",
    "BundleReport": "onearena.bundling.results",
    "NotReproducedError": "onearena.bundling.results",
    "ArenaLimitError": "onearena.engine.errors",
    "LoadedMethod": "onearena.engine.model",
    "MethodMemory": "onearena.engine.memory",
    "Model": "onearena.engine.model",
    "Runtime": "onearena.engine.runtime",
    "embed_description": "onearena.engine.embedding",
    "explain": "onearena.advice.explain",
    "etrecord_for": "onearena.exporting.etrecord",
    "MemoryPlanningPass": "onearena.exporting.planning_pass",
    "OptimizedProgram": "onearena.exporting.program",
    "planning_algorithm": "onearena.exporting.planning",
    "to_executorch": "onearena.exporting.convert",
    "Options": "onearena.options",
    "inspect": "onearena.pipeline",
    "optimize": "onearena.pipeline",
    "verify": "onearena.pipeline",
    "Footprint": "onearena.results",
    "LiveTensor": "onearena.results",
    "MethodReport": "onearena.results",
    "Peak": "onearena.results",
    "ProgramReport": "onearena.results",
    "VerifyReport": "onearena.results",
    "CompareReport": "onearena.runtime.compare",
    "compare": "onearena.runtime.compare",
    "Clobber": "onearena.simulator.results",
    "MethodSimulation": "onearena.simulator.results",
    "SimulationReport": "onearena.simulator.results",
    "simulate": "onearena.simulator.simulate",
    "FileSizes": "onearena.sizes.file_parts",
    "MethodPools": "onearena.sizes.results",
    "Pool": "onearena.sizes.results",
    "ProgramPools": "onearena.sizes.results",
    "program_sizes": "onearena.sizes.program",
    "ProgramSummary": "onearena.summary.model",
    "summarize": "onearena.summary.build",
    "Violation": "onearena.verification.violation",
    "InfeasibleError": "onearena.errors",
    "PlanError": "onearena.errors",
    "PlanTimeoutError": "onearena.errors",
    "Interval": "onearena.lifetime",
    "Buffer": "onearena.problem",
    "Member": "onearena.problem",
    "Memory": "onearena.problem",
    "Plan": "onearena.problem",
    "Problem": "onearena.problem",
    "Window": "onearena.problem",
    "plan": "onearena.planners.native",
    "ProblemFile": "onearena.problem_files.store",
    "read_plan": "onearena.problem_files.store",
    "read_problem": "onearena.problem_files.store",
    "write_plan": "onearena.problem_files.store",
    "write_problem": "onearena.problem_files.store",
}

# Two public classes are not here: they inherit from ExecuTorch's, and `import *` would import it.
__all__ = [
    "Advice",
    "Arena",
    "ArenaBusyError",
    "ArenaLimitError",
    "Buffer",
    "BundleReport",
    "Clobber",
    "CompareReport",
    "Explanation",
    "FileSizes",
    "Footprint",
    "InfeasibleError",
    "Interval",
    "LiveTensor",
    "LoadedMethod",
    "Member",
    "Memory",
    "MethodMemory",
    "MethodPools",
    "MethodReport",
    "MethodSimulation",
    "Model",
    "NotReproducedError",
    "OnearenaError",
    "Options",
    "Peak",
    "Plan",
    "PlanError",
    "PlanTimeoutError",
    "Pool",
    "Problem",
    "ProblemFile",
    "ProgramPools",
    "ProgramReport",
    "ProgramSummary",
    "Runtime",
    "SimulationReport",
    "VerifyReport",
    "Violation",
    "Window",
    "__version__",
    "bundle",
    "compare",
    "embed_description",
    "etrecord_for",
    "explain",
    "inspect",
    "optimize",
    "plan",
    "planning_algorithm",
    "program_sizes",
    "read_plan",
    "read_problem",
    "simulate",
    "summarize",
    "to_executorch",
    "verify",
    "write_plan",
    "write_problem",
]


def __getattr__(name: str) -> Any:
    """Loads the public names when they are first used: starting the command line stays quick."""
    from importlib import import_module

    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted({*globals(), *_PUBLIC})
