"""The report in a real browser: Chromium, opened from disk."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from benchmarks.browser import VARIABLE, find_chromium, open_browser
from benchmarks.report_speed import synthetic_program

from onearena.report.html import html_report
from onearena.summary.model import ProgramSummary

pytest.importorskip("playwright", reason="playwright is not installed: requirements/browser.txt")
pytestmark = pytest.mark.skipif(
    find_chromium() is None, reason=f"no Chromium on the path, and none named in {VARIABLE}"
)

WIDTH, HEIGHT = 1400, 900
MAP, CURVE = 0, 1
Opener = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as found:
        yield found


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Opener]:
    """Opens the report of one or two programs; what went wrong in the page fails the test."""
    problems: list[str] = []
    contexts = []

    def open_page(*programs: ProgramSummary, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: problems.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: check_request(request.url, problems))
        page.on("dialog", lambda dialog: problems.append(f"a dialog: {dialog.message}"))
        path = tmp_path / f"report{len(contexts)}.html"
        path.write_text(html_report(*programs), encoding="utf-8")
        page.goto(path.as_uri())
        settle(page)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []


def check_request(url: str, problems: list[str]) -> None:
    if not url.startswith(("file:", "data:")):
        problems.append(f"asks for {url}")


def settle(page: Any) -> None:
    """What was asked for is drawn in the next frame, and said in the one after it."""
    for _ in range(3):
        page.evaluate("() => new Promise((done) => requestAnimationFrame(done))")


def view(page: Any, pane: int = 0) -> dict[str, float]:
    found: dict[str, float] = page.evaluate("(k) => window.onearena.panes[k].view()", pane)
    return found


def plot(page: Any, number: int) -> Any:
    return page.locator(".plot").nth(number)


def place(page: Any, item: int) -> dict[str, Any]:
    """Where the middle of an item is, within the map."""
    found: dict[str, Any] = page.evaluate("(k) => window.onearena.panes[0].place(k)", item)
    return found


def point(page: Any, item: int) -> dict[str, Any]:
    at = place(page, item)
    plot(page, MAP).hover(position={"x": at["x"], "y": at["y"]})
    settle(page)
    return at


def said(page: Any) -> str:
    text: str = page.locator("#live").text_content()
    return text


def press(page: Any, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)
    settle(page)


def picture(page: Any, number: int) -> str:
    """The lower canvas of a plot."""
    found: str = plot(page, number).evaluate("n => n.querySelector('canvas').toDataURL()")
    return found


def colours_of(page: Any, number: int) -> int:
    """How many colours are on the lower canvas of a plot."""
    script = """(node) => {
      const canvas = node.querySelector("canvas");
      const copy = document.createElement("canvas");
      [copy.width, copy.height] = [canvas.width, canvas.height];
      const context = copy.getContext("2d", { willReadFrequently: true });
      context.drawImage(canvas, 0, 0);
      const { data } = context.getImageData(0, 0, copy.width, copy.height);
      return new Set(new Uint32Array(data.buffer)).size;
    }"""
    found: int = plot(page, number).evaluate(script)
    return found


def test_everything_is_drawn(opened: Opener, rich: ProgramSummary) -> None:
    page = opened(rich)
    assert page.title() == "Memory of rich.pte"
    assert page.locator(".drawing").count() == len(rich.methods)
    for number in range(2 * len(rich.methods)):
        assert colours_of(page, number) > 5, f"plot {number} is blank"
    rectangles = sum(len(block.rectangles) for block in rich.methods[0].blocks)
    drawn = page.evaluate("() => window.onearena.panes[0].drawn()")
    calls = sum(bool(bytes_) for bytes_ in set(rich.methods[0].workspace_by_step))
    assert drawn == rectangles + calls


def test_hovering_tells_all_about_a_tensor(opened: Opener, rich: ProgramSummary) -> None:
    page = opened(rich)
    method = rich.methods[0]
    for number, block in enumerate(method.blocks):
        tensor = method.tensors[block.tensors[0]]
        point(page, number)
        tip = page.locator("#tip").inner_text()
        assert tensor.name in tip
        assert f"{tensor.dtype} {'at most ' if tensor.is_dynamic else ''}{tensor.shape_text}" in tip
        assert f"{tensor.size_bytes:,} B" in tip
        assert f"{tensor.offset:,} in arena {tensor.arena}" in tip
        for step in (*tensor.producers, *tensor.consumers):
            assert method.steps[step].where in tip
        assert f"{tensor.lifetime[-1].end - 1}" in tip
    page.mouse.move(5, 5)
    assert not page.locator("#tip").is_visible()


def test_hovering_the_curve_tells_what_runs(opened: Opener, rich: ProgramSummary) -> None:
    page = opened(rich)
    method = rich.methods[0]
    width = plot(page, CURVE).bounding_box()["width"]
    plot(page, CURVE).hover(position={"x": width - 20, "y": 90})
    settle(page)
    tip = page.locator("#tip").inner_text()
    last = len(method.steps) - 1
    assert f"step {last}" in tip
    assert method.steps[last].where in tip
    assert str(method.arenas[0].live_bytes[last]) in tip.replace(",", "")


def test_wheel_zooms_and_drag_moves(opened: Opener) -> None:
    page = opened(synthetic_program(300))
    everything = view(page)
    plot(page, MAP).hover(position={"x": 500, "y": 200})
    settle(page)
    page.mouse.wheel(0, -600)
    settle(page)
    nearer = view(page)
    assert nearer["x1"] - nearer["x0"] < 0.6 * (everything["x1"] - everything["x0"])
    assert (nearer["y0"], nearer["y1"]) == (everything["y0"], everything["y1"])
    page.keyboard.down("Shift")
    page.mouse.wheel(0, -600)
    page.keyboard.up("Shift")
    settle(page)
    flat = view(page)
    assert flat["y1"] - flat["y0"] < 0.6 * (everything["y1"] - everything["y0"])
    assert flat["x1"] - flat["x0"] == pytest.approx(nearer["x1"] - nearer["x0"])
    page.mouse.down()
    page.mouse.move(300, page.viewport_size["height"] / 2, steps=4)
    page.mouse.up()
    settle(page)
    moved = view(page)
    assert moved["x0"] != flat["x0"]
    assert moved["x1"] - moved["x0"] == pytest.approx(flat["x1"] - flat["x0"])
    assert page.locator(".details h4").first.inner_text() == "Selected", "a drag is no click"
    plot(page, MAP).dblclick(position={"x": 300, "y": 20})
    settle(page)
    assert view(page) == everything


def test_wheel_goes_on_scrolling_the_page(opened: Opener) -> None:
    page = opened(synthetic_program(300))
    everything = view(page)
    box = plot(page, MAP).bounding_box()
    page.mouse.move(box["x"] + 400, box["y"] - 5)
    for _ in range(4):
        page.mouse.wheel(0, 40)
        page.wait_for_timeout(50)
    assert page.evaluate("scrollY") > 60
    assert view(page) == everything, "the map came under the pointer, and is left alone"
    page.wait_for_timeout(500)
    page.mouse.wheel(0, -120)
    settle(page)
    assert view(page) != everything


def test_curve_and_map_zoom_together(opened: Opener) -> None:
    page = opened(synthetic_program(300))
    before = picture(page, MAP)
    plot(page, CURVE).hover(position={"x": 500, "y": 90})
    settle(page)
    page.mouse.wheel(0, -900)
    settle(page)
    assert view(page)["x0"] > 0
    assert picture(page, MAP) != before


def test_buttons_zoom(opened: Opener) -> None:
    page = opened(synthetic_program(300))
    everything = view(page)
    page.get_by_role("button", name="Zoom in").click()
    settle(page)
    assert view(page)["x1"] < everything["x1"]
    page.get_by_role("button", name="Zoom out").click()
    settle(page)
    assert view(page) == everything
    page.get_by_role("button", name="Show workspace only").click()
    settle(page)
    assert view(page)["y0"] > 0
    page.get_by_role("button", name="Reset").click()
    settle(page)
    assert view(page) == everything


def test_keyboard_goes_from_block_to_block(opened: Opener, rich: ProgramSummary) -> None:
    page = opened(rich)
    method = rich.methods[0]
    reached = ""
    for _ in range(20):
        page.keyboard.press("Tab")
        settle(page)
        reached = page.evaluate("document.activeElement.getAttribute('aria-roledescription') || ''")
        if reached == "arena map":
            break
    assert reached == "arena map"
    heard = set()
    for _ in range(len(method.blocks) + 2):
        press(page, "ArrowRight")
        heard.add(said(page).split(",")[0])
        assert page.locator("#tip").is_visible()
    names = {method.tensors[block.tensors[0]].name for block in method.blocks}
    assert names <= heard
    press(page, "ArrowUp", "Home", "+")
    assert re.match(r"steps \d+ to \d+ of \d+", said(page))
    press(page, "Enter")
    assert said(page).startswith("Following ")
    assert page.locator(".details").first.get_by_role("button", name="Let go").is_visible()
    press(page, "Escape")
    assert said(page) == "Nothing is followed"


def test_keyboard_goes_along_the_curve(opened: Opener, rich: ProgramSummary) -> None:
    page = opened(rich)
    method = rich.methods[0]
    plot(page, CURVE).focus()
    peak = method.peak_arena()
    assert peak is not None
    press(page, "p")
    assert said(page).startswith(f"step {peak.peak_step}, ")
    press(page, "End")
    assert method.steps[-1].where in said(page)
    press(page, "Enter")
    assert page.locator(".alive h4").first.inner_text().startswith(f"Step {len(method.steps) - 1}")
    press(page, "Escape")
    assert page.locator(".alive h4").first.inner_text().startswith("Peak")


def veil(page: Any) -> int:
    """How much is drawn over the map's upper right corner, where no block is: 0 to 255."""
    script = """(node) => {
      const copy = document.createElement("canvas");
      const context = copy.getContext("2d", { willReadFrequently: true });
      const top = node.querySelector("canvas.top");
      context.drawImage(top, 40 - top.width, 0);
      return context.getImageData(1, 16, 1, 1).data[3];
    }"""
    found: int = plot(page, MAP).evaluate(script)
    return found


