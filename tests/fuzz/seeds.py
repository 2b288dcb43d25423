"""What mutation starts from: the sample programs, and real exported files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.pte import samples
from tests.pte.build import file_bytes

MAX_SEED_BYTES = 20_000
_EXPORTED = Path(__file__).parent / "seeds"
_REWRITTEN = Path(__file__).parent / "rewritten"
"""By onearena: one in strips, one with a description inside."""
_TESTS = Path(__file__).parents[1]
_MICROCONTROLLERS = (_TESTS / "cortex_m/programs", _TESTS / "temp_memory/programs_ethosu")


@dataclass(frozen=True)
class Seed:
    """A valid file."""

    name: str
    data: bytes


def load_seeds(corpus: Path | None = None) -> tuple[Seed, ...]:
    """All seeds, in a fixed order; those of `corpus` (small `.pte` files) come last."""
    built = (
        samples.smallest,
        samples.kernels,
        samples.delegated,
        samples.everything,
        samples.old_inline,
    )
    seeds = [Seed(make.__name__, file_bytes(make())) for make in built]
    for directory in (_EXPORTED, _REWRITTEN, *_MICROCONTROLLERS, corpus):
        seeds += _files(directory) if directory else []
    return tuple(seeds)


def _files(directory: Path) -> list[Seed]:
    paths = [p for p in sorted(directory.glob("*.pte")) if p.stat().st_size <= MAX_SEED_BYTES]
    return [Seed(path.name, path.read_bytes()) for path in paths]
