"""The C header: it compiles as C and C++, whatever the methods are called."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from onearena.errors import UsageError
from onearena.report.sizes_header import sizes_header
from onearena.sizes.pools import program_pools
from tests.pte.build import Method, file_bytes, pte_file, read_bytes

COMPILERS = [("gcc", "c"), ("g++", "cpp")]
STANDARD = {"gcc": "-std=c99", "g++": "-std=c++17"}
STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only")


def simple(name: str, operator: str = "aten::relu.out") -> Method:
    method = Method(name)
    a, b = method.tensor(4), method.tensor(5, offset=0)
    method.input(a).output(b)
    method.call(operator, a, b, b)
    return method


def header(*methods: Method, path: str = "model.pte", name: str = "sizes.h") -> str:
    return sizes_header(program_pools(read_bytes(file_bytes(pte_file(*methods)), path)), name)


def compile_header(text: str, use: str, directory: Path, compiler: str, ending: str) -> bool:
    """Whether a file that includes the header twice and has the line `use` compiles."""
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    (directory / "sizes.h").write_text(text, encoding="ascii")
    source = directory / f"use.{ending}"
    source.write_text(f'#include "sizes.h"\n#include "sizes.h"\n{use}\n', encoding="ascii")
    command = [compiler, STANDARD[compiler], *STRICT, str(source)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(("compiler", "ending"), COMPILERS)
def test_the_header_compiles(tmp_path: Path, compiler: str, ending: str) -> None:
    text = header(simple("forward"))
    names = ("METHOD_ALLOCATOR", "METHOD_ALLOCATOR_ALONE", "TEMP_ALLOCATOR", "ARENA_1", "INPUT_0")
    use = "".join(f"extern char {n.lower()}[ONEARENA_FORWARD_{n}_BYTES];\n" for n in names)
    use += "#if ONEARENA_FORWARD_ARENA_1_BYTES != 20 || ONEARENA_FORWARD_INPUT_0_BYTES != 16\n"
    use += "#error wrong\n#endif\nextern char file[ONEARENA_FILE_BYTES];"
    assert compile_header(text, use, tmp_path, compiler, ending)
    wrong = use.replace("!= 20", "!= 21")
    assert not compile_header(text, wrong, tmp_path, compiler, ending)


@pytest.mark.parametrize(("compiler", "ending"), COMPILERS)
def test_what_is_not_known_does_not_compile(tmp_path: Path, compiler: str, ending: str) -> None:
    text = header(simple("forward", "mine::op.out"))
    assert "mine::op.out" in text
    known = "extern char pool[ONEARENA_FORWARD_METHOD_ALLOCATOR_BYTES];"
    assert compile_header(text, known, tmp_path, compiler, ending)
    unknown = "extern char pool[ONEARENA_FORWARD_TEMP_ALLOCATOR_BYTES];"
    assert not compile_header(text, unknown, tmp_path, compiler, ending)


HOSTILE = [
    "a*/ int x = 1; /*",
    "*//**/",
    'line\n#error "no"\n',
    "back\\slash\\",
    "back\\\nslash",
    "trigraph??/\n#error",
    "naïve 日本",
    "1st",
    "__a__b__",
    "int",
    "guard_sizes_h",
    "file",
]


@pytest.mark.parametrize(("compiler", "ending"), COMPILERS)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names(tmp_path: Path, name: str, compiler: str, ending: str) -> None:
    if name == "*//**/":
        name += "a"
    text = header(simple(name, f"mine::{name}.out"), path=f"{name}.pte", name="sizes.h")
    assert text.isascii()
    assert compile_header(text, "extern char c[ONEARENA_FILE_BYTES];", tmp_path, compiler, ending)


def test_names_become_identifiers() -> None:
    text = header(simple("encode-audio.v2"), name="my sizes.h")
    assert "#define ONEARENA_ENCODE_AUDIO_V2_METHOD_ALLOCATOR_BYTES " in text
    assert "#ifndef ONEARENA_GUARD_MY_SIZES_H\n#define ONEARENA_GUARD_MY_SIZES_H\n" in text


@pytest.mark.parametrize("other", ["a_b", "A b", "a--b_"])
def test_names_that_become_one_are_refused(other: str) -> None:
    with pytest.raises(UsageError, match=r"methods 'a-b' and '.*' would both define ONEARENA_A_B_"):
        header(simple("a-b"), simple(other))


@pytest.mark.parametrize("name", ["", "--", "日本"])
def test_names_that_become_nothing_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="has no letter or digit"):
        header(simple(name))


def test_several_methods() -> None:
    text = header(simple("encode"), simple("decode"))
    assert text.count("METHOD_ALLOCATOR_BYTES ") == 2
    assert text.index("ONEARENA_ENCODE") < text.index("ONEARENA_DECODE")
