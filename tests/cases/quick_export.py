"""Exports many small programs quickly: what the exporter finds out anew each time is kept.

Much of the time that ``torch.export`` and the XNNPACK quantizer spend on a small network does not
depend on it: they list all composite operators of PyTorch, override their kernels one by one, and
trace the patterns that they look for. Within `kept_facts` that happens once per process; a pass
that changed nothing does not trace the graph again; the Python code of a graph is written when
it is first run, which most graphs never are; and what a node was made from is shared by all that
say so, not copied for each of them. The programs are the same byte for byte
(`test_quick_export.py`).
"""

from __future__ import annotations

import copy
import importlib
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from types import FunctionType
from typing import Any
from unittest import mock

Function = Callable[..., Any]

# where the installed versions of PyTorch and torchao have these functions; one that has moved
# is left alone, which costs time only
_EXPORTED = "torch.export.exported_program"
_DECOMPOSITIONS = "torch.export.decomp_utils"
_FAKES = "torch._subclasses.fake_impls"
_PASSES = "executorch.exir.pass_base"
_GRAPHS = "torch.fx.graph_module"
_ORIGINS = "torch.fx.traceback"
_PATTERNS = "executorch.backends.xnnpack.quantizer.xnnpack_quantizer_utils"

_kept: dict[str, Any] = {}


@contextmanager
def kept_facts() -> Iterator[None]:
    """Nothing may register an operator within."""
    with ExitStack() as stack:
        for module, name, make in (
            (_EXPORTED, "_collect_all_valid_cia_ops", _once),
            (_DECOMPOSITIONS, "_collect_all_valid_cia_ops", _once),
            (_EXPORTED, "_override_composite_implicit_decomp", _overriding),
            (_PATTERNS, "_get_aten_graph_module_for_pattern", _once_per_pattern),
        ):
            try:
                original = getattr(importlib.import_module(module), name)
            except (ImportError, AttributeError):
                continue
            if isinstance(original, FunctionType):
                stack.enter_context(mock.patch(f"{module}.{name}", make(original)))
        _patch_passes(stack)
        _patch_recompiling(stack)
        _patch_origins(stack)
        yield


def _once(function: Function) -> Function:
    """Computed in the first call; callers do not change what they get."""
    name = function.__qualname__

    def kept() -> Any:
        if name not in _kept:
            _kept[name] = function()
        return set(_kept[name])

    return kept


def _once_per_pattern(function: Function) -> Function:
    """Traced once per pattern: patterns are closures, made anew for each network."""

    def kept(pattern: Any, example_inputs: tuple[Any, ...], *args: Any, **kwargs: Any) -> Any:
        forward = getattr(pattern, "forward", pattern)
        cells = tuple(cell.cell_contents for cell in forward.__closure__ or ())
        shapes = tuple(getattr(x, "shape", None) for x in example_inputs)
        key = repr((forward.__qualname__, cells, shapes, args, kwargs))
        found = _kept.setdefault("patterns", {})
        if key not in found:
            found[key] = function(pattern, example_inputs, *args, **kwargs)
        return copy.deepcopy(found[key])  # who matches it takes it apart

    return kept


def _overriding(function: Function) -> Function:
    """Kernels that were once worked out one by one are put in place, and taken away, at once."""

    @contextmanager
    def quick(callables: dict[Any, Any]) -> Iterator[None]:
        found = _kept.setdefault("overrides", {})
        key = tuple((op, _kind(call)) for op, call in callables.items())
        if key in found:
            with _in_place(*found[key]):
                yield
            return
        with function(callables):
            fakes = {op: _fake_rules()[op] for op in callables if op in _fake_rules()}
            found[key] = {op: dict(op.py_kernels) for op in callables}, fakes
            yield

    return quick


def _kind(call: Any) -> Any:
    """What an operator becomes; partial functions are made anew for each table."""
    return call.func.__qualname__ if isinstance(call, partial) else call


