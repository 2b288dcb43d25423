"""The map as SVG and PNG: structure, colours, sizes, names, the same bytes every time."""

from __future__ import annotations

import io
import struct
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from onearena.errors import UsageError
from onearena.report.arena_map import (
    MAX_PANELS,
    WIDTH_PIXELS,
    arena_map_png,
    arena_map_svg,
    drawn_arenas,
    require_matplotlib,
)
from onearena.report.palette import KIND_COLOURS
from onearena.report.plain import plain
from onearena.summary.model import ArenaSummary, Kind, MethodSummary, ProgramSummary
from tests.report.golden_files import check_golden

pytest.importorskip("matplotlib")

SVG = "{http://www.w3.org/2000/svg}"


def groups(svg: bytes, prefix: str) -> dict[str, ET.Element]:
    """Elements of the picture by their ids."""
    found = ET.fromstring(svg).iter(f"{SVG}g")
    return {g.attrib["id"]: g for g in found if g.attrib.get("id", "").startswith(prefix)}


def style(group: ET.Element) -> dict[str, str]:
    path = group.find(f"{SVG}path")
    assert path is not None
    pairs = (part.partition(":") for part in path.attrib["style"].split(";"))
    return {key.strip(): value.strip() for key, _, value in pairs}


def texts(svg: bytes) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter(f"{SVG}text")]


def corners(group: ET.Element) -> tuple[float, float, float, float]:
    """Left, top, right, bottom in the picture."""
    path = group.find(f"{SVG}path")
    assert path is not None
    numbers = [float(word) for word in path.attrib["d"].split() if word not in "MLz"]
    return min(numbers[::2]), min(numbers[1::2]), max(numbers[::2]), max(numbers[1::2])


def all_kinds(summary: ProgramSummary) -> MethodSummary:
    """The first method with a block of every kind."""
    method = summary.methods[0]
    assert len(method.blocks) == len(Kind)
    blocks = tuple(replace(b, kind=kind) for b, kind in zip(method.blocks, Kind, strict=True))
    return replace(method, blocks=blocks)


def structure(svg: bytes) -> str:
    """What the picture says, without where exactly."""
    lines = []
    for name, group in groups(svg, "block-").items():
        title = group.find(f"{SVG}title")
        assert title is not None
        lines.append(f"{name} {style(group)['fill']} {title.text}")
    lines += [f"{name} {style(group)['fill']}" for name, group in groups(svg, "legend-").items()]
    return "\n".join([*lines, *(t for t in texts(svg) if not t[:1].isdigit())]) + "\n"


def test_structure(rich: ProgramSummary) -> None:
    svg = arena_map_svg(rich, rich.methods[0])
    check_golden("rich.svg.txt", structure(svg))
    method = rich.methods[0]
    names = {f"block-{b.number}-{k}" for b in method.blocks for k in range(len(b.rectangles))}
    assert set(groups(svg, "block-")) == names


def test_nothing_has_no_axis(empty: ProgramSummary, rich: ProgramSummary) -> None:
    method = empty.methods[0]
    nothing = ArenaSummary(1, 0, (0,) * len(method.steps), 0, None)
    for none in (replace(method, arenas=()), replace(method, arenas=(nothing,))):
        assert " B</text>" not in arena_map_svg(empty, none).decode()
    assert " B</text>" in arena_map_svg(rich, rich.methods[0]).decode()


def test_every_kind_has_its_colour(rich: ProgramSummary) -> None:
    method = all_kinds(rich)
    svg = arena_map_svg(rich, method)
    for block in method.blocks:
        assert (
            style(groups(svg, f"block-{block.number}-")[f"block-{block.number}-0"])["fill"]
            == (KIND_COLOURS[block.kind])
        )
    legend = {name: style(group)["fill"] for name, group in groups(svg, "legend-").items()}
    assert legend == {f"legend-{kind.value}": colour for kind, colour in KIND_COLOURS.items()}


