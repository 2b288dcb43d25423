"""What a traced run reads and writes, and where in a value that belongs."""

from __future__ import annotations

from dataclasses import dataclass, field

from onearena.verification.origins import UNKNOWN, Origin, Pieces

Reading = tuple[int, Pieces]
"""The value whose memory was read (the reader itself, or what its handle names), and what."""


@dataclass
class Trace:
    """What a run reads.

    Attributes:
        reads: by (step, value), everything it may read there, on some path or at one of the
            moments at which the read may happen.
        targets: by (step, value), the values whose memory the step may touch under that name.
        written: by value, the origins that its memory may hold after a step has written it.
        unwritten: the (step, value) among the targets of reads that nothing wrote before under
            their own name, on some path: views, and state.
        of_written: the (step, value) among the reads that name a part of a value that was written
            before on every path.
        held: by value, (origin, where in it the value's first byte would lie) of what was written
            or copied into it; of `UNKNOWN` contents, which have no places, the second means
            nothing.
        loaded: values with initial state.
        at_exit: by value, the pieces of its own memory after the run, on some path.
    """

    reads: dict[tuple[int, int], frozenset[Reading]] = field(default_factory=dict)
    targets: dict[tuple[int, int], set[int]] = field(default_factory=dict)
    written: dict[int, set[Origin]] = field(default_factory=dict)
    unwritten: set[tuple[int, int]] = field(default_factory=set)
    of_written: set[tuple[int, int]] = field(default_factory=set)
    held: dict[int, set[tuple[Origin, int]]] = field(default_factory=dict)
    loaded: set[int] = field(default_factory=set)
    at_exit: dict[int, frozenset[Pieces]] = field(default_factory=dict)


def displaced(trace: Trace, value: int, pieces: Pieces, offset: int = 0) -> Origin | None:
    """Whose bytes lie elsewhere in a value than they were written or copied to, or were there
    before the run and were copied to elsewhere; None if none do. Bytes of contents that were never
    written into the value are not looked at.

    Args:
        offset: where the pieces begin in the value.
    """
    held = trace.held.get(value, set())
    origins = {origin for origin, _ in held}
    for piece in pieces:
        for origin, at in piece.origins:
            is_known = origin.kind == "before" or origin in origins
            is_known &= origin.content != UNKNOWN
            if is_known and (origin, at - piece.start - offset) not in held:
                return origin
    return None
