"""How often bytes are accessed: the numbers of the model, worked out by hand."""

from __future__ import annotations

from onearena.memory_map.planning import map_task
from onearena.memory_map.regions import parse_memory_map
from onearena.memory_map.traffic import DELEGATE_READS, method_traffic
from onearena.program import analyse_method, analyse_steps
from onearena.pte.reader import open_pte
from onearena.timeline.build import build_timeline
from onearena.timeline.steps import MethodSteps, method_steps
from tests.cli.programs import ELEMENTS, chain_payload
from tests.cortex_m.programs import committed, pool_call
from tests.pte.build import Method, file_bytes, pte_file, read_bytes


def steps_of(method: Method) -> MethodSteps:
    return method_steps(method.plan(), {}, "test")


def test_ordinary_kernels_read_and_write_once() -> None:
    method = Method()
    a, b, c = (method.tensor(8, offset=64 * k) for k in range(3))
    method.input(a).output(c)
    method.call("aten::relu.out", a, b, b)
    method.call("aten::mul.out", b, b, c, c)
    # the caller writes inputs and reads outputs
    assert method_traffic(steps_of(method)) == {a: 64, b: 64, c: 64}


def test_products() -> None:
    method = Method()
    a = method.tensor(3, 5, offset=0)
    b = method.tensor(5, 7, offset=64)
    c = method.tensor(3, 7, offset=256)
    method.call("aten::mm.out", a, b, c, c)
    assert method_traffic(steps_of(method)) == {a: 4 * 105, b: 4 * 105, c: 84}


def test_bias_comes_first_in_addmm() -> None:
    method = Method()
    bias, a, b = method.tensor(7, offset=0), method.tensor(3, 5, offset=64), method.tensor(5, 7)
    c, one = method.tensor(3, 7, offset=256), method.integer(1)
    method.call("aten::addmm.out", bias, a, b, one, one, c, c)
    found = method_traffic(steps_of(method))
    assert (found[bias], found[a], found[c]) == (28, 4 * 105, 84)


def test_portable_convolution_and_window() -> None:
    method = Method()
    x, weights = method.tensor(1, 4, 8, 8, offset=0), method.tensor(6, 4, 3, 3)
    y = method.tensor(1, 6, 8, 8, offset=4096)
    z = method.tensor(1, 6, 4, 4, offset=8192)
    none = method.none()
    window = method.int_list(method.integer(2), method.integer(2))
    method.call("aten::convolution.out", x, weights, *([none] * 7), y, y)
    method.call("aten::avg_pool2d.out", y, window, window, none, none, none, none, z, z)
    found = method_traffic(steps_of(method))
    assert found[x] == 4 * (6 * 64 * 36)
    assert found[y] == 4 * (6 * 64) + 4 * (6 * 16 * 4)
    assert found[z] == 4 * (6 * 16)


def test_malformed_calls_count_once() -> None:
    method = Method()
    a, b = method.tensor(4, offset=0), method.tensor(4, offset=64)
    method.call("aten::mm.out", b, b)
    method.call("aten::convolution.out", a, b, b)
    method.call("aten::avg_pool2d.out", a, method.integer(3), b, b)
    found = method_traffic(steps_of(method))
    assert found[a] == 2 * 16


def test_cortex_m_convolutions() -> None:
    """conv2d_x3 on 1x3x8x8 (float): three 3x3 convolutions, of 3, 8 and 16 channels, with
    copies of the input into the scratch."""
    with open_pte(committed("conv2d_x3", "cortex-m55")) as file:
        (plan,) = file.program.execution_plan or ()
        method = analyse_steps(file, plan)[1]
    found = method_traffic(method)
    first, second, third = (s for s in method.steps if "quantized_conv2d" in s.label)
    for step, channels, filters in ((first, 3, 8), (second, 8, 16), (third, 16, 8)):
        (scratch,) = step.roles.scratch
        pixels = method.tensor(step.roles.writes[-1]).sizes or ()
        positions = pixels[2] * pixels[3] * 9 * channels
        assert found[scratch] == positions * (1 + filters // 2)
        image = step.roles.reads[0]
        written = method.tensor(image).sizes or ()
        assert found[image] == positions + written[1] * written[2] * written[3]


def test_pool_reads_its_window() -> None:
    method, values = pool_call(None)
    found = method_traffic(steps_of(method))
    assert found[values["input"]] == 256 + 64 * 4
    assert found[values["out"]] == 64 + 64


def test_nodes_of_delegates() -> None:
    method = Method()
    a, b = method.tensor(ELEMENTS, offset=0), method.tensor(ELEMENTS, offset=4 * ELEMENTS)
    method.input(a).output(b)
    method.call_delegate(method.delegate("XnnpackBackend", 0), a, b)
    data = file_bytes(pte_file(method, segments=[chain_payload()]))
    file = read_bytes(data)
    (plan,) = file.program.execution_plan or ()
    assert method_traffic(analyse_method(file, plan).steps) == {a: 8 * ELEMENTS, b: 8 * ELEMENTS}
    assert DELEGATE_READS > 1


def test_accesses_through_other_names_count_for_the_memory() -> None:
    method = Method()
    a, b = method.tensor(8, offset=0), method.tensor(8, offset=64)
    view = method.tensor(8, offset=128)
    method.input(a).output(b)
    method.call("executorch_prim::et_view.default", a, method.none(), view)
    method.call("aten::relu.out", view, b, b)
    timeline = build_timeline(steps_of(method))
    task = map_task(timeline, parse_memory_map("a:1K:1,b:1K:2"), 0)
    # the caller's write, the view's, the kernel's read
    assert task.traffic[timeline.buffer_of[a]] == 3 * 32
