"""A summary → the data block of the page: columns and string tables, so that it stays small.

What the script of the page expects is in assets/model.js; both change together.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from onearena.report.html.shown import shown
from onearena.summary.model import (
    ArenaSummary,
    Block,
    DelegateSummary,
    Kind,
    MethodSummary,
    ProgramSummary,
    StepKind,
    StepSummary,
    TensorSummary,
)

_KINDS = tuple(Kind)
_STEP_KINDS = tuple(StepKind)
_NONE = -1


class _Strings:
    """Texts by number, each once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str | None) -> int:
        """The number of a text; -1 of None."""
        if text is None:
            return _NONE
        text = shown(text)
        found = self._numbers.setdefault(text, len(self.texts))
        if found == len(self.texts):
            self.texts.append(text)
        return found


def page_data(programs: Sequence[ProgramSummary]) -> dict[str, Any]:
    """All that the script of the page needs.

    Args:
        programs: one, or before and after.
    """
    return {
        "files": [
            {
                "path": shown(program.path),
                "methods": [method_data(method) for method in program.methods],
            }
            for program in programs
        ]
    }


def method_data(method: MethodSummary) -> dict[str, Any]:
    """One method. Sizes and offsets are bytes; None stays null."""
    strings = _Strings()
    return {
        "name": shown(method.name),
        "steps": _steps(method.steps, strings),
        "tensors": _tensors(method.tensors, strings),
        "blocks": _blocks(method.blocks),
        "arenas": [_arena(arena) for arena in method.arenas],
        "delegates": [_delegate(delegate, strings) for delegate in method.delegates],
        "workspace": list(method.workspace_by_step),
        "shared_workspace": method.workspace.global_bytes,
        "strings": strings.texts,
    }


def _steps(steps: Sequence[StepSummary], strings: _Strings) -> dict[str, list[int]]:
    def source(step: StepSummary) -> str | None:
        line = step.source
        return f"{line} {line.function}: {line.text}" if line else None

    return {
        "instruction": [step.instruction for step in steps],
        "node": [_NONE if step.node is None else step.node for step in steps],
        "label": [strings.number(step.label) for step in steps],
        "kind": [_STEP_KINDS.index(step.kind) for step in steps],
        "delegate": [_NONE if step.delegate is None else step.delegate for step in steps],
        "source": [strings.number(source(step)) for step in steps],
    }


def _tensors(tensors: Sequence[TensorSummary], strings: _Strings) -> dict[str, list[Any]]:
    return {
        "value": [t.value for t in tensors],
        "name": [strings.number(t.name) for t in tensors],
        "kind": [_KINDS.index(t.kind) for t in tensors],
        "dtype": [strings.number(t.dtype) for t in tensors],
        "shape": [strings.number(t.shape_text) for t in tensors],
        "dynamic": [int(t.is_dynamic) for t in tensors],
        "size": [t.size_bytes for t in tensors],
        "arena": [t.arena for t in tensors],
        "offset": [t.offset for t in tensors],
        "life": [[cut for i in t.lifetime for cut in (i.start, i.end)] for t in tensors],
        "producers": [list(t.producers) for t in tensors],
        "consumers": [list(t.consumers) for t in tensors],
        "pinned": [strings.number(t.pinned) for t in tensors],
    }


def _blocks(blocks: Sequence[Block]) -> dict[str, list[Any]]:
    return {
        "arena": [block.arena for block in blocks],
        "kind": [_KINDS.index(block.kind) for block in blocks],
        "tensors": [list(block.tensors) for block in blocks],
        "rectangles": [
            [edge for r in block.rectangles for edge in (r.start, r.end, r.low, r.high)]
            for block in blocks
        ],
    }


def _arena(arena: ArenaSummary) -> dict[str, Any]:
    return {
        "id": arena.memory_id,
        "size": arena.size_bytes,
        "bound": arena.bound_bytes,
        "peak_step": arena.peak_step,
        "live": list(arena.live_bytes),
    }


def _delegate(delegate: DelegateSummary, strings: _Strings) -> dict[str, Any]:
    return {
        "backend": strings.number(delegate.backend),
        "opened": delegate.is_opened,
        "workspace": delegate.workspace_bytes,
        "closed": strings.number(delegate.closed),
    }


def script_json(data: object) -> str:
    """JSON that can stand in a script element: nothing in it can end the element.

    Everything but ASCII is escaped as well, U+2028 and the like among it.
    """
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
