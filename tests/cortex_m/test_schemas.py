"""The table of argument names against the schemas that ExecuTorch registers."""

from __future__ import annotations

from typing import Any

import pytest

from onearena.cortex_m.schemas import NAMESPACE, OVERLOAD, SCHEMAS, SCRATCH_NAMES, find_schema


@pytest.fixture(scope="module")
def registered() -> dict[str, Any]:
    """The installed operators' schemas of overload `out`, by name."""
    # registers the operators; importing these alone fails, they and the passes need each other
    pytest.importorskip("executorch.backends.cortex_m.passes")
    torch = pytest.importorskip("torch")
    schemas = torch._C._jit_get_all_schemas()
    return {
        schema.name: schema
        for schema in schemas
        if schema.name.startswith(NAMESPACE) and schema.overload_name == OVERLOAD
    }


def newest() -> dict[str, tuple[str, ...]]:
    return {schema.name: schema.arguments for schema in SCHEMAS}


def test_the_newest_forms_are_the_installed_ones(registered: dict[str, Any]) -> None:
    installed = {
        name: tuple(a.name for a in schema.arguments if not a.is_out)
        for name, schema in registered.items()
    }
    assert newest() == installed


def test_scratch_is_every_tensor_that_is_called_so(registered: dict[str, Any]) -> None:
    for name, schema in registered.items():
        inputs = [a for a in schema.arguments if not a.is_out]
        scratch = tuple(k for k, a in enumerate(inputs) if "scratch" in a.name)
        form = find_schema(name, OVERLOAD, len(inputs) + 2)
        assert form is not None
        assert form.scratch == scratch
        assert {inputs[k].name for k in scratch} <= SCRATCH_NAMES
        assert all(str(inputs[k].type) == "Tensor" for k in scratch)


def test_both_scratches_of_a_transposed_convolution() -> None:
    form = find_schema("cortex_m::quantized_transpose_conv2d", "out", 17)
    assert form is not None
    assert [form.arguments[k] for k in form.scratch] == ["scratch", "output_scratch"]


def test_no_two_forms_of_an_operator_have_one_count() -> None:
    forms = [(schema.name, len(schema.arguments)) for schema in SCHEMAS]
    assert len(set(forms)) == len(forms)


@pytest.mark.parametrize(
    ("name", "overload", "count"),
    [
        ("cortex_m::quantized_conv2d", "out", 16),  # no such form
        ("cortex_m::quantized_conv2d", "", 15),  # programs call `out`
        ("cortex_m::quantized_lstm", "out", 9),
        ("aten::relu", "out", 3),
        (None, None, 0),
    ],
)
def test_what_is_not_known(name: str | None, overload: str | None, count: int) -> None:
    assert find_schema(name, overload, count) is None


def test_older_forms_have_no_scratch() -> None:
    old = find_schema("cortex_m::quantized_conv2d", "out", 14)
    new = find_schema("cortex_m::quantized_conv2d", "out", 15)
    assert old is not None
    assert new is not None
    assert (old.since, old.scratch) == ("1.1", ())
    assert (new.since, new.scratch) == ("1.4", (12,))