def test_following_a_tensor(opened: Opener, rich: ProgramSummary) -> None:
    page = opened(rich)
    method = rich.methods[0]
    at = place(page, 0)
    plot(page, MAP).click(position={"x": at["x"], "y": at["y"]}, button="right")
    settle(page)
    page.mouse.move(5, 5)
    settle(page)
    assert veil(page) == 0
    plot(page, MAP).click(position={"x": at["x"], "y": at["y"]})
    settle(page)
    page.mouse.move(5, 5)
    settle(page)
    assert veil(page) > 100
    panel = page.locator(".details").first
    tensor = method.tensors[method.blocks[0].tensors[0]]
    assert panel.locator("h4").inner_text().startswith(tensor.name)
    results = [t for t in method.tensors if set(t.producers) & set(tensor.consumers)]
    assert results
    for result in results:
        if result.block != tensor.block:
            assert panel.get_by_role("button", name=result.name, exact=True).count() == 1
    following = next(result for result in results if result.block != tensor.block)
    panel.get_by_role("button", name=following.name, exact=True).click()
    settle(page)
    assert panel.locator("h4").inner_text().startswith(following.name)
    panel.get_by_role("button", name="Let go").click()
    settle(page)
    assert veil(page) == 0


def test_following_through_a_closed_call(opened: Opener, rich: ProgramSummary) -> None:
    page = opened(rich)
    method = rich.methods[0]
    number, step = next((k, s) for k, s in enumerate(method.steps) if s.delegate is not None)
    taken = [t for t in method.tensors if number in t.consumers]
    [call] = {step.instruction}
    given = [
        t for t in method.tensors if any(method.steps[p].instruction == call for p in t.producers)
    ]
    assert taken
    assert given
    point(page, given[0].block)
    page.mouse.down()
    page.mouse.up()
    links = page.locator(".details").first.locator(".links").first.inner_text()
    assert links.startswith("made from")
    assert taken[0].name in links


