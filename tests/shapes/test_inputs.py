"""Shapes as people write them, and shapes that are refused."""

from __future__ import annotations

import json

import pytest

from onearena.errors import UsageError
from onearena.pte.schema import ContainerMetadata, ExtraTensorInfo
from onearena.shapes.inputs import TensorInputShape, check_shapes, parse_shapes, tensor_inputs
from tests.pte.build import DYNAMIC_BOUND, Method

IMAGE = TensorInputShape(0, 4, "image", (1, 3, 64, 64), True)
MASK = TensorInputShape(2, 5, "mask", (64,), True)
SCALE = TensorInputShape(3, 6, "scale", (1, 3), False)
ALL = (IMAGE, MASK, SCALE)


def test_names_positions_and_a_lone_dynamic_input() -> None:
    assert parse_shapes(["image=1x3x32x48", "mask=7"], ALL) == {0: (1, 3, 32, 48), 2: (7,)}
    assert parse_shapes(["2=7", "0=1x3x1x1"], ALL) == {0: (1, 3, 1, 1), 2: (7,)}
    assert parse_shapes(["1x3x32x48"], (IMAGE, SCALE)) == {0: (1, 3, 32, 48)}
    assert parse_shapes([" image = 1x3x32x48 "], ALL) == {0: (1, 3, 32, 48)}
    assert parse_shapes([], ALL) == {}


def test_a_lone_input_without_a_name_may_be_called_anything() -> None:
    lone = (TensorInputShape(0, 4, "input 0", (8,), True),)
    assert parse_shapes(["x=5"], lone) == parse_shapes(["input0=5"], lone) == {0: (5,)}
    with pytest.raises(UsageError, match="no tensor input is called '1'"):
        parse_shapes(["1=5"], lone)
    with pytest.raises(UsageError, match="no tensor input is called 'x'"):
        parse_shapes(["x=5"], (IMAGE,))


def test_an_input_without_a_name_has_the_one_that_reports_show() -> None:
    inputs = tensor_inputs(_method(None).plan())
    for name in ("1", "input1", "input 1", " input 1 "):
        assert parse_shapes([f"{name}=2"], inputs) == {1: (2,)}
    for name in ("input", "input4", "input01", "input-1", "Input1", "inputinput1"):
        with pytest.raises(UsageError, match=r"no tensor input is called .*: input 0 .*, input 1"):
            parse_shapes([f"{name}=2"], inputs)
    with pytest.raises(UsageError, match="no tensor input is called 'input0'"):
        parse_shapes(["input0=2"], ALL)  # it has a name
    other = (IMAGE, TensorInputShape(1, 4, "input0", (8,), True))
    assert parse_shapes(["input0=2"], other) == {1: (2,)}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["image=1x3"] * 2, "the shape of image is given twice"),
        (["0=1x3", "image=1x3"], "the shape of image is given twice"),
        (["picture=1x3"], "no tensor input is called 'picture'; the tensor inputs are: image"),
        (["1=4"], "no tensor input is called '1'"),
        (["=4"], "no tensor input is called ''"),
        (["1x3x32x48"], "does not say which input it is for: 2 inputs are dynamic"),
        (["image=1x3x32x"], "'image=1x3x32x' is not a shape; write NAME=1x3x64x64"),
        (["image="], "is not a shape"),
        (["image=1x-3"], "is not a shape"),
        (["image=1,3,32"], "is not a shape"),
        (["image=1X3"], "is not a shape"),
        (["image=1 x 3"], "is not a shape"),
        (["image=1x٣"], "is not a shape"),
        (["image=1x3\n"], None),
        (["image=1x" + "9" * 5000], "no size is that large"),
    ],
)
def test_what_is_not_a_shape(texts: list[str], message: str | None) -> None:
    if message is None:  # white space around it does no harm
        assert parse_shapes(texts, ALL) == {0: (1, 3)}
        return
    with pytest.raises(UsageError) as caught:
        parse_shapes(texts, ALL)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_dynamic_input() -> None:
    with pytest.raises(UsageError, match="no inputs are dynamic"):
        parse_shapes(["1x3"], (SCALE,))
    with pytest.raises(UsageError, match="the tensor inputs are: none"):
        parse_shapes(["x=1x3"], ())


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({0: (1, 3, 64)}, "m: image (up to 1x3x64x64) has 4 dimensions, not 3"),
        ({0: (1, 3, 65, 64)}, "m: dimension 2 of image (up to 1x3x64x64) cannot be 65"),
        ({2: (0,)}, "m: dimension 0 of mask (up to 64) cannot be 0"),
        ({3: (1, 2)}, "m: scale (1x3) is static and cannot be 1x2"),
        ({1: (1,)}, "m: no tensor input 1, there are: image"),
    ],
)
def test_shapes_that_the_program_was_not_exported_for(
    shapes: dict[int, tuple[int, ...]], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        check_shapes("m", ALL, shapes)
    assert str(caught.value).startswith(message)


def test_shapes_in_range() -> None:
    check_shapes("m", ALL, {0: (1, 3, 64, 64), 2: (1,), 3: (1, 3)})


def _leaf() -> dict[str, object]:
    return {"type": None, "context": None, "children_spec": []}


def _tree(kind: str, context: str, *children: object) -> dict[str, object]:
    return {"type": kind, "context": context, "children_spec": list(children)}


def _method(recorded: str | None) -> Method:
    method = Method()
    for size in (2, 3, 4, 5):
        method.input(method.tensor(size, shape_dynamism=DYNAMIC_BOUND))
    plan = method.plan()
    object.__setattr__(plan, "container_meta_type", ContainerMetadata(recorded, None))
    method.plan = lambda: plan  # type: ignore[method-assign]
    return method


def test_keyword_arguments_have_names_in_the_file() -> None:
    pair = _tree("builtins.tuple", "null", _leaf(), _leaf())
    keywords = _tree("builtins.dict", json.dumps(["pair", "mask"]), pair, _leaf())
    positional = _tree("builtins.tuple", "null", _leaf())
    recorded = json.dumps([1, _tree("builtins.tuple", "null", positional, keywords)])
    names = [spec.name for spec in tensor_inputs(_method(recorded).plan())]
    assert names == ["input 0", "pair.0", "pair.1", "mask"]


@pytest.mark.parametrize(
    "recorded",
    [
        *(None, "", "in", "[]", "[1]", "[1, {}]", "3", "[1, 2]", "{", "[" * 100_000),
        json.dumps([1, _tree("builtins.tuple", "null", _leaf(), _leaf())]),
        json.dumps([1, _tree("t", "null", _tree("t", "", _leaf()), _tree("d", '["a", "b"]'))]),
        json.dumps([1, {"children_spec": [{"type": "t", "children_spec": 4}, {"context": "[]"}]}]),
    ],
)
def test_a_structure_that_says_nothing_gives_no_names(recorded: str | None) -> None:
    names = [spec.name for spec in tensor_inputs(_method(recorded).plan())]
    assert names == ["input 0", "input 1", "input 2", "input 3"]


def test_a_tensor_with_a_name_of_its_own() -> None:
    method = Method()
    named = ExtraTensorInfo(fully_qualified_name="words")
    method.input(method.integer(3), method.tensor(4, extra_tensor_info=named))
    assert tensor_inputs(method.plan()) == (TensorInputShape(1, 1, "words", (4,), False),)
