"""The report of `check` for a terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from onearena.checking.amounts import Amount
from onearena.checking.budget import key_text
from onearena.checking.explain import Explanation, Part, Subject
from onearena.checking.verdict import Check, Outcome, Verdict
from onearena.report.plain import clipped, plain
from onearena.report.text import size_text, table

WORDS = {Outcome.OK: "ok", Outcome.OVER: "OVER", Outcome.UNKNOWN: "UNKNOWN"}
_SHOWN_METHODS = 3
_MAX_NAME = 120
_MAX_METHOD = 80
_MAX_REASON = 500
_SIGNS = {Outcome.OK: "\N{CHECK MARK}", Outcome.OVER: "\N{BALLOT X}", Outcome.UNKNOWN: "?"}
SIGNS = "".join(_SIGNS.values())


def _name(text: str) -> str:
    return clipped(text, _MAX_NAME)


def exact_text(size_bytes: int) -> str:
    """In a human unit and in bytes."""
    if size_bytes < 1000:
        return f"{size_bytes} B"
    return f"{size_text(size_bytes)} ({size_bytes:,} B)"


def amount_text(amount: Amount | None) -> str:
    """A size, `unknown`, or nothing."""
    if amount is None:
        return "-"
    return "unknown" if amount.size_bytes is None else exact_text(amount.size_bytes)


def change_text(check: Check) -> str:
    """How much more or less than before."""
    after = check.after.size_bytes
    before = check.before.size_bytes if check.before is not None else None
    if after is None or before is None:
        return "-"
    if not before or after == before:
        return f"{after - before:+,} B" if after != before else "0"
    return f"{after - before:+,} B ({(after - before) / before:+.2%})"


def limit_text(check: Check) -> str:
    """The tighter limit, and where it comes from."""
    limit = check.limit_bytes
    if limit is None:
        return "-"
    if limit == check.budget_bytes or check.before is None or check.before.size_bytes is None:
        return exact_text(limit)
    return f"{exact_text(limit)} = before + {limit - check.before.size_bytes:,} B"


def name_text(check: Check) -> str:
    """What is checked, as in a budget; a long name of a method does not hide the quantity."""
    method = None if check.method is None else clipped(check.method, _MAX_METHOD)
    return key_text((method, check.quantity))


def label(check: Check) -> str:
    """What is checked; of a whole program also which methods it comes from."""
    name = name_text(check)
    methods = check.after.methods if check.method is None else ()
    if not methods:
        return name
    more = f" and {len(methods) - _SHOWN_METHODS} more" if len(methods) > _SHOWN_METHODS else ""
    return f"{name}, set by {', '.join(methods[:_SHOWN_METHODS])}{more}"


def check_text(verdicts: Sequence[Verdict], signs: bool) -> str:
    """The whole report.

    Args:
        signs: whether the terminal can show a check mark and a cross.
    """
    parts = ["\n".join(_verdict_lines(verdict, signs)) for verdict in verdicts]
    if len(verdicts) > 1:
        failed = sum(not verdict.passes for verdict in verdicts)
        parts.append(f"{len(verdicts)} models: {len(verdicts) - failed} ok, {failed} not")
    return "\n\n".join(parts)


def _verdict_lines(verdict: Verdict, signs: bool) -> Iterator[str]:
    state = f"{_SIGNS[verdict.outcome]} " if signs else ""
    yield f"{plain(verdict.path)}  {state}{WORDS[verdict.outcome]}"
    if verdict.against is not None and verdict.growth is not None:
        base = plain(verdict.against)
        yield f"  against {base}, growth of at most {verdict.growth.text}"
    if verdict.checks:
        yield from (f"  {line}" for line in table(_rows(verdict, signs)).splitlines())
    for words, names in (("new", verdict.new_methods), ("removed", verdict.removed_methods)):
        if names:
            yield f"  {words} methods: {', '.join(_name(name) for name in names)}"
    shown: set[Explanation] = set()
    for check in verdict.checks:
        if check.outcome is not Outcome.OK:
            why = clipped(reason(check), _MAX_REASON) + advice(check, verdict.allow_unknown)
            yield f"  {_warning(check, verdict)}{name_text(check)}: {why}"
            for explanation in check.explanations:
                yield from (f"    {line}" for line in _explanation_lines(explanation, shown))
    for note in verdict.notes:
        yield f"  note: {plain(note)}"


def _rows(verdict: Verdict, signs: bool) -> list[list[str]]:
    """Columns that say nothing are left out."""
    rows = [["", "needs", "before", "change", "limit", ""]]
    for check in verdict.checks:
        sign = _SIGNS if signs else WORDS
        rows.append(
            [
                _name(label(check)),
                amount_text(check.after),
                amount_text(check.before),
                change_text(check),
                limit_text(check),
                sign[check.outcome],
            ]
        )
    if verdict.against is None:
        rows = [[*row[:2], *row[4:]] for row in rows]
    return rows


def reason(check: Check) -> str:
    """Why a check fails, in words; the method's name is as in the file."""
    sides = [f"not known: {check.unknown}"] if check.unknown is not None else []
    if check.outcome is Outcome.UNKNOWN and check.limit_bytes is not None:
        sides.append(f"the limit is {exact_text(check.limit_bytes)}")
    size = check.after.size_bytes or 0
    if check.budget_bytes is not None and size > check.budget_bytes:
        sides.append(
            f"{exact_text(size - check.budget_bytes)} over its budget of "
            f"{exact_text(check.budget_bytes)}"
        )
    if check.growth_bytes is not None and size > check.growth_bytes:
        before = check.before.size_bytes if check.before is not None else None
        accepted = check.growth_bytes - (before or 0)
        sides.append(f"grew by {change_text(check)}, accepted growth is {accepted:,} B")
    return "; ".join(sides)


