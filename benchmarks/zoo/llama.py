"""A small Llama-style decoder that generates one token per run.

The blocks are those of Llama 2 and 3 (Touvron et al., 2023; Dubey et al., 2024): RMSNorm, rotary
position embedding, grouped-query attention and a SwiGLU feed-forward layer. Keys and values of
earlier tokens live in registered buffers, which a run updates in place at ``input_pos``.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True)
class LlamaConfig:
    """Sizes of the decoder."""

    vocabulary: int = 2000
    width: int = 256
    layers: int = 4
    heads: int = 8
    kv_heads: int = 2
    feed_forward: int = 688
    max_tokens: int = 256
    rope_base: float = 10000.0
    epsilon: float = 1e-5

    @property
    def head_width(self) -> int:
        """Channels of one attention head."""
        return self.width // self.heads


class RMSNorm(nn.Module):
    """Root-mean-square normalisation with a learned gain."""

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        mean_square = (x * x).mean(dim=-1, keepdim=True)
        return x * torch.rsqrt(mean_square + self.epsilon) * self.weight


def rope_tables(config: LlamaConfig) -> tuple[Tensor, Tensor]:
    """Return cosines and sines, each ``[max_tokens, head_width / 2]``."""
    exponents = torch.arange(0, config.head_width, 2) / config.head_width
    angles = torch.outer(torch.arange(config.max_tokens), config.rope_base**-exponents)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Apply the rotary embedding to the last axis, halves paired."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1)


class CachedAttention(nn.Module):
    """Grouped-query attention of one new token over the cache."""

    key_cache: Tensor
    value_cache: Tensor

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.config = config
        kv_width = config.kv_heads * config.head_width
        self.query = nn.Linear(config.width, config.width, bias=False)
        self.key = nn.Linear(config.width, kv_width, bias=False)
        self.value = nn.Linear(config.width, kv_width, bias=False)
        self.output = nn.Linear(config.width, config.width, bias=False)
        cache = torch.zeros(1, config.kv_heads, config.max_tokens, config.head_width)
        self.register_buffer("key_cache", cache)
        self.register_buffer("value_cache", cache.clone())

    def forward(
        self, x: Tensor, input_pos: Tensor, mask: Tensor, cosine: Tensor, sine: Tensor
    ) -> Tensor:
        config = self.config
        grouped = (1, config.kv_heads, config.heads // config.kv_heads, config.head_width)
        single = (1, config.kv_heads, 1, config.head_width)
        query = rotate(self.query(x).reshape(grouped), cosine, sine)
        key = rotate(self.key(x).reshape(single), cosine, sine)
        value: Tensor = self.value(x).reshape(single)
        self.key_cache[:, :, input_pos] = key
        self.value_cache[:, :, input_pos] = value
        scores = query @ self.key_cache.transpose(-1, -2) * config.head_width**-0.5
        weights = torch.softmax(scores + mask, dim=-1)
        attended: Tensor = self.output((weights @ self.value_cache).reshape(1, 1, config.width))
        return attended


class FeedForward(nn.Module):
    """SwiGLU."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.gate = nn.Linear(config.width, config.feed_forward, bias=False)
        self.up = nn.Linear(config.width, config.feed_forward, bias=False)
        self.down = nn.Linear(config.feed_forward, config.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.down(functional.silu(self.gate(x)) * self.up(x))
        return result


class Block(nn.Module):
    """One decoder layer."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(config.width, config.epsilon)
        self.attention = CachedAttention(config)
        self.feed_forward_norm = RMSNorm(config.width, config.epsilon)
        self.feed_forward = FeedForward(config)

    def forward(
        self, x: Tensor, input_pos: Tensor, mask: Tensor, cosine: Tensor, sine: Tensor
    ) -> Tensor:
        x = x + self.attention(self.attention_norm(x), input_pos, mask, cosine, sine)
        result: Tensor = x + self.feed_forward(self.feed_forward_norm(x))
        return result


class Llama(nn.Module):
    """The decoder: token id ``[1, 1]`` and position ``[1]`` in, logits ``[1, vocabulary]`` out."""

    cosines: Tensor
    sines: Tensor
    positions: Tensor

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.vocabulary, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = RMSNorm(config.width, config.epsilon)
        self.head = nn.Linear(config.width, config.vocabulary, bias=False)
        cosines, sines = rope_tables(config)
        self.register_buffer("cosines", cosines)
        self.register_buffer("sines", sines)
        self.register_buffer("positions", torch.arange(config.max_tokens))

    def forward(self, token: Tensor, input_pos: Tensor) -> Tensor:
        cosine, sine = self.cosines[input_pos], self.sines[input_pos]
        unseen = torch.full((), float("-inf"))
        mask = torch.where(self.positions <= input_pos, torch.zeros(()), unseen)
        x: Tensor = self.embedding(token)
        for block in self.blocks:
            x = block(x, input_pos, mask, cosine, sine)
        logits: Tensor = self.head(self.norm(x))
        return logits.squeeze(1)
