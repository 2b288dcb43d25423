"""Reads and writes problems and plans; the suffix of a path says which format it has."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from onearena.errors import FormatError, PlanError, UsageError
from onearena.problem import Memory, Plan, Problem
from onearena.problem_files import csv_format, json_format
from onearena.problem_files.checking import check_plan
from onearena.problem_files.csv_table import CsvTable
from onearena.problem_files.disk import read_text, target_path, write_bytes

CSV, JSON = ".csv", ".json"


@dataclass(frozen=True)
class ProblemFile:
    """A problem with what else its file says.

    Attributes:
        problem: to be planned. A buffer's name is its id in the file.
        memories: capacities and weights; CSV files name none.
        path: where it was read from, or None; a plan is never written over it.
        table: the text of a CSV file, of which a plan in CSV keeps every column.
    """

    problem: Problem
    memories: tuple[Memory, ...] = ()
    path: str | None = None
    table: CsvTable | None = None


def read_problem(path: str | os.PathLike[str]) -> ProblemFile:
    """Reads a `.csv` or `.json` file.

    Raises:
        FormatError: it cannot be read, or is malformed; names the file and the place in it.
        UnsupportedError: a JSON file of another format or version.
        UsageError: another suffix.
    """
    name = os.fspath(path)
    if suffix(name) == CSV:
        problem, table = csv_format.parse_csv(read_text(path), name)
        return ProblemFile(problem, (), name, table)
    problem, memories = json_format.parse_problem(read_text(path), name)
    return ProblemFile(problem, memories, name)


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """Reads a plan in JSON. (A plan in CSV is a problem in which every offset is given.)

    Raises:
        FormatError, UnsupportedError, UsageError: as :func:`read_problem`.
    """
    name = os.fspath(path)
    if suffix(name) != JSON:
        raise UsageError(f"{name}: only plans in JSON can be read; a CSV file is a problem")
    return json_format.parse_plan(read_text(path), name)


def write_problem(
    path: str | os.PathLike[str], problem: Problem, memories: tuple[Memory, ...] = ()
) -> None:
    """Writes a `.csv` or `.json` file that reads as the same problem.

    Raises:
        UsageError: it cannot be written there, or CSV cannot say it.
        PlanError: it is no valid problem, so that it could not be read again.
    """
    name, target = os.fspath(path), target_path(path)
    check_output_format(name, problem, names_are_ids=False)  # they are read again below
    is_csv = suffix(name) == CSV
    if is_csv and memories:
        raise UsageError(f"{name}: capacities and weights cannot be written as CSV, only as JSON")
    try:
        if is_csv:
            text = csv_format.problem_table(problem).text()
            csv_format.parse_csv(text, name)
        else:
            text = json_format.problem_text(problem, memories)
            json_format.parse_problem(text, name)
    except FormatError as error:
        raise PlanError(str(error)) from None
    write_bytes(text.encode(), target)


def write_plan(path: str | os.PathLike[str], plan: Plan, of: ProblemFile | Problem) -> None:
    """Writes a verified plan of a problem as a `.csv` or `.json` file.

    Raises:
        UsageError: it cannot be written there, or CSV cannot say it.
        VerificationError: the plan does not keep to the problem; nothing was written.
    """
    file = of if isinstance(of, ProblemFile) else ProblemFile(of)
    target = target_path(path, [file.path] if file.path is not None else [])
    check_output_format(path, file.problem, file.table is None)
    check_plan(file.problem, plan, file.memories)
    write_bytes(plan_content(path, plan, file).encode(), target)


def plan_content(path: str | os.PathLike[str], plan: Plan, file: ProblemFile) -> str:
    """What :func:`write_plan` writes."""
    if suffix(path) == CSV:
        return csv_format.plan_table(file.problem, file.table, plan).text()
    return json_format.plan_text(plan, file.problem)


def _check_names(problem: Problem) -> None:
    """Names become ids, which must differ, or the plan could not be read again.

    Raises:
        UsageError: they do not differ. (Buffers without any name are numbered.)
    """
    names = [buffer.name for buffer in problem.buffers]
    if any(names) and len(set(names)) < len(names):
        raise UsageError(
            "two buffers have the same name, or none, so that CSV cannot tell them apart; write a "
            ".json"
        )


def check_output_format(
    path: str | os.PathLike[str], problem: Problem, names_are_ids: bool = True
) -> None:
    """The format that the suffix means can say what the problem says.

    Args:
        names_are_ids: ids of a CSV file are made of names (it has none of its own).

    Raises:
        UsageError: it cannot.
    """
    is_csv = suffix(path) == CSV
    try:
        if is_csv:
            csv_format.check_csv(problem)
            if names_are_ids:
                _check_names(problem)
    except UsageError as error:
        raise UsageError(f"{os.fspath(path)}: {error}") from None


def suffix(path: str | os.PathLike[str]) -> str:
    """`.csv` or `.json`.

    Raises:
        UsageError: the path ends differently.
    """
    found = Path(path).suffix.lower()
    if found not in (CSV, JSON):
        raise UsageError(f"{os.fspath(path) or repr('')}: the name must end with .csv or .json")
    return found
