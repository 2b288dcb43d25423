"""The report of `onearena sizes` as a C header: one macro per pool, for C and C++."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from onearena import __version__
from onearena.errors import UsageError
from onearena.report.temp_construction import construction
from onearena.sizes.results import MethodPools, Place, Pool, ProgramPools

_WIDTH = 98
_PREFIX = "ONEARENA"


@dataclass(frozen=True)
class _Macro:
    """A line of the header. Without a size it is a comment, so that using it does not compile."""

    name: str
    pool: Pool

    def line(self) -> str:
        if self.pool.size_bytes is not None:
            return f"#define {self.name} {self.pool.size_bytes}u"
        return f"/* {self.name} is not known */"


def sizes_header(pools: ProgramPools, header_name: str) -> str:
    """The text of a C header with the pools of a program.

    Args:
        pools: of the program.
        header_name: file name of the header; its include guard is made from it.

    Raises:
        UsageError: the names of two methods become one C identifier, or one becomes none.
    """
    groups = [(method, tuple(_macros(method, _identifier(method)))) for method in pools.methods]
    _check_names(groups)
    guard = f"{_PREFIX}_GUARD_{_sanitised(header_name)}"
    lines = [_comment(_opening(pools)), f"#ifndef {guard}", f"#define {guard}", ""]
    lines += [
        "/* The .pte file. */",
        _Macro(f"{_PREFIX}_FILE_BYTES", Pool.known(pools.file_bytes)).line(),
    ]
    for method, macros in groups:
        lines += ["", _comment([f"Method {method.name}.", *_notes(method)])]
        lines += [macro.line() for macro in macros]
        if method.temp_region is not None:
            prefix = f"{_PREFIX}_{_identifier(method)}"
            lines += ["", *construction(method.temp_region, method.arenas, prefix)]
    return "\n".join([*lines, "", f"#endif /* {guard} */", ""])


def _macros(method: MethodPools, name: str) -> Iterable[_Macro]:
    prefix = f"{_PREFIX}_{name}"
    yield _Macro(f"{prefix}_METHOD_ALLOCATOR_BYTES", method.method_allocator)
    yield _Macro(f"{prefix}_METHOD_ALLOCATOR_ALONE_BYTES", method.method_allocator_alone)
    yield _Macro(f"{prefix}_TEMP_ALLOCATOR_BYTES", method.temp)
    for arena in method.arenas:
        yield _Macro(f"{prefix}_ARENA_{arena.memory_id}_BYTES", Pool.known(arena.size_bytes))
    region = method.temp_region
    if region is not None:
        yield _Macro(f"{prefix}_TEMP_REGION_MEMORY_ID", Pool.known(region.memory_id))
        yield _Macro(f"{prefix}_TEMP_REGION_OFFSET", Pool.known(region.offset))
        yield _Macro(f"{prefix}_TEMP_REGION_BYTES", Pool.known(region.size_bytes))
    for kind, tensors in (("INPUT", method.inputs), ("OUTPUT", method.outputs)):
        for position in dict.fromkeys(
            tensor.position for tensor in tensors if tensor.place is Place.APPLICATION
        ):
            sizes = [t.size_bytes for t in tensors if t.position == position]
            known = sum(size for size in sizes if size is not None)
            pool = Pool(None if None in sizes else known, known)
            yield _Macro(f"{prefix}_{kind}_{position}_BYTES", pool)


def _notes(method: MethodPools) -> list[str]:
    """Why a macro is missing, and what its number rests on."""
    named = (
        ("METHOD_ALLOCATOR", method.method_allocator),
        ("TEMP_ALLOCATOR", method.temp),
        ("INPUT, OUTPUT", method.application),
    )
    return [f"{name}: {note}." for name, pool in named for note in pool.notes]


def _opening(pools: ProgramPools) -> list[str]:
    return [
        f"Pools of {Path(pools.path).name} in bytes, on {pools.target.name} "
        f"({pools.target.abi.name}).",
        f"Made by onearena {__version__}; do not edit.",
        "METHOD_ALLOCATOR: with a temp allocator of TEMP_ALLOCATOR bytes or more; _ALONE: when "
        "the runtime gets no temp allocator. ARENA_n: planned memory of memory_id n. INPUT_n, "
        "OUTPUT_n: buffers that the application must bring.",
        *_region_opening(pools),
        *(f"Assumed: {note}." for note in pools.notes),
    ]


def _region_opening(pools: ProgramPools) -> Iterable[str]:
    if any(method.temp_region for method in pools.methods):
        yield (
            "TEMP_REGION: bytes of planned memory that no tensor uses while an instruction takes "
            "temp memory. The temp allocator must be built there, and be no larger."
        )


def _comment(paragraphs: Iterable[str]) -> str:
    """A C comment. Names come from the file and cannot end it, nor escape anything."""
    lines: list[str] = []
    for paragraph in paragraphs:
        text = ascii(paragraph)[1:-1].replace("\\", "?").replace("*/", "* /").replace("/*", "/ *")
        lines += textwrap.wrap(text, _WIDTH - 3)
    return "\n".join(["/*", *(f" * {line}" for line in lines), " */"])


def _identifier(method: MethodPools) -> str:
    name = _sanitised(method.name)
    if not name:
        raise UsageError(f"method {method.name!r} has no letter or digit to name a macro by")
    return name


def _sanitised(name: str) -> str:
    """ASCII capitals, digits and single underscores: C++ reserves double ones."""
    return re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_").upper()


def _check_names(groups: Iterable[tuple[MethodPools, tuple[_Macro, ...]]]) -> None:
    owners: dict[str, str] = {}
    for method, macros in groups:
        for macro in macros:
            if macro.name in owners:
                raise UsageError(
                    f"methods {owners[macro.name]!r} and {method.name!r} would both define "
                    f"{macro.name}"
                )
            owners[macro.name] = method.name
