// The arena map: steps to the right, addresses upwards, every block a rectangle.

const MAP_TOP = 10;
const MAP_BOTTOM = STRIP_HEIGHT + 24;
const LABEL_WIDTH = 46;
const LABEL_HEIGHT = 14;
const MOST_LABELS = 400;
const SPECK = 2; // pixels: smaller things in the same pixel and of the same kind are drawn once

function drawMap(pane, context) {
  const { frame } = pane.map;
  context.fillStyle = theme.panel;
  context.fillRect(0, 0, frame.width, frame.height);
  drawLanes(pane, context, frame);
  drawBoundaries(pane, context, frame);
  const large = drawRectangles(pane, context, frame);
  drawLabels(pane, context, frame, large);
  drawPeakLine(pane, context, frame);
  drawLaneNames(pane, context, frame);
  drawStrip(context, frame, pane, frame.bottom + 3);
  drawStepAxis(context, frame, frame.bottom + 3 + STRIP_HEIGHT);
  context.textAlign = "right";
  context.fillText("step", LEFT - 8, frame.bottom + 6 + STRIP_HEIGHT);
}

function drawLanes(pane, context, frame) {
  const { view } = frame;
  for (const lane of pane.method.lanes) {
    const low = Math.max(view.y0, lane.base);
    const high = Math.min(view.y1, lane.base + lane.size);
    if (high <= low) continue;
    const top = frame.y(high);
    context.fillStyle = theme.paper;
    context.fillRect(LEFT, top, frame.inner, frame.y(low) - top);
    if (!lane.hidden) drawByteAxis(context, frame, { low, high, base: lane.base, y: (b) => frame.y(b) });
    context.strokeStyle = theme.line;
    context.strokeRect(LEFT + 0.5, Math.round(top) + 0.5, frame.inner - 1, frame.y(low) - top - 1);
  }
}

function drawLaneNames(pane, context, frame) {
  const { view } = frame;
  context.font = FONT;
  context.textAlign = "right";
  context.textBaseline = "middle";
  let free = frame.top;
  for (const lane of pane.method.lanes.toReversed()) {
    const high = Math.min(view.y1, lane.base + lane.size);
    if (high <= view.y0 || lane.base >= view.y1) continue;
    const size = lane.hidden ? "size unknown" : sizeText(lane.size);
    const text = `${lane.name}  ${size}`;
    const top = Math.max(free, frame.y(high) + 3);
    free = top + LABEL_HEIGHT + 3;
    if (free > frame.bottom) continue;
    const width = context.measureText(text).width + 12;
    context.globalAlpha = 0.88;
    context.fillStyle = theme.panel;
    context.fillRect(frame.right - width - 3, top, width, LABEL_HEIGHT + 2);
    context.globalAlpha = 1;
    context.fillStyle = theme.text;
    context.fillText(text, frame.right - 9, top + LABEL_HEIGHT / 2 + 1);
  }
}

// Where one instruction ends and the next begins, once there is room for it.
function drawBoundaries(pane, context, frame) {
  if (frame.pixelsPerStep < 5) return;
  context.strokeStyle = theme.grid;
  context.beginPath();
  for (const run of pane.runs) {
    const x = Math.round(frame.x(run.start)) + 0.5;
    if (x <= LEFT || x >= frame.right) continue;
    context.moveTo(x, frame.top);
    context.lineTo(x, frame.bottom);
  }
  context.stroke();
}

