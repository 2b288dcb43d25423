"""Replaces functions that loaded ELF libraries import, in this process, without a compiler.

A call from one dynamic symbol to another goes through a pointer (a slot of the global
offset table) that the dynamic linker fills. Writing the address of a ctypes callback
there makes every later call through that slot come to Python. Slots are found in the
dynamic section of the loaded image, as the generic ELF specification (gABI) and the
processor supplements describe it. Meant for short-lived child processes: a wrong write
here is a crash.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass

_PT_DYNAMIC = 2
_DT_PLTRELSZ, _DT_STRTAB, _DT_SYMTAB, _DT_RELA, _DT_RELASZ, _DT_JMPREL = 2, 5, 6, 7, 8, 23
_DYN = struct.Struct("<qQ")  # tag, value
_RELA = struct.Struct("<QQq")  # offset, symbol << 32 | type, addend
_SYMBOL_BYTES = 24  # the first field, 32 bits, is the name's offset in the string table
_SLOT_RELOCATIONS = {
    "x86_64": (6, 7),  # R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT
    "aarch64": (1025, 1026),  # R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT
}


class _ProgramHeader(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("offset", ctypes.c_uint64),
        ("address", ctypes.c_uint64),
        ("physical", ctypes.c_uint64),
        ("file_bytes", ctypes.c_uint64),
        ("memory_bytes", ctypes.c_uint64),
        ("alignment", ctypes.c_uint64),
    )


class _LibraryInfo(ctypes.Structure):
    _fields_ = (
        ("base", ctypes.c_uint64),
        ("name", ctypes.c_char_p),
        ("headers", ctypes.POINTER(_ProgramHeader)),
        ("header_count", ctypes.c_uint16),
    )


@dataclass(frozen=True)
class Slot:
    """The pointer at `address` through which `library` calls `symbol`."""

    library: str
    symbol: str
    address: int


def unsupported_reason() -> str | None:
    """Why slots cannot be found on this platform; None when they can."""
    if sys.platform != "linux" or sys.byteorder != "little":
        return f"needs Linux, this is {sys.platform}"
    if platform.machine() not in _SLOT_RELOCATIONS:
        return f"the processor {platform.machine()} is not supported"
    return None


def find_slots(symbols: frozenset[str]) -> tuple[Slot, ...]:
    """Every slot of every loaded library for one of `symbols`, defined in it or elsewhere."""
    wanted = {symbol.encode() for symbol in symbols}
    slots: list[Slot] = []
    for base, name, dynamic_address in _loaded_libraries():
        dynamic = _dynamic_section(base, dynamic_address)
        for symbol, address in _imports(base, dynamic, wanted):
            slots.append(Slot(name, symbol.decode(), address))
    return tuple(slots)


def function_address(slot: Slot) -> int | None:
    """Where the function that `slot` stands for really is, or None when it cannot be found.

    Not read from the slot: before its first call that still points to the linker's
    resolver, which would overwrite a patched slot.
    """
    try:
        library = ctypes.CDLL(slot.library, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        function = getattr(library, slot.symbol)
    except (OSError, AttributeError):
        return None
    return ctypes.cast(function, ctypes.c_void_p).value


def patch(slot: Slot, target: int) -> bool:
    """Makes calls through `slot` go to the address `target`; False when memory stays read-only."""
    page = slot.address & -mmap.PAGESIZE
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    length = slot.address + 8 - page
    if protect(page, length, mmap.PROT_READ | mmap.PROT_WRITE) != 0:
        return False
    ctypes.c_uint64.from_address(slot.address).value = target
    return True


def _loaded_libraries() -> list[tuple[int, str, int]]:
    """(load address, path, address of the dynamic section) of each library but the program."""
    found: list[tuple[int, str, int]] = []
    signature = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.POINTER(_LibraryInfo), ctypes.c_size_t, ctypes.c_void_p
    )

    def visit(pointer: ctypes._Pointer[_LibraryInfo], size: int, data: int | None) -> int:
        info = pointer.contents
        for index in range(info.header_count):
            header = info.headers[index]
            if header.type == _PT_DYNAMIC and info.name:
                found.append((info.base, os.fsdecode(info.name), info.base + header.address))
        return 0

    ctypes.CDLL(None).dl_iterate_phdr(signature(visit), None)
    return found


def _dynamic_section(base: int, address: int) -> dict[int, int]:
    """The tags we use; glibc has turned addresses into absolute ones, other linkers have not."""
    tags: dict[int, int] = {}
    while True:
        tag, value = _DYN.unpack(ctypes.string_at(address, _DYN.size))
        if tag == 0:
            break
        tags[tag] = value
        address += _DYN.size
    for tag in (_DT_STRTAB, _DT_SYMTAB, _DT_RELA, _DT_JMPREL):
        if tag in tags and tags[tag] < base:
            tags[tag] += base
    return tags


def _imports(base: int, dynamic: dict[int, int], wanted: set[bytes]) -> Iterator[tuple[bytes, int]]:
    strings, symbols = dynamic.get(_DT_STRTAB), dynamic.get(_DT_SYMTAB)
    if strings is None or symbols is None:
        return
    slot_types = _SLOT_RELOCATIONS[platform.machine()]
    for table, size in ((_DT_JMPREL, _DT_PLTRELSZ), (_DT_RELA, _DT_RELASZ)):
        if table not in dynamic:
            continue
        relocations = ctypes.string_at(dynamic[table], dynamic.get(size, 0))
        for offset, info, _ in _RELA.iter_unpack(relocations):
            if info & 0xFFFFFFFF not in slot_types:
                continue
            entry = ctypes.string_at(symbols + (info >> 32) * _SYMBOL_BYTES, 4)
            symbol = ctypes.string_at(strings + int.from_bytes(entry, "little"))
            if symbol in wanted:
                yield symbol, base + offset
