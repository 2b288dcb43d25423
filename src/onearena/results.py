"""The typed results of the library's functions. Rendering them is `report`'s job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from onearena.latency import Latency
from onearena.memory_map.use import MapUse
from onearena.verification.violation import Violation


@dataclass(frozen=True)
class Footprint:
    """Activation memory of a method, in bytes.

    Attributes:
        arena_bytes: sum of the planned arenas.
        workspace_bytes: predicted workspace of its XNNPACK delegates, shared as by default.
        workspace_measured_bytes: what the installed runtime allocated; None when not measured.
        temp_bytes: temp memory beside the arenas, of Cortex-M and Ethos-U programs.
    """

    arena_bytes: int
    workspace_bytes: int
    workspace_measured_bytes: int | None = None
    temp_bytes: int = 0

    @property
    def total_bytes(self) -> int:
        """All together."""
        return self.arena_bytes + self.workspace_bytes + self.temp_bytes

    def to_json(self) -> dict[str, Any]:
        """The stable keys of the command line's JSON."""
        result = {
            "arena_bytes": self.arena_bytes,
            "workspace_bytes": self.workspace_bytes,
            "total_bytes": self.total_bytes,
        }
        if self.temp_bytes:
            result["temp_bytes"] = self.temp_bytes
        if self.workspace_measured_bytes is not None:
            result["workspace_measured_bytes"] = self.workspace_measured_bytes
        return result


@dataclass(frozen=True)
class LiveTensor:
    """A tensor that is alive at the peak.

    Attributes:
        value: index among the method's values.
        size_bytes: of the tensor.
        description: element type, shape and kind, for people.
    """

    value: int
    size_bytes: int
    description: str

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "value": self.value,
            "size_bytes": self.size_bytes,
            "description": self.description,
        }


@dataclass(frozen=True)
class Peak:
    """The step that needs most.

    Attributes:
        step: what runs there.
        live_bytes: bytes alive.
        tensors: alive there, largest first.
    """

    step: str
    live_bytes: int
    tensors: tuple[LiveTensor, ...]

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "step": self.step,
            "live_bytes": self.live_bytes,
            "tensors": [tensor.to_json() for tensor in self.tensors],
        }


@dataclass(frozen=True)
class MethodReport:
    """One method, before and (after `optimize`) after.

    Attributes:
        lower_bound_bytes: no plan for this order of execution needs a smaller arena.
        gap: (arena - bound) / bound.
        optimal: whether no plan of this order and these lifetimes is smaller: it is proven.
        delegate_calls, opened_calls: calls in the method; calls whose inside is planned.
        pinned_values: planned values that keep their offset because they are not understood.
        state_bytes: bytes that survive from run to run.
        notes: what was left alone, and why.
        unknown_backends: delegates whose own memory is not known, and not counted.
        memory_map: the regions it was planned into; None without a map.
        memory_bytes: of a method that has several memories, the size by memory_id.
        region_names: by memory_id, what the file's record calls them.
        latency: how long a run takes after `optimize`; None when the method keeps its plan.
        order_bound_bytes: no order of execution has less alive at its peak, as far as `optimize`
            may change the order; at most `lower_bound_bytes`. None when it was not looked for.
    """

    name: str
    before: Footprint
    after: Footprint | None
    lower_bound_bytes: int
    gap: float
    optimal: bool
    delegate_calls: int
    opened_calls: int
    pinned_values: int
    state_bytes: int
    planner: str
    peak: Peak | None
    notes: tuple[str, ...]
    unknown_backends: tuple[str, ...] = ()
    memory_map: MapUse | None = None
    memory_bytes: Mapping[int, int] = field(default_factory=dict)
    region_names: Mapping[int, str] = field(default_factory=dict)
    latency: Latency | None = None
    order_bound_bytes: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The stable keys of the command line's JSON."""
        result: dict[str, Any] = {"name": self.name, "before": self.before.to_json()}
        if self.after is not None:
            result["after"] = self.after.to_json()
        result.update(
            lower_bound_bytes=self.lower_bound_bytes,
            order_bound_bytes=self.order_bound_bytes,
            gap=self.gap,
            optimal=self.optimal,
            delegate_calls=self.delegate_calls,
            opened_calls=self.opened_calls,
            pinned_values=self.pinned_values,
            state_bytes=self.state_bytes,
            planner=self.planner,
            peak=self.peak.to_json() if self.peak else None,
            notes=list(self.notes),
            unknown_backends=list(self.unknown_backends),
        )
        if self.memory_map is not None:
            result["memory_map"] = self.memory_map.to_json()
        if self.memory_bytes:
            result["memory_bytes"] = {str(k): size for k, size in self.memory_bytes.items()}
        if self.region_names:
            result["region_names"] = {str(k): name for k, name in self.region_names.items()}
        if self.latency is not None:
            result["latency"] = self.latency.to_json()
        return result


@dataclass(frozen=True)
class ProgramReport:
    """A program: the result of `inspect` and `optimize`.

    Attributes:
        path: the file read.
        output: the file written, or None.
        methods: in program order.
        file_bytes_before, file_bytes_after: sizes of the files; after is None for `inspect`.
        changed: False when the output is the input, byte for byte.
    """

    path: str
    output: str | None
    methods: tuple[MethodReport, ...]
    file_bytes_before: int
    file_bytes_after: int | None
    changed: bool
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The stable keys of the command line's JSON."""
        sizes: dict[str, Any] = {"before": self.file_bytes_before}
        if self.file_bytes_after is not None:
            sizes["after"] = self.file_bytes_after
        result: dict[str, Any] = {
            "path": self.path,
            "methods": [method.to_json() for method in self.methods],
            "file_bytes": sizes,
            "notes": list(self.notes),
        }
        if self.output is not None:
            result.update(output=self.output, changed=self.changed)
        return result


@dataclass(frozen=True)
class VerifyReport:
    """The result of `verify`.

    Attributes:
        methods: names of the methods that were checked.
        violations: empty when the file is safe.
    """

    path: str
    methods: tuple[str, ...]
    violations: tuple[Violation, ...]
    notes: tuple[str, ...] = ()

    @property
    def safe(self) -> bool:
        """True without violations."""
        return not self.violations

    def to_json(self) -> dict[str, Any]:
        """The stable keys of the command line's JSON."""
        return {
            "safe": self.safe,
            "violations": [
                {"kind": v.kind, "method": v.method, "message": v.message} for v in self.violations
            ],
            "methods": list(self.methods),
            "notes": list(self.notes),
        }
