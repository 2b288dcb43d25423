"""Lets no plan into a file, or to a user, that does not keep to its problem."""

from __future__ import annotations

from collections.abc import Sequence

from onearena.errors import VerificationError
from onearena.problem import Memory, Plan, Problem


def check_plan(problem: Problem, plan: Plan, memories: Sequence[Memory] = ()) -> None:
    """Checks every constraint of the problem, and the plan's heights.

    Raises:
        VerificationError: the plan breaks one; it names the first.
        PlanError: the problem is malformed, or a number does not fit into 64 bits.
    """
    from onearena.verification.native import verify_plan

    violations = verify_plan(problem, plan, memories)
    if not violations:
        return
    message = str(violations[0])
    more = f" (and {len(violations) - 1} more)" if len(violations) > 1 else ""
    # names may hold any character
    shown = message if message.isprintable() else ascii(message)[1:-1]
    raise VerificationError(f"the plan is wrong: {shown}{more}")
