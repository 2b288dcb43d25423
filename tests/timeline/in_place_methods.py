"""Small methods of kernel calls whose tensors lie one behind the other."""

from __future__ import annotations

from dataclasses import replace

from onearena.pte.schema import AllocationDetails, EValue, Tensor
from onearena.timeline.sharing import sharing_pairs
from onearena.timeline.storage import analyse_storage
from tests.pte.build import DYNAMIC_BOUND, FLOAT, LONG, Method
from tests.timeline.build import steps_of

Pairs = set[tuple[int, int]]
CHANNELS_LAST = (0, 2, 3, 1)
IMAGE = (1, 4, 4, 2)


class Case:
    """A method whose tensors lie one behind the other."""

    def __init__(self) -> None:
        self.method = Method()

    def tensor(self, *sizes: int, kind: int = FLOAT, is_dynamic: bool = False, **more: int) -> int:
        if is_dynamic:
            return self.method.tensor(
                *sizes, scalar_type=kind, offset=self._end(), shape_dynamism=DYNAMIC_BOUND
            )
        return self.method.tensor(*sizes, scalar_type=kind, offset=self._end(), **more)

    def input(self, *sizes: int, kind: int = FLOAT, is_dynamic: bool = False) -> int:
        made = self.tensor(*sizes, kind=kind, is_dynamic=is_dynamic)
        self.method.input(made)
        return made

    def _end(self) -> int:
        return -(-self.method.arenas.get(1, 0) // 64) * 64

    def call(self, name: str, *args: int, out: int) -> int:
        self.method.call(name, *args, out, out)
        return out

    def offset(self, value: int) -> int:
        return offset_of(self.method.values[value].val)

    def move(self, value: int, offset: int) -> None:
        tensor = self.method.values[value].val
        assert isinstance(tensor, Tensor)
        moved = replace(tensor, allocation_info=AllocationDetails.at(1, offset))
        self.method.values[value] = EValue(moved)

    def pairs(self, **switches: bool) -> Pairs:
        steps = steps_of(self.method)
        return set(sharing_pairs(steps, analyse_storage(steps, frozenset()), **switches))


def offset_of(tensor: object) -> int:
    assert isinstance(tensor, Tensor)
    assert tensor.allocation_info is not None
    return tensor.allocation_info.offset


def layer_norm(case: Case) -> tuple[int, ...]:
    method = case.method
    x, weight, bias = case.input(1, 8), case.input(8), case.input(8)
    y, mean, rstd = case.tensor(1, 8), case.tensor(1, 1), case.tensor(1, 1)
    results = method.tensor_list(y, mean, rstd)
    shape = method.int_list(method.integer(8))
    outs = (y, mean, rstd, results)
    method.call("aten::native_layer_norm.out", x, shape, weight, bias, method.double(1e-5), *outs)
    method.output(y)
    return x, y


def scatter(case: Case) -> tuple[int, int, int]:
    method = case.method
    x, index, source = case.input(8), case.input(8, kind=LONG), case.input(8)
    y = case.tensor(8)
    method.output(case.call("aten::scatter.src_out", x, method.integer(0), index, source, out=y))
    return x, source, y


def copy(case: Case, name: str, out: tuple[int, ...], is_dynamic: bool = False) -> tuple[int, int]:
    method = case.method
    x = case.input(4, 1, 3, is_dynamic=is_dynamic)
    y = case.tensor(*out, is_dynamic=is_dynamic)
    sizes = method.int_list(*(method.integer(size) for size in out))
    args = {
        "aten::expand_copy.out": (sizes, method.boolean(False)),
        "aten::view_copy.out": (sizes,),
    }
    more = args.get(name, (method.integer(1),))
    method.output(case.call(name, x, *more, out=y))
    return x, y
