// Live bytes by step: arenas stacked, the workspace of closed delegates on top of them.

const CURVE_TOP = 16;
const CURVE_BOTTOM = 20;

// Layers from the bottom up; `sums` are running totals, so that a layer is drawn between two.
function curveLayers(method) {
  const layers = [];
  let below = new Float64Array(method.stepCount);
  const add = (name, look, bytesAt) => {
    const sums = below.map((sum, step) => sum + bytesAt(step));
    layers.push({ name, look, below, sums });
    below = sums;
  };
  method.arenas.forEach((arena, k) => {
    if (arena.peak_step !== null) add(`arena ${arena.id}`, `arena-${k % 3}`, (step) => arena.live[step]);
  });
  if (method.workspace.some(Boolean)) {
    add("workspace", "kind-workspace", (step) => method.workspace[step] ?? 0);
  }
  return layers;
}

// The step at which most is taken, workspaces included: {step, bytes}, or null.
function fullPeak(method, layers) {
  if (!layers.length || method.workspace.includes(null)) return null;
  const { sums } = layers.at(-1);
  const bytes = sums.reduce((a, b) => Math.max(a, b), 0);
  return bytes ? { step: sums.indexOf(bytes), bytes } : null;
}

// What is reserved all the time; null where it is not known.
function reservedBytes(method) {
  const arenas = method.arenas.reduce((sum, arena) => sum + arena.size, 0);
  const all = method.sharedWorkspace === null ? null : arenas + method.sharedWorkspace;
  return { arenas, all };
}

// 0 where nothing is taken: there is no scale then.
function curveTop(method) {
  const { arenas, all } = reservedBytes(method);
  const layers = curveLayers(method);
  const most = layers.length ? layers.at(-1).sums.reduce((a, b) => Math.max(a, b), 0) : 0;
  return Math.max(arenas, all ?? 0, most) * 1.02;
}

function drawCurve(pane, context) {
  const { frame } = pane.curve;
  const y = (bytes) => frame.bottom - (bytes / (pane.curveMax || 1)) * frame.tall;
  context.fillStyle = theme.panel;
  context.fillRect(0, 0, frame.width, frame.height);
  context.fillStyle = theme.paper;
  context.fillRect(LEFT, frame.top, frame.inner, frame.tall);
  if (pane.curveMax) drawByteAxis(context, frame, { low: 0, high: pane.curveMax, base: 0, y });
  const columns = curveColumns(frame);
  for (const layer of pane.layers) drawLayer(context, frame, columns, layer, y);
  drawUnknown(pane, context, frame, columns);
  drawReserved(pane, context, frame, y);
  drawPeak(pane, context, frame, y);
  drawStepAxis(context, frame, frame.bottom);
}

// The steps behind each pixel column.
function curveColumns(frame) {
  const columns = [];
  const last = frame.view.maxX - 1;
  for (let x = LEFT; x < frame.right; x++) {
    const first = Math.min(last, Math.max(0, Math.floor(frame.step(x))));
    const end = Math.min(last + 1, Math.max(first + 1, Math.ceil(frame.step(x + 1))));
    columns.push([x, first, frame.pixelsPerStep >= 1 ? first + 1 : end]);
  }
  return columns;
}

function drawLayer(context, frame, columns, layer, y) {
  const highest = (values, first, end) => {
    let most = values[first];
    for (let step = first + 1; step < end; step++) if (values[step] > most) most = values[step];
    return most;
  };
  const isWorkspace = layer.look === "kind-workspace";
  context.fillStyle = isWorkspace ? theme.pattern[WORKSPACE] : theme.arenas[layer.look.at(-1)];
  for (const [x, first, end] of columns) {
    const top = y(highest(layer.sums, first, end));
    const bottom = y(highest(layer.below, first, end));
    if (bottom > top) context.fillRect(x, top, 1.02, bottom - top);
  }
}