def test_rectangles_are_where_their_bytes_are(rich: ProgramSummary) -> None:
    method = rich.methods[0]
    svg = arena_map_svg(rich, method)
    drawn = groups(svg, "block-")
    arena = method.arenas[0]
    whole = next(b for b in method.blocks if b.kind is Kind.STATE)
    left, _, right, _ = corners(drawn[f"block-{whole.number}-0"])
    step = (right - left) / len(method.steps)
    blocks = [b for b in method.blocks if b.arena == arena.memory_id]
    bottom = max(corners(drawn[f"block-{b.number}-0"])[3] for b in blocks)
    top = min(corners(drawn[f"block-{b.number}-0"])[1] for b in blocks)
    byte = (bottom - top) / arena.size_bytes
    for block in blocks:
        for number, r in enumerate(block.rectangles):
            x0, y0, x1, y1 = corners(drawn[f"block-{block.number}-{number}"])
            assert x0 == pytest.approx(left + r.start * step, abs=0.01)
            assert x1 == pytest.approx(left + r.end * step, abs=0.01)
            assert y0 == pytest.approx(bottom - r.high * byte, abs=0.01)
            assert y1 == pytest.approx(bottom - r.low * byte, abs=0.01)


def test_png(rich: ProgramSummary) -> None:
    image_module = pytest.importorskip("PIL.Image")
    method = all_kinds(rich)
    data = arena_map_png(rich, method)
    image = image_module.open(io.BytesIO(data)).convert("RGB")
    assert image.width == WIDTH_PIXELS
    assert image.height > 600
    colours = {colour: count for count, colour in image.getcolors(1 << 24)}
    for colour in KIND_COLOURS.values():
        rgb = tuple(int(colour[k : k + 2], 16) for k in (1, 3, 5))
        assert colours.get(rgb, 0) > 100, colour


def test_output_is_the_same_every_time_whatever_the_user_set(rich: ProgramSummary) -> None:
    import matplotlib

    first = (arena_map_png(rich, rich.methods[0]), arena_map_svg(rich, rich.methods[0]))
    with matplotlib.rc_context({"font.size": 30, "savefig.dpi": 300, "axes.grid": True}):
        assert (arena_map_png(rich, rich.methods[0]), arena_map_svg(rich, rich.methods[0])) == first
        assert matplotlib.rcParams["font.size"] == 30
    assert b"dc:date" not in first[1]
    assert b"Software" not in first[0]


def test_hostile_names_are_text_and_nothing_else(
    hostile: ProgramSummary, recwarn: pytest.WarningsRecorder
) -> None:
    for method in hostile.methods:
        svg = arena_map_svg(hostile, method)
        assert [t for t in texts(svg) if plain(method.name) in t]
        assert len(groups(svg, "block-")) == sum(len(b.rectangles) for b in method.blocks)
        assert not list(ET.fromstring(svg).iter(f"{SVG}script"))
        titles = [
            title.text
            for group in groups(svg, "block-").values()
            if (title := group.find(f"{SVG}title")) is not None
        ]
        assert len(titles) == len(method.blocks)
        assert all(title and plain(method.tensors[0].name) in title for title in titles)
        assert arena_map_png(hostile, method)[:4] == b"\x89PNG"
    assert not recwarn.list


def test_nothing_to_draw(empty: ProgramSummary) -> None:
    svg = arena_map_svg(empty, empty.methods[0])
    assert "no arenas" in texts(svg)
    assert not groups(svg, "block-")


def test_only_the_highest_arenas_are_drawn(rich: ProgramSummary) -> None:
    method = rich.methods[0]
    first = method.arenas[0]
    arenas = tuple(
        replace(first, memory_id=k, live_bytes=(k,) * len(method.steps)) for k in range(1, 21)
    )
    many = replace(method, arenas=arenas)
    assert [a.memory_id for a in drawn_arenas(many)] == list(range(21 - MAX_PANELS, 21))
    width, height = struct.unpack(">II", arena_map_png(rich, many)[16:24])
    assert width == WIDTH_PIXELS
    assert height < 4000


def test_without_matplotlib_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r'^pictures need matplotlib: pip install "onearena\[rep'):
        require_matplotlib()
