"""The operations of random networks: how each is drawn, and done."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from tests.cases.lowering import Module

Params = tuple[Any, ...]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Operation:
    """How an operation is drawn and done.

    Attributes:
        draw: (rng, shape of the first operand) → parameters; None when it does not suit.
        apply: (what `make` made, parameters, operands) → result.
        make: (parameters, shape) → the layer that the operation needs, if any.
        partners: how many operands more it takes, of the same shape as the first one.
        int8: the XNNPACK quantizer knows it, or leaves it alone without harm.
        sized: its parameters hold sizes, so that it needs static shapes.
    """

    draw: Callable[[random.Random, Shape], Params | None]
    apply: Callable[..., Any]
    make: Callable[[Params, Shape], Any] | None = None
    partners: int = 0
    int8: bool = True
    sized: bool = False


def _always(*_: Any) -> Params:
    return ()


def _image(rng: random.Random, shape: Shape) -> Params | None:
    return () if len(shape) == 4 and min(shape[2:]) >= 2 else None


def _enlarged(rng: random.Random, shape: Shape) -> Params | None:
    """How often, and whether corners are aligned."""
    if _image(rng, shape) is None:
        return None
    factor = rng.choice([2, 2, 3, 4] if shape[2] * shape[3] <= 64 else [2])
    return factor, rng.random() < 0.15


def _conv(rng: random.Random, shape: Shape) -> Params | None:
    if len(shape) != 4 or min(shape[2:]) < 4:
        return None
    channels = shape[1]
    groups = rng.choice([1, 1, 1, channels, 2 if channels % 2 == 0 else 1])
    out = groups * rng.choice([1, 2]) if groups > 1 else rng.choice([2, 4, 8])
    kernel, dilation = rng.choice([1, 1, 3, 3, 5]), rng.choice([1, 1, 2])
    padding = rng.choice([0, kernel // 2 * dilation, kernel // 2 * dilation, 1])
    return out, kernel, rng.choice([1, 1, 2]), padding, dilation, groups, rng.random() < 0.8


def _make_conv(params: Params, shape: Shape) -> nn.Module:
    out, kernel, stride, padding, dilation, groups, bias = params
    layer: nn.Module = nn.Conv2d(
        shape[1], out, kernel, stride, padding, dilation, groups, bias=bias
    )
    return layer


def _layer(layer: Any, params: Params, x: Any) -> Any:
    return layer(x)


def _clamp(rng: random.Random, shape: Shape) -> Params:
    low = rng.choice([None, -1.0, -0.5, 0.0])
    return low, rng.choice([0.5, 1.0, 6.0] if low is None else [None, 0.5, 1.0, 6.0])


def _sizes(rng: random.Random, shape: Shape) -> Params | None:
    if len(shape) != 4:
        return None
    return tuple(rng.choice([0, 0, 1, 2]) for _ in range(4)), rng.choice([0.0, 0.0, 0.0, 0.5])


def _axis(rng: random.Random, shape: Shape) -> Params:
    return (rng.randrange(len(shape)),)


def _permutation(rng: random.Random, shape: Shape) -> Params:
    axes = list(range(len(shape)))
    rng.shuffle(axes)
    return tuple(axes)


def _new_shape(rng: random.Random, shape: Shape) -> Params:
    """Some axes merged, or one of them split in two."""
    made = list(shape)
    if len(made) > 2 and rng.random() < 0.6:
        at = rng.randrange(len(made) - 1)
        made[at : at + 2] = [made[at] * made[at + 1]]
    elif len(made) < 5:
        at = rng.randrange(len(made))
        factor = 2 if made[at] % 2 == 0 else 1
        made[at : at + 1] = [factor, made[at] // factor]
    return tuple(made)


def _part(rng: random.Random, shape: Shape) -> Params | None:
    axis = rng.randrange(len(shape))
    if shape[axis] < 2:
        return None
    start = rng.randrange(shape[axis] - 1)
    return axis, start, rng.randint(start + 1, shape[axis])


def _means(rng: random.Random, shape: Shape) -> Params | None:
    if len(shape) != 4:
        return None
    return rng.choice([(2, 3), (3, 2), (-1,), (1,), (2,)]), rng.random() < 0.6


def _wide(rng: random.Random, shape: Shape) -> Params | None:
    return (rng.choice([4, 8, 16]),) if 2 <= len(shape) <= 4 else None


def _make_linear(params: Params, shape: Shape) -> nn.Module:
    layer: nn.Module = nn.Linear(shape[-1], *params)
    return layer


def _matrix(rng: random.Random, shape: Shape) -> Params | None:
    return (rng.random() < 0.5,) if len(shape) in (2, 3, 4) else None


def _product(layer: Any, params: Params, x: Any, y: Any) -> Any:
    (flip,) = params
    return x.transpose(-1, -2) @ y if flip else x @ y.transpose(-1, -2)


def _cat(rng: random.Random, shape: Shape) -> Params:
    return rng.randrange(len(shape)), rng.choice([(0, 1), (0, 1, 2), (2, 0, 0, 1), (1, 0, 1, 0, 2)])


def _concat(layer: Any, params: Params, *operands: Any) -> Any:
    axis, order = params
    return torch.cat([operands[k] for k in order], axis)


def _cat_outer(rng: random.Random, shape: Shape) -> Params:
    """Along the outermost axis that is not 1, where whole operands lie one behind the other."""
    axis = next((k for k, size in enumerate(shape) if size != 1), 0)
    return axis, rng.choice([(0, 1), (1, 0, 1), (0, 0)])


def _two_parts(rng: random.Random, shape: Shape) -> Params | None:
    axis = rng.randrange(len(shape))
    return (axis, rng.randrange(1, shape[axis])) if shape[axis] > 1 else None


def _swapped(layer: Any, params: Params, x: Any) -> Any:
    """The second part in front of the first one."""
    axis, first = params
    one, other = x.split([first, x.shape[axis] - first], axis)
    return torch.cat([other, one.relu()], axis)


def _pool(rng: random.Random, shape: Shape) -> Params | None:
    if len(shape) != 4 or min(shape[2:]) < 5:
        return None
    return rng.choice([2, 3]), rng.choice([1, 2]), rng.choice([0, 1])


def _max_pool(layer: Any, params: Params, x: Any) -> Any:
    kernel, stride, padding, dilation = params
    return functional.max_pool2d(x, kernel, stride, padding, dilation)


def _make_same(params: Params, shape: Shape) -> nn.Module:
    (kernel,) = params
    layer: nn.Module = nn.Conv2d(shape[1], shape[1], kernel, padding=kernel // 2)
    return layer


class _Attention(Module):
    """Rows look at each other; with heads, in two groups of features."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.heads = heads

    def forward(self, x: Any) -> Any:
        q, k, v = (self._split(f(x)) for f in (self.query, self.key, self.value))
        scores = torch.softmax(q @ k.transpose(-1, -2) * 0.35, -1)
        found = scores @ v
        return x + (found if self.heads == 1 else found.transpose(1, 2).reshape(x.shape))

    def _split(self, x: Any) -> Any:
        if self.heads == 1:
            return x
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)


