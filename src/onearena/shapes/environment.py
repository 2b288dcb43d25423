"""What is known of a method's values at one point of its run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

from onearena.pte.schema import (
    Bool,
    BoolList,
    Double,
    DoubleList,
    ExecutionPlan,
    Int,
    IntList,
    OptionalTensorList,
    String,
    Tensor,
    TensorList,
)
from onearena.pte.tensors import Dynamism
from onearena.shapes.rules.call import (
    Argument,
    Cause,
    ContradictionError,
    Dims,
    Number,
    Single,
    Sized,
    text,
)

Known: TypeAlias = Dims | Number | Cause
"""A tensor's shape, a number, or why neither is known."""


@dataclass
class Environment:
    """Shapes and numbers by value. A static tensor has the shape that the file says, always;
    numbers start as recorded; a dynamic tensor has no shape before something gives it one.
    """

    plan: ExecutionPlan
    known: dict[int, Known] = field(default_factory=dict)

    def copy(self) -> Environment:
        """An independent copy."""
        return Environment(self.plan, dict(self.known))

    def with_numbers(self) -> Environment:
        """A copy that holds all recorded numbers, so that meeting ways can be compared."""
        numbers: dict[int, Known] = {}
        for value, entry in enumerate(self.plan.values or ()):
            if isinstance(entry.val, Int):
                numbers[value] = entry.val.int_val
            elif isinstance(entry.val, Double):
                numbers[value] = entry.val.double_val
            elif isinstance(entry.val, Bool):
                numbers[value] = entry.val.bool_val
        return Environment(self.plan, {**numbers, **self.known})

    def tensor(self, value: int) -> Tensor | None:
        """The tensor of a value that is one."""
        found = (self.plan.values or ())[value].val
        return found if isinstance(found, Tensor) else None

    def is_static(self, value: int) -> bool:
        """True for a tensor that cannot change its shape."""
        tensor = self.tensor(value)
        return tensor is not None and tensor.shape_dynamism == Dynamism.STATIC

    def dims(self, value: int, instruction: int, operator: str) -> Dims | Cause:
        """The shape of a tensor, or why it is not known."""
        tensor = self.tensor(value)
        if tensor is None:
            return Cause(instruction, operator, f"value {value} is not a tensor")
        if tensor.shape_dynamism == Dynamism.STATIC:
            return tensor.sizes or ()
        found = self.known.get(value)
        if isinstance(found, tuple | Cause):
            return found
        return Cause(instruction, operator, f"value {value} has no shape when it is read")

    def argument(self, value: int, instruction: int, operator: str) -> Argument:
        """The value as an argument of an operator."""
        found = (self.plan.values or ())[value].val
        if isinstance(found, IntList):
            return tuple(self._single(item, instruction, operator) for item in found.items or ())
        if isinstance(found, DoubleList | BoolList):
            return tuple(found.items or ())
        if isinstance(found, TensorList | OptionalTensorList):
            return tuple(
                None if item < 0 else self._single(item, instruction, operator)
                for item in found.items or ()
            )
        return self._single(value, instruction, operator)

    def _single(self, value: int, instruction: int, operator: str) -> Single:
        values = self.plan.values or ()
        if not 0 <= value < len(values):
            return Cause(instruction, operator, f"names value {value}, there are {len(values)}")
        found = values[value].val
        if isinstance(found, Tensor):
            dims = self.dims(value, instruction, operator)
            return dims if isinstance(dims, Cause) else Sized(dims, found.scalar_type)
        known = self.known.get(value)
        if known is not None and not isinstance(known, tuple):
            return known
        if isinstance(found, Int):
            return found.int_val
        if isinstance(found, Double):
            return found.double_val
        if isinstance(found, Bool):
            return found.bool_val
        return found.string_val if isinstance(found, String) else None

    def set_shape(self, value: int, dims: Dims | Cause) -> None:
        """A tensor gets a shape.

        Raises:
            ContradictionError: the runtime would refuse it: a static tensor keeps its shape, a
                bounded one its rank and number of elements (`TensorImpl::internal_resize`).
        """
        tensor = self.tensor(value)
        if tensor is None:
            return
        if isinstance(dims, Cause):
            self.known[value] = dims
            return
        sizes = tensor.sizes or ()
        if tensor.shape_dynamism == Dynamism.STATIC:
            if dims != sizes:
                raise ContradictionError(
                    f"makes {text(dims)}, value {value} is {text(sizes)} and static"
                )
        elif tensor.shape_dynamism == Dynamism.DYNAMIC_BOUND and (
            len(dims) != len(sizes) or prod(dims) > prod(sizes)
        ):
            raise ContradictionError(
                f"makes {text(dims)}, value {value} is {text(sizes)} at the most"
            )
        self.known[value] = dims


def _order(tensor: Tensor | None, rank: int) -> Sequence[int]:
    order = (tensor.dim_order if tensor is not None else None) or ()
    return order if sorted(order) == list(range(rank)) else range(rank)


def stored_dims(environment: Environment, value: int, dims: Dims | Cause) -> Dims | Cause:
    """A tensor's shape in storage order."""
    if isinstance(dims, Cause):
        return dims
    return tuple(dims[axis] for axis in _order(environment.tensor(value), len(dims)))


def logical_dims(
    environment: Environment, position: int, label: str, value: int, stored: Dims | Cause
) -> Dims | Cause:
    """The logical shape of an argument that a payload writes, from its shape in storage order."""
    tensor = environment.tensor(value)
    if tensor is None or isinstance(stored, Cause):
        return stored
    rank = len(tensor.sizes or ())
    if len(stored) != rank:  # a number may be declared as a vector of one
        return Cause(position, label, f"its output has {len(stored)} dimensions instead of {rank}")
    logical = [0] * rank
    for axis, size in zip(_order(tensor, rank), stored, strict=True):
        logical[axis] = size
    return tuple(logical)
