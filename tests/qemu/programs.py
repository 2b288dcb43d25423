"""The programs that are run: networks of `examples/cortex_m`, exported for a core."""

from __future__ import annotations

from dataclasses import dataclass

from onearena.pte.container import PteFile
from tests.simulator.planting import shuffled
from tests.verify.planting import first_plan


@dataclass(frozen=True)
class Program:
    """A network, and how its program takes inputs and gives outputs.

    Attributes:
        network: a key of `examples.cortex_m.export.NETWORKS`.
        is_int8: inputs and outputs are int8, not float32.
        is_planned: their memory is planned.
    """

    network: str
    is_int8: bool = False
    is_planned: bool = True

    def __str__(self) -> str:
        kind = "int8" if self.is_int8 else "float32"
        return f"{self.network}, {kind}{'' if self.is_planned else ', not planned'}"


def export(program: Program, target: str) -> bytes:
    """The program for a core, with weights that let every value matter."""
    from examples.cortex_m.export import NETWORKS, Interface, Network, export_network
    from examples.cortex_m.models import responsive

    known = NETWORKS[program.network]
    network = Network(lambda: responsive(known.build), known.shapes)
    return export_network(network, target, Interface(program.is_int8, program.is_planned))


def wasteful(file: PteFile) -> PteFile:
    """The same program with another plan that is right and takes more memory."""
    plans = [shuffled(file, seed) for seed in range(8)]
    return max(plans, key=lambda plan: sum(first_plan(plan).non_const_buffer_sizes or ()))
