"""Reads the payload of an Ethos-U delegate: a list of blocks that Vela's output is packed into.

Facts from `backends/arm/arm_vela.py` and `backends/arm/runtime/VelaBinStream.h` (ExecuTorch 1.0 to
1.5). A block is a header of 32 bytes (a name, the size of its data, 1 when the data lie elsewhere,
reserved bytes) and its data, padded to 16 bytes. Of data that lie elsewhere the block holds the key
in the named data. Up to ExecuTorch 1.4 nothing lay elsewhere, and those bytes were 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from struct import Struct

from onearena.errors import FormatError
from onearena.flatbuf.data import ByteRange, Data, read_data

ETHOSU_BACKEND = "EthosUBackend"
ALIGNMENT = 16
"""Of blocks in a payload, and of the scratch that the backend takes."""

_HEADER = Struct("<16sIB11s")
_FIRST, _LAST = "vela_bin_stream", "vela_end_stream"
_COMMANDS, _WEIGHTS, _SCRATCH = "cmd_data", "weight_data", "scratch_size"
_BLOCKS = (_COMMANDS, _WEIGHTS, _SCRATCH, "inputs", "outputs")
_REQUIRED = (_COMMANDS, _SCRATCH, "inputs", "outputs")
_COMMAND_MAGICS = (b"COP1", b"COP2")
_KEY_BYTES = 64
_COUNT, _WORD = Struct("<i"), Struct("<I")
_TENSOR = Struct("<9i")
_TENSOR_RANK = 6


@dataclass(frozen=True)
class ScratchTensor:
    """An input or output as it lies in the scratch.

    Attributes:
        shape: always 6 numbers.
        item_bytes: size of an element.
        offset: in the scratch.
        region: Vela's number of the memory; the runtime does not look at it.
    """

    shape: tuple[int, ...]
    item_bytes: int
    offset: int
    region: int

    @property
    def size_bytes(self) -> int:
        """Of all elements; a dimension of 0 counts as 1."""
        return prod(size or 1 for size in self.shape) * self.item_bytes


@dataclass(frozen=True)
class ExternalBlock:
    """A block whose data are named data, of this file or of a second one (.ptd)."""

    name: str
    key: str


@dataclass(frozen=True)
class EthosUPayload:
    """What a payload says.

    Attributes:
        scratch_bytes: what the backend takes from the temp allocator at every call.
        inputs, outputs: in the order of the call's arguments, inputs first.
        command_bytes, weight_bytes: of what is in the payload.
        external: what is not.
    """

    scratch_bytes: int
    inputs: tuple[ScratchTensor, ...]
    outputs: tuple[ScratchTensor, ...]
    command_bytes: int
    weight_bytes: int
    external: tuple[ExternalBlock, ...] = ()


@dataclass(frozen=True)
class _Block:
    name: str
    data: memoryview
    is_external: bool


def read_payload(data: Data, what: str) -> EthosUPayload:
    """Reads the blocks; commands and weights are not copied.

    Args:
        what: what messages call it.

    Raises:
        FormatError: the runtime would refuse it, or write outside of the scratch.
    """
    found: dict[str, _Block] = {}
    for block in _blocks(_view(data), what):
        if block.name in found:
            raise FormatError(f"{what}: block {block.name} is there twice")
        found[block.name] = block
    for name in _REQUIRED:
        if name not in found:
            raise FormatError(f"{what}: block {name} is missing")
    commands = found[_COMMANDS]
    if not commands.is_external and bytes(commands.data[:4]) not in _COMMAND_MAGICS:
        raise FormatError(f"{what}: block {_COMMANDS} is no command stream")
    scratch_bytes = _scratch_bytes(found[_SCRATCH], what)
    return EthosUPayload(
        scratch_bytes,
        _tensors(found["inputs"], scratch_bytes, what),
        _tensors(found["outputs"], scratch_bytes, what),
        _inline_bytes(commands),
        _inline_bytes(found.get(_WEIGHTS)),
        tuple(_external(block, what) for block in found.values() if block.is_external),
    )


def _view(data: Data) -> memoryview:
    if len(data) == 1:
        chunk = data[0]
        return chunk.view() if isinstance(chunk, ByteRange) else memoryview(chunk)
    return memoryview(read_data(data))


def _blocks(view: memoryview, what: str) -> Iterable[_Block]:
    """The blocks between the first and the last, which hold nothing."""
    position, end, is_first = 0, len(view), True
    while position < end:
        if end - position < _HEADER.size:
            raise FormatError(f"{what}: ends inside the header of a block, at byte {position}")
        raw, size, external, _ = _HEADER.unpack_from(view, position)
        name = raw.partition(b"\0")[0].decode("ascii", "replace")
        start = position + _HEADER.size
        position = start + size + -size % ALIGNMENT
        if position > end:
            raise FormatError(f"{what}: block {name!r} of {size} B ends behind the payload")
        if is_first != (name == _FIRST):
            raise FormatError(f"{what}: does not start with the one block {_FIRST}")
        if name == _LAST:
            if position != end:
                raise FormatError(f"{what}: {end - position} B follow the block {_LAST}")
            return
        if not is_first and name not in _BLOCKS:
            raise FormatError(f"{what}: a block is called {name!r}, which is not known")
        if external > 1:
            raise FormatError(f"{what}: block {name} is stored in way {external}")
        if not is_first:
            yield _Block(name, view[start : start + size], bool(external))
        is_first = False
    raise FormatError(f"{what}: block {_LAST} is missing")


def _scratch_bytes(block: _Block, what: str) -> int:
    _refuse_external(block, what)
    if len(block.data) != _WORD.size:
        raise FormatError(f"{what}: block {_SCRATCH} has {len(block.data)} B, not {_WORD.size}")
    return int(_WORD.unpack(block.data)[0])


def _tensors(block: _Block, scratch_bytes: int, what: str) -> tuple[ScratchTensor, ...]:
    _refuse_external(block, what)
    size = len(block.data)
    count = _COUNT.unpack_from(block.data)[0] if size >= _COUNT.size else -1
    if count < 0 or size != _COUNT.size + count * _TENSOR.size:
        raise FormatError(f"{what}: block {block.name} has {size} B, for {count} tensors")
    tensors = tuple(
        ScratchTensor(tuple(numbers[:_TENSOR_RANK]), *numbers[_TENSOR_RANK:])
        for numbers in _TENSOR.iter_unpack(block.data[_COUNT.size :])
    )
    for number, tensor in enumerate(tensors):
        if min(tensor.shape) < 0 or tensor.item_bytes < 1 or tensor.offset < 0:
            raise FormatError(f"{what}: tensor {number} of {block.name} has a negative number")
        if tensor.offset + tensor.size_bytes > scratch_bytes:
            raise FormatError(
                f"{what}: tensor {number} of {block.name} ends at byte "
                f"{tensor.offset + tensor.size_bytes} of a scratch of {scratch_bytes} B"
            )
    return tensors


def _refuse_external(block: _Block, what: str) -> None:
    if block.is_external:
        raise FormatError(f"{what}: block {block.name} is not in the payload")


def _inline_bytes(block: _Block | None) -> int:
    return 0 if block is None or block.is_external else len(block.data)


def _external(block: _Block, what: str) -> ExternalBlock:
    key = bytes(block.data)
    if len(key) != _KEY_BYTES or not key.isascii():
        raise FormatError(f"{what}: block {block.name} names other data by no key")
    return ExternalBlock(block.name, key.decode("ascii"))