// Steps whose workspace nobody knows: hatched up to the top, never drawn as nothing.
function drawUnknown(pane, context, frame, columns) {
  if (!pane.method.workspace.includes(null)) return;
  context.save();
  context.globalAlpha = 0.45;
  context.fillStyle = theme.pattern[WORKSPACE];
  for (const [x, first, end] of columns) {
    if (pane.method.workspace.slice(first, end).includes(null)) {
      context.fillRect(x, frame.top, 1.02, frame.tall);
    }
  }
  context.restore();
}

// Lines across: [bytes, dashes, text]. The texts stand below the curve, not on it, since the
// lines are often very close to each other.
function curveLines(method) {
  const { arenas, all } = reservedBytes(method);
  const bound = method.arenas.reduce((sum, arena) => sum + arena.bound, 0);
  const rows = [];
  if (arenas) rows.push([arenas, [], "arena size"]);
  if (bound) rows.push([bound, [2, 3], "no plan for this order needs less"]);
  if (all !== null && all !== arenas) rows.push([all, [7, 4], "arena size and workspace"]);
  return rows;
}

function drawReserved(pane, context, frame, y) {
  context.strokeStyle = theme.text;
  for (const [bytes, dash] of curveLines(pane.method)) {
    const at = Math.round(y(bytes)) + 0.5;
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(LEFT, at);
    context.lineTo(frame.right, at);
    context.stroke();
  }
  context.setLineDash([]);
}

function curveLegend(pane) {
  const layers = pane.layers.map((layer) =>
    el("li", {}, el("span", { class: `swatch ${layer.look}`, "aria-hidden": "true" }), layer.name),
  );
  const lines = curveLines(pane.method).map(([bytes, dash, text]) =>
    el(
      "li",
      {},
      el("span", { class: `rule dash-${dash[0] ?? 0}`, "aria-hidden": "true" }),
      `${text}: ${sizeText(bytes)}`,
    ),
  );
  const unknown = pane.method.workspace.includes(null)
    ? [el("li", {}, swatch(WORKSPACE), "workspace unknown: the file does not tell")]
    : [];
  return el("ul", { class: "legend", "aria-label": "Lines and areas" }, ...layers, ...lines, ...unknown);
}

function drawPeak(pane, context, frame, y) {
  const arena = peakArena(pane.method);
  if (!arena) return;
  const step = arena.peak_step;
  const layer = pane.layers.find((found) => found.name === `arena ${arena.id}`);
  const full = pane.fullPeak;
  if (full && full.step !== step) {
    drawPeakMark(context, frame, full.step, y(full.bytes), `with workspace ${sizeText(full.bytes)}`);
  }
  drawPeakMark(context, frame, step, y(layer.sums[step]), `peak ${sizeText(arena.live[step])}`);
}

function drawPeakMark(context, frame, step, at, text) {
  const x = frame.x(step + 0.5);
  if (x < LEFT || x > frame.right) return;
  context.strokeStyle = theme.peak;
  context.lineWidth = 2;
  context.beginPath();
  context.arc(x, at, 4, 0, 7);
  context.fillStyle = theme.panel;
  context.fill();
  context.stroke();
  context.lineWidth = 1;
  context.font = FONT;
  const width = context.measureText(text).width + 8;
  const left = x + width + 10 > frame.right ? x - width - 8 : x + 8;
  context.fillStyle = theme.panel;
  context.fillRect(left, at + 3, width, 15);
  context.fillStyle = theme.text;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillText(text, left + 4, at + 11);
}

function drawCurveOverlay(pane, context) {
  const { frame } = pane.curve;
  context.clearRect(0, 0, frame.width, frame.height);
  context.save();
  context.beginPath();
  context.rect(LEFT, 0, frame.inner, frame.height);
  context.clip();
  drawStepLine(context, frame, pane.hoverStep, theme.text, 0.5);
  if (pane.step !== null) drawStepLine(context, frame, pane.step, theme.accent, 1);
  context.restore();
}
