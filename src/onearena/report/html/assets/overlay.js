// What changes under the pointer: drawn on a canvas of its own above the map.

function drawOverlay(pane, context) {
  const { frame } = pane.map;
  context.clearRect(0, 0, frame.width, frame.height);
  context.save();
  context.beginPath();
  context.rect(LEFT, 0, frame.inner, frame.height);
  context.clip();
  drawStepLine(context, frame, pane.hoverStep, theme.text, 0.5);
  if (pane.step !== pane.peakStep) drawStepLine(context, frame, pane.step, theme.accent, 1);
  if (pane.selected !== null) drawSelection(pane, context, frame);
  for (const item of new Set([pane.hover, pane.focus])) {
    if (item !== null) outline(pane, context, frame, item, theme.text, item === pane.focus ? 3 : 2);
  }
  context.restore();
}

function drawStepLine(context, frame, step, colour, alpha) {
  if (step === null) return;
  context.globalAlpha = alpha;
  context.strokeStyle = colour;
  context.beginPath();
  const x = Math.round(frame.x(step + 0.5)) + 0.5;
  context.moveTo(x, frame.top);
  context.lineTo(x, frame.bottom);
  context.stroke();
  context.globalAlpha = 1;
}

function* boxes(pane, frame, number) {
  const item = pane.method.items[number];
  const r = item.rectangles;
  for (let i = 0; i < r.length; i += 4) {
    const left = frame.x(r[i]);
    const top = frame.y(item.base + r[i + 3]);
    yield [left, top, frame.x(r[i + 1]) - left, frame.y(item.base + r[i + 2]) - top];
  }
}

function outline(pane, context, frame, number, colour, width, dash = []) {
  context.lineWidth = width;
  context.strokeStyle = colour;
  context.setLineDash(dash);
  for (const [left, top, w, h] of boxes(pane, frame, number)) {
    context.strokeRect(left - 0.5, top - 0.5, Math.max(w, 2), Math.max(h, 2));
  }
  context.setLineDash([]);
  context.lineWidth = 1;
}

// Everything else goes into the background; what it is made of and what is made of it stays.
function drawSelection(pane, context, frame) {
  context.fillStyle = theme.veil;
  context.fillRect(LEFT, frame.top, frame.inner, frame.tall);
  const { sources, results } = pane.related;
  for (const number of [...sources, ...results, pane.selected]) {
    drawItem(pane, context, frame, pane.method.items[number]);
  }
  for (const number of sources) outline(pane, context, frame, number, theme.text, 1, [2, 2]);
  for (const number of results) outline(pane, context, frame, number, theme.text, 1, [6, 3]);
  outline(pane, context, frame, pane.selected, theme.peak, 3);
  const { written, read } = pane.related;
  for (const step of written) drawMark(context, frame, step, "\u25bc written");
  for (const step of read) drawMark(context, frame, step, "\u25b2 read");
}

function drawItem(pane, context, frame, item) {
  for (const [left, top, width, height] of boxes(pane, frame, item.number)) {
    context.fillStyle = theme.pattern[item.kind] ?? theme.fill[item.kind];
    context.fillRect(left, top, fullPixel(width), fullPixel(height));
    const seen = Math.max(left, LEFT);
    const room = Math.min(left + width, frame.right) - seen;
    if (room < LABEL_WIDTH || height < LABEL_HEIGHT) continue;
    context.font = FONT;
    context.textAlign = "left";
    context.textBaseline = "middle";
    const place = [seen, Math.max(top, frame.top), room, height];
    drawLabel(context, item.kind, itemLabel(pane.method, item, item.start), place);
  }
}

function drawMark(context, frame, step, text) {
  const x = frame.x(step + 0.5);
  context.strokeStyle = theme.peak;
  context.setLineDash([2, 3]);
  context.beginPath();
  context.moveTo(x, frame.top);
  context.lineTo(x, frame.bottom + STRIP_HEIGHT);
  context.stroke();
  context.setLineDash([]);
  context.font = FONT;
  context.textBaseline = "middle";
  const width = text.length * CHARACTER_WIDTH;
  const isLeft = text.startsWith("\u25bc");
  const left = Math.min(Math.max(isLeft ? x - width - 4 : x + 4, LEFT), frame.right - width);
  const top = isLeft ? frame.top + 8 : frame.top + 24;
  context.textAlign = "left";
  context.fillStyle = theme.panel;
  context.fillRect(left - 2, top - 7, width + 4, 14);
  context.fillStyle = theme.text;
  context.fillText(text, left, top);
}

// With all steps of a closed call: what happens inside it is not seen, only what goes in and out.
function callSteps(method, steps) {
  const all = new Set(steps);
  for (const step of steps) {
    const { delegate, instruction } = method.steps[step];
    if (delegate < 0 || method.delegates[delegate].opened) continue;
    for (const direction of [-1, 1]) {
      for (let at = step; method.steps[at]?.instruction === instruction; at += direction) all.add(at);
    }
  }
  return all;
}

// What an item comes from and what it goes into.
function relatedItems(method, number) {
  const item = method.items[number];
  let written = [];
  let read = [];
  if (item.kind === WORKSPACE) {
    for (let step = item.rectangles[0]; step < item.rectangles[1]; step++) written.push(step);
    read = written;
  } else {
    const of = (role) => [...new Set(item.tensors.flatMap((t) => method.tensors[t][role]))];
    written = of("producers").sort((a, b) => a - b);
    read = of("consumers").sort((a, b) => a - b);
  }
  const items = (steps, users) => {
    const numbers = [...callSteps(method, steps)].flatMap((step) => users.get(step) ?? []);
    return [...new Set(numbers.map((t) => method.tensors[t].item))].filter((k) => k !== number);
  };
  const sources = items(written, method.reads);
  const results = items(read, method.writes).filter((k) => !sources.includes(k));
  if (item.kind === WORKSPACE) return { written: [], read: [], sources, results };
  return { written, read, sources, results };
}
