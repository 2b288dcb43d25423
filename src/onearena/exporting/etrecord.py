"""ETRecords of programs that the command line optimized. Importing it needs no ExecuTorch."""

from __future__ import annotations

import os
from typing import Any

from onearena.errors import FormatError, RuntimeUnavailableError, UsageError
from onearena.export_record import read_export
from onearena.exporting.debug_maps import DebugMaps, moved_maps
from onearena.pte.reader import open_pte
from onearena.record import read_record


def etrecord_for(
    program: str | os.PathLike[str], etrecord: str | os.PathLike[str] | Any
) -> Any:  # an `ETRecord`
    """The ETRecord of an export, for the program that `onearena optimize` made of it.

    An ETDump names instructions by their numbers, which change when kernels move; the Inspector
    needs an ETRecord with the new ones.

    Args:
        program: the optimized ``.pte``.
        etrecord: of the program as it was exported: a file, or ExecuTorch's object.

    Returns:
        ExecuTorch's ``ETRecord``, another one than the given; `save` writes it.

    Raises:
        AnalysisError: the ETRecord is of another program.
        FormatError: a file cannot be read.
        RuntimeUnavailableError: ExecuTorch is not installed.
        UsageError: the program is `to_executorch`'s, whose own ETRecord is right already.
    """
    found = _opened(etrecord)
    with open_pte(program) as file:
        if read_export(file) is not None:
            raise UsageError(
                f"{file.path}: is of to_executorch, whose get_etrecord() has the right numbers"
            )
        maps = DebugMaps(
            _by_number(found._debug_handle_map),
            _by_number(found._delegate_map),
            _by_number(found._instruction_id_to_num_outs_map),
        )
        moved = moved_maps(maps, file.program, file.program, read_record(file))
    result = copied(found)
    result._debug_handle_map = moved.handles
    result._delegate_map = moved.delegates
    result._instruction_id_to_num_outs_map = moved.outputs
    return result


def copied(record: Any) -> Any:
    """An ETRecord without what depends on the order of instructions; what a user added stays."""
    result = record.copy()
    for name in ("_reference_outputs", "_representative_inputs"):
        setattr(result, name, getattr(record, name))
    return result


def _opened(etrecord: Any) -> Any:
    try:
        from executorch.devtools.etrecord import ETRecord, parse_etrecord
    except ImportError as error:
        raise RuntimeUnavailableError(
            "ETRecords need ExecuTorch; install it with: pip install 'onearena[run]'"
        ) from error
    if isinstance(etrecord, ETRecord):
        return etrecord
    path = os.fspath(etrecord)
    try:
        return parse_etrecord(path)
    except Exception as error:  # a zip file, JSON and pickled programs: it may be anything
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise FormatError(f"{path}: cannot be read as an ETRecord ({reason})") from error


def _by_number(maps: Any) -> dict[str, dict[int, Any]]:
    """JSON has no numbers for keys."""
    return {
        method: {int(number): entry for number, entry in entries.items()}
        for method, entries in (maps or {}).items()
    }
