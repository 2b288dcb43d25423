"""Programs, descriptions and libraries of other versions are told from corrupt ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from onearena.engine import native
from onearena.engine.description import describe
from onearena.engine.errors import ExecutionError, FormatError, UnsupportedError
from onearena.engine.native import native_module
from onearena.engine.runtime import Runtime
from onearena.errors import OnearenaError, RuntimeUnavailableError
from onearena.pte import open_pte, write_pte
from tests.engine.edits import SEEDS
from tests.engine.test_errors import message, run_with_zeros

CONVNET = SEEDS / "convnet.pte"


def edited(target: Path, old: bytes, new: bytes) -> Path:
    """A copy of a program with some bytes replaced, once."""
    data = CONVNET.read_bytes()
    assert data.count(old) >= 1
    target.write_bytes(data.replace(old, new, 1))
    return target


def test_another_file_identifier(tmp_path: Path) -> None:
    path = edited(tmp_path / "next.pte", b"ET12", b"ET13")
    with pytest.raises(FormatError, match=r"ET13.*expected.*ET12") as error:
        Runtime().load(path)
    message(error)


def test_a_newer_schema_version(tmp_path: Path) -> None:
    """The stock runtime refuses it, too."""
    path = tmp_path / "newer.pte"
    with open_pte(CONVNET) as file:
        newer = replace(file.program, version=7)
        write_pte(file.with_program(newer, file.segments), path)
    with pytest.raises(UnsupportedError, match=r"schema version 7.*up to 0") as error:
        Runtime().load(path)
    message(error)


def test_a_payload_of_a_newer_delegate(tmp_path: Path) -> None:
    path = edited(tmp_path / "payload.pte", b"XH00", b"XH01")
    model = Runtime().load(path)
    with pytest.raises(ExecutionError, match=r"delegate \d \(XnnpackBackend\).*Compatibility") as e:
        model.method("forward")
    assert str(path) in message(e)
    run_with_zeros(Runtime().load(CONVNET))


def test_a_description_of_another_version() -> None:
    with open_pte(CONVNET) as file:
        description, file_bytes = describe(file), file.source.size_bytes
    at = len(b"ONEARENA")
    version = int.from_bytes(description[at : at + 4], "little")
    newer = description[:at] + (version + 1).to_bytes(4, "little") + description[at + 4 :]
    text = rf"description has version {version + 1}, this library reads {version}"
    with pytest.raises(UnsupportedError, match=text):
        native_module().check_description(newer, file_bytes)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ("1.4.1", r"needs executorch 1\.5\.1, installed is 1\.4\.1"),
        ("1.5.10", r"installed is 1\.5\.10"),
        ("1.5.1.dev20260101", r"installed is 1\.5\.1\.dev"),
        ("1.6.0a0+cpu", r"installed is 1\.6\.0a0\+cpu"),
    ],
)
def test_another_wheel(monkeypatch: pytest.MonkeyPatch, found: str, words: str) -> None:
    native.native_module.cache_clear()
    monkeypatch.setattr(native, "version", lambda name: found)
    try:
        with pytest.raises(RuntimeUnavailableError, match=words) as error:
            Runtime()
        message(error)
    finally:
        native.native_module.cache_clear()


def test_a_build_of_the_same_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows a plus says who built it, not what."""
    native.native_module.cache_clear()
    monkeypatch.setattr(native, "version", lambda name: "1.5.1+cpu")
    try:
        run_with_zeros(Runtime().load(CONVNET))
    finally:
        native.native_module.cache_clear()


def test_a_wheel_without_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of another platform, or damaged."""
    native.native_module.cache_clear()
    monkeypatch.setattr(native, "_LIBRARIES", (*native._LIBRARIES, "libexecutorch_absent.so"))
    try:
        with pytest.raises(RuntimeUnavailableError, match=r"cannot be loaded.*absent") as error:
            Runtime()
        assert isinstance(error.value, OnearenaError)
        message(error)
    finally:
        native.native_module.cache_clear()
