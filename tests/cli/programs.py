"""Small programs for the command line's tests, built without torch."""

from __future__ import annotations

from pathlib import Path

from onearena.delegates.xnnpack.payload import Payload, build_payload
from onearena.delegates.xnnpack.schema import (
    EXTERNAL_INPUT,
    EXTERNAL_OUTPUT,
    INVALID_ID,
    Datatype,
    XNNGraph,
    XNNSigmoid,
    XNNTanh,
    XNNTensorValue,
    XNode,
    XValue,
)
from onearena.flatbuf.data import read_data
from tests.pte.build import Method, file_bytes, pte_file

ELEMENTS = 4096


def chain_payload() -> bytes:
    """sigmoid → tanh → sigmoid over 4096 numbers: one argument in, one out, two inside."""
    external = {0: (0, EXTERNAL_INPUT), 3: (1, EXTERNAL_OUTPUT)}
    values = []
    for identifier in range(4):
        position, flags = external.get(identifier, (INVALID_ID, 0))
        values.append(
            XValue(
                XNNTensorValue(
                    datatype=Datatype.FP32,
                    num_dims=1,
                    dims=(ELEMENTS,),
                    external_id=position,
                    flags=flags,
                    id_out=identifier,
                )
            )
        )
    nodes = (XNNSigmoid(0, 1, 0), XNNTanh(1, 2, 0), XNNSigmoid(2, 3, 0))
    graph = XNNGraph(
        version="0",
        xnodes=tuple(XNode(xnode_union=node) for node in nodes),
        xvalues=tuple(values),
        num_externs=2,
        input_ids=(0,),
        output_ids=(3,),
    )
    return read_data(build_payload(Payload(b"XN01", graph, (b"",), has_header=True)))


def spread_out(directory: Path) -> Path:
    """A kernel, an XNNPACK call, a kernel; every tensor has bytes of its own."""
    method = Method()
    size = 4 * ELEMENTS
    a, b, c, d = (method.tensor(ELEMENTS, offset=size * k) for k in range(4))
    method.input(a).output(d)
    method.call("aten::relu.out", a, b, b)
    method.call_delegate(method.delegate("XnnpackBackend", 0), b, c)
    method.call("aten::relu.out", c, d, d)
    path = directory / "spread.pte"
    path.write_bytes(file_bytes(pte_file(method, segments=[chain_payload()])))
    return path


def overlapping(directory: Path) -> Path:
    """A program whose plan is wrong: the second kernel overwrites what the third one reads."""
    method = Method()
    a, b = method.tensor(64, offset=0), method.tensor(64, offset=256)
    clobber, out = method.tensor(64, offset=256), method.tensor(64, offset=512)
    method.input(a).output(out)
    method.call("aten::relu.out", a, b, b)
    method.call("aten::sigmoid.out", a, clobber, clobber)
    method.call("aten::add.out", b, clobber, method.integer(1), out, out)
    path = directory / "overlap.pte"
    path.write_bytes(file_bytes(pte_file(method)))
    return path
