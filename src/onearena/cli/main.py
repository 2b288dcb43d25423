"""`onearena`: dispatches to the commands and turns errors into one line and an exit code.

Exit codes: 0 fine, 1 the answer is no (different, unsafe), 2 bad usage or bad input,
130 interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import re
import sys
from collections.abc import Iterator, Sequence
from typing import NoReturn

from onearena import __version__
from onearena.cli import (
    bundle,
    check,
    compare,
    describe,
    explain,
    inspect,
    optimize,
    plan,
    report,
    run,
    simulate,
    sizes,
    verify,
)
from onearena.errors import OnearenaError
from onearena.report.plain import plain

_GC_THRESHOLD = 200_000
_DEBUG = "ONEARENA_DEBUG"
_NEGATIVE = re.compile(r"-[0-9.]")
_LONG_OPTION = re.compile(r"--[a-z][a-z-]*")
_COMMANDS = (
    optimize,
    inspect,
    report,
    explain,
    sizes,
    verify,
    simulate,
    compare,
    run,
    check,
    describe,
    bundle,
    plan,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code."""
    _open_closed_streams()
    # a command makes many objects that live to its end: looking for garbage only costs time
    gc.set_threshold(_GC_THRESHOLD)
    parser = command_line()
    args = parser.parse_args(list(joined(sys.argv[1:] if argv is None else argv)))
    try:
        code: int = args.run(args)
        sys.stdout.flush()
        return code
    except OnearenaError as error:
        return _fail(_one_line(str(error)))
    except BrokenPipeError:
        _silence_stdout()
        return 0
    except OSError as error:
        # the output could not be printed, e.g. onto a full disk
        _silence_stdout()
        return _fail(f"standard output: {_one_line(error.strerror or str(error))}")
    except Exception as error:
        # a fault of ours must not look like "the answer is no"
        if os.environ.get(_DEBUG):
            raise
        what = _one_line(f"{type(error).__name__}: {error}")
        return _fail(f"internal error, please report it ({_DEBUG}=1 shows where): {what}")
    except KeyboardInterrupt:
        print("onearena: interrupted", file=sys.stderr)
        return 130


def joined(arguments: Sequence[str]) -> Iterator[str]:
    """Negative amounts such as `-1%` tied to the option in front of them: argparse would take
    them for options themselves, and say that a value is missing in place of what is wrong."""
    option: str | None = None
    are_options = True
    for argument in arguments:
        if option is not None and _NEGATIVE.match(argument):
            yield f"{option}={argument}"
            option = None
            continue
        if option is not None:
            yield option
        are_options = are_options and argument != "--"
        is_option = are_options and _LONG_OPTION.fullmatch(argument) is not None
        option = argument if is_option else None
        if not is_option:
            yield argument
    if option is not None:
        yield option


def _open_closed_streams() -> None:
    """A shell may start us without standard output or error (`>&-`); then nothing is said."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def _silence_stdout() -> None:
    """Keeps the interpreter from complaining at exit about what could not be printed."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str) -> int:
    with contextlib.suppress(OSError):
        print(f"onearena: {message}", file=sys.stderr)
    return 2


class _Parser(argparse.ArgumentParser):
    """Says in one line what is wrong with the arguments."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {_one_line(message)} (--help tells more)\n")


def command_line() -> argparse.ArgumentParser:
    """The parser of all commands; the documentation is made from it, too."""
    parser = _Parser(
        prog="onearena",
        description="One memory plan for an ExecuTorch program and all of its delegates.",
    )
    parser.add_argument("--version", action="version", version=f"onearena {__version__}")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in _COMMANDS:
        command.add_parser(subparsers)
    return parser


def _one_line(message: str) -> str:
    return plain(" ".join(message.split()))


if __name__ == "__main__":
    sys.exit(main())
