"""What goes in and what comes out: NumPy, torch, nested inputs, data files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from torch import nn

from onearena.engine.runtime import Runtime
from onearena.errors import UnsupportedError, UsageError
from tests.cases.conftest import Program
from tests.cases.lowering import lower, portable, quiet
from tests.cases.running import difference
from tests.cases.test_kernels import Of


def test_the_same_kind_comes_out(program: Program) -> None:
    x = torch.randn(4, 8)
    path = program(lambda: lower(Of(lambda x: x.cumsum(0)), (x,), partitioners=portable))
    model = Runtime().load(path)
    expected = x.cumsum(0)
    tensor, array = model(x), model(x.numpy())
    assert isinstance(tensor, torch.Tensor)
    assert isinstance(array, np.ndarray)
    torch.testing.assert_close(tensor, expected)
    assert np.array_equal(array, tensor.numpy())
    assert torch.equal(model(x.t().contiguous().t()), tensor), "strided input"
    assert torch.equal(model([x]), tensor)
    assert torch.equal(model({"x": (x,)}), tensor)


def test_outputs_are_the_callers_own(program: Program) -> None:
    x = torch.ones(4, 8)
    path = program(lambda: lower(Of(lambda x: x.cumsum(0)), (x,), partitioners=portable))
    model = Runtime().load(path)
    first = model(x)
    kept = first.clone()
    model(x * 3)
    assert torch.equal(first, kept)
    del model
    first += 1


def test_an_element_type_that_numpy_does_not_have(program: Program) -> None:
    x = torch.zeros(4, 8)

    def function(x: Any) -> Any:
        return x.cumsum(0).to(torch.bfloat16)

    model = Runtime().load(program(lambda: lower(Of(function), (x,), partitioners=portable)))
    assert model(x + 1).dtype == torch.bfloat16
    with pytest.raises(UnsupportedError, match="NumPy has no bfloat16"):
        model(x.numpy())


def test_weights_in_a_file_of_their_own(tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.Softplus(), nn.Linear(16, 4)).eval()
    x = torch.randn(3, 8)
    with quiet():
        exported = torch.export.export(net, (x,), strict=False)
        edge = to_edge_transform_and_lower(exported)
        result = edge.to_executorch(ExecutorchBackendConfig(external_constants=True))
    path = tmp_path / "model.pte"
    path.write_bytes(result.buffer)
    result.write_tensor_data_to_file(str(tmp_path))
    (data,) = tmp_path.glob("*.ptd")
    found = Runtime().load(path, data_files=[data]).method("forward").run(x)
    torch.testing.assert_close(found[0], net(x))
    again = Runtime().load(path, data_files=[str(data)]).method("forward").run(x)
    assert difference([found], [again]) is None
    with pytest.raises(UsageError, match="no data for"):
        Runtime().load(path).method("forward")