def test_names_of_one_memory_are_one_block(opened: Opener, aliased: ProgramSummary) -> None:
    page = opened(aliased)
    method = aliased.methods[0]
    at = place(page, 1)
    plot(page, MAP).click(position={"x": at["x"], "y": at["y"]})
    settle(page)
    names = page.locator(".details").first.locator("ul").first.inner_text()
    for number in method.blocks[1].tensors:
        assert method.tensors[number].name in names


def test_list_at_the_peak(opened: Opener, rich: ProgramSummary) -> None:
    page = opened(rich)
    method = rich.methods[0]
    arena = method.peak_arena()
    assert arena is not None
    assert arena.peak_step is not None
    rows = page.locator(".alive").first.locator("tbody tr").all_inner_texts()
    alive = method.alive_at(arena.peak_step, arena.memory_id)
    assert len(rows) == len(alive)
    for row, tensor in zip(rows, alive, strict=True):
        assert tensor.name in row
        assert f"{tensor.size_bytes:,} B" in row
        assert f"{100 * tensor.size_bytes / arena.peak_bytes:.1f} %" in row or "< 0.1 %" in row


def test_every_step_can_be_listed(opened: Opener) -> None:
    program = synthetic_program(1000)  # with buffers that live long, and many that do not
    method = program.methods[0]
    page = opened(program)
    width = plot(page, CURVE).bounding_box()["width"]
    for step in range(0, 1000, 97):
        x = 74 + (width - 2 - 74 - 14) * (step + 0.5) / len(method.steps)
        plot(page, CURVE).click(position={"x": x, "y": 90})
        settle(page)
        heading = page.locator(".alive h4").inner_text()
        listed = int(heading.split()[1])
        assert abs(listed - step) <= 1, "the pointer is on whole pixels"
        alive = method.alive_at(listed, 1)
        assert alive[0].name in page.locator(".alive tbody tr").first.inner_text()
        rows = page.locator(".alive tbody tr").count()
        assert rows == min(12, len(alive))


