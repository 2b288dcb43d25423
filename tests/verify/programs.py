"""Programs to plant faults in: some by hand, some random. No value shares bytes by chance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from onearena.delegates.xnnpack import schema as x
from onearena.pte.container import PteFile
from onearena.pte.schema import Instruction, JumpFalseCall
from tests.delegates.nets import QINT8, Net
from tests.delegates.random_nets import random_nets
from tests.pte.build import BOOL, CHAR, FLOAT, LONG, Method
from tests.timeline.build import program, xnnpack
from tests.timeline.test_storage import cond

RELU = "aten::relu.out"


class Space:
    """Hands out offsets, one behind the other."""

    def __init__(self, method: Method) -> None:
        self.method = method
        self.end = 0

    def tensor(self, *dims: int, scalar_type: int = FLOAT, **fields: Any) -> int:
        value = self.method.tensor(*dims, scalar_type=scalar_type, offset=self.end, **fields)
        self.end = self.method.arenas[1] + -self.method.arenas[1] % 16
        return value

    def only_call(self, *dims: int) -> None:
        """A call of XNNPACK that makes the method's output of its input, both of these dims."""
        given, made = self.tensor(*dims), self.tensor(*dims)
        self.method.input(given)
        xnnpack(self.method, given, made)
        self.method.output(made)

    def view(self, of: int, *dims: int, at: int = 0, scalar_type: int = FLOAT) -> int:
        """A name for bytes inside a value."""
        tensor = self.method.values[of].val
        offset = tensor.allocation_info.offset + at  # type: ignore[union-attr]
        return self.method.tensor(*dims, scalar_type=scalar_type, offset=offset)

    def kernel(self, name: str, *operands: int, dims: tuple[int, ...]) -> int:
        """An out variant with a new output."""
        out = self.tensor(*dims)
        self.method.call(name, *operands, out, out)
        return out


def kernels() -> PteFile:
    """Portable kernels with an elided view, a slice, a layer norm's three outputs and a list."""
    method = Method()
    space = Space(method)
    a = space.tensor(4, 8)
    method.input(a)
    b = space.kernel(RELU, a, dims=(4, 8))
    flat, half = space.view(b, 32), space.view(b, 2, 8, at=64)
    c = space.kernel("aten::exp.out", flat, dims=(32,))
    outs = [space.tensor(4, 8), space.tensor(4), space.tensor(4)]
    method.call("aten::native_layer_norm.out", a, *outs, method.tensor_list(*outs))
    d = space.kernel("aten::neg.out", half, dims=(2, 8))
    pair = method.tensor_list(c, space.view(outs[0], 32))
    e = space.kernel("aten::cat.out", pair, method.integer(0), dims=(64,))
    f = space.kernel("test::use.out", e, d, outs[1], dims=(8,))
    method.output(f)
    return program(method)


def caches() -> PteFile:
    """Two caches without and one with initial state, updated in place, and temporaries."""
    method = Method()
    space = Space(method)
    a, index = space.tensor(1, 8), space.tensor(1, scalar_type=LONG)
    keys, values = space.tensor(6, 8), space.tensor(6, 8)
    count = space.tensor(4, data_buffer_idx=1)
    method.input(a, index)
    first = space.kernel(RELU, a, dims=(1, 8))
    where = method.optional_list(index)
    method.call("aten::index_put_", keys, where, first, method.boolean(False), keys)
    second = space.kernel("aten::exp.out", a, dims=(1, 8))
    method.call("aten::index_put_", values, where, second, method.boolean(False), values)
    scores = space.kernel("aten::bmm.out", keys, a, dims=(6, 1))
    weights = space.kernel("aten::_softmax.out", scores, dims=(6, 1))
    mixed = space.kernel("aten::bmm.out", weights, values, dims=(1, 8))
    method.call("aten::add_.Tensor", count, count, method.integer(1), count)
    method.output(space.kernel("test::use.out", mixed, count, dims=(1, 8)))
    return program(method)


def delegated() -> PteFile:
    """Two XNNPACK calls with a kernel between them: padding, clamps, tables, squares, reshapes."""
    net = Net()
    image, wide = (1, 4, 4, 2), (1, 5, 4, 2)
    a, p, t, u = net.input(*image), net.inner(*wide), net.inner(*image), net.inner(*image)
    net.pad(a, p, (0, 1, 0, 0), (0, 0, 0, 0))
    net.conv(p, t)
    net.clamp(t, u)
    s, flat = net.inner(*image), net.inner(1, 32)
    net.unary(x.XNNSquare, u, s)
    net.reshape(s, flat)
    net.linear(flat, net.output(1, 8))
    net.unary(x.XNNGlobalAvgPooling2d, s, net.output(1, 1, 1, 2))
    y = net.output(*image)
    net.binary(x.XNNAdd, u, s, y, (0.0, 6.0))
    other = Net()
    b, q = other.input(*image), other.inner(*image, datatype=QINT8)
    r, z = other.inner(*image, datatype=QINT8), other.output(*image)
    other.unary(x.XNNConvert, b, q)
    other.unary(x.XNNSigmoid, q, r)
    other.unary(x.XNNConvert, r, z)
    method = Method()
    space = Space(method)
    source = space.tensor(*image)
    method.input(source)
    outs = [space.tensor(1, 8), space.tensor(1, 1, 1, 2), space.tensor(*image)]
    xnnpack(method, source, *outs)
    middle = space.kernel(RELU, outs[2], dims=image)
    last = space.tensor(*image)
    xnnpack(method, middle, last, payload=1)
    method.output(outs[0], outs[1], last)
    return program(method, net, other)


