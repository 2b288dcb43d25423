"""Finds out by trial runs which integers and which sizes a program accepts (child side)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from onearena.errors import ExecutionError, OnearenaError, UsageError
from onearena.program import analyse_method
from onearena.pte import PteFile, open_pte
from onearena.pte.schema import ExecutionPlan
from onearena.runtime.bits import compare_outputs
from onearena.runtime.inputplan import InputPlan, InputSource, MethodFacts
from onearena.runtime.inputs import Strategy
from onearena.runtime.session import Session
from onearena.runtime.signature import SizeSet, select_plans
from onearena.runtime.sizes import size_groups
from onearena.runtime.worker import Desk
from onearena.shapes.live import live_sizes

MAX_SIZES = 5
"""Size sets per method, the bound included."""
_MAX_PER_GROUP = 3
_ALWAYS_TRIED = "first dimension"  # batches are independent of everything else
_TRIAL, _DIRT = 1_000_000, 2_000_000  # run numbers that the comparison itself never uses


def probe_job(job: dict[str, Any], desk: Desk) -> dict[str, Any]:
    """The job `probe`: path, methods, seed, verdicts → an input plan per method.

    `verdicts` holds what earlier children found out, by key: "" for accepted, else why not.
    A child that dies has written its own into the file that the parent named.
    """
    ledger = _Ledger(dict(job["verdicts"]), job["ledger"])
    plans = []
    with open_pte(job["path"]) as file, Session(job["path"], desk.log("a")) as session:
        for name in job["methods"]:
            plan = select_plans(file.program, name, file.path)[0]
            facts = MethodFacts.of(file, plan)
            prober = _Prober(session, facts, job["seed"], ledger, desk, _refuses(file, plan))
            plans.append(prober.input_plan().to_json())
    return {"plans": plans}


def _refuses(file: PteFile, plan: ExecutionPlan) -> Callable[[SizeSet], str]:
    """Tells why operators of a method cannot work at some sizes; "" when nothing is known against
    them.

    Up to version 1.4 the runtime does not look whether shapes inside a delegate fit together.
    """
    analysed = cache(partial(analyse_method, file, plan))  # only if there are sizes to choose

    def refusal(sizes: SizeSet) -> str:
        try:
            live_sizes(analysed(), {k: dims for k, dims in enumerate(sizes) if dims is not None})
        except UsageError as error:
            return str(error)
        except OnearenaError:
            return ""  # nothing is known
        return ""

    return refusal


class _Ledger:
    """Verdicts by key. Those found now are appended to a file at once: trials may crash."""

    def __init__(self, verdicts: dict[str, str], path: str) -> None:
        self._verdicts, self._path = verdicts, path

    def verdict(self, key: str, trial: Callable[[], str]) -> str:
        """The known verdict for `key`, or that of `trial` ("" is good)."""
        if key not in self._verdicts:
            self._append({"trying": key})
            self._verdicts[key] = trial()
            self._append({"key": key, "verdict": self._verdicts[key]})
        return self._verdicts[key]

    def _append(self, entry: dict[str, str]) -> None:
        with open(self._path, "a", encoding="utf-8") as stream:
            stream.write(json.dumps(entry) + "\n")


class _Prober:
    def __init__(
        self,
        session: Session,
        facts: MethodFacts,
        seed: int,
        ledger: _Ledger,
        desk: Desk,
        refuses: Callable[[SizeSet], str],
    ) -> None:
        self._session, self._facts, self._ledger, self._desk = session, facts, ledger, desk
        self._refuses = refuses
        self._plan = facts.default_plan(seed)

    def input_plan(self) -> InputPlan:
        """The plan for the method.

        Raises:
            ExecutionError: the program accepts none of the inputs we can think of.
        """
        self._plan = replace(self._plan, strategy=self._strategy())
        bound = self._facts.signature.bound
        return replace(self._plan, sizes=(bound, *self._accepted()))

    def _strategy(self) -> Strategy:
        self._desk.note(f"{self._session.path}: loading", "a")
        self._session.load(self._plan.method)  # what fails here, no input can mend
        reasons = []
        for strategy in Strategy if self._facts.has_integers else (Strategy.INFERRED,):
            plan = replace(self._plan, strategy=strategy)
            key = json.dumps((plan.method, strategy.value))
            reasons.append(self._ledger.verdict(key, partial(self._runs, plan)))
            if not reasons[-1]:
                return strategy
        raise ExecutionError(f"{reasons[0]}; give real inputs with --input")

    def _runs(self, plan: InputPlan) -> str:
        source = InputSource(self._facts, plan)
        try:
            for run in range(2):
                self._run(source.inputs(_TRIAL + run), "random inputs")
        except OnearenaError as error:
            return str(error)
        return ""

    def _accepted(self) -> tuple[SizeSet, ...]:
        """Smaller sizes that the program runs at."""
        accepted: list[SizeSet] = []
        for group in size_groups(self._facts.signature):
            if accepted and group.what != _ALWAYS_TRIED:
                continue
            accepted += self._accepted_of(group.candidates)
        return tuple(dict.fromkeys(accepted))[: MAX_SIZES - 1]

    def _accepted_of(self, candidates: Sequence[SizeSet]) -> list[SizeSet]:
        accepted: list[SizeSet] = []
        for sizes in candidates:
            key = json.dumps((self._plan.method, self._plan.strategy.value, sizes))
            if not self._ledger.verdict(key, partial(self._suits, sizes)):
                accepted.append(sizes)
            elif not accepted:
                break  # the likeliest is refused
            if len(accepted) == _MAX_PER_GROUP:
                break
        return accepted

    def _suits(self, sizes: SizeSet) -> str:
        """Runs at `sizes` twice, each time after other numbers at the full sizes.

        Kernels do not check everything: at sizes that the exporter ruled out, some read what
        an earlier run left behind. Then the two outputs differ, and comparing two programs at
        these sizes would mean nothing. State makes them differ too: there, running is enough.
        """
        refusal = self._refuses(sizes)
        if refusal:
            return refusal
        full = InputSource(self._facts, self._plan)
        small = InputSource(self._facts, replace(self._plan, sizes=(sizes,)))
        outputs = []
        try:
            for turn in range(2):
                self._run(full.inputs(_DIRT + turn), "random inputs")
                inputs = [
                    _with_tail(tensor, bound, turn)
                    for tensor, bound in zip(small.inputs(_TRIAL), full.inputs(_DIRT), strict=True)
                ]
                outputs.append(self._run(inputs, f"random inputs of {list(sizes)}"))
        except OnearenaError as error:
            return str(error)
        if not self._facts.is_stateful and compare_outputs(*outputs):
            return "the outputs depend on earlier runs"
        return ""

    def _run(self, inputs: list[Any], what: str) -> tuple[Any, ...]:
        method = self._facts.signature.name
        self._desk.note(f"{self._session.path}: method {method!r} on {what}", "a")
        return self._session.run(method, inputs)


def _with_tail(tensor: Any, bound: Any, turn: int) -> Any:
    """The same tensor at the front of memory of the bound's size, whose rest is `turn`-dependent.

    A kernel that reads past the end of an input then reads numbers that differ between turns.
    """
    import torch

    if not isinstance(tensor, torch.Tensor) or tensor.numel() == 0:
        return tensor
    memory = torch.full((bound.numel() + 64,), turn + 1).to(tensor.dtype)
    view = memory.as_strided(tensor.shape, tensor.stride())
    return view.copy_(tensor)
