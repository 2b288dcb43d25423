"""A parser of FlatBuffers schema files (.fbs): tables, enums, unions, the file identifier."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"[^"]*"|[A-Za-z_][\w.]*|-?[0-9][\w.+-]*|[^\s]', re.DOTALL)
SCALARS = {
    "bool": "?",
    "byte": "b",
    "int8": "b",
    "ubyte": "B",
    "uint8": "B",
    "short": "h",
    "int16": "h",
    "ushort": "H",
    "uint16": "H",
    "int": "i",
    "int32": "i",
    "uint": "I",
    "uint32": "I",
    "long": "q",
    "int64": "q",
    "ulong": "Q",
    "uint64": "Q",
    "float": "f",
    "float32": "f",
    "double": "d",
    "float64": "d",
}
"""The `struct` letter of each scalar type's name."""


@dataclass(frozen=True)
class FbsField:
    """A table's field; `type` without brackets when it is a vector."""

    name: str
    type: str
    is_vector: bool
    default: str | None
    attributes: dict[str, str]


@dataclass
class Fbs:
    """One schema file, with the files it includes."""

    tables: dict[str, tuple[FbsField, ...]] = field(default_factory=dict)
    enums: dict[str, dict[str, int]] = field(default_factory=dict)
    enum_types: dict[str, str] = field(default_factory=dict)
    unions: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    """Members in tag order, each with its name and its table."""
    identifier: str | None = None
    root: str | None = None


def parse(path: Path) -> Fbs:
    """Parses the file and its includes."""
    schema = Fbs()
    _read(path, schema)
    return schema


def _read(path: Path, schema: Fbs) -> None:
    reader = _Reader(path.read_text(encoding="utf-8"))
    while (word := reader.optional()) is not None:
        if word == "include":
            _read(path.parent / reader.word().strip('"'), schema)
        elif word == "table":
            name = reader.word()
            schema.tables[name] = tuple(reader.fields())
        elif word == "enum":
            name = reader.word()
            reader.expect(":")
            schema.enum_types[name] = SCALARS[reader.word()]
            schema.enums[name] = reader.enumerators()
        elif word == "union":
            name = reader.word()
            schema.unions[name] = tuple(reader.members())
        elif word == "file_identifier":
            schema.identifier = reader.word().strip('"')
        elif word == "root_type":
            schema.root = reader.word()
        elif word in ("namespace", "file_extension", "attribute"):
            reader.word()
        elif word != ";":
            raise ValueError(f"{path}: unexpected {word!r}")


class _Reader:
    def __init__(self, text: str) -> None:
        tokens = (match.group() for match in _TOKEN.finditer(text))
        self._tokens = [token for token in tokens if not token.startswith(("//", "/*"))]
        self._next = 0

    def optional(self) -> str | None:
        """The next token, None at the end."""
        if self._next == len(self._tokens):
            return None
        self._next += 1
        return self._tokens[self._next - 1]

    def word(self) -> str:
        token = self.optional()
        if token is None:
            raise ValueError("the schema ends in the middle of a definition")
        return token

    def expect(self, token: str) -> None:
        found = self.word()
        if found != token:
            raise ValueError(f"expected {token!r}, found {found!r}")

    def take(self, token: str) -> bool:
        """Consumes the next token when it is this one."""
        if self._next < len(self._tokens) and self._tokens[self._next] == token:
            self._next += 1
            return True
        return False

    def fields(self) -> Iterator[FbsField]:
        self.expect("{")
        while not self.take("}"):
            name = self.word()
            self.expect(":")
            is_vector = self.take("[")
            type_name = self.word()
            if is_vector:
                self.expect("]")
            default = self.word() if self.take("=") else None
            yield FbsField(name, type_name, is_vector, default, self._attributes())
            self.expect(";")

    def _attributes(self) -> dict[str, str]:
        found: dict[str, str] = {}
        if not self.take("("):
            return found
        while not self.take(")"):
            name = self.word()
            found[name] = self.word() if self.take(":") else ""
            self.take(",")
        return found

    def enumerators(self) -> dict[str, int]:
        found: dict[str, int] = {}
        following = 0
        self.expect("{")
        while not self.take("}"):
            name = self.word()
            found[name] = int(self.word(), 0) if self.take("=") else following
            following = found[name] + 1
            self.take(",")
        return found

    def members(self) -> Iterator[tuple[str, str]]:
        self.expect("{")
        while not self.take("}"):
            name = self.word()
            yield name, self.word() if self.take(":") else name
            self.take(",")
