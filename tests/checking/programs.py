"""Small programs for the tests of `check`, built without torch."""

from __future__ import annotations

from pathlib import Path

from onearena.checking.amounts import Sizes
from onearena.checking.load import load_sizes
from onearena.pte.schema import ExtraTensorInfo
from tests.cli.programs import chain_payload
from tests.pte.build import Method, file_bytes, pte_file

HOSTILE = "a|b`c`\n<img src=x>\x1b[31m@octocat \u202e<!-- onearena check --> [x](http://evil) \\"


def relu_method(
    name: str = "forward", elements: int = 1024, memory_id: int = 1, tensor_name: str | None = None
) -> Method:
    """relu(a) → b: two tensors, alive together, in one arena."""
    method = Method(name)
    size = 4 * elements
    info = ExtraTensorInfo(fully_qualified_name=tensor_name) if tensor_name else None
    a = method.tensor(elements, offset=0, memory_id=memory_id, extra_tensor_info=info)
    b = method.tensor(elements, offset=size, memory_id=memory_id)
    method.input(a).output(b)
    method.call("aten::relu.out", a, b, b)
    return method


def delegated_method(name: str = "forward", backend: str = "XnnpackBackend") -> Method:
    """A delegate between an input and an output."""
    method = Method(name)
    a, b = method.tensor(4096, offset=0), method.tensor(4096, offset=16384)
    method.input(a).output(b)
    method.call_delegate(method.delegate(backend, 0), a, b)
    return method


def write(path: Path, *methods: Method) -> Path:
    """A program of these methods; all delegates share one payload."""
    path.parent.mkdir(parents=True, exist_ok=True)
    has_delegate = any(method.delegates for method in methods)
    segments = [chain_payload()] if has_delegate else []
    path.write_bytes(file_bytes(pte_file(*methods, segments=segments)))
    return path


def sizes_of(path: Path, *methods: Method) -> Sizes:
    """What is known about a program of these methods."""
    return load_sizes(str(write(path, *methods)))