def advice(check: Check, allow_unknown: bool) -> str:
    """What lets a check pass whose answer is not known."""
    if allow_unknown or check.outcome is not Outcome.UNKNOWN:
        return ""
    return "; --allow-unknown lets it pass"


def _warning(check: Check, verdict: Verdict) -> str:
    return "warning: " if verdict.allow_unknown and check.outcome is Outcome.UNKNOWN else ""


def _explanation_lines(explanation: Explanation, shown: set[Explanation]) -> Iterator[str]:
    """The parts only the first time: the arena's are also the total's."""
    if explanation in shown:
        yield f"{plain(explanation_text(explanation))} (see above)"
        return
    shown.add(explanation)
    yield plain(explanation_text(explanation))
    if explanation.source is not None:
        yield f"  at {_name(str(explanation.source))}: {_name(explanation.source.text)}"
    rows = [_part_row(part, explanation.size_bytes) for part in explanation.parts]
    if rows:
        for line, part in zip(table(rows).splitlines(), explanation.parts, strict=True):
            yield f"  {line}  {_name(part.description)}"
    if explanation.more:
        yield f"  and {explanation.more:,} more"


def _part_row(part: Part, total_bytes: int) -> list[str]:
    share = f"{part.size_bytes / total_bytes:.0%}" if total_bytes else ""
    return [clipped(part.name, 40), f"{part.size_bytes:,} B", share]


def explanation_text(explanation: Explanation) -> str:
    """What follows, in words."""
    size = exact_text(explanation.size_bytes)
    where = f"method {clipped(explanation.method or '', _MAX_METHOD)}"
    if explanation.reserved_bytes is not None:
        return (
            f"{where}, arena {explanation.memory_id} of {exact_text(explanation.reserved_bytes)}: "
            f"peak of {size} alive at {_name(explanation.step or '')}"
        )
    titles = {
        Subject.STATE: f"{where}: {size} survive from run to run",
        Subject.WORKSPACE: f"{where}: workspace of {size}, that of the largest delegate",
        Subject.INDIRECTION: f"{where}: {size} of pointers that delegates keep",
        Subject.FILE: f"the file of {size} holds",
    }
    return titles[explanation.subject]


# -- JSON ---------------------------------------------------------------------------------------


def check_json(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """The report for machines."""
    return {
        "ok": all(verdict.passes for verdict in verdicts),
        "models": [_verdict_json(verdict) for verdict in verdicts],
    }


def _verdict_json(verdict: Verdict) -> dict[str, Any]:
    return {
        "path": verdict.path,
        "against": verdict.against,
        "max_growth": verdict.growth.text if verdict.growth is not None else None,
        "ok": verdict.passes,
        "verdict": verdict.outcome.value,
        "checks": [_check_json(check) for check in verdict.checks],
        "new_methods": list(verdict.new_methods),
        "removed_methods": list(verdict.removed_methods),
        "notes": list(verdict.notes),
    }


def _check_json(check: Check) -> dict[str, Any]:
    return {
        "method": check.method,
        "quantity": str(check.quantity),
        "verdict": check.outcome.value,
        "bytes": check.after.size_bytes,
        "set_by": list(check.after.methods) if check.method is None else [check.method],
        "before_bytes": check.before.size_bytes if check.before is not None else None,
        "budget_bytes": check.budget_bytes,
        "growth_limit_bytes": check.growth_bytes,
        "over_bytes": check.over_bytes,
        "reason": None if check.outcome is Outcome.OK else reason(check),
        "explanations": [_explanation_json(found) for found in check.explanations],
    }


def _explanation_json(found: Explanation) -> dict[str, Any]:
    return {
        "of": found.subject.value,
        "method": found.method,
        "memory_id": found.memory_id,
        "step": found.step,
        "source": str(found.source) if found.source is not None else None,
        "bytes": found.size_bytes,
        "reserved_bytes": found.reserved_bytes,
        "parts": [
            {"name": part.name, "description": part.description, "bytes": part.size_bytes}
            for part in found.parts
        ],
        "more": found.more,
    }
