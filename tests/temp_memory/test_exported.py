"""Programs as ExecuTorch 1.5.1 and Vela 5.1.0 export them for an Ethos-U55.

`python -m examples.ethos_u.table --directory tests/temp_memory/programs_ethosu` writes them; those
with `small` in their names, and the large ones, are not kept.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from onearena import optimize, verify
from onearena.cli.main import main
from onearena.flatbuf.data import Data, read_data
from onearena.payloads import payload_data
from onearena.pte.reader import open_pte
from onearena.report.sizes_header import sizes_header
from onearena.report.sizes_text import sizes_text
from onearena.report.totals import other_rows
from onearena.sizes.program import program_sizes
from onearena.summary.build import summarize
from onearena.verification.program import verify_program
from tests.pte.build import file_bytes, read_bytes
from tests.sizes.sdk import compile_flags
from tests.temp_memory.test_region import changed_record

PROGRAMS = Path(__file__).with_name("programs_ethosu")


@pytest.mark.parametrize(
    ("name", "planned", "scratch", "joint"),
    [("conv2d_x3", 2560, 3568, 4272), ("two_delegates", 32768, 5632, 20480)],
)
def test_figures(tmp_path: Path, name: str, planned: int, scratch: int, joint: int) -> None:
    after = tmp_path / "small.pte"
    report = optimize(PROGRAMS / f"{name}.pte", after).methods[0]
    assert (report.before.arena_bytes, report.before.temp_bytes) == (planned, scratch)
    assert report.after
    assert report.after.total_bytes == report.lower_bound_bytes == joint
    assert report.optimal
    assert verify(after).safe


def test_only_places_and_the_record_change(tmp_path: Path) -> None:
    before, after = PROGRAMS / "two_delegates.pte", tmp_path / "small.pte"
    optimize(before, after)
    with open_pte(before) as one, open_pte(after) as other:
        old, new = (file.program.execution_plan or () for file in (one, other))
        for a, b in zip(old, new, strict=True):
            assert (a.chains, a.operators, a.inputs, a.outputs) == (
                b.chains,
                b.operators,
                b.inputs,
                b.outputs,
            )
            for x, y in zip(a.delegates or (), b.delegates or (), strict=True):
                assert x.compile_specs == y.compile_specs
                assert _bytes(payload_data(one, x)) == _bytes(payload_data(other, y))


def _bytes(data: Data | None) -> bytes:
    assert data is not None
    return read_data(data)


def test_the_region_at_every_offset_of_a_real_program(tmp_path: Path) -> None:
    after = tmp_path / "small.pte"
    optimize(PROGRAMS / "conv2d_x3.pte", after)
    verdicts = {}
    for offset in range(0, 4272 - 3568 + 1, 16):
        moved = changed_record(after, tmp_path / "moved.pte", offset=offset)
        verdicts[offset] = verify(moved).safe
    # the tensors that are alive at the call leave it one place only
    assert sum(verdicts.values()) == 1


def test_files_that_were_not_optimized_verify(tmp_path: Path) -> None:
    for path in sorted(PROGRAMS.glob("*.pte")):
        with open_pte(path) as file:
            assert verify_program(read_bytes(file_bytes(file))).safe


# -- what the application is told -----------------------------------------------------------


def test_sizes_and_header(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    after, header = tmp_path / "small.pte", tmp_path / "sizes.h"
    optimize(PROGRAMS / "conv2d_x3.pte", after)
    assert main(["sizes", str(after), "--target", "cortex-m55", "--header", str(header)]) == 0
    pools = program_sizes(after, "cortex-m55")
    region = pools.methods[0].temp_region
    assert region
    text = capsys.readouterr().out
    assert f"in it at offset {region.offset:,}, temp allocator" in text
    assert "  temp allocator  " not in text
    macros = header.read_text(encoding="ascii")
    for name, number in (
        ("TEMP_REGION_MEMORY_ID", 1),
        ("TEMP_REGION_OFFSET", region.offset),
        ("TEMP_REGION_BYTES", 3568),
        ("TEMP_ALLOCATOR_BYTES", 3568),
        ("ARENA_1_BYTES", 4272),
    ):
        assert f"#define ONEARENA_FORWARD_{name} {number}u\n" in macros


def test_without_a_region_there_is_a_pool() -> None:
    pools = program_sizes(PROGRAMS / "conv2d_x3.pte", "cortex-m55")
    assert pools.methods[0].temp_region is None
    assert "temp allocator" in sizes_text(pools)
    text = sizes_header(pools, "sizes.h")
    assert "#define ONEARENA_FORWARD_TEMP_ALLOCATOR_BYTES 3568u" in text
    assert "TEMP_REGION" not in text


def _commented_code(header: str) -> str:
    """The lines of C++ that the last comment but the guard's holds."""
    start = header.index(" * alignas")
    lines = header[start : header.index("*/", start)].splitlines()
    return "\n".join(line.removeprefix(" * ") for line in lines)


_AROUND = """
#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/executor/memory_manager.h>
#include "sizes.h"
using namespace executorch::runtime;
void set_up(MemoryAllocator& method_allocator) {
%s
static_assert(sizeof(arena_1) == 4272);
(void)memory_manager;
}
"""


def test_the_lines_for_the_application_compile(tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("there is no g++")
    flags = compile_flags()
    after = tmp_path / "small.pte"
    optimize(PROGRAMS / "conv2d_x3.pte", after)
    header = sizes_header(program_sizes(after, "cortex-m55"), "sizes.h")
    (tmp_path / "sizes.h").write_text(header, encoding="ascii")
    (tmp_path / "use.cpp").write_text(_AROUND % _commented_code(header), encoding="ascii")
    command = ["g++", *flags, "-fsyntax-only", str(tmp_path / "use.cpp")]
    found = subprocess.run(command, capture_output=True, check=False, text=True)
    assert found.returncode == 0, found.stderr


# -- reports --------------------------------------------------------------------------------


def test_reports_count_the_scratch_once(tmp_path: Path) -> None:
    before, after = PROGRAMS / "conv2d_x3.pte", tmp_path / "small.pte"
    optimize(before, after)
    old, new = (summarize(path).methods[0] for path in (before, after))
    assert (old.arenas[0].size_bytes, old.workspace.global_bytes) == (2560, 3568)
    assert (new.arenas[0].size_bytes, new.workspace.global_bytes) == (4272, 0)
    assert new.arenas[0].peak_bytes == new.arenas[0].bound_bytes == 4272
    assert new.arenas[0].live_bytes[new.arenas[0].peak_step or 0] == 4272
    assert any("holds the temp allocator: 3,568 B" in note for note in new.notes)
    rows = {row.label: row.size_bytes for row in other_rows(new, [program_sizes(after)])}
    assert rows["temp allocator in arena 1, 64-bit (host64)"] == 3568


def test_explain_counts_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(PROGRAMS / "two_delegates.pte")]) == 0
    text = capsys.readouterr().out
    assert "delegate workspace 5.63 kB" in text
    assert "38,400 B as it stands -> 20,480 B" in text


def test_the_log_of_the_runner(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = PROGRAMS / "conv2d_x3.pte", tmp_path / "small.pte"
    optimize(before, after)
    arguments = ["--target", "cortex-m55", "--runner", "--against", str(before)]
    assert main(["sizes", str(after), *arguments]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["method_allocator_planned", "2,560", "4,272"] in lines
    assert ["temp_allocator,", "needed", "3,568", "0"] in lines
    assert ["built", "inside", "planned", "memory", "-", "3,568"] in lines
