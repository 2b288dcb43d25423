"""Hugging Face's models, exported as optimum-executorch 1.1.0 does: random weights, small.

What its recipes do is done here with transformers' own exportable modules: a static KV cache,
XNNPACK, inputs that are not planned, names of the model's configuration as methods without
instructions. Then its own recipes, where it is installed.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from executorch.exir import (
    EdgeCompileConfig,
    ExecutorchBackendConfig,
    to_edge_transform_and_lower,
)
from executorch.exir.passes import MemoryPlanningPass

import onearena
from onearena.pte import open_pte
from tests.cases.lowering import quiet, xnnpack
from tests.cases.running import Call, difference, forward, play

transformers = pytest.importorskip("transformers")
LENGTH = 32


def text_model() -> Any:
    """A Llama of two layers with grouped queries."""
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=LENGTH,
    )
    config._attn_implementation = "sdpa"
    model = transformers.LlamaForCausalLM(config).eval()
    model.generation_config = transformers.GenerationConfig(
        use_cache=True,
        cache_implementation="static",
        max_length=LENGTH,
        cache_config={"batch_size": 1, "max_cache_len": LENGTH},
    )
    return model


def vision_model() -> Any:
    """A ViT of two layers."""
    torch.manual_seed(0)
    config = transformers.ViTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        image_size=32,
        patch_size=8,
        num_labels=5,
    )
    config._attn_implementation = "sdpa"
    return transformers.ViTForImageClassification(config).eval()


def exported_text() -> Any:
    """Twice, like optimum-executorch: the first graph names one tensor twice."""
    integration = pytest.importorskip("transformers.integrations.executorch")
    module = integration.TorchExportableModuleForDecoderOnlyLM(text_model())
    sequence = torch.export.Dim("sequence", max=LENGTH - 1)
    shapes = {"input_ids": {1: sequence}, "cache_position": {0: sequence}}
    inputs = {"input_ids": torch.zeros((1, 3), dtype=torch.long), "cache_position": torch.arange(3)}
    first = module.export(**inputs, dynamic_shapes=shapes, strict=True)
    return torch.export.export(
        first.module(), args=(), kwargs=inputs, dynamic_shapes=shapes, strict=True
    )


def exported_vision() -> Any:
    pixels = torch.linspace(-1, 1, 3 * 32 * 32).reshape(1, 3, 32, 32)
    return torch.export.export(
        vision_model(), args=(), kwargs={"pixel_values": pixels}, strict=False
    )


@cache
def planned(name: str) -> Any:
    with quiet():
        exported = exported_text() if name == "text" else exported_vision()
        edge = to_edge_transform_and_lower(
            {"forward": exported},
            partitioner=xnnpack(),
            compile_config=EdgeCompileConfig(_check_ir_validity=False, _skip_dim_order=True),
            constant_methods={"get_max_seq_len": LENGTH, "use_kv_cache": True},
        )
        config = ExecutorchBackendConfig(
            memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False),
            do_quant_fusion_and_const_prop=True,
        )
        return onearena.to_executorch(edge.to_executorch(config))


def calls(name: str) -> list[Call]:
    """A prompt, and words after it; or images."""
    if name == "vision":
        return [forward(torch.randn(1, 3, 32, 32)) for _ in range(2)]
    prompt = forward(torch.tensor([[5, 9, 33, 2]]), torch.arange(4))
    words = [
        forward(torch.tensor([[word]]), torch.tensor([4 + k])) for k, word in enumerate((7, 1, 60))
    ]
    return [prompt, *words]


@pytest.mark.parametrize("name", ["text", "vision"])
def test_the_same_bits_in_less_memory(name: str, tmp_path: Path) -> None:
    torch.manual_seed(1)
    program = planned(name)
    stock, small = tmp_path / "stock.pte", tmp_path / "small.pte"
    program.stock.save(str(stock))
    program.save(str(small))
    assert onearena.verify(small).safe
    method = next(m for m in program.report.methods if m.name == "forward")
    assert method.after is not None
    assert method.after.total_bytes < method.before.total_bytes
    inputs = calls(name)
    assert difference(play(small, inputs), play(stock, inputs)) is None
    assert program.config_methods == {"get_max_seq_len", "use_kv_cache"}


def test_caches_are_state(tmp_path: Path) -> None:
    from onearena.export_record import read_export

    path = tmp_path / "small.pte"
    planned("text").save(str(path))
    with open_pte(path) as file:
        record = read_export(file)
    assert record is not None
    method = record.methods["forward"]
    assert len([name for name in method.state if "key" in name]) == 2
    assert len([name for name in method.state if "value" in name]) == 2
    assert any("llama" in line.file for lines in method.lines for line in lines)
    assert method.sizes
    report = next(m for m in planned("text").report.methods if m.name == "forward")
    assert report.state_bytes >= 2 * 2 * 4 * 2 * LENGTH * 8


@pytest.mark.parametrize("name", ["text", "vision"])
def test_the_recipes_of_optimum(name: str, tmp_path: Path) -> None:
    base = "optimum.exporters.executorch"
    modules = pytest.importorskip(f"{base}.integrations")
    recipe = pytest.importorskip(f"{base}.recipes.xnnpack")
    torch.manual_seed(1)
    with quiet():
        if name == "text":
            module = modules.CausalLMExportableModule(text_model(), max_seq_len=LENGTH)
        else:
            module = modules.VisionEncoderExportableModule(vision_model())
        made = recipe.export_to_executorch_with_xnnpack(module)
        program = onearena.to_executorch(made["model"])
    stock, small = tmp_path / "stock.pte", tmp_path / "small.pte"
    program.stock.save(str(stock))
    program.save(str(small))
    assert onearena.verify(small).safe
    method = next(m for m in program.report.methods if m.name == "forward")
    assert method.after is not None
    assert method.after.total_bytes < method.before.total_bytes
    inputs = calls(name)
    assert difference(play(small, inputs), play(stock, inputs)) is None
