"""Reading and writing FlatBuffers tables described by Python dataclasses.

A table is a frozen dataclass whose fields are made by the functions of
:mod:`onearena.flatbuf.schema`, in the order of the schema's fields: declaration order
is the vtable order. The reader bounds-checks every access, the writer never copies
large byte vectors. Source of the format: https://flatbuffers.dev/internals/
"""

from onearena.flatbuf.data import ByteRange, ByteSource, Chunk, Data, data_size, read_data
from onearena.flatbuf.decode import decode_root
from onearena.flatbuf.encode import Encoded, encode_root

__all__ = [
    "ByteRange",
    "ByteSource",
    "Chunk",
    "Data",
    "Encoded",
    "data_size",
    "decode_root",
    "encode_root",
    "read_data",
]
