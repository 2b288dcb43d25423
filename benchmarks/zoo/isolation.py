"""Runs a function in a process of its own, whose memory the system gets back afterwards."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def run_apart(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Return what ``function`` returns, or raise what it raises; a crash of it raises too."""
    with ProcessPoolExecutor(1, get_context("spawn"), initializer=_quiet) as pool:
        return pool.submit(function, *args, **kwargs).result()


def _quiet() -> None:
    """Keep warnings of torch and its libraries out of the progress lines."""
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
