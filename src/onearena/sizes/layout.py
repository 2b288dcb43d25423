"""Sizes and alignments of the structs that ExecuTorch's runtime keeps in the method allocator.

Facts from the headers of ExecuTorch 1.5, per struct in the comment of :class:`Abi`. The LP64
numbers are those of the x86-64 wheel; the 32-bit ones were checked by compiling the same headers
with `arm-none-eabi-g++` 12.2 (newlib, libstdc++) for Cortex-M0 and Cortex-M55, see
`docs/sizes.md`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    """Size and alignment of a type, in bytes."""

    size_bytes: int
    alignment_bytes: int


BOOL = Layout(1, 1)
INT64 = Layout(8, 8)  # also on 32-bit Arm (AAPCS32: 8-byte alignment)
SIZES_TYPE = Layout(4, 4)  # int32_t (`portable_type/tensor_impl.h`); strides too
DIM_ORDER_TYPE = Layout(1, 1)  # uint8_t (same file)


@dataclass(frozen=True)
class Abi:
    """The layouts that depend on the size of pointers.

    Attributes:
        name: for reports.
        pointer: `void*`; also `etensor::Tensor` (`portable_type/tensor.h`: one pointer) and
            `OpFunction` (`kernel/operator_registry.h`).
        evalue: `EValue` (`core/evalue.h`): an 8-byte union, a tag.
        tensor_impl: `etensor::TensorImpl` (`portable_type/tensor_impl.h`): four pointers,
            three word-sized counts, four bytes.
        optional_tensor: `std::optional<etensor::Tensor>`: a pointer, a flag.
        boxed_list: `BoxedEvalueList<T>` (`core/evalue.h`): two pointers, a length.
        array_ref: `ArrayRef<T>` (`core/array_ref.h`), and `InstructionArgs`, which
            is a `Span` (`core/span.h`): a pointer, a length.
        tensor_meta: `TensorMeta` (`kernel/operator_registry.h`): an element type, a `Span`.
        chain: `Chain` (`executor/method.cpp`): two pointers, a `Span`.
        backend_delegate: `BackendDelegate` (`executor/method.cpp`): a `FreeableBuffer`
            (`core/freeable_buffer.h`), two pointers.
        named_data: `NamedData` (`executor/tensor_parser.h`): a pointer, a `FreeableBuffer`.
        merged_data_map: `internal::MergedDataMap` (`executor/merged_data_map.h`).
        platform_allocator: `internal::PlatformMemoryAllocator`
            (`executor/platform_memory_allocator.h`).
        compile_spec: `CompileSpec` (`backend/interface.h`): a pointer, a `SizedBuffer`.
    """

    name: str
    pointer: Layout
    evalue: Layout
    tensor_impl: Layout
    optional_tensor: Layout
    boxed_list: Layout
    array_ref: Layout
    tensor_meta: Layout
    chain: Layout
    backend_delegate: Layout
    named_data: Layout
    merged_data_map: Layout
    platform_allocator: Layout
    compile_spec: Layout


LP64 = Abi(
    name="64-bit",
    pointer=Layout(8, 8),
    evalue=Layout(16, 8),
    tensor_impl=Layout(64, 8),
    optional_tensor=Layout(16, 8),
    boxed_list=Layout(24, 8),
    array_ref=Layout(16, 8),
    tensor_meta=Layout(24, 8),
    chain=Layout(32, 8),
    backend_delegate=Layout(56, 8),
    named_data=Layout(48, 8),
    merged_data_map=Layout(24, 8),
    platform_allocator=Layout(48, 8),
    compile_spec=Layout(24, 8),
)

ARM32 = Abi(
    name="32-bit Arm",
    pointer=Layout(4, 4),
    evalue=Layout(16, 8),
    tensor_impl=Layout(32, 4),
    optional_tensor=Layout(8, 4),
    boxed_list=Layout(12, 4),
    array_ref=Layout(8, 4),
    tensor_meta=Layout(12, 4),
    chain=Layout(16, 4),
    backend_delegate=Layout(40, 8),
    named_data=Layout(40, 8),
    merged_data_map=Layout(12, 4),
    platform_allocator=Layout(28, 4),
    compile_spec=Layout(12, 4),
)
