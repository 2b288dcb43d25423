"""Programs for the tests: the committed ones, calls built by hand, and older forms of programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from examples.cortex_m.older import older

from onearena.pte.reader import open_pte
from tests.pte.build import BYTE, CHAR, INT, Method, file_bytes, read_bytes

PROGRAMS = Path(__file__).with_name("programs")
TARGETS = ("cortex-m0", "cortex-m4", "cortex-m55")


def committed(name: str, target: str) -> Path:
    """A program of :mod:`tests.cortex_m.export_programs`."""
    return PROGRAMS / f"{name}_{target.removeprefix('cortex-')}.pte"


def older_bytes(path: Path) -> bytes:
    """An older form as a file."""
    with open_pte(path) as file:
        return file_bytes(older(file))


def pool_call(
    scratch_bytes: int | None = 0, channels: int = 64, **scratch: Any
) -> tuple[Method, dict[str, int]]:
    """A method that is one average pooling; without scratch argument when that is None.

    Returns:
        The method, and its values by name.
    """
    method = Method()
    image = method.tensor(1, channels, 2, 2, scalar_type=CHAR, offset=0)
    out = method.tensor(1, channels, 1, 1, scalar_type=CHAR, offset=512)
    pair = method.int_list(method.integer(2), method.integer(2))
    number = method.integer(0)
    values = {"input": image, "out": out}
    arguments = [image, pair, pair, pair]
    if scratch_bytes is not None:
        fields = {"scalar_type": BYTE, "offset": 1024, **scratch}
        values["scratch"] = method.tensor(scratch_bytes, **fields)
        arguments += [method.boolean(False), number, number, number, values["scratch"]]
    else:
        arguments += [number, number, number]
    method.input(image).output(out)
    method.call("cortex_m::quantized_avg_pool2d.out", *arguments, out, out)
    return method, values


def linear_call(with_sums: bool, with_bias: bool, outputs: int = 8) -> Method:
    """A method that is one linear layer."""
    method = Method()
    x = method.tensor(1, 4, scalar_type=CHAR, offset=0)
    y = method.tensor(1, outputs, scalar_type=CHAR, offset=16)
    weights = method.tensor(outputs, 4, scalar_type=CHAR, data_buffer_idx=1)
    bias = method.tensor(outputs, scalar_type=INT, data_buffer_idx=1) if with_bias else None
    sums = method.tensor(outputs, scalar_type=INT, data_buffer_idx=1) if with_sums else None
    nothing, number = method.none(), method.integer(0)
    numbers = method.int_list(number)
    method.input(x).output(y)
    method.call(
        "cortex_m::quantized_linear.out",
        x,
        weights,
        nothing if bias is None else bias,
        nothing if sums is None else sums,
        *(number, number, number, numbers, numbers, number, number),
        y,
        y,
    )
    return method


__all__ = ["committed", "linear_call", "older", "older_bytes", "pool_call", "read_bytes"]
