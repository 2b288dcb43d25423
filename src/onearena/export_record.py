"""What an exporter knows and a file does not say, under one named-data key.

`onearena.to_executorch` writes it: where in the model's source an instruction comes from, which
values are state and what it is called, how sizes follow from the inputs' sizes, what the program
is for. Nothing in the runtime reads it. It always describes the file that it is in: `optimize`
moves it along with the instructions. The format is described in docs/exporter.md.

A file may come from anywhere: what does not fit the file is ignored, as a whole per method.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from onearena.flatbuf.data import data_size, read_data
from onearena.pte.container import PteFile
from onearena.pte.named_data import named_data, with_named_data
from onearena.pte.schema import ExecutionPlan, Tensor
from onearena.size_formula import Formula, formula_json, parse_formula

KEY = "onearena.export"
FORMAT = 1
_MAX_BYTES = 64 << 20
_MAX_TEXT = 1000
_MAX_NUMBER = 1 << 31


@dataclass(frozen=True, slots=True)
class ExportedLine:
    """A line of the model's source.

    Attributes:
        file: without the directories of the machine that exported it.
        line: counted from 1.
        function: the function around it.
    """

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class ExportedMethod:
    """What is known of a method.

    Attributes:
        lines: by instruction, the lines it comes from; several for a delegate call.
        handles: by debug handle of a node inside a delegate, its line.
        state: by name, the values that a mutable buffer has.
        sizes: by value of a tensor with a size that depends on the inputs, the formula of each of
            its sizes; None where there is none.
    """

    lines: tuple[tuple[ExportedLine, ...], ...] = ()
    handles: Mapping[int, ExportedLine] = field(default_factory=dict)
    state: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    sizes: Mapping[int, tuple[Formula | None, ...]] = field(default_factory=dict)

    @property
    def state_values(self) -> frozenset[int]:
        """All values that are state."""
        return frozenset(value for values in self.state.values() for value in values)

    def moved(self, order: Sequence[int]) -> ExportedMethod:
        """The same for a method whose instructions moved.

        Args:
            order: the old number of each instruction; empty when none moved.
        """
        if not order or not self.lines:
            return self
        if max(order) >= len(self.lines):
            return replace(self, lines=(), handles={})  # of another file: better none than wrong
        return replace(self, lines=tuple(self.lines[old] for old in order))

    def line_of(self, instruction: int, debug_handle: int = 0) -> ExportedLine | None:
        """The line of an instruction, or of a node inside the call that it is.

        Args:
            debug_handle: of the node; 0 for the whole instruction.
        """
        if debug_handle in self.handles:
            return self.handles[debug_handle]
        lines = self.lines[instruction] if 0 <= instruction < len(self.lines) else ()
        return lines[-1] if lines else None


@dataclass(frozen=True)
class ExportRecord:
    """The whole record.

    Attributes:
        tool: which wrote it.
        methods: by name.
        target: what the program is for, such as "cortex-m55"; None where nobody said.
    """

    tool: str
    methods: Mapping[str, ExportedMethod]
    target: str | None = None


# -- writing ----------------------------------------------------------------------------------


def encode_export(record: ExportRecord) -> bytes:
    """The record as JSON."""
    table = _Table()
    methods = {name: table.method(method) for name, method in record.methods.items()}
    content = {
        "format": FORMAT,
        "tool": record.tool,
        "target": record.target,
        "files": list(table.files),
        "lines": [list(line) for line in table.lines],
        "methods": methods,
    }
    return json.dumps(content, separators=(",", ":")).encode()


class _Table:
    """Files and lines, each once."""

    def __init__(self) -> None:
        self.files: dict[str, int] = {}
        self.lines: dict[tuple[int, int, str], int] = {}

    def method(self, method: ExportedMethod) -> dict[str, Any]:
        return {
            "lines": [[self._line(line) for line in lines] for lines in method.lines],
            "handles": {str(k): self._line(line) for k, line in method.handles.items()},
            "state": {name: list(values) for name, values in method.state.items()},
            "sizes": {
                str(value): [None if dim is None else formula_json(dim) for dim in dims]
                for value, dims in method.sizes.items()
            },
        }

    def _line(self, line: ExportedLine) -> int:
        file = self.files.setdefault(line.file, len(self.files))
        return self.lines.setdefault((file, line.line, line.function), len(self.lines))


def with_export(file: PteFile, record: ExportRecord) -> PteFile:
    """The file with a record, in place of one that it has."""
    content = encode_export(record)
    return file.with_program(*with_named_data(file.program, file.segments, KEY, content))


def with_moved_export(file: PteFile, orders: Mapping[str, Sequence[int]]) -> PteFile:
    """The file with its record moved along with the instructions; the file itself without one.

    Args:
        orders: by method whose instructions moved, the old number of each instruction.
    """
    record = read_export(file)
    if record is None or not any(orders.get(name) for name in record.methods):
        return file
    methods = {name: method.moved(orders.get(name, ())) for name, method in record.methods.items()}
    return with_export(file, replace(record, methods=methods))


# -- reading ----------------------------------------------------------------------------------


def read_export(file: PteFile) -> ExportRecord | None:
    """The record of a file; None when it has none, or none that this version understands."""
    data = named_data(file, KEY)
    if data is None or data_size(data) > _MAX_BYTES:
        return None
    try:
        return _decode(json.loads(read_data(data)))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return None


def exported_method(file: PteFile, plan: ExecutionPlan) -> ExportedMethod | None:
    """What a file's record says of a method; None when it says nothing, or does not fit it."""
    record = read_export(file)
    method = record.methods.get(plan.name or "") if record else None
    return method if method is not None and _fits(method, plan) else None


