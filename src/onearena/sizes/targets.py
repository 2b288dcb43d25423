"""Where a program will run: the layout of the runtime's structs, and what can run there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from onearena.errors import UsageError
from onearena.sizes.layout import ARM32, LP64, Abi


@dataclass(frozen=True)
class Target:
    """A machine.

    Attributes:
        name: as on the command line.
        abi: sizes and alignments of the runtime's structs there.
        runs_xnnpack: whether ExecuTorch's XNNPACK backend can be built for it.
    """

    name: str
    abi: Abi
    runs_xnnpack: bool


HOST64 = Target("host64", LP64, runs_xnnpack=True)

_CORTEX_M = ("m0", "m0plus", "m3", "m4", "m7", "m23", "m33", "m35p", "m55", "m85")

TARGETS: Mapping[str, Target] = {
    target.name: target
    for target in (
        HOST64,
        *(Target(f"cortex-{core}", ARM32, runs_xnnpack=False) for core in _CORTEX_M),
    )
}
"""By name. All Cortex-M cores share one 32-bit layout (AAPCS32)."""

_SPELLINGS: Mapping[str, str] = {"cortex-m0+": "cortex-m0plus"}


def find_target(name: str) -> Target:
    """The target called `name`.

    Raises:
        UsageError: there is none.
    """
    target = TARGETS.get(_SPELLINGS.get(name, name))
    if target is None:
        raise UsageError(f"{name!r} is not a target; there are {', '.join(TARGETS)}")
    return target
