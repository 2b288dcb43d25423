"""Watches the workspaces that the loaded XNNPACK creates, from inside a child process.

ExecuTorch's XNNPACK delegate creates its workspaces with `xnn_create_workspace` and frees
them with `xnn_release_workspace`; both are dynamic symbols of the released wheels (of a
shared library in 1.5, of the Python extension before). The struct behind the pointer is
private to XNNPACK and starts with {void* data; size_t size}. Three checks stand between a
changed layout and a wrong number: a new workspace must look exactly as the known layout
says, data must be what an allocation looks like, and the allocator must agree on its size.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

from onearena.runtime import elfhook

_CREATE, _RELEASE = "xnn_create_workspace", "xnn_release_workspace"
_NEW_WORKSPACE = (0, 0, 0, 1)  # data, size, first user, reference count
_DATA_ALIGNMENT = 16  # the smallest that XNNPACK uses on any 64-bit processor
_ALLOCATOR_SLACK_BYTES = 64 * 1024  # malloc rounds up to its granule, large blocks to a page


class UnmeasurableError(Exception):
    """The workspace of this runtime cannot be read; the text says why."""


@dataclass
class WorkspaceWatch:
    """The workspaces alive since :meth:`install`, which comes before any program is loaded."""

    _live: list[int] = field(default_factory=list)
    _created: int = 0
    _surprise: str | None = None
    _callbacks: list[Any] = field(default_factory=list)  # native code calls them: keep them alive

    def install(self) -> None:
        """Hooks the two functions in every loaded library.

        Raises:
            UnmeasurableError: an unknown platform, or a runtime that does not import them.
        """
        reason = elfhook.unsupported_reason()
        if reason:
            raise UnmeasurableError(reason)
        slots = elfhook.find_slots(frozenset((_CREATE, _RELEASE)))
        if {slot.symbol for slot in slots} != {_CREATE, _RELEASE}:
            raise UnmeasurableError(
                f"the installed runtime binds {_CREATE} internally, it cannot be watched"
            )
        for slot in slots:
            self._hook(slot)

    def _hook(self, slot: elfhook.Slot) -> None:
        address = elfhook.function_address(slot)
        if address is None:
            raise UnmeasurableError(f"{slot.symbol} is not where {slot.library} says")
        signature = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
        original = signature(address)
        observe = self._on_create if slot.symbol == _CREATE else self._on_release

        def replacement(argument: int | None) -> int:
            return observe(original, argument)

        callback = signature(replacement)
        target = ctypes.cast(callback, ctypes.c_void_p).value
        if target is None or not elfhook.patch(slot, target):
            raise UnmeasurableError("the system does not let the runtime's imports be changed")
        self._callbacks += [callback, original]

    def _on_create(self, original: Any, result: int | None) -> int:
        """int xnn_create_workspace(struct xnn_workspace** result)."""
        status = int(original(result))
        if status == 0 and result:
            workspace = _words(result, 1)[0]
            self._created += 1
            self._live.append(workspace)
            if _words(workspace, 4) != _NEW_WORKSPACE:
                self._surprise = "a new XNNPACK workspace does not look as expected"
        return status

    def _on_release(self, original: Any, workspace: int | None) -> int:
        """int xnn_release_workspace(struct xnn_workspace*): drops one of its references."""
        if workspace in self._live and _words(workspace, 4)[3] == 1:
            self._live.remove(workspace)
        return int(original(workspace))

    @property
    def created(self) -> int:
        """How many workspaces were created so far."""
        return self._created

    def sizes_bytes(self) -> tuple[int, ...]:
        """The present size of each live workspace.

        Raises:
            UnmeasurableError: what is in memory is not the layout we know.
        """
        if self._surprise:
            raise UnmeasurableError(self._surprise)
        return tuple(_checked_size(workspace) for workspace in self._live)


def _checked_size(workspace: int) -> int:
    data, size = _words(workspace, 2)
    if data == 0 and size == 0:
        return 0
    if data == 0 or size == 0 or data % _DATA_ALIGNMENT or not _is_writable(data, size):
        raise UnmeasurableError("an XNNPACK workspace does not look as expected")
    usable = ctypes.CDLL(None).malloc_usable_size
    usable.argtypes, usable.restype = (ctypes.c_void_p,), ctypes.c_size_t
    allocated = int(usable(data))
    if not size <= allocated <= size + _ALLOCATOR_SLACK_BYTES:
        raise UnmeasurableError(
            f"a workspace claims {size} bytes, the allocator says {allocated} for it"
        )
    return size


def _words(address: int, count: int) -> tuple[int, ...]:
    """`count` pointer-sized words at `address`."""
    return tuple((ctypes.c_uint64 * count).from_address(address))


def _is_writable(address: int, size_bytes: int) -> bool:
    """Whether mappings cover the whole range, so that asking malloc about it is safe."""
    end = address + size_bytes
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:  # sorted by address
            span, permissions = line.split(maxsplit=2)[:2]
            first, last = (int(bound, 16) for bound in span.split("-"))
            if permissions.startswith("rw") and first <= address < last:
                address = last
    return address >= end