// Returns the rectangles with room for a label.
function drawRectangles(pane, context, frame) {
  const { index } = pane.method;
  const { view } = frame;
  const { x0, x1, y0, y1 } = view;
  const sx = frame.pixelsPerStep;
  const sy = frame.pixelsPerByte;
  const large = [];
  const specks = new Specks(frame.width, frame.height);
  let drawn = 0;
  for (let kind = 0; kind < KINDS.length; kind++) {
    context.fillStyle = theme.fill[kind];
    const patterned = [];
    specks.clear();
    for (const k of index.byKind[kind]) {
      if (index.end[k] <= x0 || index.start[k] >= x1) continue;
      if (index.high[k] <= y0 || index.low[k] >= y1) continue;
      const left = LEFT + Math.max(0, (index.start[k] - x0) * sx);
      const top = Math.max(frame.top, frame.bottom - (index.high[k] - y0) * sy);
      const width = Math.min(frame.right, LEFT + (index.end[k] - x0) * sx) - left;
      const height = Math.min(frame.bottom, frame.bottom - (index.low[k] - y0) * sy) - top;
      if (width < SPECK && height < SPECK && specks.taken(left, top)) continue;
      drawn++;
      const box = [left, top, fullPixel(width), fullPixel(height)];
      if (theme.pattern[kind] && width >= 8 && height >= 8) patterned.push(box);
      else context.fillRect(...box);
      if (width >= LABEL_WIDTH && height >= LABEL_HEIGHT && large.length < MOST_LABELS) {
        large.push([k, ...box]);
      }
    }
    context.fillStyle = theme.pattern[kind] ?? theme.fill[kind];
    for (const box of patterned) context.fillRect(...box);
  }
  pane.drawn = drawn;
  return large;
}

// Room between neighbours where there is any; nothing becomes invisible.
const fullPixel = (length) => (length > 4 ? length - 1 : Math.max(length, 0.75));

// Pixels in which something small begins: more of it there would not be seen.
class Specks {
  constructor(width, height) {
    this.width = Math.ceil(width) + 1;
    this.bits = new Uint8Array(this.width * (Math.ceil(height) + 1));
    this.used = false;
  }

  clear() {
    if (this.used) this.bits.fill(0);
    this.used = false;
  }

  taken(x, y) {
    const at = Math.floor(y) * this.width + Math.floor(x);
    if (this.bits[at]) return true;
    this.bits[at] = 1;
    this.used = true;
    return false;
  }
}

function drawLabels(pane, context, frame, large) {
  const { method } = pane;
  context.font = FONT;
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const [k, ...box] of large) {
    const item = method.items[method.index.item[k]];
    drawLabel(context, item.kind, itemLabel(method, item, method.index.start[k]), box);
  }
}

function drawLabel(context, kind, rows, [left, top, width, height]) {
  const two = height >= 2 * LABEL_HEIGHT + 2;
  const shown = (two ? rows : rows.slice(0, 1)).map((text) => fitted(text, width - 10)).filter(Boolean);
  if (!shown.length) return;
  if (theme.pattern[kind]) {
    const widest = Math.max(...shown.map((text) => context.measureText(text).width));
    context.fillStyle = theme.fill[kind];
    context.fillRect(left + 2, top + 2, Math.min(width - 4, widest + 6), shown.length * LABEL_HEIGHT);
  }
  context.fillStyle = theme.ink[kind];
  shown.forEach((text, row) => context.fillText(text, left + 5, top + 2 + LABEL_HEIGHT * (row + 0.5)));
}

function itemLabel(method, item, step) {
  if (item.kind === WORKSPACE) {
    const size = item.unknown ? "size unknown" : sizeText(item.rectangles[3]);
    return [`workspace ${item.delegate}`, size];
  }
  const tensor = nameAt(method, item, step);
  return [tensor.name, `${sizeText(tensor.size)}  ${tensor.shape}`];
}

function drawPeakLine(pane, context, frame) {
  const arena = peakArena(pane.method);
  if (!arena) return;
  const x = frame.x(arena.peak_step + 0.5);
  if (x < LEFT || x > frame.right) return;
  context.strokeStyle = theme.peak;
  context.lineWidth = 1.5;
  context.setLineDash([5, 4]);
  context.beginPath();
  context.moveTo(x, Math.max(frame.top, frame.y(pane.method.height)));
  context.lineTo(x, frame.bottom);
  context.stroke();
  context.setLineDash([]);
  context.lineWidth = 1;
}
