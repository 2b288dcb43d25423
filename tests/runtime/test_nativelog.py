"""What the runtime prints, captured and condensed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from onearena.runtime.nativelog import NativeLog, last_message


def test_descriptor_two_is_captured(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with NativeLog(tmp_path / "log") as log:
        with log.capture():
            os.write(2, b"[a.cpp:1] first\n")
        with log.capture():
            os.write(2, b"[a.cpp:1] something failed.\n")
            print("[b.cpp:2] at instruction 3", file=sys.stderr)
        assert log.message() == "something failed; at instruction 3"
        os.write(2, b"outside\n")
    assert capfd.readouterr().err == "outside\n"


def test_descriptor_two_is_restored_after_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    with NativeLog() as log:
        with pytest.raises(ValueError, match="inside"), log.capture():
            raise ValueError("inside")
        assert log.message() is None
    os.write(2, b"outside\n")
    assert capfd.readouterr().err == "outside\n"


def test_root_and_last_message_are_kept() -> None:
    log = b"""[cpuinfo_utils.cpp:71] Reading file /sys/devices/soc0/image_version
[op_embedding.cpp:43] Check failed (x < y): 50 >= 50
[op.cpp:1] in between
[method.cpp:1483] KernelCall failed at instruction 0:0 in operator aten::embedding.out: 0x12
[method.cpp:1493] arg 0 with type id 1
"""
    assert last_message(log) == (
        "Check failed (x < y): 50 >= 50; "
        "KernelCall failed at instruction 0:0 in operator aten::embedding.out: 0x12"
    )


def test_other_text_and_control_characters() -> None:
    assert last_message(b"Traceback\nValueError: bad \x1b[31m value\n") == (
        "ValueError: bad  [31m value"
    )
    assert last_message(b"") is None
    assert len(last_message(b"x" * 10_000) or "") < 1000
