"""Programs whose summaries the reporters render, built without torch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from onearena.pte.container import PteFile
from onearena.pte.schema import ExtraTensorInfo, Frame, FrameList
from onearena.summary.build import summarize
from onearena.summary.model import ProgramSummary
from tests.cli.programs import ELEMENTS, chain_payload
from tests.pte.build import DYNAMIC_BOUND, Method, file_bytes, pte_file

HOSTILE_NAMES = (
    "=HYPERLINK(1)",
    '+a,b"c',
    "-line\r\nbreak",
    "\x1b[31mred\x07",
    '<script>alert("&")</script>',
    "\u202egnp.exe",
    "$\\frac{x}{y$",
    '{"name":"x"}',
    '<g id="block-0-0">',
    "@\t|`*_",
    "名前🙂",
    "]]>-->",
)


def named(name: str) -> ExtraTensorInfo:
    return ExtraTensorInfo(fully_qualified_name=name)


def _forward() -> Method:
    """Kernels around an XNNPACK call, two arenas, a state, an input that the caller brings."""
    method = Method()
    size = 4 * ELEMENTS
    image = method.tensor(ELEMENTS, offset=0, extra_tensor_info=named("image"))
    b, c, d = (method.tensor(ELEMENTS, offset=size * k) for k in (1, 2, 3))
    bias = method.tensor(8)
    cache = method.tensor(64, offset=4 * size, extra_tensor_info=named("cache"))
    fast = method.tensor(
        16, 4, offset=0, memory_id=2, shape_dynamism=DYNAMIC_BOUND, extra_tensor_info=named("fast")
    )
    method.input(image, bias).output(d)
    method.call("aten::relu.out", image, b, b)
    method.call_delegate(method.delegate("XnnpackBackend", 0), b, c)
    method.call("aten::add.out", cache, c, method.integer(1), fast, fast)
    method.call("aten::add.out", fast, c, method.integer(1), d, d)
    method.call("aten::copy_", cache, fast, cache)
    return method


def _decode() -> Method:
    """A call of a backend that nobody knows."""
    method = Method("decode")
    a, b = method.tensor(256, offset=0), method.tensor(256, offset=1024)
    method.input(a).output(b)
    method.call_delegate(method.delegate("SomeNpu", 1), a, b)
    return method


def with_source(file: PteFile) -> PteFile:
    """Every instruction comes from a line of its own."""
    plans = []
    for plan in file.program.execution_plan or ():
        chain = (plan.chains or ())[0]
        traces = tuple(
            FrameList((Frame("model.py", 10 + k, "forward", f"  x = step{k}(x)"),))
            for k in range(len(chain.instructions or ()))
        )
        plans.append(replace(plan, chains=(replace(chain, stacktrace=traces),)))
    return replace(file, program=replace(file.program, execution_plan=tuple(plans)))


def rich_file(directory: Path) -> Path:
    """Two methods with something of everything."""
    path = directory / "rich.pte"
    file = pte_file(_forward(), _decode(), segments=[chain_payload(), b"firmware"])
    path.write_bytes(file_bytes(with_source(file)))
    return path


def hostile_file(directory: Path) -> Path:
    """Names of tensors, operators, backends and methods that mean something somewhere."""
    path = directory / "hostile.pte"
    methods = []
    for number, name in enumerate(HOSTILE_NAMES):
        method = Method(f"{name}{number}")
        first = method.tensor(64, offset=0, extra_tensor_info=named(name))
        second = method.tensor(64, offset=256, extra_tensor_info=named(name))
        third = method.tensor(64, extra_tensor_info=named(name))
        method.input(first, third).output(second)
        method.call(f"{name}::op.out", first, second, second)
        method.call_delegate(method.delegate(name, 0), first, second)
        methods.append(method)
    path.write_bytes(file_bytes(with_source(pte_file(*methods, segments=[b"x"]))))
    return path


def empty_file(directory: Path) -> Path:
    """A method that does nothing and plans nothing."""
    path = directory / "empty.pte"
    path.write_bytes(file_bytes(pte_file(Method())))
    return path


def no_methods_file(directory: Path) -> Path:
    path = directory / "none.pte"
    path.write_bytes(file_bytes(pte_file()))
    return path


def summary_of(path: Path) -> ProgramSummary:
    """The summary, of a file in no directory."""
    return replace(summarize(path), path=path.name)
