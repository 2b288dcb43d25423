"""Random-weight programs that the benchmarks and ``make demo`` run on.

``python -m benchmarks.zoo.export --out DIR`` writes them, ``python -m benchmarks.zoo.check DIR``
runs them against eager PyTorch. Nothing is downloaded; every weight comes from a fixed seed.
"""

from .entries import ZOO, ZooEntry, entry

__all__ = ["ZOO", "ZooEntry", "entry"]
