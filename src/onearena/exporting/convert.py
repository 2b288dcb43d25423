"""`onearena.to_executorch`: one line in an export script."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onearena import __version__
from onearena.errors import RuntimeUnavailableError, UsageError
from onearena.export_record import with_export
from onearena.exporting.debug_maps import DebugMaps, moved_maps
from onearena.exporting.knowledge import collect
from onearena.memory_map import parse_memory_map
from onearena.options import Options
from onearena.pipeline import optimize
from onearena.pte.reader import open_pte
from onearena.pte.writer import write_pte
from onearena.record import read_record

if TYPE_CHECKING:
    from onearena.exporting.program import OptimizedProgram

_EMITTED, _STOCK, _PLANNED = "emitted.pte", "exported.pte", "planned.pte"


def to_executorch(
    edge_manager: Any,
    config: Any = None,
    *,
    progress: Callable[[str], None] | None = None,
    **options: Any,
) -> OptimizedProgram:
    """Converts an edge program like its own `to_executorch`, and plans it with its delegates.

        program = onearena.to_executorch(edge_manager)      # was: edge_manager.to_executorch()
        program.save("model.pte")
        print(program.summary)

    Args:
        edge_manager: an `EdgeProgramManager`, or an `ExecutorchProgramManager`, which is what its
            `to_executorch` (and optimum-executorch) gives.
        config: an `ExecutorchBackendConfig`, for ExecuTorch's part of the work.
        progress: is told what is being done.
        options: the fields of :class:`onearena.Options`; `memory_map` may be text.

    Raises:
        UsageError: there is no such option, or `edge_manager` is something else.
        RuntimeUnavailableError: ExecuTorch is not installed.
        OnearenaError: the program cannot be planned; see :func:`onearena.optimize`.
    """
    switches = _options(options)
    stock = _stock_program(edge_manager, config)
    directory = Path(tempfile.mkdtemp(prefix="onearena-"))
    try:
        return _planned(stock, directory, switches, progress)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise


def _options(given: dict[str, Any]) -> Options:
    known = [field.name for field in fields(Options)]
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise UsageError(f"there is no option {unknown[0]!r}; there are: {', '.join(known)}")
    if isinstance(given.get("memory_map"), str):
        given = {**given, "memory_map": parse_memory_map(given["memory_map"])}
    return Options(**given)


def _stock_program(manager: Any, config: Any) -> Any:
    try:
        from executorch.exir import EdgeProgramManager, ExecutorchProgramManager
    except ImportError as error:
        raise RuntimeUnavailableError(
            "exporting needs ExecuTorch; install it with: pip install 'onearena[run]'"
        ) from error
    if isinstance(manager, EdgeProgramManager):
        return manager.to_executorch(config)
    if not isinstance(manager, ExecutorchProgramManager):
        raise UsageError(
            f"to_executorch takes an EdgeProgramManager, not an object of {type(manager).__name__}"
        )
    if config is not None:
        raise UsageError("the program is made already: a config comes too late")
    return getattr(manager, "stock", manager)  # ours: from the beginning


def _planned(
    stock: Any, directory: Path, options: Options, progress: Callable[[str], None] | None
) -> OptimizedProgram:
    from onearena.exporting.program import OptimizedProgram

    source, target = directory / _STOCK, directory / _PLANNED
    emitted = directory / _EMITTED
    with open(emitted, "wb") as stream:
        stock.write_to_file(stream)
    with open_pte(emitted) as file:
        known = collect(stock, file, f"onearena {__version__}", options.target)
        write_pte(with_export(file, known), source)
    emitted.unlink()
    report = optimize(source, target, options, progress)
    with open_pte(source) as before, open_pte(target) as after:
        maps = DebugMaps(
            stock.debug_handle_map, stock.delegate_map, stock.instruction_id_to_num_outs_map
        )
        moved = moved_maps(maps, before.program, after.program, read_record(after))
    source.unlink()
    # the files are gone when somebody reads the report
    report = replace(report, path="the exported program", output=None)
    return OptimizedProgram(stock, directory, _PLANNED, report, moved)
