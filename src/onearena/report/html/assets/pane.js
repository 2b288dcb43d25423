// One method of one file: map, curve, lists, and what they have in common.

const CURVE_HEIGHT = 190;
const HIT_PIXELS = 2;
const SIDE_WIDTH = 1060; // from here on the lists stand beside the map

class Pane {
  constructor(root, method, label) {
    Object.assign(this, { root, method, label });
    Object.assign(this, { hover: null, focus: null, selected: null, hoverStep: null, related: null });
    this.drawn = 0;
    this.peakStep = peakArena(method)?.peak_step ?? null;
    this.step = this.peakStep;
    this.runs = instructionRuns(method);
    this.layers = curveLayers(method);
    this.fullPeak = fullPeak(method, this.layers);
    this.curveMax = curveTop(method);
    this.order = [...new Set(method.index.item)];
    this.places = new Map(this.order.map((item, k) => [item, k]));
    this.requestBase = oncePerFrame(() => this.drawBase());
    this.requestOverlay = oncePerFrame(() => this.drawTop());
    this.view = new View(method.stepCount, method.height, () => this.viewChanged());
    this.map = this.plot("Arena map", MAP_HELP);
    this.curve = this.plot("Live bytes", CURVE_HELP);
    this.build();
    this.listen();
  }

  // The larger of two files decides the scale of both.
  shareScale(height, curveMax) {
    this.view.maxY = height;
    this.curveMax = curveMax;
    this.view.reset();
  }

  plot(title, help) {
    const base = el("canvas", { role: "img", "aria-label": `${title} of ${this.label}` });
    const top = el("canvas", { "aria-hidden": "true", class: "top" });
    const host = el(
      "div",
      {
        class: "plot",
        tabindex: "0",
        role: "application",
        "aria-roledescription": title.toLowerCase(),
        "aria-label": `${title} of ${this.label}. ${this.summary()} ${help}`,
      },
      base,
      top,
    );
    return { host, base, top, frame: new Frame(this.view) };
  }

  summary() {
    const arena = peakArena(this.method);
    const items = plural(this.order.length, "block");
    if (!arena) return `${items}, ${plural(this.method.stepCount, "step")}.`;
    const peak = sizeText(arena.live[arena.peak_step]);
    return `${items}, ${plural(this.method.stepCount, "step")}, peak ${peak} at ${stepText(this.method, arena.peak_step)}.`;
  }

  build() {
    this.alive = new AliveList(this);
    this.details = new Details(this);
    this.table = new TensorTable(this);
    const hasPlan = this.order.length > 0;
    const plots = el(
      "div",
      { class: "plots" },
      hasPlan ? this.toolbar() : "",
      hasPlan ? this.map.host : "",
      this.legend(),
      el("h4", {}, "Live bytes by step"),
      this.curve.host,
      curveLegend(this),
    );
    const lists = el("div", { class: "lists" }, this.details.node, this.alive.node);
    this.root.append(el("div", { class: "split" }, plots, lists), this.table.node);
  }

  toolbar() {
    const { view } = this;
    const half = (factor) => () => view.zoom(factor, factor);
    const lanes = this.method.lanes.map((lane) =>
      button(lane.name, () => view.set(0, view.maxX, lane.base, lane.base + lane.size), {
        "aria-label": `Show ${lane.name} only`,
      }),
    );
    return el(
      "div",
      { class: "buttons", role: "group", "aria-label": `View of ${this.label}` },
      button("+", half(ZOOM_STEP), { "aria-label": "Zoom in", title: "Zoom in (+)" }),
      button("\u2212", half(1 / ZOOM_STEP), { "aria-label": "Zoom out", title: "Zoom out (\u2212)" }),
      button("Reset", () => view.reset(), { title: "Show everything (Home)" }),
      ...(lanes.length > 1 ? lanes : []),
      el("span", { class: "hint" }, "wheel: time \u00b7 Shift+wheel: addresses \u00b7 drag: move"),
    );
  }

  legend() {
    const used = KINDS.map((_, kind) => kind).filter((kind) => this.method.index.byKind[kind].length);
    const entry = (kind) => el("li", {}, swatch(kind), KIND_WORDS[kind]);
    return el("ul", { class: "legend", "aria-label": "Colours" }, ...used.map(entry));
  }

  listen() {
    installGestures(this, this.map, {
      vertical: true,
      onhover: (at, event) => this.hoverMap(at, event),
      onclick: (at) => {
        const found = this.itemAt(at);
        if (found === null || found === this.selected) this.clear();
        else this.select(found);
      },
      onleave: () => this.blur(),
    });
    installGestures(this, this.curve, {
      vertical: false,
      onhover: (at, event) => this.hoverCurve(at, event),
      onclick: (at) => this.listStep(this.stepAt(at)),
      onleave: () => this.blur(),
    });
    installMapKeys(this);
    installCurveKeys(this);
    new ResizeObserver(() => this.layout()).observe(this.root);
    themeListeners.push(() => this.viewChanged());
  }

