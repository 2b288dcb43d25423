"""Reading and writing ExecuTorch program files (``.pte``). Nothing else touches their bytes."""

from onearena.pte.container import PteFile, Segment
from onearena.pte.reader import open_pte
from onearena.pte.writer import write_pte

__all__ = ["PteFile", "Segment", "open_pte", "write_pte"]