def _fits(method: ExportedMethod, plan: ExecutionPlan) -> bool:
    chains, values = plan.chains or (), plan.values or ()
    count = len(chains[0].instructions or ()) if chains else 0
    if method.lines and len(method.lines) != count:
        return False
    for value in (*method.state_values, *method.sizes):
        if not (value < len(values) and isinstance(values[value].val, Tensor)):
            return False
    for value, dims in method.sizes.items():
        tensor = values[value].val
        if not isinstance(tensor, Tensor) or len(dims) != len(tensor.sizes or ()):
            return False
    return True


def _decode(content: Any) -> ExportRecord | None:
    if content["format"] != FORMAT:
        return None
    files = [_text(name) for name in content["files"]]
    lines = [
        ExportedLine(files[_number(file)], _number(line), _text(function))
        for file, line, function in content["lines"]
    ]
    methods = {_text(name): _method(entry, lines) for name, entry in content["methods"].items()}
    target = content["target"]
    return ExportRecord(_text(content["tool"]), methods, None if target is None else _text(target))


def _method(entry: Any, lines: Sequence[ExportedLine]) -> ExportedMethod:
    return ExportedMethod(
        tuple(tuple(lines[_number(k)] for k in instruction) for instruction in entry["lines"]),
        {_key(handle): lines[_number(k)] for handle, k in entry["handles"].items()},
        {
            _text(name): tuple(_number(value) for value in values)
            for name, values in entry["state"].items()
        },
        {
            _key(value): tuple(None if dim is None else parse_formula(dim) for dim in dims)
            for value, dims in entry["sizes"].items()
        },
    )


def _number(value: Any) -> int:
    """An index or a line: not negative, and a number, not something that looks like one."""
    if type(value) is not int or not 0 <= value < _MAX_NUMBER:
        raise ValueError
    return value


def _key(text: str) -> int:
    """A number as a key of a JSON object, in one form only."""
    number = _number(int(text))
    if str(number) != text:
        raise ValueError
    return number


def _text(value: Any) -> str:
    if type(value) is not str or len(value) > _MAX_TEXT or not value.isprintable():
        raise ValueError
    return value
