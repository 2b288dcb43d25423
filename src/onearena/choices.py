"""What becomes of each method of a program: as much as memory, and the time allowed, call for."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from onearena.candidates import Candidate, plan_into
from onearena.drafts import method_work
from onearena.errors import UsageError
from onearena.latency import Basis, Latency, Measurer, Pace
from onearena.latency_guard import Choice, guarded
from onearena.options import Options
from onearena.program import AnalysedMethod
from onearena.pte.container import PteFile
from onearena.stages import Stages

Progress = Callable[[str], None]
Write = Callable[[Mapping[int, Candidate], Path], object]
"""Writes the program with these candidates, by position of their methods."""


def choose(
    file: PteFile,
    analysed: Mapping[int, AnalysedMethod],
    options: Options,
    tell: Progress,
) -> dict[int, Choice]:
    """By position, the most of each method; latency by a model.

    Raises:
        DoesNotFitError, UsageError: with a memory map, see `plan_into`.
        VerificationError: a plan is not valid.
    """
    found: dict[int, Choice] = {}
    for position, method in analysed.items():
        tell(f"planning {method.plan.name}")
        if options.memory_map is not None:
            candidate, notes = plan_into(file, analysed, position, options, options.memory_map)
            found[position] = Choice(candidate, notes, None)
        else:
            stages = Stages(file, analysed, position, options)
            found[position] = _modelled(stages, options)
    return found


def choose_measured(
    file: PteFile,
    analysed: Mapping[int, AnalysedMethod],
    options: Options,
    measurer: Measurer,
    write: Write,
    target: Path,
    tell: Progress,
) -> dict[int, Choice]:
    """By position, what is left of each method once all that is too slow is undone.

    Args:
        write: writes candidates.
        target: where the result will be; candidates are beside it until they are measured.

    Raises:
        OnearenaError: the original cannot be run; see `measurer`.
        VerificationError: a plan is not valid.
    """
    trial = target.with_name(f".{target.name}.{os.getpid()}.trial.pte")
    methods: dict[int, Stages] = {}
    for position, method in analysed.items():
        tell(f"planning {method.plan.name}")
        # what pointers may cost is measured with all the rest
        methods[position] = Stages(file, analysed, position, options, measured=True)

    def measure(candidates: Mapping[int, Candidate], names: Sequence[str]) -> Mapping[str, Pace]:
        tell("writing and verifying")
        try:
            write(candidates, trial)
        except UsageError as error:  # the caller knows of no trial
            raise UsageError(str(error).replace(str(trial), str(target))) from error
        tell("measuring")
        return measurer(Path(file.path), trial, names, options.max_latency)

    try:
        return guarded(methods, measure, options.max_latency)
    finally:
        trial.unlink(missing_ok=True)


def _modelled(stages: Stages, options: Options) -> Choice:
    staged = stages.at(stages.last)
    if staged.candidate is None:
        return Choice(None, staged.notes, None)
    draft = staged.candidate.draft
    more = staged.pointer_work + draft.more_work
    work = method_work(stages.method)
    latency = Latency(1 + more / work if work else 1.0, Basis.MODEL, options.max_latency)
    bits: tuple[str, ...] = ()
    if draft.opened.pieces:
        bits = (
            "that strips keep every bit was tested on x86-64: check it on the processor that the "
            "program is for, with `compare`, or with --measure-latency there",
        )
    return Choice(staged.candidate, (*staged.notes, *bits), latency)
