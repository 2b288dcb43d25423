"""Tiny models as programs. Nothing here imports torch before it is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _lower(
    methods: dict[str, tuple[Any, tuple[Any, ...], Any]],
    *,
    delegate: bool = True,
    constants: dict[str, Any] | None = None,
) -> bytes:
    """Exports (module, inputs, dynamic shapes) per method name."""
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    exported = {}
    for name, (module, inputs, shapes) in methods.items():
        module = module.eval().requires_grad_(False)
        exported[name] = torch.export.export(module, inputs, dynamic_shapes=shapes, strict=False)
    partitioner = {name: [XnnpackPartitioner()] for name in exported} if delegate else None
    edge = to_edge_transform_and_lower(
        exported, partitioner=partitioner, constant_methods=constants
    )
    return bytes(edge.to_executorch().buffer)


def _network(seed: int) -> Any:
    """Two convolutions with a graph break between them."""
    import torch
    from torch import nn

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Conv2d(3, 8, 3, padding=1)
            self.second = nn.Conv2d(8, 4, 3, padding=1)

        def forward(self, x: Any) -> Any:
            return self.second(torch.nn.functional.softplus(self.first(x).relu()))

    torch.manual_seed(seed)
    return Network()


def network(seed: int = 0) -> bytes:
    import torch

    return _lower({"forward": (_network(seed), (torch.zeros(1, 3, 16, 16),), None)})


def chain() -> bytes:
    """Everything in one delegate call, so that the tensors between the layers are hidden."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.Sigmoid()
    )
    return _lower({"forward": (layers, (torch.zeros(1, 3, 32, 32),), None)})


def dynamic() -> bytes:
    import torch

    height, width = (torch.export.Dim(name, min=4, max=64) for name in ("height", "width"))
    inputs = (torch.zeros(1, 3, 32, 32),)
    return _lower({"forward": (_network(0), inputs, ({2: height, 3: width},))})


def skipping() -> bytes:
    """Half the size and back, joined with what went in: sizes must be even."""
    import torch
    from torch import nn

    class Skipping(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(6, 4, 1)

        def forward(self, x: Any) -> Any:
            small = nn.functional.max_pool2d(x, 2)
            back = nn.functional.interpolate(small, scale_factor=2.0, mode="nearest")
            return self.conv(torch.cat([x, back], 1))

    torch.manual_seed(0)
    half = torch.export.Dim("half", min=2, max=32)
    inputs = (torch.zeros(1, 3, 32, 32),)
    return _lower({"forward": (Skipping(), inputs, ({2: 2 * half},))})


def lookup() -> bytes:
    """int64 and int32 indices, also through a copy and an elided view; a mask; a gather."""
    import torch
    from torch import nn

    class Lookup(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(50, 8)
            self.places = nn.Embedding(12, 8)
            self.mix = nn.Linear(8, 8)

        def forward(self, words: Any, places: Any, mask: Any, rows: Any) -> Any:
            placed = self.places(places.to(torch.int64).view(-1)).unsqueeze(0)
            mixed = self.mix(self.words(words) + placed) * mask.unsqueeze(-1).to(torch.float32)
            return mixed, torch.gather(self.places.weight, 0, rows)

    torch.manual_seed(0)
    inputs = (
        torch.zeros(1, 6, dtype=torch.int64),
        torch.zeros(2, 3, dtype=torch.int32),
        torch.ones(1, 6, dtype=torch.bool),
        torch.zeros(3, 8, dtype=torch.int64),
    )
    return _lower({"forward": (Lookup(), inputs, None)})


def cache(forget: float = 1.0) -> bytes:
    """A cache that each run writes at a position and reads as a whole."""
    import torch
    from torch import nn

    class Cache(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("kept", torch.zeros(1, 16, 8))
            self.embed = nn.Embedding(50, 8)
            self.project = nn.Linear(8, 8)

        def forward(self, word: Any, position: Any) -> Any:
            x = self.project(self.embed(word))
            self.kept.index_copy_(1, position, x * forget)
            return torch.softmax(x @ self.kept.transpose(1, 2), -1) @ self.kept

    torch.manual_seed(0)
    inputs = (torch.zeros(1, 1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64))
    return _lower({"forward": (Cache(), inputs, None)})


def several() -> bytes:
    """Two methods, and methods that only return constants."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    methods = {
        "forward": (nn.Linear(4, 4), (torch.zeros(2, 4),), None),
        "other": (nn.Conv2d(1, 2, 3), (torch.zeros(1, 1, 6, 6),), None),
    }
    return _lower(methods, constants={"count": 42, "rate": 1.5, "table": torch.ones(2)})


def scalars() -> bytes:
    """Numbers among the inputs; no delegate."""
    import torch
    from torch import nn

    class Scalars(nn.Module):
        def forward(self, x: Any, n: int, f: float, flag: bool, nothing: Any = None) -> Any:
            return (x * n + f + int(flag)).sin()

    inputs = (torch.zeros(3), 3, 2.5, True, None)
    return _lower({"forward": (Scalars(), inputs, None)}, delegate=False)


EXPORTS: dict[str, Callable[[], bytes]] = {
    "network": network,
    "network_other_weights": lambda: network(1),
    "chain": chain,
    "dynamic": dynamic,
    "skipping": skipping,
    "lookup": lookup,
    "cache": cache,
    "cache_other": lambda: cache(0.5),
    "several": several,
    "scalars": scalars,
}
