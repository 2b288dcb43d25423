"""Do the parts of a payload compute what the payload computed? Shares no code with what cut it.

Every value of the new graph stands for some rows of a value of the old one. A node that computes
rows of an old value must be the old value's node, with the same parameters; each of its rows must
see the same rows of its operands as before, and padding exactly where there was padding. A value
that lies inside another one must be what lay there, were all copies made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.graph import Graph, Node, Value
from onearena.delegates.xnnpack.strips import Piece
from onearena.verification.places import Places
from onearena.verification.strip_rules import (
    _TRANSIENT_POINTERS,
    BY_ROWS,
    EXACT_FACTORS,
    EXACT_ROWS,
    ROW_WISE,
    WINDOWS,
    Rows,
    RowWindow,
    differs_in_rows_only,
    is_needed_whole,
    parameters,
    row_axis,
    rows_between,
    value_types,
)


def strip_fault(
    before: Graph,
    after: Graph,
    pieces: Mapping[int, Piece],
    known: Mapping[int, Piece] | None = None,
) -> str | None:
    """What is wrong with the strips of a payload, or None.

    Args:
        before: the graph that was cut, with the numbers of its values.
        after: the graph with strips.
        pieces: by value of `after` that is a part of another one, where it lies.
        known: the same for `before`, which may have been cut already.
    """
    return _Check(before, after, pieces, known or {}).run()


class _Check:
    def __init__(
        self,
        before: Graph,
        after: Graph,
        pieces: Mapping[int, Piece],
        known: Mapping[int, Piece],
    ) -> None:
        self._before, self._after, self._pieces = before, after, pieces
        self._known = known
        self.value_types = value_types(before), value_types(after)
        self._places = Places(before, self.value_types[0])
        self._meaning: dict[int, Rows] = {}
        self._one_of_equals: dict[int, int] = {}
        self._by_operands: dict[tuple[int, ...], list[Node]] = {}
        self._number_values()

    def _number_values(self) -> None:
        """Values that are computed in the same way from the same operands are one value."""
        known: dict[tuple[Any, ...], int] = {}
        for node in self._before.nodes:
            operands = tuple(self._equal(value) for value in node.inputs)
            self._by_operands.setdefault(operands, []).append(node)
            for position, output in enumerate(node.outputs):
                made = (parameters(node, frozenset()), operands, position)
                key = (*made, self.value_types[0].get(output), self._before.values[output].dims)
                self._one_of_equals[output] = known.setdefault(key, output)

    def _equal(self, value: int) -> int:
        return self._one_of_equals.get(value, value)

    def run(self) -> str | None:
        for value in self._after.values.values():
            if value.id in self._before.values:
                if value.dims != self._before.values[value.id].dims:
                    return f"value {value.id} has another shape"
                if not self._is_in_its_place(value):
                    return f"value {value.id} is not that part of another value"
                self._meaning[value.id] = self._all(value.id)
        for node in self._after.nodes:
            problem = self._node(node)
            if problem is not None:
                return f"node {node.index} ({node.name}): {problem}"
        return next(self._gaps(), None)

    def _gaps(self) -> Iterator[str]:
        """Values that nodes of the original wrote, and that no longer are written as a whole."""
        written = self._after.producer
        for value in self._after.values.values():
            if value.id in self._before.producer and value.id not in written.keys() | self._pieces:
                parts = [
                    (p.offset_bytes, v) for v, p in self._pieces.items() if p.whole == value.id
                ]
                end = 0
                for start, part in sorted(parts):
                    if part in written and start <= end:
                        end = max(end, start + (self._after.values[part].size_bytes or 0))
                if end != value.size_bytes:
                    yield f"value {value.id} is not written from byte {end} on"

    def _all(self, value: int) -> Rows:
        axis = row_axis(self._before.values[value])
        count = self._before.values[value].dims[axis] if axis is not None else 1
        return Rows(value, 0, count, is_whole=True)

    def _is_in_its_place(self, value: Value) -> bool:
        """Whether a value of the original is what the original has where it lies now."""
        piece = self._pieces.get(value.id)
        if piece is None or piece == self._known.get(value.id):
            return True
        if piece.whole not in self._before.values or not self._is_inside(value, piece):
            return False
        size = value.size_bytes or 0
        held = self._places.same_bytes(piece.whole, piece.offset_bytes, size)
        return (value.id, 0) in held

    def _is_inside(self, value: Value, piece: Piece) -> bool:
        around, size = self._after.values[piece.whole].size_bytes, value.size_bytes
        if around is None or size is None or piece.offset_bytes < 0:
            return False
        return piece.offset_bytes + size <= around

    def _node(self, node: Node) -> str | None:
        operands: list[tuple[Rows, ...]] = []
        for value in node.inputs:
            operands.append(self._meanings(value))
            if not operands[-1]:
                return f"it is not known what value {value} is"
        if len(node.outputs) != 1:
            key = tuple(self._equal(value) for value in node.inputs)
            same = any(node.outputs == old.outputs for old in self._by_operands.get(key, ()))
            is_whole = all(rows.is_whole for (rows, *_) in operands)
            return None if same and is_whole else "not one output"
        output = node.outputs[0]
        wanted = self._meanings(output)
        if not wanted and output in self._pieces:
            return f"it is not known what value {output} is"
        for choice in product(*operands):
            made = self._made(node, choice, wanted)
            if made is not None:
                self._meaning[output] = made
                return None
        return "it does not compute rows of a value of the original"

    def _made(self, node: Node, operands: Sequence[Rows], wanted: Sequence[Rows]) -> Rows | None:
        """What a node makes of such operands, if it is what its output stands for."""
        if node.kind is x.XNNCopy and node.outputs[0] in self._pieces:
            own, source = (self._after.values[v] for v in (node.outputs[0], node.inputs[0]))
            same = (
                self.value_types[1][own.id] == self.value_types[1][source.id]
                and own.dims == source.dims
            )
            same &= node.xnode.output_min_max is None
            if same and any(self._same(operands[0], rows) for rows in wanted):
                return operands[0]
        for old in self._by_operands.get(tuple(self._equal(rows.value) for rows in operands), ()):
            named = {self._equal(rows.value) for rows in wanted}
            if named and self._equal(old.outputs[0]) not in named:
                continue
            made = self._rows_made(node, old, operands)
            if made is not None and (not wanted or any(self._same(made, rows) for rows in wanted)):
                return made
        return None

    def _meanings(self, value: int) -> tuple[Rows, ...]:
        """All that a value may stand for; several, where only copies lie between them."""
        if value in self._meaning:
            known = self._meaning[value]
            return () if any(known.spoiled) else (known,)
        piece = self._pieces.get(value)
        whole = self._meaning.get(piece.whole) if piece is not None else None
        own = self._after.values[value]
        if piece is None or whole is None or not self._is_inside(own, piece):
            return ()
        old = self._before.values[whole.value]
        axis, offset = row_axis(old), piece.offset_bytes
        if axis is not None:
            offset += whole.first * ((old.size_bytes or 0) // old.dims[axis])
        held = self._places.same_bytes(old.id, offset, own.size_bytes or 0)
        found = (self._part(own, self._before.values[v], first) for v, first in held)
        parts = (rows for rows in found if rows is not None)
        if any(whole.spoiled):  # it has a value of its own, in which nothing else lies
            parts = (r for r in parts if r.value == whole.value and whole.has(r.first, r.count))
        return tuple(parts)

    def _part(self, own: Value, old: Value, offset: int) -> Rows | None:
        """The rows of an old value that a piece has, which starts at some byte of it."""
        axis = row_axis(old)
        if old.size_bytes is None or not self._same_type(own, old):
            return None
        if own.dims == old.dims and axis is None:
            return self._all(old.id) if offset == 0 else None
        if axis is None or len(own.dims) != len(old.dims):
            return None
        others = own.dims[:axis] == old.dims[:axis] and own.dims[axis + 1 :] == old.dims[axis + 1 :]
        first, rest = divmod(offset, old.size_bytes // old.dims[axis])
        if rest or not others or first + own.dims[axis] > old.dims[axis]:
            return None
        return Rows(old.id, first, own.dims[axis], is_whole=False)

    def _same_type(self, own: Value, old: Value) -> bool:
        return self.value_types[1][own.id] == self.value_types[0][old.id]

    def _same(self, made: Rows, wanted: Rows) -> bool:
        equal = self._equal(made.value) == self._equal(wanted.value)
        rows_are = (made.first, made.count) == (wanted.first, wanted.count)
        return equal and rows_are and not any(made.spoiled)

    # -- one node -------------------------------------------------------------------------

    def _rows_made(self, node: Node, old: Node, operands: Sequence[Rows]) -> Rows | None:
        """The rows of the old node's output that a node makes; None when it does not."""
        target, own = self._before.values[old.outputs[0]], self._after.values[node.outputs[0]]
        if all(rows.is_whole for rows in operands) and own.dims == target.dims:
            same = parameters(node, frozenset()) == parameters(old, frozenset())
            return self._all(target.id) if same and self._same_type(own, target) else None
        axis = row_axis(target)
        if axis is None or len(own.dims) != len(target.dims) or not self._same_type(own, target):
            return None
        if own.dims[:axis] + own.dims[axis + 1 :] != target.dims[:axis] + target.dims[axis + 1 :]:
            return None
        cut = (old.outputs[0], *(rows.value for rows in operands if not rows.is_whole))
        if any(self._has_one_scale(value) for value in cut):
            return None
        if old.kind is x.XNNStaticResizeBilinear2D:
            return self._enlarged(node, old, operands[0])
        first = self._first_row(node, old, operands, axis, own.dims[axis])
        if first is None or first < 0 or first + own.dims[axis] > target.dims[axis]:
            return None
        return Rows(target.id, first, own.dims[axis], is_whole=False)

    def _enlarged(self, node: Node, old: Node, rows: Rows) -> Rows | None:
        """Rows of an image that is enlarged by a power of two: each of them lies at a number of
        halves of 1/factor of an input row, which is exact, and so is its distance from any row."""
        source, target = (self._before.values[v] for v in (old.inputs[0], old.outputs[0]))
        made = self._after.values[node.outputs[0]].dims[1]
        without = frozenset({"new_height"})
        if parameters(node, without) != parameters(old, without) or row_axis(source) != 1:
            return None
        union, factor = node.xnode.xnode_union, target.dims[1] // max(1, source.dims[1])
        assert isinstance(union, x.XNNStaticResizeBilinear2D)
        if union.flags & ~_TRANSIENT_POINTERS or len(source.dims) != 4 or rows.is_whole:
            return None
        if union.new_height != made or made != rows.count * factor:
            return None
        if target.dims[1] != source.dims[1] * factor or factor not in EXACT_FACTORS:
            return None
        if target.dims[1] > EXACT_ROWS:
            return None
        # a row whose neighbours are not both in the strip sees the one that is there twice
        inner = [
            row
            for row in range(made)
            if all(
                0 <= k < rows.count or not 0 <= k + rows.first < source.dims[1]
                for k in rows_between(row, rows.first, factor)
            )
        ]
        if not inner:
            return None
        spoiled = inner[0], made - 1 - inner[-1]
        return Rows(target.id, rows.first * factor, made, is_whole=False, spoiled=spoiled)

    def _has_one_scale(self, value: int) -> bool:
        """Whether rows of a value are quantized with a scale that depends on other rows."""
        _, quant = self.value_types[0].get(value, (None, None))
        if not isinstance(quant, x.PerTokenDynamicQuant):
            return False
        whole = self._before.values[value]
        axis = row_axis(whole)
        return axis is None or axis + quant.num_nonbatch_dims >= len(whole.dims)

    def _first_row(
        self, node: Node, old: Node, operands: Sequence[Rows], axis: int, count: int
    ) -> int | None:
        padded = old.kind is x.XNNStaticConstantPad
        may_differ = padded and node.kind in (x.XNNStaticConstantPad, x.XNNCopy)
        if not may_differ and parameters(node, BY_ROWS) != parameters(old, BY_ROWS):
            return None
        if padded:
            return self._pad(node, old, operands[0], axis, count)
        if not all(rows.is_whole for rows in operands[1:]) and old.kind in WINDOWS:
            return None
        if old.kind in WINDOWS:
            return self._window(node, old, operands[0], count)
        return self._row_wise(node, old, operands, axis, count)

    def _row_wise(
        self, node: Node, old: Node, operands: Sequence[Rows], axis: int, count: int
    ) -> int | None:
        if old.kind not in ROW_WISE or not self._keeps_rows(node, old, axis, count):
            return None
        cut = [rows for rows in operands if not rows.is_whole]
        target = self._before.values[old.outputs[0]]
        if not cut or any((r.first, r.count) != (cut[0].first, count) for r in cut):
            return None
        for rows, operand in zip(operands, old.inputs, strict=True):
            value = self._before.values[operand]
            if rows.is_whole and not is_needed_whole(old, operand, value, target, axis):
                return None
            if not rows.is_whole and value.dims[row_axis(value) or 0] != target.dims[axis]:
                return None
        return cut[0].first

    def _keeps_rows(self, node: Node, old: Node, axis: int, count: int) -> bool:
        """Whether an operator that names dimensions leaves the rows as they are."""
        union, whole = node.xnode.xnode_union, old.xnode.xnode_union
        source = self._before.values[old.inputs[0]]
        if isinstance(union, x.XNNStaticTranspose):
            return (
                (union.perm or ())[: axis + 1]
                == tuple(range(axis + 1))
                == tuple(range((row_axis(source) or 0) + 1))
            )
        if isinstance(union, x.Concatenate):
            rank = len(self._before.values[old.outputs[0]].dims)
            joined = union.axis - (1 << 32) if union.axis >= 1 << 31 else union.axis
            return joined % rank > axis
        if isinstance(union, x.XNNStaticReshape) and isinstance(whole, x.XNNStaticReshape):
            return differs_in_rows_only(union.new_shape, whole.new_shape, axis, count)
        if isinstance(union, x.XNNStaticSlice) and isinstance(whole, x.XNNStaticSlice):
            starts = not any((whole.offsets or ())[: axis + 1])
            all_rows = (whole.sizes or ())[axis] == source.dims[axis]
            return (
                starts and all_rows and differs_in_rows_only(union.sizes, whole.sizes, axis, count)
            )
        if old.kind in (x.XNNSoftmax, x.XNNFullyConnected):
            return axis < len(self._before.values[old.outputs[0]].dims) - 1
        return True

    def _window(self, node: Node, old: Node, rows: Rows, count: int) -> int | None:
        union: Any = node.xnode.xnode_union
        whole: Any = old.xnode.xnode_union
        is_pool = isinstance(whole, x.Pooling)
        height = whole.pooling_height if is_pool else whole.kernel_height
        step = whole.stride_height if is_pool else whole.subsampling_height
        dilation = max(1, whole.dilation_height)
        source = self._before.values[old.inputs[0]]
        # the first row of the strip is row `first` of the whole: both see the same input row
        first: int = (rows.first - union.padding_top + whole.padding_top) // step
        rest: int = (rows.first - union.padding_top + whole.padding_top) % step
        if rest or len(source.dims) != 4 or row_axis(source) != 1:
            return None
        room = rows.count + union.padding_top + union.padding_bottom - (height - 1) * dilation - 1
        if room < 0 or room // step + 1 != count:
            return None  # XNNPACK derives the rows of the output from those of the input
        window = RowWindow(step, union.padding_top, height, dilation)
        above, below = (-rows.first, 0), (rows.count, source.dims[1] - rows.first)
        if any(window.sees_between(*outside, count) for outside in (above, below)):
            return None  # padding in the strip, a row of the image in the original
        return first

    def _pad(self, node: Node, old: Node, rows: Rows, axis: int, count: int) -> int | None:
        union, whole = node.xnode.xnode_union, old.xnode.xnode_union
        assert isinstance(whole, x.XNNStaticConstantPad)
        source = self._before.values[old.inputs[0]]
        none = (0,) * len(source.dims)
        if isinstance(union, x.XNNStaticConstantPad):
            before, after = union.pre_paddings or (), union.post_paddings or ()
            if union.padding_value != whole.padding_value or union.flags != whole.flags:
                return None
        else:
            before = after = none
        for mine, other in ((before, whole.pre_paddings), (after, whole.post_paddings)):
            if not differs_in_rows_only(mine, other, axis, mine[axis] if len(mine) > axis else 0):
                return None
        top, bottom = before[axis], after[axis]
        starts = top == 0 or rows.first == 0
        ends = bottom == 0 or rows.first + rows.count == source.dims[axis]
        if not starts or not ends or top + rows.count + bottom != count:
            return None
        return rows.first - top + (whole.pre_paddings or none)[axis]
