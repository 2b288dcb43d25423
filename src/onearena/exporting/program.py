"""What `onearena.to_executorch` returns. Importing it needs ExecuTorch."""

from __future__ import annotations

import shutil
import weakref
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from onearena.errors import RuntimeUnavailableError
from onearena.exporting.debug_maps import DebugMaps
from onearena.exporting.etrecord import copied
from onearena.flatbuf.data import ByteRange, ByteSource
from onearena.pte.writer import output_path, write_data
from onearena.results import ProgramReport

try:
    from executorch.exir import ExecutorchProgramManager
except ImportError as error:
    raise RuntimeUnavailableError(
        "exporting needs ExecuTorch; install it with: pip install 'onearena[run]'"
    ) from error

_COPY_STEP_BYTES = 8 << 20


class FileData:
    """The bytes of a file, in the form that ExecuTorch keeps serialized programs in (`Cord`)."""

    def __init__(self, path: Path) -> None:
        """The file must stay as long as this object is used."""
        self._path = path

    def __len__(self) -> int:
        return self._path.stat().st_size

    def __bytes__(self) -> bytes:
        return self._path.read_bytes()

    def write_to_file(self, outfile: IO[bytes]) -> None:
        """Appends the bytes to an open file."""
        with open(self._path, "rb") as stream:
            shutil.copyfileobj(stream, outfile, _COPY_STEP_BYTES)


class OptimizedProgram(ExecutorchProgramManager):  # type: ignore[misc] # untyped base
    """ExecuTorch's `ExecutorchProgramManager`, with the program that onearena planned.

    Everything that one has is here: `buffer`, `write_to_file`, `save`,
    `write_tensor_data_to_file`, `executorch_program`, `exported_program`, `methods`,
    `get_etrecord`, the debug maps. What depends on the order of the instructions is that of the
    planned program.

    Attributes:
        report: memory before and after, per method.
        stock: the program as ExecuTorch made it.
    """

    report: ProgramReport
    stock: Any

    def __init__(
        self, stock: Any, directory: Path, name: str, report: ProgramReport, maps: DebugMaps
    ) -> None:
        """Takes over `directory`, with the program in the file `name`: it goes with this object.

        Args:
            stock: what ExecuTorch's `to_executorch` returned.
            maps: of the planned program.
        """
        # on purpose without ExecuTorch's own constructor, which would emit the program once more
        state = {name: value for name, value in vars(stock).items() if name != "_emitter_output"}
        self.__dict__.update(state)
        self.report = report
        self.stock = stock
        self._maps = maps
        self._path = directory / name
        self._pte_data = FileData(self._path)
        self._buffer: bytes | None = None
        self._finalizer = weakref.finalize(self, shutil.rmtree, directory, True)
        if state.get("_etrecord") is not None:
            self._etrecord = _moved_etrecord(state["_etrecord"], self)

    def save(self, path: str) -> None:
        """Writes the program to a file that is never seen half written.

        Raises:
            UsageError: it cannot be written. (ExecuTorch's `save` logs that, and returns.)
            ValueError: its name does not end with `.pte`.
        """
        if not path.endswith(".pte"):
            raise ValueError(f"Path {path} does not end with .pte")
        with ByteSource.open(self._path) as source:
            write_data((ByteRange(source, 0, source.size_bytes),), output_path(path))

    @property
    def debug_handle_map(self) -> Any:
        """By method and instruction number, debug handles."""
        return self._maps.handles

    @property
    def delegate_map(self) -> Any:
        """By method and instruction number, what is known of the delegate."""
        return self._maps.delegates

    @property
    def instruction_id_to_num_outs_map(self) -> Any:
        """By method and instruction number, how many outputs a delegate call has."""
        return self._maps.outputs

    @cached_property
    def _emitter_output(self) -> Any:
        """ExecuTorch's objects of the program, read from its bytes."""
        from executorch.exir._serialize._program import deserialize_pte_binary

        program = deserialize_pte_binary(self.buffer)
        return replace(
            self.stock._emitter_output,
            program=getattr(program, "program", program),
            debug_handle_map=self._maps.handles,
            method_to_delegate_debug_id_map=self._maps.delegates,
            instruction_id_to_num_outs_map=self._maps.outputs,
        )

    @property
    def summary(self) -> str:
        """The report as text, as `onearena optimize` prints it."""
        from onearena.report.text import program_text

        return program_text(self.report)


def _moved_etrecord(record: Any, program: OptimizedProgram) -> Any:
    """The ETRecord of the export with the planned program's maps."""
    moved = copied(record)
    moved.add_executorch_program(program)
    return moved
