"""Which passes of :mod:`onearena.delegates.xnnpack.simplify` run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Simplifications:
    """Switches of the passes.

    Attributes:
        dead_nodes: drop nodes that no output depends on.
        layout_chains: do with the fewest transposes and reshapes what several in a row do.
        duplicates: compute once what is computed twice while the first result is there.
        padding: padding goes into the convolutions behind it.
        transposed_operands: matrix products read operands before they are transposed.
        transient_indirection: pointers to pixels are made anew in each run, see `indirection.py`.
    """

    dead_nodes: bool = True
    layout_chains: bool = True
    duplicates: bool = True
    padding: bool = True
    transposed_operands: bool = True
    transient_indirection: bool = False


ALL_SIMPLIFICATIONS = Simplifications()
NO_SIMPLIFICATIONS = Simplifications(False, False, False, False, False)
