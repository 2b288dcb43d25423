"""Payloads of Ethos-U: what they say, and what malformed ones get."""

from __future__ import annotations

import random
from struct import pack

import pytest

from onearena.delegates.ethosu.calls import call_problem, read_delegates
from onearena.delegates.ethosu.payload import EthosUPayload, ExternalBlock, read_payload
from onearena.errors import FormatError
from onearena.flatbuf.data import ByteRange, ByteSource
from onearena.pte.schema import DelegateCall
from tests.pte.build import CHAR, Method, file_bytes, pte_file, read_bytes
from tests.temp_memory.programs import BACKEND, COMMANDS, block, payload, tensors

KEY = b"0123456789abcdef" * 4


def blocks(**changed: bytes | None) -> bytes:
    """A payload with other blocks: as they are written, or none of this name."""
    usual = {
        "vela_bin_stream": block("vela_bin_stream", b""),
        "cmd_data": block("cmd_data", COMMANDS),
        "scratch_size": block("scratch_size", pack("<I", 256)),
        "inputs": block("inputs", tensors([(64, 0)])),
        "outputs": block("outputs", tensors([(64, 64)])),
        "vela_end_stream": block("vela_end_stream", b""),
    }
    return b"".join({**usual, **changed}[name] or b"" for name in {**usual, **changed})


def test_what_a_payload_says() -> None:
    found = read_payload((payload(512, [(64, 0), (10, 80)], [(100, 200)]),), "it")
    assert found.scratch_bytes == 512
    assert [(t.shape, t.item_bytes, t.offset) for t in found.inputs] == [
        ((1, 1, 1, 1, 1, 64), 1, 0),
        ((1, 1, 1, 1, 1, 10), 1, 80),
    ]
    assert [(t.size_bytes, t.offset) for t in found.outputs] == [(100, 200)]
    assert (found.command_bytes, found.weight_bytes, found.external) == (len(COMMANDS), 40, ())


def test_a_payload_in_pieces_of_a_file() -> None:
    data = payload()
    source = ByteSource.from_bytes(b"---" + data)
    whole = (ByteRange(source, 3, len(data)),)
    parts = (data[:50], ByteRange(source, 53, len(data) - 50))
    assert read_payload(whole, "it") == read_payload(parts, "it") == read_payload((data,), "it")


def test_blocks_that_lie_elsewhere() -> None:
    data = blocks(
        cmd_data=block("cmd_data", KEY, external=1),
        weight_data=None,
        outputs=block("outputs", tensors([])) + block("weight_data", KEY, external=1),
    )
    found = read_payload((data,), "it")
    key = KEY.decode()
    assert found.external == (ExternalBlock("cmd_data", key), ExternalBlock("weight_data", key))
    assert (found.command_bytes, found.weight_bytes, found.outputs) == (0, 0, ())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "block vela_end_stream is missing"),
        (b"vela", "ends inside the header of a block, at byte 0"),
        (blocks(vela_bin_stream=None), "does not start with the one block vela_bin_stream"),
        (blocks(vela_end_stream=None), "block vela_end_stream is missing"),
        (blocks() + bytes(16), "16 B follow the block vela_end_stream"),
        (blocks(scratch_size=None), "block scratch_size is missing"),
        (blocks(scratch_size=block("scratch_size", b"12345678")), "has 8 B, not 4"),
        (blocks(scratch_size=block("scratch_size", KEY, 1)), "is not in the payload"),
        (blocks(scratch_size=block("scratch_size", pack("<I", 100))), "scratch of 100 B"),
        (blocks(cmd_data=block("cmd_data", b"COP7")), "cmd_data is no command stream"),
        (blocks(cmd_data=block("cmd_data", KEY[:63], 1)), "names other data by no key"),
        (blocks(cmd_data=block("cmd_data", COMMANDS, 2)), "is stored in way 2"),
        (blocks(inputs=block("inputs", b"")), "inputs has 0 B"),
        (blocks(inputs=block("inputs", pack("<i", -1))), "for -1 tensors"),
        (blocks(inputs=block("inputs", pack("<i", 1 << 30))), f"for {1 << 30} tensors"),
        (blocks(inputs=block("inputs", tensors([(-4, 0)]))), "has a negative number"),
        (blocks(inputs=block("inputs", tensors([(4, -16)]))), "has a negative number"),
        (blocks(outputs=block("outputs", tensors([(64, 200)]))), "ends at byte 264"),
        (blocks(inputs=block("inputs", tensors([])) * 2), "inputs is there twice"),
        (blocks(inputs=block("other", b"1234")), "called 'other', which is not known"),
        (blocks()[:-40], "ends"),
    ],
)
def test_malformed_payloads(data: bytes, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_payload((data,), "it")
    text = str(caught.value)
    assert message in text
    assert text.startswith("it: ")
    assert "\n" not in text


def test_damaged_payloads_are_read_or_refused() -> None:
    whole, random_ = payload(), random.Random(6)
    refused = 0
    for _ in range(4000):
        data = bytearray(whole)
        for _ in range(random_.randint(1, 3)):
            data[random_.randrange(len(data))] = random_.randrange(256)
        if random_.random() < 0.2:
            del data[random_.randrange(len(data)) :]
        found = read_or_refuse(bytes(data))
        if isinstance(found, str):
            refused += 1
            assert found.startswith("it: ")
            assert "\n" not in found
        else:
            ends = [t.offset + t.size_bytes for t in (*found.inputs, *found.outputs)]
            assert max(ends, default=0) <= found.scratch_bytes
    assert 1000 < refused < 4000


def read_or_refuse(data: bytes) -> EthosUPayload | str:
    """What a payload says, or why it is refused."""
    try:
        return read_payload((data,), "it")
    except FormatError as error:
        return str(error)


def method_of(*sizes: int) -> Method:
    method = Method()
    values = [method.tensor(n, scalar_type=CHAR, offset=64 * k) for k, n in enumerate(sizes)]
    method.call_delegate(method.delegate(BACKEND, 0), *values)
    return method


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((64, 64), None),
        ((64,), "it takes 2 arguments and is given 1"),
        ((64, 64, 64), "it takes 2 arguments and is given 3"),
        ((300, 64), "argument 0 of 300 B does not fit into its scratch"),
    ],
)
def test_arguments_that_do_not_fit(sizes: tuple[int, ...], message: str | None) -> None:
    plan = method_of(*sizes).plan()
    call = (plan.chains or ())[0].instructions
    assert call
    arguments = call[0].instr_args
    assert isinstance(arguments, DelegateCall)
    assert call_problem(plan, arguments, read_payload((payload(),), "it")) == message


def test_delegates_of_a_file() -> None:
    method = method_of(64, 64)
    for index in (1, 7):
        method.delegate(BACKEND, index)
    method.delegate("XnnpackBackend", 0)
    file = read_bytes(file_bytes(pte_file(method, segments=[payload(96, [], []), b"vela"])))
    found = read_delegates(file, (file.program.execution_plan or ())[0])
    assert sorted(found) == [0, 1, 2]
    assert found[0].payload
    assert found[0].payload.scratch_bytes == 96
    assert "ends inside the header" in found[1].problem
    assert found[2].problem == "its payload is missing"
