"""Reports as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from onearena.latency import Basis, Latency
from onearena.memory_map.use import MapUse
from onearena.report.plain import plain
from onearena.results import Footprint, MethodReport, Peak, ProgramReport, VerifyReport

_MB = 1_000_000


def size_text(size_bytes: int) -> str:
    """A size in a human unit (powers of ten)."""
    if size_bytes >= _MB:
        return f"{size_bytes / _MB:,.2f} MB"
    if size_bytes >= 1000:
        return f"{size_bytes / 1000:,.2f} kB"
    return f"{size_bytes} B"


def both_units(size_bytes: int) -> str:
    """A size in a human unit, and exactly."""
    exact = f"{size_bytes:,} B"
    return f"{size_text(size_bytes)} ({exact})" if size_bytes >= 1000 else exact


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells, the first column left, the others right aligned; the first row is a head."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def program_text(report: ProgramReport) -> str:
    """The report of `inspect` and `optimize`."""
    parts = [_head(report)]
    parts += method_blocks(
        (method.name, "\n".join(_method_lines(method))) for method in report.methods
    )
    parts += [f"note: {plain(note)}" for note in report.notes]
    return "\n\n".join(parts)


def method_blocks(bodies: Iterable[tuple[str, str]]) -> Iterable[str]:
    """What is said of each method under its name; methods in a row that are equal, like those
    that only return a constant, are said once.

    Args:
        bodies: pairs of a name and lines.
    """
    for body, group in groupby(bodies, key=lambda pair: pair[1]):
        names = [plain(name) for name, _ in group]
        title = f"method {names[0]}" if len(names) == 1 else f"methods {', '.join(names)}, each"
        yield f"{title}\n{body}"


def _head(report: ProgramReport) -> str:
    size = size_text(report.file_bytes_before)
    if report.output is None:
        return f"{plain(report.path)}  {size}"
    assert report.file_bytes_after is not None
    written = f"{plain(report.output)}  {size_text(report.file_bytes_after)}"
    return f"{plain(report.path)}  {size}  ->  {written}"


def _method_lines(method: MethodReport) -> Iterable[str]:
    yield _indent(table(_footprint_rows(method.before, method.after)))
    if method.unknown_backends:
        names = ", ".join(map(plain, method.unknown_backends))
        yield f"  not counted: what {names} allocates by itself, which is unknown"
    if method.memory_map is not None:
        yield from _region_lines(method.memory_map)
    elif method.memory_bytes:
        yield _indent(table([["memory_id", "bytes"], *_memory_rows(method)]))
    scope = "" if method.after else ", calls as they stand"
    if method.memory_map is not None:
        scope = "s, regions as chosen"
    elif method.memory_bytes:
        scope = "s, memories as they stand"
    yield (
        f"  lower bound of the arena{scope}  {method.lower_bound_bytes:,} B  (gap {method.gap:.2%}"
        f"{', proven optimal' if method.optimal else ''})"
    )
    if method.order_bound_bytes is not None:
        yield f"  lower bound over all orders  {method.order_bound_bytes:,} B{_order_text(method)}"
    yield (
        f"  delegate calls  {method.delegate_calls}, {method.opened_calls} opened"
        + (f";  state {method.state_bytes:,} B" if method.state_bytes else "")
        + (f";  pinned values {method.pinned_values}" if method.pinned_values else "")
    )
    if method.latency is not None:
        yield f"  latency  {_latency(method.latency)}"
    if method.peak is not None:
        yield from _peak_lines(method.peak)
    for note in method.notes:
        yield f"  note: {plain(note)}"


def _order_text(method: MethodReport) -> str:
    """How far the order is from the best one, for all that is known."""
    least, now = method.order_bound_bytes or 0, method.lower_bound_bytes
    if now <= least:
        return "  (no order needs less than this one)"
    return f"  (this order {(now - least) / least:.2%} above)" if least else ""


def _footprint_rows(before: Footprint, after: Footprint | None) -> list[list[str]]:
    rows = [["bytes", "before"] if after else ["bytes", ""]]
    if after is not None:
        rows[0] += ["after", "after/before"]
    for label, name in (
        ("arena (planned)", "arena_bytes"),
        ("XNNPACK workspace (predicted)", "workspace_bytes"),
        ("temp memory beside it", "temp_bytes"),
        ("total", "total_bytes"),
    ):
        old = getattr(before, name)
        if name == "temp_bytes" and not old:
            continue
        row = [label, f"{old:,}"]
        if after is not None:
            new = getattr(after, name)
            row += [f"{new:,}", f"{new / old:.3f}" if old else "-"]
        rows.append(row)
    if before.workspace_measured_bytes is not None:
        rows.insert(3, ["XNNPACK workspace (measured)", f"{before.workspace_measured_bytes:,}"])
    return rows


def _memory_rows(method: MethodReport) -> Iterable[list[str]]:
    for memory_id, size in method.memory_bytes.items():
        name = method.region_names.get(memory_id)
        yield [f"{memory_id} ({plain(name)})" if name else str(memory_id), f"{size:,}"]


def _region_lines(use: MapUse) -> Iterable[str]:
    rows = [["region", "memory_id", "bytes", "capacity", "lower bound", "tensors", "accesses"]]
    for region in use.regions:
        numbers = (
            region.size_bytes,
            region.capacity_bytes,
            region.lower_bound_bytes,
            region.tensors,
            region.access_bytes,
        )
        cells = [f"{number:,}" for number in numbers]
        rows.append([plain(region.name), str(region.memory_id), *cells])
    yield _indent(table(rows))
    proof = "proven least" if use.is_cheapest else f"at least {use.access_cost_bound:,}"
    yield f"  cost of the accesses  {use.access_cost:,}  ({proof}, gap {use.gap:.2%})"


def _latency(found: Latency) -> str:
    if found.basis is Basis.MODEL:
        return f"{found.ratio:.3f} of before, by a model of the work"
    return (
        f"{found.ratio:.3f} of before, measured here ({found.low:.3f} to {found.high:.3f}, "
        f"{found.pairs} pairs of runs)"
    )


def _peak_lines(peak: Peak) -> Iterable[str]:
    live = f"{size_text(peak.live_bytes)} ({peak.live_bytes:,} B)"
    yield f"  peak  {live} alive at {plain(peak.step)}"
    rows = [
        [
            f"    value {tensor.value}",
            f"{tensor.size_bytes:,} B",
            f"{tensor.size_bytes / peak.live_bytes:.0%}",
        ]
        for tensor in peak.tensors
    ]
    if rows:
        lines = table(rows).splitlines()
        for line, tensor in zip(lines, peak.tensors, strict=True):
            yield f"{line}  {plain(tensor.description)}"


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def verify_text(report: VerifyReport) -> str:
    """The report of `verify`."""
    count = len(report.methods)
    lines = [f"{plain(report.path)}: {count} method{'' if count == 1 else 's'} checked"]
    lines += [f"note: {plain(note)}" for note in report.notes]
    if report.safe:
        return "\n".join([*lines, "safe"])
    lines += [plain(f"{violation.kind}: {violation}") for violation in report.violations]
    found = len(report.violations)
    return "\n".join([*lines, f"NOT SAFE: {found} violation{'' if found == 1 else 's'}"])
