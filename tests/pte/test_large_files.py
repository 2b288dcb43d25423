"""Weights never pass through memory: a large sparse file is opened, edited and written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from onearena.delegates.xnnpack.payload import Payload, build_payload
from onearena.flatbuf.data import ByteRange, ByteSource
from onearena.pte import Segment
from onearena.pte.writer import layout
from tests.pte.build import Method, pte_file
from tests.pte.samples import graph

_CONSTANT_BYTES = 512 << 20
_GROWTH_LIMIT_BYTES = 64 << 20
_NEEDED_BYTES = 2 * _CONSTANT_BYTES

_SCRIPT = """
    import re, sys
    from dataclasses import replace
    from onearena.delegates.xnnpack.payload import build_payload, read_payload
    from onearena.pte import Segment, open_pte, write_pte

    def peak():  # getrusage would count what the parent had when it started this process
        with open("/proc/self/status") as status:
            return int(re.search(r"VmHWM:\\s+(\\d+) kB", status.read())[1]) * 1024

    before = peak()
    with open_pte(sys.argv[1]) as file:
        (segment,) = file.segments
        payload = read_payload(segment.data, "payload")
        edited = replace(payload, graph=replace(payload.graph, version="edited"))
        segments = (Segment(build_payload(edited), segment.alignment),)
        size = write_pte(file.with_program(file.program, segments), sys.argv[2])
    print(size, peak() - before)
"""


def _write_sparse(path: Path) -> None:
    """A program whose only payload has 512 MB of constants: a hole in the file."""
    nothing = ByteSource.from_bytes(b"")
    constants = ByteRange(nothing, 0, _CONSTANT_BYTES)
    payload = build_payload(Payload(b"XN01", graph(), (constants,), has_header=True))
    method = Method()
    method.call_delegate(method.delegate("XnnpackBackend", 0))
    with path.open("wb") as out:
        for piece in layout(pte_file(method, segments=[Segment(payload)])):
            if isinstance(piece, bytes):
                out.write(piece)
            else:
                out.seek(piece.size_bytes, os.SEEK_CUR)
        out.truncate()


@pytest.mark.skipif(sys.platform != "linux", reason="measures resident memory as Linux counts it")
def test_weights_stay_out_of_memory(tmp_path: Path) -> None:
    if shutil.disk_usage(tmp_path).free < _NEEDED_BYTES:
        pytest.skip("less than 1 GB of disk space")
    source, target = tmp_path / "a.pte", tmp_path / "b.pte"
    _write_sparse(source)
    command = [sys.executable, "-c", textwrap.dedent(_SCRIPT), str(source), str(target)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        result = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        size, growth = map(int, result.stdout.split())
        assert size == target.stat().st_size > _CONSTANT_BYTES
        assert growth < _GROWTH_LIMIT_BYTES
    finally:
        target.unlink(missing_ok=True)
