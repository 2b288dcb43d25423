"""The pools of a program as typed results. Rendering them is `report`'s job."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from onearena.sizes.file_parts import FileSizes
from onearena.sizes.targets import Target
from onearena.sizes.temp import TempUse


@dataclass(frozen=True)
class Pool:
    """The size of one pool.

    Attributes:
        size_bytes: None when the file does not tell.
        at_least_bytes: the part that is known; all of it when everything is.
        notes: what the number rests on, or what keeps it from being known.
    """

    size_bytes: int | None
    at_least_bytes: int
    notes: tuple[str, ...] = ()

    @classmethod
    def known(cls, size_bytes: int, notes: tuple[str, ...] = ()) -> Pool:
        """A pool whose size is known."""
        return cls(size_bytes, size_bytes, notes)

    def to_json(self) -> dict[str, Any]:
        """The stable keys of the command line's JSON."""
        return {
            "bytes": self.size_bytes,
            "at_least_bytes": self.at_least_bytes,
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class TempPlace:
    """Where the temp allocator is to be built, inside planned memory.

    Attributes:
        memory_id: of the arena.
        offset: in the arena, a multiple of 16; the arena itself must be aligned to 16 too.
        size_bytes: of the region.
    """

    memory_id: int
    offset: int
    size_bytes: int

    def to_json(self) -> dict[str, Any]:
        """The stable keys of the command line's JSON."""
        return {"memory_id": self.memory_id, "offset": self.offset, "bytes": self.size_bytes}


@dataclass(frozen=True)
class Arena:
    """A planned buffer (`non_const_buffer_sizes[memory_id]`)."""

    memory_id: int
    size_bytes: int


class Place(Enum):
    """Where the bytes of an input or output are."""

    ARENA = "arena"
    """Planned."""
    APPLICATION = "application"
    """The application hands in a buffer."""
    INPUT = "input"
    """An output that is an unplanned input, and has its bytes."""
    PROGRAM = "program"
    """A constant of the file."""


@dataclass(frozen=True)
class InterfaceTensor:
    """A tensor that a method takes or gives.

    Attributes:
        position: among the method's inputs or outputs; the tensors of a list have the list's.
        value: index among the method's values.
        size_bytes: the upper bound for dynamic shapes; None for an unknown element type.
        place: where the bytes are.
    """

    position: int
    value: int
    size_bytes: int | None
    place: Place

    def to_json(self) -> dict[str, Any]:
        """The stable keys of the command line's JSON."""
        return {
            "position": self.position,
            "value": self.value,
            "bytes": self.size_bytes,
            "place": self.place.value,
        }


@dataclass(frozen=True)
class Workspace:
    """What the XNNPACK delegates that a method calls allocate for themselves, by how they share
    it (`delegates.xnnpack.workspace.SharingMode`). Predicted.

    Attributes:
        delegates: how many such delegates the method calls.
    """

    disabled: Pool
    per_model: Pool
    shared_globally: Pool
    delegates: int

    def to_json(self) -> dict[str, Any]:
        """The stable keys of the command line's JSON."""
        return {
            "disabled": self.disabled.to_json(),
            "per_model": self.per_model.to_json(),
            "global": self.shared_globally.to_json(),
        }


@dataclass(frozen=True)
class MethodPools:
    """The pools of one method.

    Attributes:
        name: of the method.
        method_allocator: what loading the method takes from it, when the temp allocator has at
            least `resolve_temp_bytes`.
        method_allocator_alone: the same when the application gives no temp allocator.
        resolve_temp_bytes: what looking up kernels takes from the temp allocator while the
            method loads; if it is smaller, the method allocator pays.
        temp: the temp allocator: the largest of `resolve_temp_bytes` and `temp_uses`, or as large
            as its region.
        temp_uses: what takes temp memory while the method runs, each by itself.
        arenas: the planned memory, by memory_id.
        inputs, outputs: the tensors at the method's border.
        workspace: beside the pools: what XNNPACK delegates allocate.
        temp_region: where the temp allocator is to be built when it was planned with the tensors;
            then it needs no pool of its own.
    """

    name: str
    method_allocator: Pool
    method_allocator_alone: Pool
    resolve_temp_bytes: int
    temp: Pool
    temp_uses: tuple[TempUse, ...]
    arenas: tuple[Arena, ...]
    inputs: tuple[InterfaceTensor, ...]
    outputs: tuple[InterfaceTensor, ...]
    workspace: Workspace
    temp_region: TempPlace | None = None

    @property
    def method_allocator_bytes(self) -> int | None:
        """Bytes the method allocator must hold; None when not known."""
        return self.method_allocator.size_bytes

    @property
    def temp_bytes(self) -> int | None:
        """Bytes the temp allocator must hold; None when not known."""
        return self.temp.size_bytes

    @property
    def arena_bytes(self) -> int:
        """All arenas together."""
        return sum(arena.size_bytes for arena in self.arenas)

    @property
    def application(self) -> Pool:
        """The buffers that the application brings for inputs and outputs."""
        sizes = [
            tensor.size_bytes
            for tensor in (*self.inputs, *self.outputs)
            if tensor.place is Place.APPLICATION
        ]
        known = sum(size for size in sizes if size is not None)
        if None in sizes:
            return Pool(None, known, ("a tensor's element type is not known",))
        return Pool.known(known)

    @property
    def total(self) -> Pool:
        """The pools that the application sets aside, together; workspaces are not among them."""
        parts = [self.method_allocator, self.application]
        if self.temp_region is None:
            parts.append(self.temp)
        known = self.arena_bytes + sum(pool.at_least_bytes for pool in parts)
        if any(pool.size_bytes is None for pool in parts):
            return Pool(None, known, ("a pool is not known",))
        return Pool.known(known)

    def to_json(self) -> dict[str, Any]:
        """The stable keys of the command line's JSON."""
        return {
            "name": self.name,
            "method_allocator": self.method_allocator.to_json(),
            "method_allocator_without_temp_allocator": self.method_allocator_alone.to_json(),
            "temp_allocator": {
                **self.temp.to_json(),
                "resolve_bytes": self.resolve_temp_bytes,
                **({"region": self.temp_region.to_json()} if self.temp_region else {}),
                "uses": [
                    {"name": use.name, "bytes": use.size_bytes, "note": use.note}
                    for use in self.temp_uses
                ],
            },
            "arenas": [
                {"memory_id": arena.memory_id, "bytes": arena.size_bytes} for arena in self.arenas
            ],
            "inputs": [tensor.to_json() for tensor in self.inputs],
            "outputs": [tensor.to_json() for tensor in self.outputs],
            "application": self.application.to_json(),
            "total": self.total.to_json(),
            "xnnpack_workspace": self.workspace.to_json(),
        }


@dataclass(frozen=True)
class ProgramPools:
    """The pools of a program.

    Attributes:
        path: the file.
        target: what they were computed for.
        flash: what the file holds.
        methods: in program order.
        notes: what holds for all methods.
    """

    path: str
    target: Target
    flash: FileSizes
    methods: tuple[MethodPools, ...]
    notes: tuple[str, ...]

    @property
    def file_bytes(self) -> int:
        """The whole file."""
        return self.flash.file_bytes

    @property
    def program_bytes(self) -> int:
        """The FlatBuffer."""
        return self.flash.program_bytes

    @property
    def constant_bytes(self) -> int:
        """Constant tensors."""
        return self.flash.constant_bytes

    @property
    def payload_bytes(self) -> int:
        """The delegates' payloads."""
        return self.flash.payload_bytes

    @property
    def initial_state_bytes(self) -> int:
        """Initial content of mutable buffers."""
        return self.flash.initial_state_bytes

    def to_json(self) -> dict[str, Any]:
        """The stable keys of the command line's JSON."""
        return {
            "path": self.path,
            "target": self.target.name,
            "abi": self.target.abi.name,
            "file_bytes": self.flash.to_json(),
            "methods": [method.to_json() for method in self.methods],
            "notes": list(self.notes),
        }
