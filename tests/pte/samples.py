"""Small complete programs: the smallest one, plain kernels, an XNNPACK call, every table."""

from __future__ import annotations

from dataclasses import replace

from onearena.delegates.xnnpack.payload import Payload, build_payload
from onearena.delegates.xnnpack.schema import (
    EXTERNAL_INPUT,
    EXTERNAL_OUTPUT,
    INVALID_ID,
    ConstantDataOffset,
    Datatype,
    OutputMinMax,
    PerTensorQuant,
    XNNAdd,
    XNNClamp,
    XNNGraph,
    XNNQuantizedTensorValue,
    XNNTensorValue,
    XNode,
    XValue,
)
from onearena.flatbuf.data import read_data
from onearena.pte.container import PteFile, Segment
from onearena.pte.schema import (
    BackendDelegateInlineData,
    BoolList,
    Buffer,
    CompileSpec,
    DoubleList,
    ExtraTensorInfo,
    Frame,
    FrameList,
    NamedData,
    NonConstBufferDevice,
    SubsegmentOffsets,
)
from tests.pte.build import (
    BOOL,
    DYNAMIC_BOUND,
    DYNAMIC_UNBOUND,
    INLINE,
    LONG,
    Method,
    pte_file,
)

CONSTANTS = bytes(range(16))


def smallest() -> PteFile:
    """One method without anything in it."""
    return pte_file(Method())


def kernels() -> PteFile:
    """relu, then add, on planned tensors; no segment, no header."""
    method = Method()
    x, y, z = (method.tensor(2, 3, offset=64 * i) for i in range(3))
    method.input(x).output(z)
    alpha = method.integer(1)
    method.call("aten::relu.out", x, y, y)
    method.call("aten::add.out", y, y, alpha, z, z)
    return pte_file(method)


def graph(inner_id: int = 2) -> XNNGraph:
    """out = clamp(in + constant), with one internal value."""
    inner = XNNTensorValue(
        datatype=Datatype.FP32, num_dims=1, dims=(4,), external_id=INVALID_ID, id_out=inner_id
    )
    values = (
        replace(inner, external_id=0, flags=EXTERNAL_INPUT, id_out=0),
        replace(inner, external_id=1, flags=EXTERNAL_OUTPUT, id_out=1),
        inner,
        replace(inner, constant_buffer_idx=1, id_out=3),
    )
    nodes = (
        XNode(XNNAdd(0, 3, inner_id), debug_handle=1),
        XNode(XNNClamp(inner_id, 1), debug_handle=2, output_min_max=OutputMinMax(-0.0, 6.0)),
    )
    return XNNGraph(
        version="0",
        xnodes=nodes,
        xvalues=tuple(XValue(value) for value in values),
        num_externs=2,
        input_ids=(0,),
        output_ids=(1,),
        constant_data=(ConstantDataOffset(), ConstantDataOffset(0, 16, "")),
    )


def quantized_graph() -> XNNGraph:
    """The same with a quantized internal value."""
    plain = graph()
    values = list(plain.xvalues or ())
    tensor = values[2].xvalue_union
    assert isinstance(tensor, XNNTensorValue)
    values[2] = XValue(XNNQuantizedTensorValue(tensor, PerTensorQuant(0.1, -3)))
    return replace(plain, xvalues=tuple(values))


def payload(of: XNNGraph | None = None, constants: bytes = CONSTANTS) -> bytes:
    """An XNNPACK payload."""
    content = Payload(b"XN01", of or graph(), (constants,), has_header=True)
    return read_data(build_payload(content))


def delegated() -> PteFile:
    """Two calls of one XNNPACK payload with a kernel between them."""
    method = Method()
    a, b, c, d = (method.tensor(4, offset=64 * i) for i in range(4))
    method.input(a).output(d)
    first = method.delegate("XnnpackBackend", 0)
    method.call_delegate(first, a, b)
    method.call("aten::exp.out", b, c, c)
    method.call_delegate(first, c, d)
    return pte_file(method, segments=[payload()])


def everything() -> PteFile:
    """Every table of the program schema, every kind of value, instruction and segment."""
    method = _every_value(Method("everything"))
    plan = method.plan()
    frames = FrameList((Frame("model.py", 12, "forward", "x + y"),))
    chain = replace((plan.chains or ())[0], stacktrace=(frames,) * len(method.instructions))
    file = pte_file(
        method,
        Method("second"),
        segments=[CONSTANTS * 8, b"state" * 3, Segment((payload(),), 16), b"", b"named" * 9],
        constant_segment=SubsegmentOffsets(0, (0, 0, 16, 64)),
        mutable_data_segments=(SubsegmentOffsets(1, (0, 0, 5)),),
        backend_delegate_data=(BackendDelegateInlineData((payload(quantized_graph()),)),),
        named_data=(NamedData("one", 4), NamedData("other name, same data", 4)),
    )
    plans = file.program.execution_plan or ()
    devices = (NonConstBufferDevice(1, 1, 2),)
    plan = replace(plans[0], chains=(chain,), non_const_buffer_device=devices)
    return replace(file, program=replace(file.program, execution_plan=(plan, *plans[1:])))


def _every_value(method: Method) -> Method:
    x = method.tensor(4, offset=0, extra_tensor_info=ExtraTensorInfo(device_type=1))
    y = method.tensor(2, 2, offset=(1 << 32) + 64, memory_id=2, shape_dynamism=DYNAMIC_BOUND)
    weight = method.tensor(4, data_buffer_idx=2)
    state = method.tensor(4, offset=64, data_buffer_idx=1)
    external = ExtraTensorInfo(fully_qualified_name="module.weight", location=1)
    method.tensor(0, 3, scalar_type=LONG, extra_tensor_info=external)
    unbounded = method.tensor(9, shape_dynamism=DYNAMIC_UNBOUND, dim_order=None)
    flag = method.tensor(1, scalar_type=BOOL, offset=128)
    numbers = method.int_list(method.integer(-1), method.integer(1 << 40))
    method.value(DoubleList((-0.0, float("inf"))))
    method.value(BoolList((True, False)))
    texts = (method.none(), method.text("größe"), method.double(0.1))
    tensors = (method.tensor_list(x, y), method.optional_list(x, -1))
    truth = method.boolean(True)
    method.input(x).output(y)
    specs = (CompileSpec("workspace", (0, 255)),)
    segment = method.delegate("XnnpackBackend", 2, specs=specs)
    inline = method.delegate("XnnpackBackend", 0, location=INLINE)
    method.call("test::all.out", x, weight, state, flag, numbers, *texts, *tensors, y, y)
    method.jump_if_false(truth, 4)
    method.call_delegate(segment, x, y)
    method.call_delegate(inline, x, y)
    method.move(x, y)
    method.free(unbounded)
    return method


def old_inline() -> PteFile:
    """A file from before segments: constants and the payload inside the FlatBuffer."""
    method = Method()
    x, y = method.tensor(4, offset=0), method.tensor(4, offset=64)
    weight = method.tensor(4, data_buffer_idx=1)
    method.input(x).output(y)
    delegate = method.delegate("XnnpackBackend", 0, location=INLINE)
    method.call("aten::mul.out", x, weight, x, x)
    method.call_delegate(delegate, x, y)
    return pte_file(
        method,
        constant_buffer=(Buffer(()), Buffer((CONSTANTS,))),
        backend_delegate_data=(BackendDelegateInlineData((payload(),)),),
    )
