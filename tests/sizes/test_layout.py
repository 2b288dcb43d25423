"""The stated struct sizes against the headers of the installed runtime, by the compiler."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest

from onearena.sizes.layout import ARM32, BOOL, DIM_ORDER_TYPE, INT64, LP64, SIZES_TYPE, Abi, Layout
from onearena.sizes.method_allocator import MAX_DIMENSIONS
from tests.sizes.sdk import compile_flags

STRUCTS = {
    "pointer": ("Pointer", "Tensor", "OpFunction"),
    "evalue": ("Evalue",),
    "tensor_impl": ("TensorImpl",),
    "optional_tensor": ("OptionalTensor",),
    "boxed_list": ("IntegerList", "TensorList", "OptionalTensorList"),
    "array_ref": ("BoolArray", "DoubleArray", "CharArray", "InstructionArgs"),
    "tensor_meta": ("TensorMeta",),
    "chain": ("Chain",),
    "backend_delegate": ("BackendDelegate",),
    "named_data": ("NamedData",),
    "merged_data_map": ("MergedDataMap",),
    "platform_allocator": ("PlatformMemoryAllocator",),
    "compile_spec": ("CompileSpec",),
}
SCALARS = (
    ("SizesType", SIZES_TYPE),
    ("StridesType", SIZES_TYPE),
    ("DimOrderType", DIM_ORDER_TYPE),
    ("Integer", INT64),
    ("Boolean", BOOL),
)
COMPILERS = [
    pytest.param(LP64, "g++", (), id="64-bit"),
    pytest.param(ARM32, "arm-none-eabi-g++", ("-mcpu=cortex-m55", "-mthumb"), id="cortex-m55"),
    pytest.param(ARM32, "arm-none-eabi-g++", ("-mcpu=cortex-m0", "-mthumb"), id="cortex-m0"),
]


def assertions(abi: Abi) -> str:
    layouts = [(name, getattr(abi, field)) for field, names in STRUCTS.items() for name in names]
    return "\n".join(_assertion(name, layout) for name, layout in (*layouts, *SCALARS))


def _assertion(name: str, layout: Layout) -> str:
    size, alignment = layout.size_bytes, layout.alignment_bytes
    return f"static_assert(sizeof({name}) == {size} && alignof({name}) == {alignment});"


def test_every_layout_is_checked() -> None:
    assert {field.name for field in fields(Abi)} == {"name", *STRUCTS}


@pytest.mark.parametrize(("abi", "compiler", "flags"), COMPILERS)
def test_layouts(abi: Abi, compiler: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    header = tmp_path / "header.cc"
    header.write_text("#include <cstring>\n", encoding="utf-8")
    if subprocess.run([compiler, "-fsyntax-only", header], capture_output=True).returncode != 0:
        pytest.skip(f"{compiler} has no standard library")
    source = tmp_path / "check.cc"
    included = Path(__file__).with_name("layouts.cc")
    source.write_text(f'#include "{included}"\n{assertions(abi)}\n', encoding="utf-8")
    limit = f"-DDIMENSION_LIMIT={MAX_DIMENSIONS}"
    command = [compiler, *flags, *compile_flags(), limit, "-fsyntax-only", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
