"""Problems and plans in files: MiniMalloc's CSV and a JSON of our own. docs/planner.md has both."""

from onearena.problem_files.checking import check_plan
from onearena.problem_files.store import (
    ProblemFile,
    read_plan,
    read_problem,
    write_plan,
    write_problem,
)

__all__ = [
    "ProblemFile",
    "check_plan",
    "read_plan",
    "read_problem",
    "write_plan",
    "write_problem",
]
