"""What a program's file is made of, as results: parts that add up to the file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FilePart:
    """A part of the file.

    Attributes:
        name: what it is called in every report.
        note: what it holds.
    """

    name: str
    note: str
    size_bytes: int


@dataclass(frozen=True)
class FileSizes:
    """What the file holds, in bytes: in flash, or read by the application.

    Attributes:
        file_bytes: all of it, padding included.
        program_bytes: the FlatBuffer, with constants and payloads that are stored inline.
        inline_bytes: of these, the constants and payloads.
        constant_bytes: constant tensors.
        payload_bytes: the delegates' payloads.
        initial_state_bytes: initial content of mutable buffers.
        named_bytes: named data, such as weights that delegates share.
    """

    file_bytes: int
    program_bytes: int
    inline_bytes: int
    constant_bytes: int
    payload_bytes: int
    initial_state_bytes: int
    named_bytes: int

    @property
    def description_bytes(self) -> int:
        """The FlatBuffer without the constants and payloads in it."""
        return max(0, self.program_bytes - self.inline_bytes)

    @property
    def padding_bytes(self) -> int:
        """What is left: padding between the parts, and segments that nothing names."""
        return max(0, self.file_bytes - sum(part.size_bytes for part in self._named()))

    @property
    def parts(self) -> tuple[FilePart, ...]:
        """The parts that take bytes, in the order of the file; they add up to the file."""
        note = "between the parts, and what nothing names"
        padding = FilePart("padding", note, self.padding_bytes)
        return tuple(part for part in (*self._named(), padding) if part.size_bytes)

    def _named(self) -> tuple[FilePart, ...]:
        return (
            FilePart("program description", "values, instructions, names", self.description_bytes),
            FilePart("constants", "weights that kernels use", self.constant_bytes),
            FilePart("delegate payloads", "for delegates; may hold weights", self.payload_bytes),
            FilePart("initial state", "of mutable buffers", self.initial_state_bytes),
            FilePart("named data", "such as weights of delegates", self.named_bytes),
        )

    def to_json(self) -> dict[str, int]:
        """The stable keys of the command line's JSON."""
        return {
            "file": self.file_bytes,
            "program": self.program_bytes,
            "description": self.description_bytes,
            "constants": self.constant_bytes,
            "payloads": self.payload_bytes,
            "initial_state": self.initial_state_bytes,
            "named_data": self.named_bytes,
            "padding": self.padding_bytes,
        }
