"""The map of a method's arenas as a picture: steps to the right, addresses upwards.

Needs matplotlib, which is an optional dependency. Output does not depend on the user's
settings, the date or the machine.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from onearena.errors import UsageError
from onearena.report.palette import KIND_COLOURS
from onearena.report.plain import clipped, plain
from onearena.report.text import both_units, size_text
from onearena.summary.model import KIND_WORDS, ArenaSummary, Block, MethodSummary, ProgramSummary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_PANELS = 8
"""Arenas that are drawn, those with the highest peaks."""

WIDTH_PIXELS = 1600
_DOTS_PER_INCH = 100
_PANEL_PIXELS, _HEAD_PIXELS, _MIN_PANEL_PIXELS = 700, 120, 300
_EDGE_PIXELS = 90
_LEFT_PIXELS = 110
_TITLE_CHARACTERS = 110
_INK, _BOUND, _PAPER, _UNUSED = "#333333", "#c81e1e", "#ffffff", "#f2f2f2"
_FRAMED_PIXELS = 3


def require_matplotlib() -> None:
    """Looks whether pictures can be drawn.

    Raises:
        UsageError: matplotlib is not installed.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UsageError('pictures need matplotlib: pip install "onearena[report]"') from None


def arena_map_png(summary: ProgramSummary, method: MethodSummary) -> bytes:
    """The picture as a PNG file, 1600 pixels wide.

    Raises:
        UsageError: matplotlib is not installed.
    """
    require_matplotlib()
    with _settings():
        out = io.BytesIO()
        _figure(summary, method).savefig(out, format="png", metadata={"Software": None})
        return out.getvalue()


def arena_map_svg(summary: ProgramSummary, method: MethodSummary) -> bytes:
    """The picture as an SVG file, in which every rectangle has a title that names its tensors.

    Raises:
        UsageError: matplotlib is not installed.
    """
    require_matplotlib()
    with _settings():
        out = io.BytesIO()
        facts = {"Date": None, "Creator": None}
        _figure(summary, method).savefig(out, format="svg", metadata=facts)
    return _with_titles(out.getvalue().decode(), method).encode()


@contextmanager
def _settings() -> Iterator[None]:
    """Matplotlib's own defaults in place of the user's, and what makes output repeatable."""
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        # a name may hold a character that the font lacks: it is drawn as a box
        warnings.filterwarnings("ignore", message="Glyph")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(
            {
                "figure.dpi": _DOTS_PER_INCH,
                "savefig.dpi": _DOTS_PER_INCH,
                "font.family": "DejaVu Sans",
                "text.parse_math": False,
                "text.color": _INK,
                "axes.labelcolor": _INK,
                "svg.fonttype": "none",
                "svg.hashsalt": "onearena",
                "path.simplify": False,
            }
        )
        yield


def drawn_arenas(method: MethodSummary) -> tuple[ArenaSummary, ...]:
    """The arenas that are in the picture, by number."""
    used = sorted(method.arenas, key=lambda a: (-a.peak_bytes, -a.size_bytes, a.memory_id))
    return tuple(sorted(used[:MAX_PANELS], key=lambda a: a.memory_id))


