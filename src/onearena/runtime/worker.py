"""The child process that loads and runs programs: ``main(directory)``. See jobs.py."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from onearena.errors import OnearenaError
from onearena.runtime.jobs import JOB, PROGRESS, RESULT, Progress


@dataclass(frozen=True)
class Desk:
    """Where a job keeps its files, and how it says what it is doing."""

    directory: Path

    def log(self, name: str) -> Path:
        """The file for the runtime's messages about the program `name`."""
        return self.directory / f"{name}.log"

    def note(self, doing: str, log: str | None = None) -> None:
        """Notes the next thing to do; the messages of the program `log` belong to it."""
        progress = Progress(doing, self.log(log).name if log else None)
        partial = self.directory / f"{PROGRESS}.new"
        partial.write_text(json.dumps(asdict(progress)), encoding="utf-8")
        partial.replace(self.directory / PROGRESS)


Job = Callable[[dict[str, Any], Desk], dict[str, Any]]


def main(directory: str) -> int:
    """Does the job in `directory` and writes its result, or the error it raised, there."""
    _no_core_dump()
    desk = Desk(Path(directory))
    request = json.loads((desk.directory / JOB).read_text(encoding="utf-8"))
    try:
        result = _job(request["kind"])(request["job"], desk)
    except OnearenaError as error:
        result = {"error": {"kind": type(error).__name__, "message": str(error)}}
    (desk.directory / RESULT).write_text(json.dumps(result), encoding="utf-8")
    sys.stdout.flush()
    os._exit(0)  # the result is safe: native destructors have nothing to add but crashes


def _job(kind: str) -> Job:
    if kind == "compare":
        from onearena.runtime.pair import compare_job

        return compare_job
    if kind == "probe":
        from onearena.runtime.probe import probe_job

        return probe_job
    if kind in ("record", "check"):
        from onearena.runtime.recording import check_job, record_job

        return record_job if kind == "record" else check_job
    from onearena.runtime.measure import measure_job

    return measure_job


def _no_core_dump() -> None:
    """A crash here is expected with hostile files and is reported; its image is of no use."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
