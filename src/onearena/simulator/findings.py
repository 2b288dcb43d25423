"""What a run found → clobbers, each named once, in words."""

from __future__ import annotations

from collections.abc import Iterable

from onearena.simulator.arenas import Mark, Place, WriteKind
from onearena.simulator.log import Overrun, RunLog, WrongRead
from onearena.simulator.names import MemoryNames
from onearena.simulator.results import Clobber
from onearena.timeline.steps import MethodSteps

_Key = tuple[object, ...]


class Findings:
    """Collects the clobbers of a method over all its inputs."""

    def __init__(self, method: MethodSteps, names: MemoryNames) -> None:
        """Starts empty."""
        self._method, self._names = method, names
        self._found: dict[_Key, Clobber] = {}

    @property
    def clobbers(self) -> tuple[Clobber, ...]:
        """All of them, in the order in which they showed."""
        return tuple(self._found.values())

    def add_run(self, number: int, log: RunLog, damaged: Iterable[Place]) -> None:
        """Adds what the run with input `number` found."""
        for overrun in log.overruns:
            key = ("scratch", overrun.instruction, overrun.value)
            self._found.setdefault(key, self._overrun(number, overrun))
        for read in log.wrong:
            mark = read.wrong.mark
            culprit = (mark.instruction, mark.value, mark.kind) if mark is not None else ()
            key = (read.wrong.root, read.wrong.victim if mark is None else None, *culprit)
            if key not in self._found:
                self._found[key] = self._clobber(number, read, log)
        for place in damaged:
            self._found.setdefault(("red zone", place), self._damage(number, place))

    def add_misplaced(self, value: int, place: Place, size_bytes: int | None) -> None:
        """Adds a value that does not lie inside its arena."""
        arena = "no such arena" if size_bytes is None else f"an arena of {size_bytes} bytes"
        text = f"value {value} has {place}, which is {arena}"
        self._found[("bounds", value)] = Clobber(
            "bounds", -1, place.arena, place.start, place.end, value, value, *(None,) * 5, text
        )

    # -- one clobber ----------------------------------------------------------------------

    def _clobber(self, number: int, read: WrongRead, log: RunLog) -> Clobber:
        wrong = read.wrong
        mark, place = wrong.mark, wrong.place
        is_expired = mark is not None and mark.expired is not None and wrong.root in mark.owners
        last = max(log.read_last.get(wrong.root, read.instruction), read.instruction)
        moved = self._misplaced_view(wrong.victim, wrong.root)
        if mark is None:
            kind, text = "unwritten", f"nothing wrote {place}, where {self._victim(read)} is read"
        elif moved:
            kind, text = "overwritten", f"{self._content(mark, place)}; {moved}"
        elif is_expired:
            kind = "expired"
            text = (
                f"{place} of {self._victim(read)}, are needed no more {self._after(mark)} by the "
                "lifetimes that plans are made with"
            )
        else:
            kind, text = "overwritten", f"{self._overwrites(mark, place)} {self._victim(read)}"
        text += f"; needed {self._at(read.instruction)}"
        if last != read.instruction:
            text += f", last {self._at(last)}"
        overwriting = None if is_expired else mark
        return Clobber(
            kind,
            number,
            place.arena,
            place.start,
            place.end,
            wrong.victim,
            wrong.root,
            overwriting.value if overwriting else None,
            overwriting.instruction if overwriting else (mark.expired if mark else None),
            wrong.written,
            read.instruction,
            last,
            text,
        )

    def _victim(self, read: WrongRead) -> str:
        wrong = read.wrong
        name = f"value {wrong.victim}"
        if wrong.root != wrong.victim:
            name += f" (in the memory of value {wrong.root})"
        if wrong.written is None:
            return name
        return f"{name}, written {self._at(wrong.written)}"

    def _overwrites(self, mark: Mark, place: Place) -> str:
        if mark.kind is WriteKind.INPUT:
            return f"the caller's input, value {mark.value}, lies over {place} of"
        if mark.kind is WriteKind.STATE:
            return f"the state in value {mark.value} lies over {place} of"
        if mark.kind is WriteKind.SCRATCH:
            return (
                f"{self._where(mark.instruction)} uses scratch value {mark.value} over {place} of"
            )
        return f"{self._where(mark.instruction)} writes value {mark.value} over {place} of"

    def _content(self, mark: Mark, place: Place) -> str:
        return f"{place} hold value {mark.value}, written {self._at(mark.instruction)}"

    def _misplaced_view(self, victim: int, root: int) -> str:
        """In words, when a view does not lie in the memory that it is a view of."""
        places = self._names.places
        view, base = places.get(victim), places.get(root)
        if view is None or base is None or base.contains(view):
            return ""
        return f"value {victim} is a name of value {root}, which has {base}"

    def _overrun(self, number: int, overrun: Overrun) -> Clobber:
        place, behind = overrun.place, overrun.behind
        holders = ", ".join(f"value {value}" for value in overrun.holders)
        what = f"which hold {holders}" if holders else "which hold nothing now"
        if overrun.damaged:
            zones = ", ".join(map(str, overrun.damaged))
            what += f" (damaged red zone: {zones})"
        text = (
            f"{self._where(overrun.instruction)} needs {overrun.need_bytes} bytes of scratch, "
            f"value {overrun.value} has {place.size_bytes}: it goes on over {behind}, {what}"
        )
        victim = overrun.holders[0] if overrun.holders else None
        return Clobber(
            "scratch",
            number,
            behind.arena,
            behind.start,
            behind.end,
            victim,
            victim,
            overrun.value,
            overrun.instruction,
            None,
            None,
            None,
            text,
        )

    def _damage(self, number: int, place: Place) -> Clobber:
        text = f"{place}, which belong to no value, were written"
        return Clobber("red zone", number, place.arena, place.start, place.end, *(None,) * 7, text)

    def _at(self, instruction: int) -> str:
        if instruction < 0:
            return "by the caller, before the first instruction"
        if instruction >= len(self._method.instructions):
            return "by the caller, after the last instruction"
        return f"at {self._where(instruction)}"

    def _after(self, mark: Mark) -> str:
        assert mark.expired is not None
        if mark.expired >= len(self._method.instructions):
            return "after the run"
        return f"after instruction {mark.expired}"

    def _where(self, instruction: int) -> str:
        label = self._method.steps[self._method.first_step[instruction]].label
        return f"instruction {instruction} ({label})"
