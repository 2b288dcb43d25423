"""Generated problems whose best plan is known, since they are made from it.

In every family all the memory is occupied at some step of the plan that the problem was made
from, so no plan can be smaller. A family, a number of buffers and a seed name a problem for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random

from onearena.lifetime import Interval, Lifetime
from onearena.problem import Buffer, Problem, Window

from .instances import ARENA, Instance
from .networks import network, place
from .packing import Piece, cut, split, thin_out

# Whoever changes the planner may look at TUNE as often as they want; TEST_ONLY is what counts.
TUNE = range(100)
TEST_ONLY = range(1000, 1100)

ALIGNMENT = 64
_MIXED = (256, 128, 64, 32, 16)

Made = tuple[Sequence[Buffer], Sequence[int], int]  # buffers, where they lie, the height


def make(family: str, buffers: int, seed: int) -> Instance:
    """A problem of about so many buffers, in no order."""
    rng = Random(f"{family} {buffers} {seed}")
    made, offsets, optimum = FAMILIES[family](buffers, rng)
    order = list(range(len(made)))
    rng.shuffle(order)
    return Instance(
        family,
        f"{buffers}-{seed}",
        Problem(tuple(_renumbered(made[old], new) for new, old in enumerate(order))),
        optimum=optimum,
        witness=tuple(offsets[old] for old in order),
    )


def _renumbered(buffer: Buffer, number: int) -> Buffer:
    return Buffer(
        number,
        buffer.size_bytes,
        buffer.alignment,
        buffer.arena,
        buffer.lifetime,
        buffer.offset,
        str(number),
        buffer.windows,
    )


def _buffer(
    piece: Piece,
    *,
    size: int | None = None,
    alignment: int = 1,
    offset: int | None = None,
    lifetime: Lifetime | None = None,
    windows: tuple[Window, ...] = (),
) -> Buffer:
    life = lifetime or (Interval(piece.begin, piece.end),)
    return Buffer(0, size or piece.bytes, alignment, ARENA, life, offset, windows=windows)


def _made(pieces: Sequence[Piece], optimum: int) -> Made:
    return [_buffer(piece) for piece in pieces], [piece.low for piece in pieces], optimum


def _whole(buffers: int, rng: Random, *, steps: int = 0) -> Piece:
    return Piece(0, steps or max(8, buffers // 2), 0, rng.randint(200_000, 1_000_000))


def _full(buffers: int, rng: Random) -> Made:
    """No byte is free at any step."""
    whole = _whole(buffers, rng)
    return _made(cut(whole, buffers, rng), whole.high)


def _holes(buffers: int, rng: Random) -> Made:
    """As `full`, then without a fifth of the buffers; one step stays full."""
    whole = _whole(buffers, rng)
    return _made(thin_out(cut(whole, buffers * 5 // 4, rng), 0.2, rng), whole.high)


def _dense(buffers: int, rng: Random) -> Made:
    """Many buffers at each of a few steps."""
    whole = _whole(buffers, rng, steps=rng.randint(6, 16))
    return _made(cut(whole, buffers, rng, spirals=0.05), whole.high)


def _network(buffers: int, rng: Random) -> Made:
    """Neural networks."""
    return _made(*place(network(buffers, rng), rng))


def _shelves(buffers: int, rng: Random) -> Made:
    """Against greedy planners: shelves, of which two or three are emptied and filled anew at a
    time while the others stay, so that what is new must be sorted into them without a byte left
    over."""
    rooms = [rng.randint(20_000, 120_000) for _ in range(rng.randint(4, 9))]
    since = [0] * len(rooms)
    pieces: list[Piece] = []
    step = 0
    while len(pieces) < buffers - 3 * len(rooms):
        step += 1
        for shelf in rng.sample(range(len(rooms)), rng.randint(2, 3)):
            pieces += _filled(rooms, shelf, since[shelf], step, rng)
            since[shelf] = step
    for shelf, begin in enumerate(since):
        pieces += _filled(rooms, shelf, begin, step + 1, rng)
    return _made(pieces, sum(rooms))


def _filled(rooms: Sequence[int], shelf: int, begin: int, end: int, rng: Random) -> Iterator[Piece]:
    low = sum(rooms[:shelf])
    for size in split(rooms[shelf], rng.randint(2, 4), rng):
        yield Piece(begin, end, low, low + size)
        low += size


def _aligned(buffers: int, rng: Random) -> Made:
    """One alignment and sizes that are no multiples of it.

    At the full step nothing loses more by rounding up than the topmost buffer of the plan does:
    offsets are multiples, so the rounded sizes less that loss is what any plan needs.
    """
    whole = Piece(0, max(8, buffers // 2), 0, rng.randint(3_000, 15_000))
    pieces = cut(whole, buffers * 10 // 9, rng)
    full_step = rng.choice(pieces).begin
    lost = rng.randrange(1, ALIGNMENT)
    made = []
    pieces = thin_out(pieces, 0.1, rng, full_step=full_step)
    for piece in pieces:
        least = lost if piece.high == whole.high else 0
        most = lost if piece.is_alive(full_step) else ALIGNMENT - 1
        size = piece.bytes * ALIGNMENT - rng.randint(least, most)
        made.append(_buffer(piece, size=size, alignment=ALIGNMENT))
    offsets = [piece.low * ALIGNMENT for piece in pieces]
    return made, offsets, whole.high * ALIGNMENT - lost


def _mixed(buffers: int, rng: Random) -> Made:
    """Several alignments; sizes are odd except at the full step."""
    unit = _MIXED[-1]
    whole = Piece(0, max(8, buffers // 2), 0, rng.randint(12_000, 60_000))
    pieces = cut(whole, buffers * 10 // 9, rng)
    full_step = rng.choice(pieces).begin
    pieces = thin_out(pieces, 0.1, rng, full_step=full_step)
    made = []
    for piece in pieces:
        loss = 0 if piece.is_alive(full_step) else rng.randrange(unit)
        most = next(a for a in _MIXED if piece.low * unit % a == 0)
        alignment = rng.choice([a for a in _MIXED if a <= most])
        made.append(_buffer(piece, size=piece.bytes * unit - loss, alignment=alignment))
    return made, [piece.low * unit for piece in pieces], whole.high * unit


def _pinned(buffers: int, rng: Random) -> Made:
    """Every eighth buffer must lie where it lies."""
    whole = _whole(buffers, rng)
    pieces = thin_out(cut(whole, buffers * 10 // 9, rng), 0.1, rng)
    made = [_buffer(p, offset=p.low if rng.random() < 1 / 8 else None) for p in pieces]
    return made, [piece.low for piece in pieces], whole.high


def _gapped(buffers: int, rng: Random) -> Made:
    """Buffers that are unused, or used in a part only, for a while, and others in there."""
    whole = _whole(buffers, rng, steps=buffers)
    made: list[Buffer] = []
    offsets: list[int] = []
    for piece in cut(whole, buffers * 2 // 3, rng):
        fillers: list[Piece] = []
        outer = _buffer(piece)
        if piece.steps >= 3 and piece.bytes >= 3 and rng.random() < 0.4:
            outer, fillers = _hollow(piece, rng)
        made += [outer, *(_buffer(filler) for filler in fillers)]
        offsets += [piece.low, *(filler.low for filler in fillers)]
    return made, offsets, whole.high


def _hollow(piece: Piece, rng: Random) -> tuple[Buffer, list[Piece]]:
    begin, end = sorted(rng.sample(range(piece.begin + 1, piece.end), 2))
    if rng.random() < 0.5:
        life = (Interval(piece.begin, begin), Interval(end, piece.end))
        fillers = cut(Piece(begin, end, piece.low, piece.high), rng.randint(1, 3), rng)
        return _buffer(piece, lifetime=life), fillers
    low, high = sorted(rng.sample(range(1, piece.bytes), 2))
    window = Window(Interval(begin, end), low, high)
    fillers = [
        Piece(begin, end, piece.low, piece.low + low),
        Piece(begin, end, piece.low + high, piece.high),
    ]
    return _buffer(piece, windows=(window,)), fillers


FAMILIES: Mapping[str, Callable[[int, Random], Made]] = {
    "full": _full,
    "holes": _holes,
    "dense": _dense,
    "network": _network,
    "shelves": _shelves,
    "aligned": _aligned,
    "mixed": _mixed,
    "pinned": _pinned,
    "gapped": _gapped,
}
