"""Sizes in, verdict out: is everything within its budget, and did nothing grow too much?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from onearena.checking.amounts import Amount, Sizes, method_amount, program_amount
from onearena.checking.budget import (
    ARENA,
    FILE,
    TOTAL,
    WORKSPACE,
    BudgetKey,
    Budgets,
    Quantity,
    key_text,
)
from onearena.checking.explain import Explanation, explain
from onearena.checking.sizes import NO_GROWTH, Growth, quoted
from onearena.errors import UsageError

COMPARED_BY_DEFAULT = (ARENA, WORKSPACE, TOTAL, FILE)


class Outcome(StrEnum):
    """The answer of a check."""

    OK = "ok"
    OVER = "over"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Check:
    """One quantity against its limits.

    Attributes:
        method: None for the whole program.
        after: what the program needs.
        before: what the base needs; None if it is not compared with one.
        budget_bytes, growth_bytes: the most it may be; None where there is no such limit. The
            latter follows from `before` and is None also where that is not known.
        explanations: what it is made of, when it is over a limit.
    """

    method: str | None
    quantity: Quantity
    after: Amount
    before: Amount | None
    budget_bytes: int | None
    growth_bytes: int | None
    explanations: tuple[Explanation, ...] = ()

    @property
    def limit_bytes(self) -> int | None:
        """The tighter of the limits."""
        limits = [limit for limit in (self.budget_bytes, self.growth_bytes) if limit is not None]
        return min(limits, default=None)

    @property
    def over_bytes(self) -> int:
        """How far it is over the tighter limit; 0 when it is not, or not known."""
        size, limit = self.after.size_bytes, self.limit_bytes
        return max(0, size - limit) if size is not None and limit is not None else 0

    @property
    def outcome(self) -> Outcome:
        """What is over a limit is over, whatever else is not known."""
        if self.over_bytes:
            return Outcome.OVER
        return Outcome.OK if self.unknown is None else Outcome.UNKNOWN

    @property
    def unknown(self) -> str | None:
        """Why there is no answer."""
        if self.after.size_bytes is None:
            return self.after.unknown
        if self.before is not None and self.before.size_bytes is None:
            return f"in the base {self.before.unknown}"
        return None

    @property
    def name(self) -> str:
        """As it is written in a budget."""
        return key_text((self.method, self.quantity))


@dataclass(frozen=True, slots=True)
class Verdict:
    """Everything that was checked of one program.

    Attributes:
        path: of the program.
        against: of the base; None if it is not compared with one.
        growth: how much more than the base is accepted; None likewise.
        allow_unknown: whether what is not known passes.
        checks: what was asked for.
        new_methods, removed_methods: compared with the base.
        notes: what else is worth a line.
    """

    path: str
    against: str | None
    growth: Growth | None
    allow_unknown: bool
    checks: tuple[Check, ...]
    new_methods: tuple[str, ...] = ()
    removed_methods: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """The worst of the checks."""
        found = {check.outcome for check in self.checks}
        return next((o for o in (Outcome.OVER, Outcome.UNKNOWN) if o in found), Outcome.OK)

    @property
    def passes(self) -> bool:
        """Whether it is fine."""
        return not self.failures

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks for which it is not."""
        accepted = {Outcome.OK, Outcome.UNKNOWN} if self.allow_unknown else {Outcome.OK}
        return tuple(check for check in self.checks if check.outcome not in accepted)


@dataclass(frozen=True)
class Rules:
    """What to check.

    Attributes:
        budgets: limits in bytes, by method (None: whole program) and quantity.
        growth: how much more than the base is accepted.
        allow_unknown: whether what is not known passes.
    """

    budgets: Budgets = field(default_factory=dict)
    growth: Growth = NO_GROWTH
    allow_unknown: bool = False


