"""Runs planners in processes of their own, which are on one core and can be killed."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection

from onearena.closing import Closing

from .checking import fault
from .cp_sat import cp_sat
from .greedy import executorch
from .omnimalloc_runs import omni, supermalloc, tabu
from .ours import onearena
from .tasks import Answer, Solver, Task, Unsupported

SOLVERS: Mapping[str, Solver] = {
    "onearena": onearena,
    "supermalloc": supermalloc,
    "tabu": tabu,
    "omni": omni,
    "cp-sat": cp_sat,
    "executorch": executorch,
}

# Some planners look at the clock only after seconds of preparing.
PATIENCE_S = 10.0


@dataclass(frozen=True)
class Unanswered:
    """Why there is no answer; `is_failure` unless the planner is not made for the task."""

    why: str
    is_failure: bool


Result = list[Answer] | Unanswered


class Worker(Closing):
    """One planner in a process that starts when it is needed, and again when it was killed."""

    def __init__(self, solver: str) -> None:
        self._solver = solver
        self._process: multiprocessing.process.BaseProcess | None = None
        self._pipe: Connection | None = None

    def run(self, task: Task) -> Result:
        """The answers for all seeds, each checked."""
        pipe = self._start()
        pipe.send(task)
        answers: list[Answer] = []
        while len(answers) < len(task.seeds):
            longest_s = task.time_limit_s * 2 + PATIENCE_S
            if not pipe.poll(longest_s):
                self.close()
                return Unanswered(f"none in {longest_s:.0f} s", True)
            try:
                found = pipe.recv()
            except EOFError:
                self.close()
                return Unanswered("the process died", True)
            if isinstance(found, Unanswered):
                return found
            if found is None:  # knows no seeds
                break
            answers.append(_checked(task, found))
        else:
            pipe.recv()
        return answers

    def _start(self) -> Connection:
        if self._pipe is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(self._solver, theirs))
            self._process.start()
            theirs.close()
        return self._pipe

    def close(self) -> None:
        if self._process is not None and self._pipe is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
        self._process = self._pipe = None


def _checked(task: Task, answer: Answer) -> Answer:
    wrong = fault(task.instance.problem, answer.offsets) if answer.offsets else None
    if wrong is None:
        return answer
    return Answer(answer.seed, (), answer.seconds, note=f"WRONG PLAN: {wrong}")


def _serve(solver: str, pipe: Connection) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        try:
            for answer in SOLVERS[solver](task):
                pipe.send(answer)
            pipe.send(None)
        except Unsupported as reason:
            pipe.send(Unanswered(str(reason), False))
        except Exception as error:
            pipe.send(Unanswered(f"{type(error).__name__}: {error}", True))