def branches() -> PteFile:
    """A cond whose results are moved, work before and behind it, and a view of the result."""
    method = Method()
    space = Space(method)
    a, condition = space.tensor(4, 4), space.tensor(1, scalar_type=BOOL)
    method.input(a, condition)
    b, c = space.tensor(4, 4), space.tensor(4, 4)
    before = space.kernel(RELU, a, dims=(4, 4))
    handle = method.tensor(4, 4)
    cond(method, [(RELU, before, b), ("move", b, handle)], [(RELU, a, c), ("move", c, handle)])
    behind = space.kernel("aten::exp.out", a, dims=(4, 4))
    method.output(space.kernel("test::use.out", handle, behind, before, dims=(4, 4)))
    return program(method)


def loop() -> PteFile:
    """A loop with two carried values, a constant of the loop, and rows that it fills."""
    method = Method()
    space = Space(method)
    a, weight = space.tensor(8), space.tensor(8)
    condition = method.tensor(1, scalar_type=BOOL)
    method.input(a, weight, condition)
    start = space.kernel(RELU, a, dims=(8,))
    one, two = space.tensor(8), space.tensor(8)
    no = method.boolean(False)
    method.call("aten::copy_", one, start, no, one)
    method.call("aten::copy_", two, a, no, two)
    rows = space.tensor(4, 8)
    again = len(method.instructions)
    t = space.kernel("aten::mul.out", one, weight, dims=(8,))
    u = space.kernel("aten::add.out", t, two, method.integer(1), dims=(8,))
    method.call("aten::copy_", two, one, no, two)
    method.call("aten::copy_", one, u, no, one)
    method.call("executorch_prim::et_copy_index.tensor", rows, u, method.integer(0))
    method.jump_if_false(condition, again)
    out = space.kernel("test::use.out", one, two, rows, dims=(8,))
    method.output(out)
    return program(method)


def unknown() -> PteFile:
    """An unknown operator and an unknown delegate, with views, between things that are known."""
    method = Method()
    space = Space(method)
    a = space.tensor(4, 8)
    method.input(a)
    b = space.kernel(RELU, a, dims=(4, 8))
    odd = space.tensor(4, 8)
    method.call("test::odd", b, odd)
    c = space.kernel("aten::exp.out", odd, dims=(4, 8))
    d, first, second = space.kernel(RELU, c, dims=(4, 8)), space.tensor(8), space.tensor(8)
    view = space.view(d, 32)
    method.call_delegate(method.delegate("Other", 0), view, first, second)
    e = space.kernel("test::use.out", first, second, d, dims=(8,))
    for _ in range(3):
        e = space.kernel(RELU, e, dims=(8,))
    method.output(e)
    return program(method)


BY_HAND = {f.__name__: f for f in (kernels, caches, delegated, branches, loop, unknown)}
"""`branches`, `loop` and `unknown` are not straight or not known: they get faults by hand."""
STRAIGHT = ("kernels", "caches", "delegated")


@st.composite
def random_programs(draw: DrawFn) -> PteFile:
    """A random payload called once or twice, kernels around it, views, sometimes a cache."""
    net = draw(random_nets(max_nodes=6))
    graph = net.index()
    method = Method()
    space = Space(method)
    pool: dict[int, list[int]] = {FLOAT: [], CHAR: []}

    def fresh(position: int) -> int:
        value = graph.values[graph.externals[position]]
        scalar_type = CHAR if value.tensor.datatype == QINT8 else FLOAT
        made = space.tensor(*value.dims, scalar_type=scalar_type)
        pool[scalar_type].append(made)
        return made

    inputs = len(net.graph().input_ids or ())
    cache = None
    for round_ in range(draw(st.integers(1, 2))):
        args = []
        for position in range(inputs):
            value = graph.values[graph.externals[position]]
            known = pool[CHAR if value.tensor.datatype == QINT8 else FLOAT]
            if round_ and known and draw(st.booleans()):
                args.append(draw(st.sampled_from(known)))
            else:
                args.append(fresh(position))
                method.input(args[-1])
        args += [fresh(position) for position in range(inputs, len(graph.externals))]
        xnnpack(method, *args)
        for kind in draw(st.lists(st.sampled_from(("kernel", "view", "cache")), max_size=3)):
            if not pool[FLOAT]:
                continue
            source = draw(st.sampled_from(pool[FLOAT]))
            if kind == "cache":
                cache = space.tensor(64) if cache is None else cache
                method.call("aten::add_.Tensor", cache, source, method.integer(1), cache)
            elif kind == "view":
                source = space.view(source, 4, 8, at=64)
            result = space.kernel(RELU, cache if kind == "cache" and cache else source, dims=(64,))
            pool[FLOAT].append(result)
    last = draw(st.lists(st.sampled_from(pool[FLOAT] or pool[CHAR]), min_size=1, max_size=2))
    method.output(*dict.fromkeys(last))
    return program(method, net)