@contextmanager
def _in_place(kernels: dict[Any, dict[Any, Any]], fakes: dict[Any, Any]) -> Iterator[None]:
    before = {op: dict(op.py_kernels) for op in kernels}
    rules = _fake_rules()
    _exchange(kernels)
    added = {op: rule for op, rule in fakes.items() if op not in rules}
    rules.update(added)
    try:
        yield
    finally:
        _exchange(before)
        for op in added:
            rules.pop(op, None)


def _exchange(kernels: dict[Any, dict[Any, Any]]) -> None:
    for op, table in kernels.items():
        op.py_kernels.clear()
        op.py_kernels.update(table)
        op._dispatch_cache.clear()


def _fake_rules() -> dict[Any, Any]:
    rules: dict[Any, Any] = importlib.import_module(_FAKES).op_implementations_dict
    return rules


# -- passes -------------------------------------------------------------------------------

_TRACED = "_as_it_was_traced"
_HOOKS = ("placeholder", "output", "get_attr", "inputs", "_fx", "ExportInterpreter", "ExportTracer")


def _patch_passes(stack: ExitStack) -> None:
    passes = importlib.import_module(_PASSES)
    base, plain = getattr(passes, "_ExportPassBase", None), getattr(passes, "ExportPass", None)
    if base is None or plain is None or "call" not in vars(base):
        return
    hooks = (*_HOOKS, *(name for name in dir(plain) if name.startswith("call_")))
    trace = base.call

    def call(self: Any, graph_module: Any) -> Any:
        """Traces a graph anew, unless it is as the trace before left it and this pass would only
        copy it."""
        is_plain = all(getattr(type(self), h, None) is getattr(plain, h, None) for h in hooks)
        now = _description(graph_module) if is_plain else None
        if now is not None and graph_module.__dict__.get(_TRACED) == now:
            return passes.PassResult(graph_module, True)
        result = trace(self, graph_module)
        result.graph_module.__dict__[_TRACED] = _description(result.graph_module)
        return result

    stack.enter_context(mock.patch.object(base, "call", call))


def _description(graph_module: Any) -> Any:
    """Everything that a trace depends on; None for a graph with others inside."""
    nodes = graph_module.graph.nodes
    if any(node.op == "get_attr" for node in nodes):
        return None
    return [(n.op, n.name, str(n.target), repr(n.args), repr(n.kwargs)) for n in nodes]


# -- code of graphs -----------------------------------------------------------------------


def _patch_recompiling(stack: ExitStack) -> None:
    graphs = importlib.import_module(_GRAPHS).GraphModule
    stack.enter_context(mock.patch.object(graphs, "recompile", _recompile_later(graphs.recompile)))


def _recompile_later(recompile: Function) -> Function:
    def later(self: Any) -> None:
        codegen = self._graph._codegen
        if hasattr(codegen, "pytree_info"):
            self._in_spec = codegen.pytree_info.in_spec
            self._out_spec = codegen.pytree_info.out_spec
        self.__dict__.pop("_code", None)
        own = type(self)  # a graph has a class of its own
        graph = weakref.ref(self)
        own.forward, own._code = (_Waiting(n, recompile, graph) for n in ("forward", "_code"))
        self._recompile_submodules()

    return later


@dataclass(frozen=True)
class _Waiting:
    """Stands in for what a graph's code consists of until somebody asks for it."""

    name: str
    recompile: Function
    graph: Callable[[], Any]

    def __get__(self, graph: Any, owner: type) -> Any:
        made = self.graph() if graph is None else graph
        self.recompile(made)
        is_plain = graph is None and self.name == "forward"
        return getattr(owner if is_plain else made, self.name)


# -- origins of nodes ---------------------------------------------------------------------


def _patch_origins(stack: ExitStack) -> None:
    source = getattr(importlib.import_module(_ORIGINS), "NodeSource", None)
    if source is not None and not hasattr(source, "__deepcopy__"):  # nobody changes one
        itself = mock.patch.object(source, "__deepcopy__", lambda self, _: self, create=True)
        stack.enter_context(itself)