def _figure(summary: ProgramSummary, method: MethodSummary) -> Figure:
    from matplotlib.figure import Figure

    arenas = drawn_arenas(method)
    count = max(len(arenas), 1)
    panel = max(_PANEL_PIXELS // count, _MIN_PANEL_PIXELS)
    height = _HEAD_PIXELS + count * (panel + _EDGE_PIXELS)
    figure = Figure((WIDTH_PIXELS / _DOTS_PER_INCH, height / _DOTS_PER_INCH), facecolor=_PAPER)
    name = f"{plain(PurePath(summary.path).name)}, method {plain(method.name)}"
    top = 1 - 30 / height
    figure.text(_LEFT_PIXELS / WIDTH_PIXELS, top, clipped(name, _TITLE_CHARACTERS), fontsize=15)
    width = 1 - (_LEFT_PIXELS + 30) / WIDTH_PIXELS
    for number in range(count):
        # from the top; the legend is between the title and the first panel
        bottom = height - _HEAD_PIXELS - number * (panel + _EDGE_PIXELS) - panel
        axes = figure.add_axes(
            (_LEFT_PIXELS / WIDTH_PIXELS, bottom / height, width, panel / height), facecolor=_UNUSED
        )
        if arenas:
            _draw_arena(axes, method, arenas[number])
        else:
            axes.set_title("no arenas", loc="left", fontsize=12)
            axes.set_xticks([])
            axes.set_yticks([])
    _legend(figure, method, 1 - 50 / height)
    return figure


def _draw_arena(axes: Axes, method: MethodSummary, arena: ArenaSummary) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

    blocks = [block for block in method.blocks if block.arena == arena.memory_id]
    highest = max((r.high for block in blocks for r in block.rectangles), default=0)
    axes.set_xlim(0, max(len(method.steps), 1))
    top = max(arena.size_bytes, highest)
    axes.set_ylim(0, max(top, 1))
    for block in blocks:
        _draw_block(axes, block)
    axes.axhline(arena.bound_bytes, color=_BOUND, linestyle="--", linewidth=1.2, gid="bound")
    if arena.peak_step is not None:
        middle = arena.peak_step + 0.5
        axes.axvline(middle, color=_INK, linestyle=":", linewidth=1.0, gid="peak")
    axes.set_title(_title(arena), loc="left", fontsize=12)
    axes.set_xlabel("step")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True) if top else NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: size_text(round(value))))


def _draw_block(axes: Axes, block: Block) -> None:
    from matplotlib.patches import Rectangle

    colour = KIND_COLOURS[block.kind]
    x0, y0 = axes.transData.transform((0, 0))
    for number, r in enumerate(block.rectangles):
        x1, y1 = axes.transData.transform((r.end - r.start, r.high - r.low))
        # an edge shows where one ends; a very small one would be nothing but edge
        is_framed = min(x1 - x0, y1 - y0) > _FRAMED_PIXELS
        patch = Rectangle(
            (r.start, r.low),
            r.end - r.start,
            r.high - r.low,
            facecolor=colour,
            edgecolor=_PAPER if is_framed else colour,
            linewidth=0.5,
            gid=f"block-{block.number}-{number}",
        )
        axes.add_patch(patch)


def _title(arena: ArenaSummary) -> str:
    return (
        f"arena {arena.memory_id}: {both_units(arena.size_bytes)}, "
        f"most alive {arena.peak_bytes:,} B (dotted), "
        f"no plan for this order needs less than {arena.bound_bytes:,} B (dashed)"
    )


def _legend(figure: Figure, method: MethodSummary, top: float) -> None:
    """The kinds that there are."""
    from matplotlib.patches import Patch

    kinds = {block.kind for block in method.blocks}
    if not kinds:
        return
    named = [(kind, colour) for kind, colour in KIND_COLOURS.items() if kind in kinds]
    legend = figure.legend(
        handles=[Patch(color=colour, label=KIND_WORDS[kind]) for kind, colour in named],
        loc="upper left",
        bbox_to_anchor=((_LEFT_PIXELS - 8) / WIDTH_PIXELS, top),
        ncols=len(KIND_COLOURS),
        frameon=False,
    )
    for handle, (kind, _) in zip(legend.legend_handles, named, strict=True):
        if handle is not None:
            handle.set_gid(f"legend-{kind.value}")


def _with_titles(svg: str, method: MethodSummary) -> str:
    """What a browser shows while the pointer is over a rectangle."""
    pieces = svg.split('<g id="block-')
    titled = [pieces[0]]
    for piece in pieces[1:]:
        number, _, rest = piece.partition("-")
        name, _, content = rest.partition('">')
        title = escape(_block_title(method, method.blocks[int(number)]))
        titled.append(f'{number}-{name}"><title>{title}</title>{content}')
    return '<g id="block-'.join(titled)


def _block_title(method: MethodSummary, block: Block) -> str:
    tensors = [method.tensors[number] for number in block.tensors]
    return "; ".join(
        f"{plain(t.name)}: {t.size_bytes:,} B at {t.offset:,}, {plain(t.description)}"
        for t in tensors
    )