def test_each_arena_can_be_listed(opened: Opener, rich: ProgramSummary) -> None:
    page = opened(rich)
    method = rich.methods[0]
    fast = next(t for t in method.tensors if t.arena == 2)
    plot(page, CURVE).focus()
    peak = method.arenas[0].peak_step
    assert peak is not None
    press(page, "p", *["ArrowRight"] * (fast.lifetime[0].start - peak), "Enter")
    alive = page.locator(".alive").first
    assert fast.name not in alive.inner_text()
    alive.get_by_role("button", name="arena 2").click()
    settle(page)
    assert alive.get_by_role("button", name="arena 2").get_attribute("aria-pressed") == "true"
    assert fast.name in alive.locator("tbody").inner_text()
    assert "100.0 %" in alive.locator("tbody").inner_text()


def test_the_step_that_needs_most_with_workspaces(opened: Opener, rich: ProgramSummary) -> None:
    page = opened(rich)
    method = rich.methods[0]
    needs = [
        sum(arena.live_bytes[step] for arena in method.arenas) + (bytes_ or 0)
        for step, bytes_ in enumerate(method.workspace_by_step)
    ]
    page.locator(".alive").first.get_by_role("button", name="Peak with workspace").click()
    heading = page.locator(".alive h4").first.inner_text()
    assert heading.startswith(f"Step {needs.index(max(needs))} ")


def test_unknown_is_said_not_shown_as_zero(opened: Opener, rich: ProgramSummary) -> None:
    page = opened(rich)
    decode = page.locator("section.method").nth(1)
    cards = decode.locator(".card").all_inner_texts()
    assert any("unknown" in card for card in cards)
    assert "workspace unknown" in decode.locator(".legend").nth(1).inner_text()
    assert "workspace unknown" in decode.locator(".alive").inner_text()
    nothing = replace(rich.methods[1], workspace_by_step=(0,) * len(rich.methods[1].steps))
    other = opened(replace(rich, methods=(rich.methods[0], nothing)))
    assert picture(page, 2 + CURVE) != picture(other, 2 + CURVE)
    number = len(rich.methods[1].blocks)
    at = page.evaluate("(k) => window.onearena.panes[1].place(k)", number)
    decode.locator(".plot").first.hover(position={"x": at["x"], "y": at["y"]})
    settle(page)
    assert "unknown: the file does not tell" in page.locator("#tip").inner_text()