def evaluate(
    after: Sizes, rules: Rules, before: Sizes | None = None, notes: Iterable[str] = ()
) -> Verdict:
    """Holds a program against its budgets, and against a base.

    Raises:
        UsageError: a budget is for a method that the program does not have.
    """
    budgets = _resolve(after, rules.budgets)
    keys = dict.fromkeys(budgets)
    names = set(after.method_names)
    old = set(before.method_names) if before is not None else set()
    if before is not None:
        keys |= dict.fromkeys(_compared(after, before, rules.budgets))
    checks = tuple(
        _check(after, before, key, budgets.get(key), rules.growth)
        for key in sorted(keys, key=_order(after, keys))
    )
    return Verdict(
        path=after.summary.path,
        against=before.summary.path if before is not None else None,
        growth=rules.growth if before is not None else None,
        allow_unknown=rules.allow_unknown,
        checks=checks,
        new_methods=tuple(n for n in after.method_names if before is not None and n not in old),
        removed_methods=tuple(n for n in before.method_names if n not in names) if before else (),
        notes=(*notes, *_absent_arenas(after, budgets)),
    )


def _resolve(sizes: Sizes, budgets: Budgets) -> dict[BudgetKey, int]:
    """Of a program with one method, what is of the program is of the method."""
    names = sizes.method_names
    found: dict[BudgetKey, int] = {}
    for (method, quantity), limit in budgets.items():
        if method is not None and method not in names:
            has = ", ".join(quoted(name) for name in names[:10]) or "none"
            raise UsageError(
                f"{sizes.summary.path}: budget {quoted(key_text((method, quantity)))}: there is no "
                f"such method; the program has {has}"
            )
        if method is None and quantity.is_per_method and len(names) == 1:
            method = names[0]
        key = method, quantity
        found[key] = min(limit, found.get(key, limit))
    return found


def _compared(after: Sizes, before: Sizes, budgets: Budgets) -> Iterator[BudgetKey]:
    """What is budgeted, method by method; of the whole program where the methods differ."""
    asked = budgets or {(None, quantity): 0 for quantity in COMPARED_BY_DEFAULT}
    common = [name for name in after.method_names if name in before.method_names]
    differ = set(after.method_names) != set(before.method_names)
    for method, quantity in asked:
        if not quantity.is_per_method:
            yield None, quantity
            continue
        if method is None and (differ or not common):
            yield None, quantity
        for name in common:
            if method in (None, name):
                yield name, quantity


def _order(sizes: Sizes, keys: Mapping[BudgetKey, None]) -> Callable[[BudgetKey], tuple[int, int]]:
    """The program, then its methods; quantities in the order in which they were asked for."""
    quantities = list(dict.fromkeys(quantity for _, quantity in keys))
    places = {name: place for place, name in enumerate(sizes.method_names)}

    def place(key: BudgetKey) -> tuple[int, int]:
        method, quantity = key
        return -1 if method is None else places[method], quantities.index(quantity)

    return place


def _check(
    after: Sizes, before: Sizes | None, key: BudgetKey, budget: int | None, growth: Growth
) -> Check:
    method, quantity = key
    new = _amount(after, key)
    is_compared = before is not None and (method is None or method in before.method_names)
    old = _amount(before, key) if before is not None and is_compared else None
    limit = None
    if old is not None and old.size_bytes is not None:
        limit = growth.limit_bytes(old.size_bytes)
    check = Check(method, quantity, new, old, budget, limit)
    if not check.over_bytes:
        return check
    methods = new.methods if method is None else (method,)
    return replace(check, explanations=explain(after, methods, quantity))


def _amount(sizes: Sizes, key: BudgetKey) -> Amount:
    method, quantity = key
    if method is None:
        return program_amount(sizes, quantity)
    return method_amount(sizes, method, quantity)


def _absent_arenas(sizes: Sizes, budgets: Budgets) -> Iterator[str]:
    """A budget for an arena that no method has is most likely a slip."""
    present = {arena.memory_id for method in sizes.summary.methods for arena in method.arenas}
    for _, quantity in budgets:
        if quantity.memory_id is not None and quantity.memory_id not in present:
            yield f"no method has an arena {quantity.memory_id}; it counts as 0 bytes"