def _tokens(rng: random.Random, shape: Shape) -> Params | None:
    return (1,) if len(shape) in (3, 4) and shape[-2] > 1 else None


def _heads(rng: random.Random, shape: Shape) -> Params | None:
    is_even = len(shape) in (3, 4) and math.prod(shape[2:]) % 2 == 0
    return (2,) if is_even and shape[1] > 1 else None


def _make_attention(params: Params, shape: Shape) -> nn.Module:
    layer: nn.Module = _Attention(shape[-1], *params)
    return layer


class _Number(Module):
    """A parameter that is broadcast over an operand."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.number = nn.Parameter(torch.randn(shape))

    def forward(self) -> Any:
        return self.number


def _broadcast(rng: random.Random, shape: Shape) -> Params:
    kinds = [(1,), shape[-1:], tuple(1 if rng.random() < 0.5 else n for n in shape)]
    return rng.choice(["add", "sub", "mul", "maximum", "minimum"]), rng.choice(kinds)


def _with_number(layer: Any, params: Params, x: Any) -> Any:
    name, _ = params
    return getattr(torch, name)(x, layer())


class _Memory(Module):
    """State: a mean over the runs."""

    def __init__(self, shape: Shape, late: bool) -> None:
        super().__init__()
        self.register_buffer("kept", torch.zeros(shape))
        self.late = late

    def forward(self, x: Any) -> Any:
        old = self.kept.clone()
        self.kept.copy_(old * 0.5 + x)
        return self.kept - old * 0.25 if self.late else old + x


class _Choice(Module):
    """A branch: what comes out depends on the sign of the sum."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def forward(self, x: Any) -> Any:
        def yes(t: Any) -> Any:
            return functional.softplus(t) * 2 if self.kind != "sums" else t.cumsum(0) * t

        def no(t: Any) -> Any:
            return t.relu() - 1 if self.kind == "simple" else t.cumsum(-1).cumsum(0)

        # the sum keeps the result out of the memory of branches that follow
        return torch.cond(x.sum() > 0, yes, no, (x,)) + x