def test_table_is_searched_and_sorted(opened: Opener) -> None:
    program = synthetic_program(250)
    page = opened(program)
    tensors = program.methods[0].tensors
    page.locator("summary", has_text="All tensors").click()
    settle(page)
    table = page.locator("details.tensors")
    rows = table.locator("tbody tr")
    rows.nth(99).wait_for()  # they are made when the browser tells that the table was opened
    assert rows.count() == 100
    largest = max(tensors, key=lambda t: t.size_bytes)
    assert f"{largest.size_bytes:,}" in rows.first.inner_text()
    assert "1 to 100 of 250" in table.inner_text()
    assert table.get_by_role("button", name="Previous").is_disabled()
    table.get_by_role("button", name="Next").click()
    settle(page)
    assert "101 to 200 of 250" in table.inner_text()
    table.get_by_role("button", name="offset").click()
    settle(page)
    head = table.locator("th[aria-sort]")
    assert (head.count(), head.get_attribute("aria-sort")) == (1, "descending")
    table.get_by_role("button", name="offset").click()
    settle(page)
    offsets = [
        int(text.replace(",", "")) for text in rows.locator("td:nth-child(6)").all_inner_texts()
    ]
    assert offsets == sorted(t.offset for t in tensors)[:100]
    assert table.get_by_role("button", name="Previous").is_disabled(), "sorting starts anew"
    table.locator("input").fill("attention.7")
    settle(page)
    wanted = [t for t in tensors if "attention.7" in t.name]
    assert rows.count() == len(wanted)
    rows.first.get_by_role("button").click()
    settle(page)
    assert page.evaluate("document.activeElement.className").startswith("plot")


def test_two_files_side_by_side(opened: Opener, rich: ProgramSummary) -> None:
    small, large = synthetic_program(100, seed=1), synthetic_program(120, seed=2)
    page = opened(small, large)
    boxes = [pane.bounding_box() for pane in page.locator(".pane").all()]
    assert len(boxes) == 2
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    assert boxes[0]["y"] == boxes[1]["y"]
    first, second = view(page, 0), view(page, 1)
    assert first["y1"] == second["y1"], "one scale of bytes"
    assert first["x1"] != second["x1"]
    cells = page.locator(".totals").first.locator("tr.sum td").all_inner_texts()
    old, new = small.methods[0].total_bytes, large.methods[0].total_bytes
    assert old
    assert new
    assert f"{old:,} B" in cells[0]
    assert f"{new:,} B" in cells[1]
    assert cells[2] == f"{new / old:.3f}"
    one = opened(rich, small)
    assert "This file has no method decode" in one.locator("section.method").nth(1).inner_text()


def test_dark_and_light(opened: Opener, rich: ProgramSummary) -> None:
    def colours(page: Any) -> tuple[str, str]:
        style = "getComputedStyle(document.body)"
        return page.evaluate(f"{style}.backgroundColor"), page.evaluate(f"{style}.color")

    light = opened(rich, color_scheme="light")
    dark = opened(rich, color_scheme="dark")
    assert colours(light) == ("rgb(255, 255, 255)", "rgb(27, 34, 42)")
    assert colours(dark)[0] == "rgb(18, 23, 29)"
    assert picture(light, MAP) != picture(dark, MAP)
    bright = picture(light, MAP)
    toggle = light.get_by_role("button", name="Colours")
    toggle.click()
    settle(light)
    assert toggle.inner_text() == "Colours: light"
    toggle.click()
    settle(light)
    assert toggle.inner_text() == "Colours: dark"
    assert colours(light) == colours(dark)
    assert picture(light, MAP) == picture(dark, MAP)
    toggle.click()
    settle(light)
    light.emulate_media(color_scheme="dark")
    settle(light)
    assert picture(light, MAP) != bright, "automatic follows the system while the page is open"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(opened: Opener, rich: ProgramSummary, scheme: str) -> None:
    page = opened(rich, rich, color_scheme=scheme)
    page.locator("summary").first.click()
    settle(page)
    script = """() => {
      const parse = (text) => text.match(/[\\d.]+/g).map(Number);
      const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
        .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
        .reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
      const behind = (node) => {
        for (let at = node; at; at = at.parentElement) {
          const colour = parse(getComputedStyle(at).backgroundColor);
          if (colour.length === 3 || colour[3] === 1) return colour;
        }
        throw Error("nothing behind");
      };
      const found = [];
      for (const node of document.querySelectorAll("body *")) {
        const own = [...node.childNodes].some((c) => c.nodeType === 3 && c.textContent.trim());
        if (!own || !node.checkVisibility() || node.closest("script, style, .unseen")) continue;
        if (node.disabled) continue;
        const pair = [parse(getComputedStyle(node).color), behind(node)].map(light);
        const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
        found.push([ratio, node.tagName, node.textContent.slice(0, 40)]);
      }
      return found;
    }"""
    found = page.evaluate(script)
    assert len(found) > 50
    assert [row for row in found if row[0] < 4.5] == []


