"""The exceptions this package raises on purpose. Everything else is a bug.

Each error carries one line of text that names what was wrong and where, so that
the command line can print it as it is.
"""

from __future__ import annotations

_MOST_CHARACTERS = 900
_LAST_CHARACTERS = 200


class OnearenaError(Exception):
    """Base of every error raised on purpose by this package.

    Messages quote what files say. What would be longer than a screen is cut in its middle: the
    place is named in front, the reason behind.
    """

    def __init__(self, *args: object) -> None:
        """Keeps the message, or what fits of it."""
        first = args[0] if args else None
        if isinstance(first, str) and len(first) > _MOST_CHARACTERS:
            begin = first[: _MOST_CHARACTERS - _LAST_CHARACTERS]
            args = (f"{begin} ... {first[-_LAST_CHARACTERS:]}", *args[1:])
        super().__init__(*args)


class FormatError(OnearenaError):
    """The bytes are not what their format says: corrupt, truncated or hostile input."""


class UnsupportedError(OnearenaError):
    """The input is well formed but holds something this version does not know."""


class AnalysisError(OnearenaError):
    """A method's instructions contradict themselves (an index out of range, a bad jump)."""


class PlanError(OnearenaError):
    """A planning problem is malformed, or no plan satisfies it."""


class InfeasibleError(PlanError):
    """No plan satisfies the problem; `buffers` are a few ids that already make it impossible."""

    def __init__(self, message: str, buffers: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.buffers = buffers


class PlanTimeoutError(PlanError):
    """No plan was found within the time limit, and none was proven impossible."""


class VerificationError(OnearenaError):
    """A plan or a rewritten file failed verification; nothing was written."""


class RuntimeUnavailableError(OnearenaError):
    """The ExecuTorch runtime is needed and is not installed (``pip install onearena[run]``)."""


class ExecutionError(OnearenaError):
    """The ExecuTorch runtime refused to load or run a program."""


class UsageError(OnearenaError):
    """The caller asked for something that makes no sense (a bad option, the same path twice)."""
