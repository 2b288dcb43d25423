"""Two memories side by side: the arenas, and one in which every tensor has bytes of its own.

Whoever reads gets the arena's bytes, which must be what the other memory holds and must have
been written by whom the reader means. Both are checked: bytes that were overwritten may be
equal by accident.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from onearena.runtime.bindings import import_torch
from onearena.simulator.arenas import Arenas, Mark, Place, WriteKind
from onearena.simulator.names import Base, MemoryNames
from onearena.simulator.slots import Cell


@dataclass(frozen=True)
class Wrong:
    """A read that found other bytes than it should.

    Attributes:
        place: the bytes.
        victim: the value that was read.
        root: the value in whose memory it lies.
        mark: the last write to these bytes; None when nothing ever wrote them.
        written: the instruction that had written the victim; None when nothing had.
    """

    place: Place
    victim: int
    root: int
    mark: Mark | None
    written: int | None


class Memory:
    """What the tensors of a method hold."""

    def __init__(self, arenas: Arenas, names: MemoryNames, initial: Mapping[int, Any]) -> None:
        """`initial` are the bytes of constants and of initial state, by value."""
        self._arenas = arenas
        self._names = names
        self._own: dict[int, Any] = {}
        self._aliases: dict[int, Base] = {}
        self._clock = 0
        self._written: dict[int, int] = {}
        """By value: when it was written in this run."""
        self._writer: dict[int, int] = {}
        """By root: the instruction that wrote it last."""
        for value, raw in initial.items():
            self._own[value] = raw
            place = names.places.get(value)
            if place is not None:
                mark = Mark(frozenset((value,)), -1, value, WriteKind.STATE)
                arenas.write(place, raw, mark)

    def begin(self) -> None:
        """A new run: only state is left of the one before."""
        self._aliases.clear()
        self._written.clear()

    # -- where things are -----------------------------------------------------------------

    def place_of(self, cell: Cell) -> Place | None:
        """The planned bytes of a tensor, at its largest; None outside the arenas."""
        return self._names.places.get(cell.home)

    def root_of(self, value: int) -> int:
        """The value in whose memory another one lies, as far as the run has shown."""
        return self._resolved(value).value

    def _live_place(self, cell: Cell) -> Place | None:
        place = self._names.places.get(cell.home)
        if place is None:
            return None
        return Place(place.arena, place.start, place.start + cell.size_bytes)

    def _resolved(self, home: int) -> Base:
        return self._aliases.get(home, Base(home, 0))

    def _resolve(self, home: int) -> Base:
        """Finds out what a value is that is used before anything was written under its name."""
        if home in self._aliases or home in self._written or home not in self._names.places:
            return self._resolved(home)
        written = [b for b in self._names.bases.get(home, ()) if b.value in self._written]
        if written:
            base = self._newest(home, written)
        elif home in self._names.family:
            base = self._names.family[home]
        else:
            base = Base(home, 0)
        root = self._resolved(base.value)
        self._aliases[home] = Base(root.value, root.delta + base.delta)
        if not written:
            self._begin_state(root.value)
        return self._aliases[home]

    def _newest(self, home: int, written: Iterable[Base]) -> Base:
        """The last one written; one that has the same bytes goes before one that has more."""
        size = self._names.places[home].size_bytes

        def rank(base: Base) -> tuple[bool, int]:
            same = self._names.places[base.value].size_bytes == size
            return same, self._written[base.value]

        return max(written, key=rank)

    def _begin_state(self, root: int) -> None:
        """State without initial content is zero at first, as fresh memory of the host is."""
        torch = import_torch()
        owner = Mark(frozenset((root,)), -1, root, WriteKind.STATE)
        for piece, mark in self._arenas.marks(self._names.places[root]):
            if mark is None:
                zeros = torch.zeros(piece.size_bytes, dtype=torch.uint8)
                self._arenas.write(piece, zeros, owner)

    def _buffer(self, root: int, size_bytes: int) -> Any:
        """The memory of its own of a value, at least so large."""
        torch = import_torch()
        place = self._names.places.get(root)
        wanted = max(size_bytes, place.size_bytes if place is not None else 0)
        have = self._own.get(root)
        if have is None or have.numel() < wanted:
            grown = torch.zeros(wanted, dtype=torch.uint8)
            if have is not None:
                grown[: have.numel()].copy_(have)
            self._own[root] = have = grown
        return have

    def _own_bytes(self, cell: Cell, base: Base) -> Any:
        end = base.delta + cell.size_bytes
        return self._buffer(base.value, end)[base.delta : end]

    # -- reading and writing --------------------------------------------------------------

    def read(self, cell: Cell) -> tuple[Any, tuple[Wrong, ...]]:
        """The bytes of a tensor as they should be, and where the arena has others."""
        self._compose(cell.home)
        base = self._resolve(cell.home)
        right = self._own_bytes(cell, base)
        place = self._live_place(cell)
        if place is None or not place.size_bytes:
            return right, ()
        found = self._arenas.read(place)
        wrong = self._foreign(cell, base, place)
        if not wrong and not import_torch().equal(found, right):
            wrong = self._differing(cell, base, place, found, right)
        return (right.clone() if wrong else found), tuple(wrong)

    def _compose(self, home: int) -> None:
        """What a kernel would have copied is there already: the bytes belong to both from now on.
        Bytes that are not whose they should be keep their owner, and are found out."""
        parts = self._names.parts.get(home, ())
        when = max((self._written.get(part.value, 0) for part in parts), default=0)
        if not when or self._written.get(home, 0) >= when:
            return
        whole = self._names.places[home]
        own = self._buffer(self._renamed(home).value, whole.size_bytes)
        for part in parts:
            root, size = self._resolved(part.value), self._names.places[part.value].size_bytes
            start, end = max(part.delta, 0), min(part.delta + size, whole.size_bytes)
            first = root.delta + start - part.delta
            source = self._buffer(root.value, root.delta + size)
            own[start:end].copy_(source[first : first + end - start])
            place = Place(whole.arena, whole.start + start, whole.start + end)
            for piece, mark in self._arenas.marks(place):
                if mark is not None and mark.holds(root.value):
                    self._arenas.mark(piece, replace(mark, owners=mark.owners | {home}))
        self._written[home] = when
        self._writer[home] = max(self._writer.get(self.root_of(p.value), -1) for p in parts)

    def _foreign(self, cell: Cell, base: Base, place: Place) -> list[Wrong]:
        return [
            Wrong(piece, cell.home, base.value, mark, self._writer.get(base.value))
            for piece, mark in self._arenas.marks(place)
            if mark is None or not mark.holds(base.value)
        ]

    def _differing(
        self, cell: Cell, base: Base, place: Place, found: Any, right: Any
    ) -> list[Wrong]:
        """The bytes have the right writer and are not what they should be all the same: other
        bytes of the same writer."""
        at = (found != right).nonzero()
        first, last = int(at[0]), int(at[-1])
        piece = Place(place.arena, place.start + first, place.start + last + 1)
        ((_, mark), *_) = self._arenas.marks(piece)
        return [Wrong(piece, cell.home, base.value, mark, self._writer.get(base.value))]

    def write(
        self,
        cell: Cell,
        raw: Any,
        instruction: int,
        kind: WriteKind = WriteKind.OUTPUT,
        *,
        in_place: bool = False,
        moved: Sequence[Cell] = (),
    ) -> tuple[Wrong, ...]:
        """Writes all bytes of a tensor.

        Args:
            in_place: what named the memory before the write goes on naming it.
            moved: operands that the operator only copies. Where the tensor lies over them, the
                bytes must be in their new place already; they then belong to both.

        Returns:
            Bytes of these operands that changed.
        """
        base = self._resolve(cell.home) if in_place else self._renamed(cell.home)
        place = self._live_place(cell)
        over = self._common_bytes(place, moved) if place is not None else []
        self._own_bytes(cell, base).copy_(raw)
        self._note(cell, base, instruction)
        if place is None or not place.size_bytes:
            return ()
        mark = Mark(frozenset((base.value,)), instruction, cell.home, kind)
        self._arenas.write(place, raw, mark)
        wrong = []
        for lost, owners, before in over:
            if import_torch().equal(self._arenas.read(lost.place), before):
                self._arenas.mark(lost.place, replace(mark, owners=mark.owners | owners))
            else:
                wrong.append(replace(lost, mark=mark))
        return tuple(wrong)

    def _common_bytes(
        self, place: Place, moved: Sequence[Cell]
    ) -> list[tuple[Wrong, frozenset[int], Any]]:
        """The bytes that operands share with a place: what is wrong should they change, whose
        they are, and the bytes themselves."""
        found = []
        for operand in moved:
            other, root = self._live_place(operand), self.root_of(operand.home)
            if other is None or not other.overlaps(place):
                continue
            for piece, mark in self._arenas.marks(place.common(other)):
                if mark is not None and mark.holds(root):
                    lost = Wrong(piece, operand.home, root, mark, self._writer.get(root))
                    found.append((lost, mark.owners, self._arenas.read(piece)))
        return found

    def write_part(self, cell: Cell, start: int, raw: Any, instruction: int) -> None:
        """Writes some bytes of a tensor, from byte `start` on."""
        base = self._resolved(cell.home)
        end = start + raw.numel()
        self._buffer(base.value, base.delta + end)[base.delta + start : base.delta + end].copy_(raw)
        self._note(cell, base, instruction)
        whole = self._names.places.get(cell.home)
        if whole is not None and start < end:
            piece = Place(whole.arena, whole.start + start, whole.start + end)
            mark = Mark(frozenset((base.value,)), instruction, cell.home, WriteKind.OUTPUT)
            self._arenas.write(piece, raw, mark)

    def _renamed(self, home: int) -> Base:
        """A value that is written as a whole has memory of its own from then on."""
        self._aliases.pop(home, None)
        return Base(home, 0)

    def _note(self, cell: Cell, base: Base, instruction: int) -> None:
        self._clock += 1
        self._written[cell.home] = self._written[base.value] = self._clock
        self._writer[base.value] = instruction

    # -- what is done to bytes that nobody may need -----------------------------------------

    def scramble(
        self, place: Place, instruction: int, value: int, kind: WriteKind, spare: Iterable[Place]
    ) -> None:
        """Fills bytes with random ones."""
        self._arenas.scramble(place, Mark(frozenset(), instruction, value, kind), spare)

    def holders(self, place: Place) -> tuple[int, ...]:
        """The values whose content lies, or is being written, in some bytes."""
        found: list[int] = []
        for _, mark in self._arenas.marks(place):
            if mark is not None and mark.expired is None:
                being_written = [mark.value] if mark.kind is WriteKind.OUTPUT else []
                found += sorted(mark.owners) or being_written
        return tuple(dict.fromkeys(found))

    def expire(self, value: int, instruction: int) -> None:
        """The value is not needed any more: whatever it left becomes random."""
        place = self._names.places.get(value)
        if place is None:
            return
        root = self._resolved(value).value
        for piece, last in self._arenas.marks(place):
            if last is not None and last.expired is None and last.owners == frozenset((root,)):
                self._arenas.scramble(piece, replace(last, expired=instruction))