def test_labels_on_every_kind_have_contrast(opened: Opener, rich: ProgramSummary) -> None:
    for scheme in ("light", "dark"):
        page = opened(rich, color_scheme=scheme)
        script = """() => { const style = getComputedStyle(document.documentElement);
          return ["input", "output", "activation", "opened", "scratch", "state", "workspace"]
            .map((kind) => style.getPropertyValue("--kind-" + kind).trim()); }"""
        for colour in page.evaluate(script):
            channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
            linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
            light = sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
            ratio = (light + 0.05) / 0.05 if light > 0.18 else 1.05 / (light + 0.05)
            assert ratio >= 4.5, (scheme, colour)


def test_printing_unfolds_everything_in_light_colours(opened: Opener) -> None:
    program = synthetic_program(250)
    page = opened(program, color_scheme="dark")
    assert page.locator("details[open]").count() == 0
    screen = picture(page, MAP)
    page.emulate_media(media="print")
    settle(page)
    assert page.locator("details").count() == page.locator("details[open]").count()
    assert page.locator("details.tensors tbody tr").count() == 250
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("#theme").is_visible()
    assert picture(page, MAP) != screen
    page.emulate_media(media="screen")
    settle(page)
    assert page.locator("details[open]").count() == 0
    assert picture(page, MAP) == screen
    assert page.pdf().startswith(b"%PDF")


