"""The report of `check` as Markdown, for a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onearena.checking.explain import Explanation
from onearena.checking.verdict import Check, Outcome, Verdict
from onearena.report.check_text import (
    WORDS,
    advice,
    amount_text,
    change_text,
    explanation_text,
    label,
    limit_text,
    name_text,
    reason,
)
from onearena.report.markdown import code_span

MARKER = "<!-- onearena check -->"
# GitHub takes comments of up to 65,536 characters
MAX_CHARACTERS = 60_000
# the name of a method may become four times as long
_MAX_LABEL = 400
_MAX_EXPLANATION = 1000
_MAX_ROWS = 40
_MAX_METHODS = 20
_MAX_NOTES = 10
_MAX_EXPLANATIONS = 4
_MAX_REASONS_CHARACTERS = 25_000
_SIGNS = {
    Outcome.OK: "\N{WHITE HEAVY CHECK MARK}",
    Outcome.OVER: "\N{CROSS MARK}",
    Outcome.UNKNOWN: "\N{BLACK QUESTION MARK ORNAMENT}",
}


def check_markdown(verdicts: Sequence[Verdict]) -> str:
    """The whole report; its first line is `MARKER`, by which a comment is found again."""
    failed = [verdict for verdict in verdicts if not verdict.passes]
    title = "within budget" if not failed else "over budget"
    if failed and all(verdict.outcome is Outcome.UNKNOWN for verdict in failed):
        title = "not known"
    outcome = max((verdict.outcome for verdict in failed), default=Outcome.OK, key=_worst)
    parts = [f"{MARKER}\n### {_SIGNS[outcome]} Memory: {title}"]
    size, left = len(parts[0]), 0
    # those that fail come first, and come in any case as long as there is room
    for verdict in [*failed, *(verdict for verdict in verdicts if verdict.passes)]:
        section = "\n".join(_section(verdict))
        if size + len(section) > MAX_CHARACTERS:
            left += 1
            continue
        size += len(section) + 2
        parts.append(section)
    if left:
        parts.append(f"{left} more model{'' if left == 1 else 's'}: see the log.")
    return "\n\n".join(parts) + "\n"


def _worst(outcome: Outcome) -> int:
    return (Outcome.OK, Outcome.UNKNOWN, Outcome.OVER).index(outcome)


def _section(verdict: Verdict) -> Iterator[str]:
    base = ""
    if verdict.against is not None and verdict.growth is not None:
        base = f" against {code_span(verdict.against, 300)}, growth of at most "
        base += verdict.growth.text
    yield f"**{code_span(verdict.path, 300)}**{base}"
    yield ""
    if verdict.checks:
        yield from _table(verdict)
    for words, names in (("New", verdict.new_methods), ("Removed", verdict.removed_methods)):
        if names:
            listed = ", ".join(code_span(name) for name in names[:_MAX_METHODS])
            yield f"\n{words} methods: {listed}{_more(len(names) - _MAX_METHODS)}"
    yield from _reasons(verdict)
    for note in verdict.notes[:_MAX_NOTES]:
        yield f"\nNote: {code_span(note, 300)}"


def _reasons(verdict: Verdict) -> Iterator[str]:
    """Why checks fail, the worst first, as long as there is room."""
    unsure = [check for check in verdict.checks if check.outcome is not Outcome.OK]
    unsure.sort(key=lambda check: -_worst(check.outcome))
    shown: set[Explanation] = set()
    size = 0
    for number, check in enumerate(unsure):
        lines = list(_reason(check, verdict.allow_unknown, shown))
        size += sum(len(line) + 1 for line in lines)
        if size > _MAX_REASONS_CHARACTERS:
            yield f"\n{len(unsure) - number} more reasons: see the log."
            return
        yield from lines


def _reason(check: Check, allow_unknown: bool, shown: set[Explanation]) -> Iterator[str]:
    is_warning = check.outcome is Outcome.UNKNOWN and allow_unknown
    name = code_span(name_text(check), _MAX_LABEL)
    why = _reason_text(check) + advice(check, allow_unknown)
    yield f"\n{'Warning: ' if is_warning else ''}{name}: {why}"
    for explanation in check.explanations[:_MAX_EXPLANATIONS]:
        yield ""
        yield from _explanation(explanation, shown)


def _more(count: int) -> str:
    return f" and {count} more" if count > 0 else ""


def _table(verdict: Verdict) -> Iterator[str]:
    yield "| | before | after | change | limit | verdict |"
    yield "|---|---:|---:|---:|---:|---|"
    checks = list(verdict.checks)
    if len(checks) > _MAX_ROWS:
        checks.sort(key=lambda check: -_worst(check.outcome))
    for check in checks[:_MAX_ROWS]:
        cells = (
            code_span(label(check), _MAX_LABEL),
            amount_text(check.before),
            amount_text(check.after),
            change_text(check),
            limit_text(check),
            f"{_SIGNS[check.outcome]} {WORDS[check.outcome]}",
        )
        yield f"| {' | '.join(cells)} |"
    if len(checks) > _MAX_ROWS:
        yield f"\n{len(checks) - _MAX_ROWS} more checks: see the log."


def _reason_text(check: Check) -> str:
    """Numbers as they are; backends' names come from the file."""
    return reason(check) if check.unknown is None else code_span(reason(check), 300)


def _explanation(explanation: Explanation, shown: set[Explanation]) -> Iterator[str]:
    """The parts only the first time: the arena's are also the total's."""
    if explanation in shown:
        yield f"{code_span(explanation_text(explanation), _MAX_EXPLANATION)} (see above)"
        return
    shown.add(explanation)
    yield code_span(explanation_text(explanation), _MAX_EXPLANATION)
    if explanation.source is not None:
        source = explanation.source
        yield f"at {code_span(str(source), 200)}: {code_span(source.text, 200)}"
    yield ""
    yield "| | bytes | share | |"
    yield "|---|---:|---:|---|"
    for part in explanation.parts:
        share = f"{part.size_bytes / explanation.size_bytes:.0%}" if explanation.size_bytes else ""
        cells = (
            code_span(part.name),
            f"{part.size_bytes:,}",
            share,
            code_span(part.description),
        )
        yield f"| {' | '.join(cells)} |"
    if explanation.more:
        yield f"\nand {explanation.more:,} more"
