"""Arguments that several commands take."""

from __future__ import annotations

import argparse

_MAX_SECONDS = 86400


def time_limit(text: str) -> float:
    """A time limit, from 0 to a day.

    Raises:
        argparse.ArgumentTypeError: it is none.
    """
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= _MAX_SECONDS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to {_MAX_SECONDS}")
    return value


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """Adds --input, of a command that runs programs."""
    parser.add_argument(
        "--input",
        action="append",
        metavar="FILE",
        help="a real input: .npy, .npz or torch .pt; repeat for more (default: random numbers)",
    )


def add_seed(parser: argparse.ArgumentParser) -> None:
    """Adds --seed, of a command that makes random inputs."""
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of the random inputs (default: 0)"
    )


def add_timeout(parser: argparse.ArgumentParser) -> None:
    """Adds --timeout, of a command that runs programs in child processes."""
    parser.add_argument(
        "--timeout",
        type=float,
        default=1800.0,
        metavar="S",
        help="seconds each child process may take (default: %(default)g)",
    )


def add_time_limit(parser: argparse.ArgumentParser, default_s: float) -> None:
    """Adds --time-limit, of each plan that a command makes."""
    parser.add_argument(
        "--time-limit",
        type=time_limit,
        default=default_s,
        metavar="S",
        help="seconds to search for each plan that is above its lower bound (default %(default)s)",
    )
