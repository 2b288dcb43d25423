"""Runs jobs in child processes, so that a crash of the native runtime stays there.

A job and its result are JSON objects in files of a temporary directory. The child notes
there what it is about to do: when it dies, the error can say what killed it.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onearena import errors
from onearena.errors import ExecutionError, OnearenaError
from onearena.runtime.nativelog import last_message, printable

DEFAULT_TIMEOUT_S = 1800.0
JOB, RESULT, PROGRESS, OUTPUT = "job.json", "result.json", "progress.json", "output.txt"
_LOG_BYTES = 64 * 1024
_TELL_EVERY_S = 0.2
_START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from onearena.runtime.worker import main; sys.exit(main(sys.argv[2]))"
)
"""The child gets this process's import path: a source tree, an editable install or a current
directory that happens to hold a package of the same name make no difference."""


class CrashError(ExecutionError):
    """The child process died of a signal; the text says which and while doing what."""


class JobTimeoutError(ExecutionError):
    """The child process did not finish in time and was killed."""


@dataclass(frozen=True)
class Progress:
    """What a child is doing, and the file in the job's directory with the runtime's messages."""

    doing: str
    log: str | None = None


Tell = Callable[[str], None]
"""Is told from time to time what is being done."""


def run_job(
    kind: str, job: dict[str, Any], *, timeout_s: float, tell: Tell | None = None
) -> dict[str, Any]:
    """Does one job in a child process and returns its result.

    Args:
        kind: one of the jobs that :mod:`onearena.runtime.worker` knows.
        job: its arguments, as JSON objects.
        timeout_s: seconds after which the child is killed.
        tell: is told what the child does.

    Raises:
        OnearenaError: what the child raised, as the same class.
        CrashError: the child died of a signal.
        JobTimeoutError: the child took too long.
    """
    with tempfile.TemporaryDirectory(prefix="onearena-") as name:
        directory = Path(name)
        (directory / JOB).write_text(json.dumps({"kind": kind, "job": job}), encoding="utf-8")
        code = _run_child(directory, timeout_s, tell or (lambda _: None))
        if code != 0:
            raise _death(directory, code)
        result: dict[str, Any] = json.loads((directory / RESULT).read_text(encoding="utf-8"))
        if "error" in result:
            raise _forwarded(result["error"])
        return result


def _run_child(directory: Path, timeout_s: float, tell: Tell) -> int:
    command = [sys.executable, "-c", _START, json.dumps(sys.path), str(directory)]
    with open(directory / OUTPUT, "wb") as output:
        try:
            child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        except OSError as error:
            raise ExecutionError(f"no child process: {error.strerror}") from error
        try:
            return _wait(child, directory, time.monotonic() + timeout_s, tell)
        except subprocess.TimeoutExpired:
            doing = _progress(directory).doing
            raise JobTimeoutError(f"{doing}: not done after {timeout_s:g} s") from None
        finally:
            child.kill()
            child.wait()


def _wait(child: subprocess.Popen[bytes], directory: Path, deadline: float, tell: Tell) -> int:
    """The exit code.

    Raises:
        subprocess.TimeoutExpired: the child is still running at the deadline.
    """
    while True:
        left = deadline - time.monotonic()
        try:
            return child.wait(max(0.0, min(left, _TELL_EVERY_S)))
        except subprocess.TimeoutExpired:
            if left <= _TELL_EVERY_S:
                raise
            tell(_progress(directory).doing)


def _death(directory: Path, code: int) -> ExecutionError:
    """The error for a child that left no result."""
    progress = _progress(directory)
    messages = (last_message(_tail(directory / name)) for name in (progress.log, OUTPUT) if name)
    detail = next((f": {message}" for message in messages if message), "")
    if code < 0:
        return CrashError(f"{progress.doing}: the runtime crashed ({_signal(-code)}){detail}")
    return ExecutionError(f"{progress.doing}: the child process failed (exit code {code}){detail}")


def _signal(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
    return f"{name}, perhaps out of memory" if name == "SIGKILL" else name


def _progress(directory: Path) -> Progress:
    try:
        return Progress(**json.loads((directory / PROGRESS).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return Progress("starting the runtime")


def _tail(path: Path) -> bytes:
    with contextlib.suppress(OSError), open(path, "rb") as stream:
        stream.seek(max(0, path.stat().st_size - _LOG_BYTES))
        return stream.read(_LOG_BYTES)
    return b""


def _forwarded(error: dict[str, str]) -> OnearenaError:
    kind = getattr(errors, error["kind"], ExecutionError)
    made: OnearenaError = kind(printable(error["message"]))
    return made