def test_controls_have_names_and_order(opened: Opener, rich: ProgramSummary) -> None:
    page = opened(rich, rich)
    page.keyboard.press("Tab")
    settle(page)
    assert page.evaluate("document.activeElement.className") == "skip"
    for summary in page.locator("summary").all():
        summary.click()
        settle(page)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, a, input, select, [tabindex], [role=img]")]
        .filter((node) => !(node.getAttribute("aria-label") || node.textContent.trim()
          || [...(node.labels ?? [])].some((label) => label.textContent.trim())))
        .map((node) => node.outerHTML.slice(0, 80))"""
    )
    assert nameless == []
    assert page.locator("[tabindex]").evaluate_all("nodes => nodes.every((n) => n.tabIndex <= 0)")
    for node in page.locator(".plot").all():
        assert node.get_attribute("role") == "application"
        label = node.get_attribute("aria-label")
        assert "peak" in label
        assert "rrow keys" in label
        assert node.locator("canvas").nth(0).get_attribute("role") == "img"
        assert node.locator("canvas").nth(1).get_attribute("aria-hidden") == "true"
    levels = page.locator("h1, h2, h3, h4, h5").evaluate_all(
        "nodes => nodes.map((n) => Number(n.tagName[1]))"
    )
    assert levels[0] == 1
    assert all(b <= a + 1 for a, b in pairwise(levels)), levels
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.locator("table:not(:has(th[scope=col]))").count() == 0


def test_hostile_names_do_nothing(opened: Opener, hostile: ProgramSummary) -> None:
    page = opened(hostile, hostile)
    assert page.locator("script").count() == 2
    assert page.locator("main script, main g, main img").count() == 0
    for summary in page.locator("summary").all():
        summary.click()
        settle(page)
    plot(page, MAP).focus()
    press(page, "ArrowRight", "Enter")
    assert '<script>alert("&")</script>' in page.locator("main").inner_text()


def test_programs_without_a_plan(
    opened: Opener, empty: ProgramSummary, no_methods: ProgramSummary
) -> None:
    page = opened(empty)
    assert "Nothing is planned in this method" in page.locator("main").inner_text()
    page.locator(".plot").first.focus()
    press(page, "ArrowRight", "+", "Enter", "p", "End")
    assert opened(no_methods).locator(".drawing").count() == 0
    opened(no_methods, empty)


def test_a_tensor_that_is_never_used(opened: Opener, unused: ProgramSummary) -> None:
    page = opened(unused)
    page.locator("summary", has_text="All tensors").first.click()
    settle(page)
    page.locator("details.tensors").first.get_by_role("button", name="unused").click()
    settle(page)
    assert "never used" in page.locator(".details").first.inner_text()
    press(page, "+", "ArrowRight", "ArrowUp", "Home", "Escape")
    assert view(page)["x0"] == 0


def test_absurd_sizes_are_drawn(opened: Opener, rich: ProgramSummary) -> None:
    method = rich.methods[0]
    arenas = tuple(replace(arena, size_bytes=2**62) for arena in method.arenas)
    page = opened(replace(rich, methods=(replace(method, arenas=arenas),)))
    for _ in range(80):
        page.evaluate("() => window.onearena.panes[0].zoom(0.5)")
    settle(page)
    seen = view(page)
    assert 0 < seen["y1"] - seen["y0"] < 2**40
    assert "4,611,686,018,427,387,904 B" in page.locator(".totals").first.inner_text()


def test_a_finger_moves_and_two_zoom(opened: Opener) -> None:
    page = opened(synthetic_program(300), has_touch=True)
    everything = view(page)
    script = """([left, top, moves]) => {
      const host = document.querySelector(".plot");
      host.setPointerCapture = () => {};
      for (const [type, id, x, y] of moves) {
        host.dispatchEvent(new PointerEvent(type, { pointerId: id, pointerType: "touch", button: 0,
          clientX: left + x, clientY: top + y, bubbles: true }));
      }
    }"""
    box = plot(page, MAP).bounding_box()
    spread = [
        ("pointerdown", 1, 400, 200),
        ("pointerdown", 2, 500, 200),
        ("pointermove", 2, 800, 200),
        ("pointerup", 1, 400, 200),
        ("pointerup", 2, 800, 200),
    ]
    page.evaluate(script, [box["x"], box["y"], spread])
    settle(page)
    zoomed = view(page)
    assert zoomed["x1"] - zoomed["x0"] == pytest.approx(everything["x1"] / 4, rel=0.01)
    drag = [("pointerdown", 3, 400, 200), ("pointermove", 3, 300, 200), ("pointerup", 3, 300, 200)]
    page.evaluate(script, [box["x"], box["y"], drag])
    settle(page)
    assert view(page)["x0"] > zoomed["x0"]


def test_a_program_of_many_buffers_opens(opened: Opener) -> None:
    program = synthetic_program(10_000)
    page = opened(program)
    assert page.evaluate("() => window.onearena.panes[0].drawn()") > 3_000
    page.evaluate("() => window.onearena.panes[0].zoom(0.05)")
    settle(page)
    assert 0 < page.evaluate("() => window.onearena.panes[0].drawn()") < 3_000


def test_no_axis_where_there_is_nothing(opened: Opener, empty: ProgramSummary) -> None:
    script = """(node) => {
      const canvas = node.querySelector("canvas");
      const copy = document.createElement("canvas");
      [copy.width, copy.height] = [60, canvas.height];
      const context = copy.getContext("2d", { willReadFrequently: true });
      context.drawImage(canvas, 0, 0);
      const { data } = context.getImageData(0, 0, copy.width, copy.height);
      return new Set(new Uint32Array(data.buffer)).size;
    }"""
    page = opened(empty)
    assert page.locator(".plot").count() == 1  # there is no map
    assert plot(page, 0).evaluate(script) == 1
    plot(page, 0).hover()
    settle(page)
    assert "workspace" not in page.locator("#tip").inner_text()
    page = opened(synthetic_program(10))
    assert plot(page, CURVE).evaluate(script) > 1


def test_a_table_that_is_cut_shows_it(opened: Opener, rich: ProgramSummary) -> None:
    page = opened(rich, rich)
    page.set_viewport_size({"width": 400, "height": 800})
    settle(page)
    table = page.locator(".scroll:has(.totals)").first
    assert table.evaluate("node => node.scrollWidth > node.clientWidth")
    shades = """(node) => {
      const look = getComputedStyle(node);
      return [look.backgroundImage.split("linear-gradient").length - 1, look.backgroundAttachment];
    }"""
    assert table.evaluate(shades) == [4, "local, local, scroll, scroll"]
    assert page.evaluate("document.documentElement.scrollWidth <= 400")
