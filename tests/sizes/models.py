"""Small programs for the tests of pool sizes, built by hand."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from onearena.pte.schema import BoolList, CompileSpec, DoubleList, SubsegmentOffsets
from tests.cli.programs import chain_payload
from tests.pte.build import DYNAMIC_BOUND, FLOAT, INT, LONG, STATIC, Method, file_bytes, pte_file

TOPK = "aten::topk.values"


def random_program(seed: int, methods: int) -> bytes:
    """Methods with values of every kind, in lists too, kernel calls and delegates."""
    picker = random.Random(seed)
    built = [_random_method(picker, f"method{number}") for number in range(methods)]
    return runnable(*built, segments=[chain_payload()])


def runnable(*methods: Method, segments: Sequence[bytes] = ()) -> bytes:
    """A file that the runtime loads: it wants a segment of constants, even without any."""
    pieces = [*segments, bytes(16)]
    constants = SubsegmentOffsets(len(segments), (0,))
    return file_bytes(pte_file(*methods, segments=pieces, constant_segment=constants))


def _random_method(picker: random.Random, name: str) -> Method:
    method = Method(name)
    tensors = [_tensor(picker, method) for _ in range(picker.randint(1, 4))]
    numbers = [method.integer(picker.randint(-9, 9)) for _ in range(2)]
    others = [method.none(), method.boolean(True), method.double(0.5)]
    for _ in range(picker.randint(0, 9)):
        others.append(_other(picker, method, tensors, numbers))
        tensors.append(_tensor(picker, method))
    method.input(*tensors[: picker.randint(0, 3)]).output(tensors[-1])
    for _ in range(picker.randint(0, 3)):
        specs = [CompileSpec("key", (1, 2)) for _ in range(picker.randint(0, 2))]
        method.delegate("XnnpackBackend", 0, specs=specs)
    everything = [*tensors, *numbers, *others]
    for _ in range(picker.randint(0, 6)):
        args = picker.choices(everything, k=picker.randint(0, 7))
        if method.delegates and picker.random() < 0.3:
            method.call_delegate(picker.randrange(len(method.delegates)), *args)
        elif picker.random() < 0.1:
            method.move(args[0] if args else 0, tensors[0])
        else:
            method.call("aten::relu.out", *args)
    return method


def _tensor(picker: random.Random, method: Method) -> int:
    sizes = [picker.randint(0, 5) for _ in range(picker.randint(0, 5))]
    return method.tensor(
        *sizes,
        scalar_type=picker.choice((FLOAT, INT, LONG)),
        offset=picker.choice((0, 64, None)),
        shape_dynamism=picker.choice((STATIC, DYNAMIC_BOUND)),
    )


def _other(picker: random.Random, method: Method, tensors: list[int], numbers: list[int]) -> int:
    """A list, or a text, over values that are there already."""
    length = picker.randint(0, 5)
    makers: list[Any] = [
        lambda: method.text("x" * length),
        lambda: method.value(BoolList((True,) * length)),
        lambda: method.value(DoubleList((0.5,) * length)),
        lambda: method.int_list(*picker.choices(numbers, k=length)),
        lambda: method.tensor_list(*picker.choices(tensors, k=length)),
        lambda: method.optional_list(*picker.choices([-1, *tensors], k=length)),
    ]
    made: int = picker.choice(makers)()
    return made


def topk(*sizes: int, dimension: int, name: str = "forward", dynamic: bool = False) -> Method:
    """The largest two along a dimension; no inputs."""
    method = Method(name)
    dynamism = DYNAMIC_BOUND if dynamic else STATIC
    row = list(sizes)
    if row:
        row[dimension] = 2
    source = method.tensor(*sizes, offset=0, shape_dynamism=dynamism)
    values = method.tensor(*row, offset=1 << 16, shape_dynamism=dynamism)
    indices = method.tensor(*row, scalar_type=LONG, offset=1 << 17, shape_dynamism=dynamism)
    flag = method.boolean(True)
    outs = method.tensor_list(values, indices)
    two, along = method.integer(2), method.integer(dimension)
    method.output(values)
    method.call(TOPK, source, two, along, flag, flag, values, indices, outs)
    return method
