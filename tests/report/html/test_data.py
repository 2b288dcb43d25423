"""The data block says what the summary says."""

from __future__ import annotations

from typing import Any

from onearena.report.html.data import method_data, page_data
from onearena.summary.model import Kind, MethodSummary, ProgramSummary, StepKind


def texts(data: dict[str, Any], part: str, column: str) -> list[str | None]:
    """A column of texts."""
    strings = data["strings"]
    return [None if number < 0 else strings[number] for number in data[part][column]]


def check(method: MethodSummary) -> None:
    data = method_data(method)
    tensors, steps, blocks = data["tensors"], data["steps"], data["blocks"]
    assert texts(data, "tensors", "name") == [t.name for t in method.tensors]
    assert texts(data, "tensors", "shape") == [t.shape_text for t in method.tensors]
    assert texts(data, "tensors", "dtype") == [t.dtype for t in method.tensors]
    assert texts(data, "tensors", "pinned") == [t.pinned for t in method.tensors]
    assert [tuple(Kind)[k] for k in tensors["kind"]] == [t.kind for t in method.tensors]
    for column in ("value", "arena", "offset"):
        assert tensors[column] == [getattr(t, column) for t in method.tensors]
    assert tensors["size"] == [t.size_bytes for t in method.tensors]
    assert [tuple(users) for users in tensors["producers"]] == [t.producers for t in method.tensors]
    assert [tuple(users) for users in tensors["consumers"]] == [t.consumers for t in method.tensors]
    for life, tensor in zip(tensors["life"], method.tensors, strict=True):
        pairs = [(life[k], life[k + 1]) for k in range(0, len(life), 2)]
        assert pairs == [(i.start, i.end) for i in tensor.lifetime]
    assert texts(data, "steps", "label") == [s.label for s in method.steps]
    assert [tuple(StepKind)[k] for k in steps["kind"]] == [s.kind for s in method.steps]
    assert steps["instruction"] == [s.instruction for s in method.steps]
    assert [None if n < 0 else n for n in steps["delegate"]] == [s.delegate for s in method.steps]
    for source, step in zip(texts(data, "steps", "source"), method.steps, strict=True):
        assert (source is None) == (step.source is None)
        assert source is None or source.startswith(str(step.source))
    assert [tuple(t) for t in blocks["tensors"]] == [b.tensors for b in method.blocks]
    for flat, block in zip(blocks["rectangles"], method.blocks, strict=True):
        rows = [tuple(flat[k : k + 4]) for k in range(0, len(flat), 4)]
        assert rows == [(r.start, r.end, r.low, r.high) for r in block.rectangles]
    assert data["workspace"] == list(method.workspace_by_step)
    assert [tuple(a["live"]) for a in data["arenas"]] == [a.live_bytes for a in method.arenas]


def test_methods_come_back(rich: ProgramSummary, aliased: ProgramSummary) -> None:
    for method in (*rich.methods, *aliased.methods):
        check(method)


def test_unknown_is_null_and_not_zero(rich: ProgramSummary) -> None:
    decode = method_data(rich.methods[1])
    assert None in decode["workspace"]
    assert decode["shared_workspace"] is None
    assert decode["delegates"][0]["workspace"] is None


def test_texts_are_stored_once(rich: ProgramSummary) -> None:
    strings = method_data(rich.methods[0])["strings"]
    assert len(strings) == len(set(strings))


def test_two_files(rich: ProgramSummary, empty: ProgramSummary) -> None:
    data = page_data((rich, empty))
    assert [file["path"] for file in data["files"]] == [rich.path, empty.path]
    assert [len(file["methods"]) for file in data["files"]] == [2, 1]
