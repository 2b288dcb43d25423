"""Puts the page together: template, style, script, data. The result needs no other file.

The script is written by hand, without a chart library: the page may hold only what this project
wrote and may be opened from disk without a network, the usual libraries are larger than the
reports of most programs, and none draws ten thousand rectangles that are looked at one by one.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files

from onearena.report.html.data import page_data, script_json
from onearena.report.html.sections import body_html, title_text
from onearena.report.html.shown import escaped
from onearena.sizes.results import ProgramPools
from onearena.summary.model import ProgramSummary

# Joined in this order into one function: later files use what earlier ones declare.
_SCRIPTS = (
    "dom.js",
    "format.js",
    "model.js",
    "index.js",
    "view.js",
    "theme.js",
    "describe.js",
    "axes.js",
    "map.js",
    "overlay.js",
    "curve.js",
    "gestures.js",
    "keys.js",
    "alive.js",
    "details.js",
    "table.js",
    "pane.js",
    "main.js",
)
_SLOT = re.compile(r"\{\{(\w+)\}\}")


def html_report(
    summary: ProgramSummary,
    other: ProgramSummary | None = None,
    *,
    pools: Sequence[ProgramPools] = (),
    other_pools: Sequence[ProgramPools] = (),
) -> str:
    """The report as one HTML document. Write it as UTF-8.

    Args:
        summary: of the program; the one before, if there are two.
        other: of the program to put beside it.
        pools, other_pools: the pools of each program, one per target; without them the sizes of
            allocators are shown as unknown.
    """
    programs = (summary,) if other is None else (summary, other)
    style, script = _asset("style.css"), _script()
    return _filled(
        _asset("template.html"),
        {
            "policy": _policy(style, script),
            "title": escaped(title_text(programs)),
            "style": style,
            "body": body_html(programs, (pools, other_pools)[: len(programs)]),
            "data": script_json(page_data(programs)),
            "script": script,
        },
    )


def _asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def _script() -> str:
    parts = "\n".join(_asset(name) for name in _SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


def _policy(style: str, script: str) -> str:
    """Nothing but this very style and this very script, and nothing from anywhere else.

    Sources by hash: https://www.w3.org/TR/CSP3/#grammardef-hash-source
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src {_hash(style)}",
            f"script-src {_hash(script)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _filled(template: str, parts: Mapping[str, str]) -> str:
    """One pass: what is put in is not looked at again."""
    return _SLOT.sub(lambda match: parts[match[1]], template)