class _Flow:
    """Draws a program with conds, loops, views, caches and calls, correct by construction."""

    def __init__(self, draw: DrawFn) -> None:
        self.draw = draw
        self.method = Method()
        self.space = Space(self.method)
        self.net = Net()
        a, t, u = self.net.input(16), self.net.inner(16), self.net.inner(4, 4)
        self.net.unary(x.XNNSoftmax, a, t)
        self.net.reshape(t, u)
        self.net.unary(x.XNNSigmoid, u, self.net.output(4, 4))
        self.caches = [self.space.tensor(16), self.space.tensor(16, data_buffer_idx=1)]

    def run(self) -> PteFile:
        pool = [self.space.tensor(16) for _ in range(self.draw(st.integers(1, 2)))]
        self.method.input(*pool)
        pool = self.block(pool, depth=0)
        self.method.output(*dict.fromkeys(self.pick(pool) for _ in range(2)))
        return program(self.method, self.net)

    def pick(self, pool: list[int]) -> int:
        return self.draw(st.sampled_from(pool))

    def block(self, pool: list[int], depth: int) -> list[int]:
        """Statements that read from the pool; returns the pool with what they made."""
        pool = list(pool)
        kinds = ["kernel", "kernel", "call", "view", "cache", "in place"]
        if depth < 2:
            kinds += ["cond", "loop"]
        for _ in range(self.draw(st.integers(1, 4))):
            kind = self.draw(st.sampled_from(kinds))
            made = getattr(self, f"_{kind.replace(' ', '_')}")(pool, depth)
            pool.append(made)
        return pool

    def _kernel(self, pool: list[int], _: int) -> int:
        pair = self.method.tensor_list(self.pick(pool), self.pick(pool))
        return self.space.kernel("test::use.out", pair, dims=(16,))

    def _call(self, pool: list[int], _: int) -> int:
        source, out = self.pick(pool), self.space.tensor(4, 4)
        xnnpack(self.method, source, out)
        return out

    def _view(self, pool: list[int], _: int) -> int:
        """A reader of half of a value; handles have no bytes of their own to look at."""
        planned = [v for v in pool if self.method.values[v].val.allocation_info is not None]  # type: ignore[union-attr]
        if not planned:
            return self._kernel(pool, 0)
        half = self.space.view(self.pick(planned), 8, at=32)
        return self.space.kernel("test::use.out", half, dims=(16,))

    def _cache(self, pool: list[int], _: int) -> int:
        cache = self.pick(self.caches)
        one = self.method.integer(1)
        self.method.call("aten::add_.Tensor", cache, self.pick(pool), one, cache)
        return self.space.kernel(RELU, cache, dims=(16,))

    def _in_place(self, pool: list[int], _: int) -> int:
        made = self._kernel(pool, 0)
        self.method.call("aten::mul_.Tensor", made, self.pick(pool), made)
        return made

    def _cond(self, pool: list[int], depth: int) -> int:
        """The result is a handle that both branches move something to."""
        method = self.method
        condition = self.space.tensor(1, scalar_type=BOOL)
        method.call("aten::gt.out", self.pick(pool), condition, condition)
        handle = method.tensor(16)
        jump = method.jump_if_false(condition, 0)
        method.move(self.pick(self.block(pool, depth + 1)), handle)
        skip = method.jump_if_false(method.boolean(False), 0)
        self._land(jump, skip + 1)
        method.move(self.pick(self.block(pool, depth + 1)), handle)
        self._land(skip, len(method.instructions))
        return handle

    def _loop(self, pool: list[int], depth: int) -> int:
        """Carried values are copied in, and copied again at the end of each iteration."""
        method, no = self.method, self.method.boolean(False)
        carried = [self.space.tensor(16) for _ in range(self.draw(st.integers(1, 2)))]
        for value in carried:
            method.call("aten::copy_", value, self.pick(pool), no, value)
        start = len(method.instructions)
        inner = self.block([*pool, *carried], depth + 1)
        results = [self.space.kernel(RELU, self.pick(inner), dims=(16,)) for _ in carried]
        for value, result in zip(carried, results, strict=True):
            method.call("aten::copy_", value, result, no, value)
        condition = self.space.tensor(1, scalar_type=BOOL)
        method.call("aten::lt.out", self.pick(inner), condition, condition)
        method.jump_if_false(condition, start)
        return self.pick(carried)

    def _land(self, jump: int, target: int) -> None:
        """Sets the target of a jump that was added before it was known."""
        args = self.method.instructions[jump].instr_args
        assert isinstance(args, JumpFalseCall)
        moved = replace(args, destination_instruction=target)
        self.method.instructions[jump] = Instruction(moved)


@st.composite
def random_flows(draw: DrawFn) -> PteFile:
    """Programs with conds and loops inside each other, calls, views and caches."""
    return _Flow(draw).run()
