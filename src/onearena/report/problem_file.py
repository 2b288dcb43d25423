"""The planning problem of a method, as a file that `onearena plan` reads."""

from __future__ import annotations

import os

from onearena.errors import UsageError
from onearena.problem import Problem
from onearena.problem_files import csv_format, json_format
from onearena.program import analyse_method
from onearena.pte.reader import open_pte
from onearena.report.flat_problem import flat_problem


def method_problem(path: str | os.PathLike[str], name: str) -> Problem:
    """The problem of planning a method as it stands in a file.

    Raises:
        FormatError, UnsupportedError, AnalysisError: the file cannot be read.
        UsageError: it has no such method.
    """
    with open_pte(path) as file:
        for plan in file.program.execution_plan or ():
            if (plan.name or "") == name:
                return analyse_method(file, plan).timeline.problem
    raise UsageError(f"{os.fspath(path)}: has no method {name!r}")


def problem_text(
    path: str | os.PathLike[str], name: str, is_csv: bool
) -> tuple[str, tuple[str, ...]]:
    """The content of a problem file, CSV or JSON.

    Returns:
        The text, and in words what CSV could not say: its problem is stricter then.

    Raises:
        FormatError, UnsupportedError, AnalysisError: the file cannot be read.
        UsageError: it has no such method.
    """
    problem = method_problem(path, name)
    if not is_csv:
        return json_format.problem_text(problem), ()
    flat, lost = flat_problem(problem)
    return csv_format.problem_table(flat).text(), lost
