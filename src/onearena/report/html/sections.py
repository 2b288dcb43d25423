"""The parts of the page that are plain HTML: heading, totals, delegates, a place for each pane.

Maps, curves and tensors are drawn by the script of the page into the places made here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from onearena.report.html.shown import escaped, shown
from onearena.report.html.tables import SIDES, size_cell, size_pair, totals_table
from onearena.report.totals import method_rows, program_rows
from onearena.sizes.results import ProgramPools
from onearena.summary.model import DelegateSummary, MethodSummary, ProgramSummary

Programs = Sequence[ProgramSummary]
Pools = Sequence[Sequence[ProgramPools]]


def title_text(programs: Programs) -> str:
    """The title of the page."""
    names = " and ".join(shown(_file_name(program.path)) for program in programs)
    return f"Memory of {names}"


def _file_name(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1] or path


def body_html(programs: Programs, pools: Pools) -> str:
    """The body, without data and script.

    Args:
        pools: by program, what is known of its pools on each target.
    """
    names = list(dict.fromkeys(m.name for program in programs for m in program.methods))
    return "\n".join(
        (
            '<a class="skip" href="#main">Skip to the report</a>',
            _header(programs, names),
            '<main id="main" tabindex="-1">',
            "<noscript><p class=note>The maps and curves of this page are drawn by its script, "
            "which is switched off.</p></noscript>",
            *(_method(name, number, programs, pools) for number, name in enumerate(names)),
            "" if names else '<p class="note">The program has no methods.</p>',
            _program(programs, pools),
            "</main>",
        )
    )


def _header(programs: Programs, names: Sequence[str]) -> str:
    files = " ".join(
        f'<span class="file">{_side_tag(number, programs)}<bdi>{escaped(program.path)}</bdi>'
        f" <small>{size_pair(program.file_bytes)}</small></span>"
        for number, program in enumerate(programs)
    )
    nav = ""
    if len(names) > 1:
        links = "".join(
            f'<li><a href="#method-{number}"><bdi>{escaped(name)}</bdi></a></li>'
            for number, name in enumerate(names)
        )
        nav = f'<nav aria-label="Methods"><ul>{links}</ul></nav>'
    return (
        f'<header><div><h1>onearena <span class="quiet">memory report</span></h1>'
        f'<p class="files">{files}</p></div>'
        f'<button type="button" id="theme">Colours: automatic</button>{nav}</header>'
    )


def _side_tag(number: int, programs: Programs) -> str:
    if len(programs) < 2:
        return ""
    return f'<span class="side {SIDES[number]}">{SIDES[number]}</span> '


def _method(name: str, number: int, programs: Programs, pools: Pools) -> str:
    found = [program.method(name) for program in programs]
    rows = [
        method_rows(method, pools[k]) if method is not None else None
        for k, method in enumerate(found)
    ]
    heads = SIDES if len(programs) > 1 else ("bytes",)
    return "\n".join(
        (
            f'<section class="method" id="method-{number}" aria-labelledby="method-{number}-name">',
            f'<h2 id="method-{number}-name"><span class="quiet">method</span> '
            f"<bdi>{escaped(name)}</bdi></h2>",
            _cards(found),
            f'<div class="panes count-{len(programs)}">',
            *(_pane(k, method, name, programs) for k, method in enumerate(found)),
            "</div>",
            "<h3>Totals</h3>",
            totals_table(f"Totals of {name}", heads, rows),
            *(_delegates(k, method, programs) for k, method in enumerate(found) if method),
            "</section>",
        )
    )


def _cards(found: Sequence[MethodSummary | None]) -> str:
    """The headline: what it needs, and what became of it."""
    methods = [method for method in found if method is not None]
    if len(methods) == 2:
        old, new = methods
        pairs: list[tuple[str, int | None, int | None]] = [
            ("arenas", old.arena_bytes, new.arena_bytes),
            ("delegate workspace", old.workspace.global_bytes, new.workspace.global_bytes),
            ("together", old.total_bytes, new.total_bytes),
        ]
        if not any(method.calls_delegates for method in methods):
            del pairs[1:]
        cards = [
            _card(
                label, f"{size_cell(a)} <span aria-label=to>→</span> {size_cell(b)}", _ratio(a, b)
            )
            for label, a, b in pairs
        ]
        return f'<div class="cards">{"".join(cards)}</div>'
    method = methods[0]
    sizes: list[tuple[str, int | None]] = [("arenas", method.arena_bytes)]
    if method.calls_delegates:
        sizes.append(("delegate workspace", method.workspace.global_bytes))
        sizes.append(("together", method.total_bytes))
    cards = [_card(label, size_cell(size), _exact(size)) for label, size in sizes]
    least = f"{_exact(method.bound_bytes)}{_gap(method)}"
    cards.append(_card("arenas, at least", size_cell(method.bound_bytes), least))
    return f'<div class="cards">{"".join(cards)}</div>'


def _card(label: str, value: str, below: str) -> str:
    return (
        f'<div class="card"><span class="label">{label}</span>'
        f'<span class="value">{value}</span><span class="below">{below}</span></div>'
    )


def _exact(size_bytes: int | None) -> str:
    return "the file does not tell" if size_bytes is None else f"{size_bytes:,} B"


def _ratio(old: int | None, new: int | None) -> str:
    if old is None or new is None:
        return "not known for both"
    change = f"{new - old:+,} B".replace("-", "\N{MINUS SIGN}")
    return f"\N{MULTIPLICATION SIGN} {new / old:.3f}, {change}" if old else change


def _gap(method: MethodSummary) -> str:
    if not method.bound_bytes:
        return ""
    gap = (method.arena_bytes - method.bound_bytes) / method.bound_bytes
    return f", gap {gap:.2%}"


def _pane(number: int, method: MethodSummary | None, name: str, programs: Programs) -> str:
    """Where the script draws one method of one program."""
    side = _side_tag(number, programs)
    program = programs[number]
    planned = _planner(method)
    file = f"<h3>{side}<bdi>{escaped(_file_name(program.path))}</bdi>{planned}</h3>" if side else ""
    if method is None:
        return (
            f'<div class="pane">{file}<p class="note">This file has no method '
            f"<bdi>{escaped(name)}</bdi>.</p></div>"
        )
    position = program.methods.index(method)
    lines = [*_remarks(method)]
    if planned and not side:
        lines.insert(0, f'<p class="note">{planned}</p>')
    return (
        f'<div class="pane">{file}{"".join(lines)}'
        f'<div class="drawing" data-file="{number}" data-method="{position}"></div></div>'
    )


def _planner(method: MethodSummary | None) -> str:
    if method is None or method.optimized_by is None:
        return ""
    return f' <span class="quiet">planned by onearena {escaped(method.optimized_by)}</span>'


def _remarks(method: MethodSummary) -> Iterator[str]:
    if not method.blocks:
        yield '<p class="note">Nothing is planned in this method: its arenas hold no tensors.</p>'
    for note in method.notes:
        yield f'<p class="note">{escaped(note)}</p>'


def _delegates(number: int, method: MethodSummary, programs: Programs) -> str:
    if not method.delegates:
        return ""
    heads = (
        "delegate", "calls", "inside", "nodes", "workspace", "indirection", "weights", "payload",
        "notes",
    )  # fmt: skip
    head = "".join(f'<th scope="col">{text}</th>' for text in heads)
    rows = "".join(_delegate(delegate) for delegate in method.delegates)
    side = f" {SIDES[number]}" if len(programs) > 1 else ""
    count = len(method.delegates)
    return (
        f"<details><summary>Delegates{side} ({count})</summary>"
        f'<div class="scroll" tabindex="0" role="region" aria-label="Delegates{side}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></details>"
    )


def _delegate(delegate: DelegateSummary) -> str:
    inside = "opened" if delegate.is_opened else "closed" if delegate.closed else "not opened"
    notes: Iterable[str] = (*((delegate.closed,) if delegate.closed else ()), *delegate.notes)
    cells = [
        f'<th scope="row">{delegate.number} {escaped(delegate.backend)}</th>',
        f"<td>{escaped(', '.join(str(call) for call in delegate.calls) or 'none')}</td>",
        f"<td>{inside}</td>",
        f'<td class="number">{"unknown" if delegate.nodes is None else delegate.nodes}</td>',
        *(
            f'<td class="number">{size_pair(size)}</td>'
            for size in (
                delegate.workspace_bytes,
                delegate.indirection_bytes,
                delegate.weights_bytes,
                delegate.payload_bytes,
            )
        ),
        f"<td>{escaped('; '.join(notes))}</td>",
    ]
    return f"<tr>{''.join(cells)}</tr>"


def _program(programs: Programs, pools: Pools) -> str:
    heads = SIDES if len(programs) > 1 else ("bytes",)
    rows = [program_rows(program, pools[k]) for k, program in enumerate(programs)]
    return (
        '<section aria-labelledby="program"><h2 id="program">The file</h2>'
        f"{totals_table('What the file holds', heads, rows)}</section>"
    )
