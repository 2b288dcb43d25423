"""The predicted workspace of small payloads, with numbers that can be checked by hand.

Sizes are chosen so that blocks are multiples of 64 bytes; a workspace that is not empty is 32
bytes longer than what is packed into it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf

import pytest

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.schema import INVALID_ID, Datatype
from onearena.delegates.xnnpack.stock_ops import Op
from onearena.delegates.xnnpack.stock_plan import Block, packed_bytes
from onearena.delegates.xnnpack.workspace import (
    SharingMode,
    WorkspacePrediction,
    predict_workspace,
    program_workspace,
    stock_graph,
)
from onearena.delegates.xnnpack.workspace_target import X86_64_AVX512, X86_64_AVX512_1_4, Target
from onearena.errors import FormatError

TAIL = 32
PIXELS = (1, 4, 4, 16)
PIXELS_BYTES = 4 * 4 * 16 * 4


@dataclass
class Payload:
    """Collects values and nodes; ids are positions, arguments are numbered as they come."""

    values: list[x.XValue] = field(default_factory=list)
    nodes: list[x.XNode] = field(default_factory=list)
    externals: int = 0

    def value(
        self,
        dims: tuple[int, ...],
        *,
        flags: int = 0,
        constant: bool = False,
        datatype: int = Datatype.FP32,
        quant: x.PerTensorQuant | x.PerTokenDynamicQuant | None = None,
    ) -> int:
        external = self.externals if flags else INVALID_ID
        self.externals += bool(flags)
        number = len(self.values)
        tensor = x.XNNTensorValue(datatype, len(dims), dims, int(constant), external, flags, number)
        union = tensor if quant is None else x.XNNQuantizedTensorValue(tensor, quant)
        self.values.append(x.XValue(union))
        return number

    def input(self, dims: tuple[int, ...]) -> int:
        return self.value(dims, flags=x.EXTERNAL_INPUT)

    def output(self, dims: tuple[int, ...]) -> int:
        return self.value(dims, flags=x.EXTERNAL_OUTPUT)

    def constant(self, dims: tuple[int, ...]) -> int:
        return self.value(dims, constant=True)

    def int8(self, dims: tuple[int, ...], flags: int = 0) -> int:
        quant = x.PerTensorQuant(scale=0.5)
        return self.value(dims, flags=flags, datatype=Datatype.QINT8, quant=quant)

    def add(self, union: x.NodeUnion, bounds: tuple[float, float] | None = None) -> None:
        limits = None if bounds is None else x.OutputMinMax(*bounds)
        self.nodes.append(x.XNode(union, 0, limits))

    def graph(self) -> x.XNNGraph:
        return x.XNNGraph("0", tuple(self.nodes), tuple(self.values), self.externals)

    def predict(self) -> WorkspacePrediction:
        return predict_workspace(self.graph())

    def ops(self) -> list[Op]:
        return [node.op for node in stock_graph(self.graph()).nodes if node is not None]


def unary(payload: Payload, source: int, result: int) -> None:
    payload.add(x.XNNTanh(input_id=source, output_id=result))


def conv3x3(
    payload: Payload, source: int, result: int, *, flags: int = 0, padding: int = 1
) -> None:
    weights = payload.constant((16, 3, 3, 16))
    payload.add(convolution(3, source, weights, result, flags, padding))


def convolution(
    kernel: int, source: int, weights: int, result: int, flags: int = 0, padding: int = 0
) -> x.XNNConv2d:
    return x.XNNConv2d(
        padding_top=padding,
        padding_right=padding,
        padding_bottom=padding,
        padding_left=padding,
        kernel_height=kernel,
        kernel_width=kernel,
        subsampling_height=1,
        subsampling_width=1,
        dilation_height=1,
        dilation_width=1,
        group_input_channels=16,
        group_output_channels=16,
        groups=1,
        input1_id=source,
        filter_id=weights,
        bias_id=INVALID_ID,
        output_id=result,
        flags=flags,
    )


def test_nothing_internal_needs_no_workspace() -> None:
    payload = Payload()
    unary(payload, payload.input(PIXELS), payload.output(PIXELS))
    assert payload.predict() == WorkspacePrediction(0, 0, 0)


def test_a_chain_runs_in_place() -> None:
    payload = Payload()
    values = [payload.input(PIXELS)] + [payload.value(PIXELS) for _ in range(3)]
    values.append(payload.output(PIXELS))
    for source, result in pairwise(values):
        unary(payload, source, result)
    assert payload.predict().total_bytes == PIXELS_BYTES + TAIL


def test_a_second_reader_stops_the_in_place_operator() -> None:
    payload = Payload()
    source, first, second = payload.input(PIXELS), payload.value(PIXELS), payload.value(PIXELS)
    unary(payload, source, first)
    unary(payload, first, second)
    payload.add(x.XNNAdd(input1_id=first, input2_id=second, output_id=payload.output(PIXELS)))
    assert payload.predict().total_bytes == 2 * PIXELS_BYTES + TAIL


def test_an_operand_read_twice_by_one_node_has_one_reader() -> None:
    payload = Payload()
    first, second = payload.value(PIXELS), payload.value(PIXELS)
    unary(payload, payload.input(PIXELS), first)
    payload.add(x.XNNAdd(input1_id=first, input2_id=first, output_id=second))
    unary(payload, second, payload.output(PIXELS))
    assert payload.predict().total_bytes == PIXELS_BYTES + TAIL


def test_bounds_of_a_sum_hide_a_tensor() -> None:
    payload = Payload()
    source = payload.input(PIXELS)
    add = x.XNNAdd(input1_id=source, input2_id=source, output_id=payload.output(PIXELS))
    payload.add(add, (0.0, inf))
    assert payload.ops() == [Op.BINARY, Op.UNARY]
    assert payload.predict().total_bytes == PIXELS_BYTES + TAIL


def test_the_hidden_tensor_shares_with_an_internal_sum() -> None:
    payload = Payload()
    source, total = payload.input(PIXELS), payload.value(PIXELS)
    payload.add(x.XNNAdd(input1_id=source, input2_id=source, output_id=total), (0.0, 6.0))
    conv3x3(payload, total, payload.output(PIXELS))
    assert payload.predict().total_bytes == PIXELS_BYTES + TAIL


@pytest.mark.parametrize(("value", "op_count"), [(0.0, 1), (-0.0, 2), (1.0, 2)])
def test_zero_padding_goes_into_the_convolution(value: float, op_count: int) -> None:
    payload = Payload()
    padded = payload.value((1, 6, 6, 16))
    edges = (0, 1, 1, 0)
    payload.add(
        x.XNNStaticConstantPad(edges, edges, value, payload.input(PIXELS), padded),
    )
    conv3x3(payload, padded, payload.output(PIXELS), padding=0)
    assert len(payload.ops()) == op_count
    expected = 0 if op_count == 1 else 6 * 6 * 16 * 4 + TAIL
    assert payload.predict().total_bytes == expected


def test_padding_stays_before_a_pointwise_convolution() -> None:
    payload = Payload()
    padded, weights = payload.value(PIXELS), payload.constant((16, 1, 1, 16))
    none = (0, 0, 0, 0)
    payload.add(x.XNNStaticConstantPad(none, none, 0.0, payload.input(PIXELS), padded))
    payload.add(convolution(1, padded, weights, payload.output(PIXELS)))
    assert payload.ops() == [Op.PAD, Op.FULLY_CONNECTED]
    assert payload.predict().total_bytes == PIXELS_BYTES + TAIL


@pytest.mark.parametrize("is_opened", [False, True])
def test_a_clamp_goes_into_the_convolution_unless_its_operand_is_an_argument(
    is_opened: bool,
) -> None:
    payload = Payload()
    result = payload.output(PIXELS) if is_opened else payload.value(PIXELS)
    conv3x3(payload, payload.input(PIXELS), result)
    clamp = x.XNNClamp(input_id=result, output_id=payload.output(PIXELS))
    payload.add(clamp, (0.0, inf))
    assert payload.ops() == [Op.CONVOLUTION] + [Op.UNARY] * is_opened
    assert payload.predict().total_bytes == 0


def test_a_maximum_with_a_scalar_is_a_clamp() -> None:
    payload = Payload()
    result, zero = payload.value(PIXELS), payload.constant((1,))
    conv3x3(payload, payload.input(PIXELS), result)
    limit = x.XNNMaximum(input1_id=zero, input2_id=result, output_id=payload.output(PIXELS))
    payload.add(limit)
    assert payload.ops() == [Op.CONVOLUTION]


def test_an_unbounded_clamp_is_removed() -> None:
    payload = Payload()
    source, result = payload.input(PIXELS), payload.value(PIXELS)
    payload.add(x.XNNClamp(input_id=source, output_id=result), (-inf, inf))
    unary(payload, result, payload.output(PIXELS))
    assert payload.ops() == [Op.UNARY]
    assert payload.predict().total_bytes == 0


@pytest.mark.parametrize("is_read_between", [False, True])
def test_a_copy_is_read_through(is_read_between: bool) -> None:
    payload = Payload()
    source, copied = payload.input(PIXELS), payload.value(PIXELS)
    payload.add(x.XNNCopy(input_id=source, output_id=copied))
    if is_read_between:
        unary(payload, source, payload.output(PIXELS))
    unary(payload, copied, payload.output(PIXELS))
    assert (Op.COPY in payload.ops()) == is_read_between
    assert payload.predict().total_bytes == is_read_between * (PIXELS_BYTES + TAIL)


def test_an_int8_chain_becomes_one_table() -> None:
    payload = Payload()
    source, result = payload.int8(PIXELS, flags=1), payload.int8(PIXELS, flags=2)
    first, second = payload.value(PIXELS), payload.value(PIXELS)
    payload.add(x.XNNConvert(input_id=source, output_id=first))
    payload.add(x.XNNSigmoid(input_id=first, output_id=second))
    payload.add(x.XNNConvert(input_id=second, output_id=result))
    assert payload.ops() == [Op.UNARY]
    assert payload.predict().total_bytes == 0


def test_a_chain_that_ends_in_floats_is_no_table() -> None:
    payload = Payload()
    first = payload.value(PIXELS)
    payload.add(x.XNNConvert(input_id=payload.int8(PIXELS, flags=1), output_id=first))
    payload.add(x.XNNSigmoid(input_id=first, output_id=payload.output(PIXELS)))
    assert len(payload.ops()) == 2


def test_reshape_of_a_reshape_is_one() -> None:
    payload = Payload()
    middle = payload.value((16, 16))
    source, result = payload.input(PIXELS), payload.output((8, 32))
    payload.add(x.XNNStaticReshape(2, (16, 16), source, middle))
    payload.add(x.XNNStaticReshape(2, (8, 32), middle, result))
    assert payload.ops() == [Op.RESHAPE]
    assert payload.predict().total_bytes == 0


def test_a_reshape_with_a_free_dimension_is_kept() -> None:
    payload = Payload()
    middle = payload.value((16, 16))
    source, result = payload.input(PIXELS), payload.output((8, 32))
    payload.add(x.XNNStaticReshape(2, (16, 16), source, middle))
    payload.add(x.XNNStaticReshape(2, (0, 32), middle, result))
    assert payload.ops() == [Op.RESHAPE, Op.RESHAPE]


def test_the_mean_of_a_square_skips_the_square() -> None:
    payload = Payload()
    source, square = payload.input(PIXELS), payload.value(PIXELS)
    payload.add(x.XNNMultiply(input1_id=source, input2_id=source, output_id=square))
    payload.add(x.XNNGlobalAvgPooling2d(square, payload.output((1, 1, 1, 16))))
    assert payload.ops() == [Op.MEAN_SQUARED]
    assert payload.predict().total_bytes == 0


def test_what_nothing_reads_is_removed() -> None:
    payload = Payload()
    source = payload.input(PIXELS)
    unary(payload, source, payload.value(PIXELS))
    unary(payload, source, payload.output(PIXELS))
    assert payload.predict().total_bytes == 0


def product(payload: Payload, perm: tuple[int, ...] | None = None) -> None:
    """A product of (1, 4, 8) and (1, 8, 40), the right one transposed if there is a `perm`."""
    left, result = payload.input((1, 4, 8)), payload.output((1, 4, 40))
    right = payload.input((1, 8, 40) if perm is None else (1, 40, 8))
    if perm is not None:
        transposed = payload.value((1, 8, 40))
        payload.add(x.XNNStaticTranspose(3, perm, right, transposed))
        right = transposed
    payload.add(x.XNNBatchMatrixMultiply(left, right, result))


@pytest.mark.parametrize("perm", [None, (0, 2, 1)])
def test_a_matrix_product_packs_its_right_operand(perm: tuple[int, ...] | None) -> None:
    payload = Payload()
    product(payload, perm)
    packed = 64 * (8 + 1) * 4  # 40 columns in tiles of 32, a bias for each
    assert payload.ops() == [Op.BATCH_MATRIX_MULTIPLY]
    prediction = payload.predict()
    assert prediction == WorkspacePrediction(0, packed, packed + TAIL, prediction.notes)
    assert "AVX-512" in prediction.notes[0]


def dynamic_linear(payload: Payload, rows: int, depth: int, columns: int) -> None:
    quantized = payload.value(
        (rows, depth), datatype=Datatype.QDINT8, quant=x.PerTokenDynamicQuant(1)
    )
    weights = payload.value((columns, depth), constant=True, datatype=Datatype.QCINT8)
    payload.add(x.XNNConvert(payload.input((rows, depth)), quantized))
    result = payload.output((rows, columns))
    payload.add(x.XNNFullyConnected(quantized, weights, INVALID_ID, result))


@pytest.mark.parametrize(
    ("rows", "depth", "columns", "scratch"),
    [
        (128, 768, 768, 2 * 5 * (8 + 768)),  # a tile of five rows per thread
        (128, 3072, 768, 130 * (8 + 3072)),  # a row of tiles overflows the cache: all rows
        (1, 96, 300, 8 + 96),
    ],
)
def test_a_dynamically_quantized_layer_packs_its_input(
    rows: int, depth: int, columns: int, scratch: int
) -> None:
    payload = Payload()
    dynamic_linear(payload, rows, depth, columns)
    assert payload.ops() == [Op.FULLY_CONNECTED]
    rounded = -(-scratch // 64) * 64
    assert payload.predict().operator_scratch_bytes == rounded
    assert payload.predict().total_bytes == rounded + TAIL


def test_a_dynamically_quantized_convolution_keeps_its_tensor() -> None:
    payload = Payload()
    quantized = payload.value(PIXELS, datatype=Datatype.QDINT8, quant=x.PerTokenDynamicQuant(3))
    payload.add(x.XNNConvert(payload.input(PIXELS), quantized))
    conv3x3(payload, quantized, payload.output(PIXELS))
    # One image and 15 spare ones: 8 bytes of parameters, 4 of a sum each.
    assert payload.predict().total_bytes == 256 + 16 * 8 + 16 * 4 + TAIL


def test_a_dequantized_operand_is_sorted_behind_the_nodes_that_do_not_need_it() -> None:
    payload = Payload()
    quantized, right = payload.int8((1, 8, 40), flags=1), payload.value((1, 8, 40))
    left, product_of_both = payload.input((1, 4, 8)), payload.output((1, 4, 40))
    payload.add(x.XNNConvert(quantized, right))
    payload.add(x.XNNBatchMatrixMultiply(left, right, product_of_both))
    unary(payload, left, payload.output((1, 4, 8)))
    graph = payload.graph()
    new = [node.op for node in stock_graph(graph).nodes if node is not None]
    old = [node.op for node in stock_graph(graph, X86_64_AVX512_1_4).nodes if node is not None]
    assert new == [Op.UNARY, Op.CONVERT_DYNAMIC, Op.BATCH_MATRIX_MULTIPLY]
    assert old == [Op.UNARY, Op.BATCH_MATRIX_MULTIPLY, Op.UNARY]


def test_an_int8_mean_accumulates_in_scratch() -> None:
    payload = Payload()
    source, result = payload.int8(PIXELS, flags=1), payload.int8((1, 1, 1, 16), flags=2)
    payload.add(x.XNNGlobalAvgPooling2d(source, result))
    assert payload.predict().operator_scratch_bytes == 128  # 16 * 4 + 16, rounded up


def test_transient_indirection_is_scratch() -> None:
    payload = Payload()
    conv3x3(payload, payload.input(PIXELS), payload.output(PIXELS), flags=0x20)
    # 16 pixels in tiles of 7 rows, 9 pointers each.
    assert payload.predict().operator_scratch_bytes == 21 * 9 * 8 + 24


def test_scratch_and_tensors_share_the_workspace() -> None:
    payload = Payload()
    wide = payload.value((1, 32, 32, 16))
    result = payload.value(PIXELS)
    unary(payload, payload.input((1, 32, 32, 16)), wide)
    payload.add(x.XNNStaticSlice(4, (0, 0, 0, 0), PIXELS, wide, result))
    conv3x3(payload, result, payload.output(PIXELS), flags=0x20)
    prediction = payload.predict()
    # The slice's operand is gone when the convolution runs.
    assert prediction.total_bytes == prediction.tensors_bytes == 65536 + PIXELS_BYTES + TAIL


def test_packing_takes_the_smallest_gap() -> None:
    blocks = [
        Block(640, 0, 0),
        Block(384, 1, 1),
        Block(320, 0, 2),  # after the 640; leaves 256 behind the 384
        Block(192, 1, 2),  # in front at 1: the gap of 256
    ]
    assert packed_bytes(blocks, X86_64_AVX512) == 640 + 320 + TAIL


@pytest.mark.parametrize(("target", "size"), [(X86_64_AVX512, 192), (X86_64_AVX512_1_4, 256)])
def test_the_gap_in_front_is_new_in_1_5(target: Target, size: int) -> None:
    blocks = [Block(128, 0, 0), Block(64, 0, 1), Block(64, 1, 1)]
    assert packed_bytes(blocks, target) == size + TAIL


def test_sharing_takes_the_largest_delegate() -> None:
    predictions = [WorkspacePrediction(0, 0, size) for size in (100, 300, 200)]
    assert program_workspace(predictions) == 300
    assert program_workspace(predictions, SharingMode.PER_MODEL) == 300
    assert program_workspace(predictions, SharingMode.DISABLED) == 600
    assert program_workspace([]) == 0


def test_an_input_quantized_in_the_old_format_is_packed_by_the_layer() -> None:
    payload = Payload()
    source = payload.input((1, 96))
    tensor = payload.values[source].xvalue_union
    assert isinstance(tensor, x.XNNTensorValue)
    payload.values[source] = x.XValue(replace(tensor, dq_datatype=Datatype.QINT8))
    weights = payload.value((300, 96), constant=True, datatype=Datatype.QCINT8)
    payload.add(x.XNNFullyConnected(source, weights, INVALID_ID, payload.output((1, 300))))
    assert payload.predict().operator_scratch_bytes == 128  # 8 + 96, rounded up


def test_a_node_without_its_second_operand_is_refused() -> None:
    payload = Payload()
    source, result = payload.input(PIXELS), payload.output(PIXELS)
    payload.add(x.XNNAdd(input1_id=source, input2_id=INVALID_ID, output_id=result))
    with pytest.raises(FormatError, match="node 0 has no input2_id"):
        payload.predict()


def test_more_arguments_than_xnnpack_takes_are_refused() -> None:
    payload = Payload()
    unary(payload, payload.input(PIXELS), payload.output(PIXELS))
    with pytest.raises(FormatError, match="4294967295 arguments"):
        predict_workspace(replace(payload.graph(), num_externs=INVALID_ID))
