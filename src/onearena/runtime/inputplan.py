"""Which inputs the runs of a method get: decided once, then the same for every program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onearena.pte import PteFile
from onearena.pte.schema import ExecutionPlan
from onearena.runtime.flow import MethodFlow, method_flow
from onearena.runtime.inputs import INTEGERS, Strategy, random_inputs
from onearena.runtime.ranges import IntRange, input_ranges
from onearena.runtime.signature import Signature, SizeSet, TensorInput, signature_of
from onearena.runtime.userinputs import check_inputs, load_inputs


@dataclass(frozen=True)
class InputPlan:
    """The inputs of a method's runs.

    Attributes:
        method: its name.
        sizes: run k has the sizes number k (modulo their count); the largest come first.
        strategy: how integers are drawn.
        seed: together with the number of the run it gives the numbers.
        files: instead of random numbers, what is in these files, in every run.
        is_stateful: whether the method keeps something from run to run.
    """

    method: str
    sizes: tuple[SizeSet, ...]
    strategy: Strategy
    seed: int
    files: tuple[str, ...] | None = None
    is_stateful: bool = False

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "method": self.method,
            "sizes": self.sizes,
            "strategy": self.strategy.value,
            "seed": self.seed,
            "files": self.files,
            "is_stateful": self.is_stateful,
        }

    @classmethod
    def from_json(cls, plan: Mapping[str, Any]) -> InputPlan:
        """From the object that :meth:`to_json` made."""
        return cls(
            method=plan["method"],
            sizes=tuple(
                tuple(None if x is None else tuple(x) for x in sizes) for sizes in plan["sizes"]
            ),
            strategy=Strategy(plan["strategy"]),
            seed=plan["seed"],
            files=None if plan["files"] is None else tuple(plan["files"]),
            is_stateful=plan["is_stateful"],
        )


@dataclass(frozen=True)
class MethodFacts:
    """What the file says about the inputs of a method."""

    signature: Signature
    ranges: Mapping[int, IntRange]
    is_stateful: bool

    @classmethod
    def of(cls, file: PteFile, plan: ExecutionPlan) -> MethodFacts:
        """Reads the facts.

        Raises:
            AnalysisError: the method's indices are out of range.
        """
        flow: MethodFlow = method_flow(file, plan)  # checks the indices, so it comes first
        return cls(signature_of(plan), input_ranges(plan, flow), bool(flow.state))

    @property
    def needs_probe(self) -> bool:
        """Whether only a trial run can tell which sizes or integers the method accepts."""
        return self.signature.is_dynamic or self.has_integers

    @property
    def has_integers(self) -> bool:
        """Whether some input is a tensor of integers."""
        return any(
            isinstance(x, TensorInput) and x.scalar_type in INTEGERS for x in self.signature.inputs
        )

    def default_plan(self, seed: int, files: tuple[str, ...] | None = None) -> InputPlan:
        """The largest sizes, integers from the inferred ranges."""
        sizes = (self.signature.bound,)
        name, stateful = self.signature.name, self.is_stateful
        return InputPlan(name, sizes, Strategy.INFERRED, seed, files, stateful)


class InputSource:
    """Makes the inputs that a plan describes. Needs torch and numpy."""

    def __init__(self, facts: MethodFacts, plan: InputPlan) -> None:
        """Loads the user's files, if there are any.

        Raises:
            FormatError: a file cannot be read.
            UsageError: its content does not suit the method.
        """
        self._facts, self._plan = facts, plan
        self._given: list[Any] | None = None
        if plan.files is not None:
            self._given = check_inputs(facts.signature, load_inputs(plan.files))

    def inputs(self, run: int) -> list[Any]:
        """The inputs of run number `run`, in memory of their own."""
        if self._given is not None:
            return [x.clone() if hasattr(x, "clone") else x for x in self._given]
        plan = self._plan
        return random_inputs(
            self._facts.signature,
            self._facts.ranges,
            self.sizes(run),
            seed=plan.seed,
            run=run,
            strategy=plan.strategy,
        )

    def sizes(self, run: int) -> SizeSet:
        """The sizes of the inputs of run number `run`."""
        if self._given is not None:
            return tuple(tuple(x.shape) if hasattr(x, "shape") else None for x in self._given)
        return self._plan.sizes[run % len(self._plan.sizes)]