def _unary(function: Callable[[Any], Any], int8: bool = True) -> Operation:
    return Operation(_always, lambda layer, params, x: function(x), int8=int8)


def _binary(function: Callable[[Any, Any], Any], int8: bool = True) -> Operation:
    return Operation(_always, lambda layer, params, x, y: function(x, y), partners=1, int8=int8)


def _gated(x: Any, y: Any) -> Any:
    return x * y.mean(-1, keepdim=True)


OPERATIONS: dict[str, Operation] = {
    # layers
    "conv": Operation(_conv, _layer, _make_conv),
    "conv_relu": Operation(_conv, lambda f, p, x: f(x).relu(), _make_conv),
    "conv_relu6": Operation(_conv, lambda f, p, x: functional.relu6(f(x)), _make_conv, int8=False),
    "conv_up": Operation(
        _image, _layer, lambda p, s: nn.ConvTranspose2d(s[1], 4, 2, 2), int8=False
    ),
    "pad_conv": Operation(
        _conv, lambda f, p, x: f(functional.pad(x, (1, 0, 1, 2))), _make_conv, int8=False
    ),
    "residual": Operation(
        lambda r, s: (r.choice([1, 3]),) if len(s) == 4 else None,
        lambda f, p, x: f(x).relu() + x,
        _make_same,
    ),
    "attention": Operation(_tokens, _layer, _make_attention, int8=False),
    "heads": Operation(_heads, _layer, _make_attention, int8=False, sized=True),
    "linear": Operation(_wide, _layer, _make_linear),
    "linear_relu": Operation(_wide, lambda f, p, x: f(x).relu(), _make_linear),
    "prelu": Operation(_image, _layer, lambda p, s: nn.PReLU(s[1]), int8=False),
    "number": Operation(
        _broadcast, _with_number, lambda p, s: _Number(p[1]), int8=False, sized=True
    ),
    # element by element
    "clamp": Operation(_clamp, lambda f, p, x: torch.clamp(x, *p), int8=False),
    "hardtanh": Operation(_always, lambda f, p, x: functional.hardtanh(x, -0.75, 0.5)),
    "relu": _unary(torch.relu),
    "relu6": _unary(functional.relu6, int8=False),
    "sigmoid": _unary(torch.sigmoid, int8=False),
    "tanh": _unary(torch.tanh, int8=False),
    "hardswish": _unary(functional.hardswish, int8=False),
    "silu": _unary(functional.silu, int8=False),
    "gelu": _unary(functional.gelu, int8=False),
    "elu": _unary(functional.elu, int8=False),
    "leaky": _unary(functional.leaky_relu, int8=False),
    "abs": _unary(torch.abs, int8=False),
    "negative": _unary(torch.neg, int8=False),
    "square": _unary(torch.square, int8=False),
    "root": _unary(lambda x: torch.sqrt(x.abs() + 0.5), int8=False),
    "add": _binary(torch.add),
    "add_relu": _binary(lambda x, y: (x + y).relu()),
    "sub": _binary(torch.sub, int8=False),
    "mul": _binary(torch.mul),
    "mul_relu6": _binary(lambda x, y: functional.relu6(x * y), int8=False),
    "div": _binary(lambda x, y: x / (y.square() + 1), int8=False),
    "maximum": _binary(torch.maximum, int8=False),
    "minimum": _binary(torch.minimum, int8=False),
    "gated": _binary(_gated, int8=False),
    # shapes
    "cat": Operation(_cat, _concat, partners=2),
    "cat_outer": Operation(_cat_outer, _concat, partners=1),
    "split": Operation(_two_parts, _swapped, int8=False, sized=True),
    "pad": Operation(_sizes, lambda f, p, x: functional.pad(x, p[0], value=p[1])),
    "part": Operation(_part, lambda f, p, x: x.narrow(p[0], p[1], p[2] - p[1]), sized=True),
    "permute": Operation(_permutation, lambda f, p, x: x.permute(p)),
    "view": Operation(_new_shape, lambda f, p, x: x.reshape(p), sized=True),
    "up": Operation(
        _enlarged,
        lambda f, p, x: functional.interpolate(
            x, scale_factor=p[0], mode="bilinear", align_corners=p[1]
        ),
        int8=False,
    ),
    # what gets smaller
    "max_pool": Operation(_image, lambda f, p, x: functional.max_pool2d(x, 2)),
    "max_pool_wide": Operation(
        lambda r, s: (*p, r.choice([1, 1, 2])) if (p := _pool(r, s)) else None, _max_pool
    ),
    "avg_pool_wide": Operation(_pool, lambda f, p, x: functional.avg_pool2d(x, *p), int8=False),
    "avg_pool": Operation(_image, lambda f, p, x: functional.avg_pool2d(x, 2)),
    "mean": Operation(_means, lambda f, p, x: x.mean(p[0], keepdim=p[1])),
    "variance": Operation(
        _image, lambda f, p, x: (x * x).mean((2, 3), keepdim=True) + x, int8=False
    ),
    "softmax": Operation(_axis, lambda f, p, x: torch.softmax(x, *p), int8=False),
    "product": Operation(_matrix, _product, partners=1, int8=False),
    # state and branches
    "remember": Operation(
        lambda r, s: (r.random() < 0.5,),
        _layer,
        lambda p, s: _Memory(s, *p),
        int8=False,
        sized=True,
    ),
    "choose": Operation(
        lambda r, s: (r.choice(["simple", "sums", "mixed"]),),
        _layer,
        lambda p, s: _Choice(*p),
        int8=False,
    ),
    # graph breaks
    "softplus": _unary(functional.softplus),
    "running_sum": Operation(_axis, lambda f, p, x: torch.cumsum(x, *p) * 0.25),
    "nearest": Operation(
        _image, lambda f, p, x: functional.interpolate(x, scale_factor=2, mode="nearest")
    ),
    "layer_norm": Operation(_always, lambda f, p, x: functional.layer_norm(x, x.shape[-1:])),
    "flip": Operation(_axis, lambda f, p, x: torch.flip(x, p)),
    "halves": Operation(
        lambda r, s: (0,) if s[0] % 2 == 0 else (len(s) - 1,) if s[-1] % 2 == 0 else None,
        lambda f, p, x: torch.mul(*torch.chunk(x, 2, *p)),
        int8=False,
        sized=True,
    ),
}