  // On paper the style sheet scales what was drawn `printWidth` wide.
  layout() {
    this.root.classList.toggle("wide", this.root.clientWidth >= SIDE_WIDTH);
    const width = this.printWidth ?? this.map.host.clientWidth ?? 0;
    const inner = Math.max(240, width || this.curve.host.clientWidth);
    const tall = Math.round(Math.min(520, Math.max(320, inner * 0.45)));
    this.map.frame.resize(inner, tall, MAP_TOP, MAP_BOTTOM);
    this.curve.frame.resize(inner, CURVE_HEIGHT, CURVE_TOP, CURVE_BOTTOM);
    for (const { host, frame } of [this.map, this.curve]) host.style.height = `${frame.height}px`;
    this.drawBase();
  }

  viewChanged() {
    this.requestBase();
  }

  drawBase() {
    const { map, curve } = this;
    drawMap(this, sized(map.base, map.frame.width, map.frame.height));
    drawCurve(this, sized(curve.base, curve.frame.width, curve.frame.height));
    this.drawTop();
  }

  drawTop() {
    const { map, curve } = this;
    drawOverlay(this, sized(map.top, map.frame.width, map.frame.height));
    drawCurveOverlay(this, sized(curve.top, curve.frame.width, curve.frame.height));
  }

  stepAt({ x }) {
    const step = Math.floor(this.map.frame.step(x));
    return Math.min(this.method.stepCount - 1, Math.max(0, step));
  }

  itemAt(at) {
    const { frame } = this.map;
    if (!frame.holds(at.x, at.y)) return null;
    const found = this.method.index.hit(this.stepAt(at), frame.address(at.y), HIT_PIXELS / frame.pixelsPerByte);
    return found < 0 ? null : found;
  }

  hoverMap(at, event) {
    const inside = at.x >= LEFT && at.x <= this.map.frame.right;
    this.hoverStep = inside ? this.stepAt(at) : null;
    this.hover = this.itemAt(at);
    this.map.host.classList.toggle("pointing", this.hover !== null);
    if (this.hover !== null) {
      showTip(describeItem(this.method, this.method.items[this.hover], this.hoverStep), event.clientX, event.clientY);
    } else if (inside && at.y > this.map.frame.bottom) {
      showTip(describeStep(this.method, this.hoverStep), event.clientX, event.clientY);
    } else hideTip();
    this.requestOverlay();
  }

  hoverCurve(at, event) {
    this.hoverStep = at.x >= LEFT && at.x <= this.curve.frame.right ? this.stepAt(at) : null;
    if (this.hoverStep === null) hideTip();
    else showTip(describeStep(this.method, this.hoverStep), event.clientX, event.clientY);
    this.requestOverlay();
  }

  blur() {
    Object.assign(this, { hover: null, hoverStep: null });
    if (document.activeElement !== this.map.host) this.focus = null;
    hideTip();
    this.requestOverlay();
  }

  // By keyboard: shows and says the same as hovering does.
  focusTo(number) {
    if (number === null) return;
    this.focus = number;
    const item = this.method.items[number];
    const [start, end, low, high] = item.rectangles;
    this.view.reveal(start, end, item.base + low, item.base + high);
    const { frame, host } = this.map;
    const box = host.getBoundingClientRect();
    const description = describeItem(this.method, item, item.start);
    showTip(description, box.left + Math.max(LEFT, frame.x(start)), box.top + frame.y(item.base + low));
    say(description.sentence);
    this.requestOverlay();
  }

  visitStep(step) {
    this.hoverStep = step;
    this.view.reveal(step, step + 1, this.view.y0, this.view.y1);
    const { frame, host } = this.curve;
    const box = host.getBoundingClientRect();
    const description = describeStep(this.method, step);
    showTip(description, box.left + frame.x(step), box.top + 8);
    say(description.sentence);
    this.requestOverlay();
  }

  listStep(step) {
    this.step = step;
    this.alive.show(step);
    if (step !== null) say(`Listing what is alive at ${stepText(this.method, step)}`);
    this.requestOverlay();
  }

  select(number, fromList = false) {
    if (number === null || number < 0) return;
    this.selected = number;
    this.related = relatedItems(this.method, number);
    this.details.show(number);
    const item = this.method.items[number];
    const [start, end, low, high] = item.rectangles;
    if (item.rectangles.length) this.view.reveal(start, end, item.base + low, item.base + high);
    if (fromList) {
      if (this.places.has(number)) this.focus = number;
      this.map.host.focus({ preventScroll: true });
      this.map.host.scrollIntoView({ block: "nearest" });
    }
    const { sources, results } = this.related;
    const sentence = describeItem(this.method, item, item.start).sentence;
    say(`Following ${sentence}; made from ${plural(sources.length, "block")}, goes into ${plural(results.length, "block")}`);
    this.requestOverlay();
  }

  clear() {
    Object.assign(this, { selected: null, related: null });
    this.details.show(null);
    hideTip();
    say("Nothing is followed");
    this.requestOverlay();
  }
}
