// Where steps and bytes are on a canvas, and the axes that say so.

const LEFT = 74;
const RIGHT = 14;
const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif';
const CHARACTER_WIDTH = 6.1; // of FONT, on average: measuring every label would take too long
const STRIP_HEIGHT = 18;

class Frame {
  constructor(view) {
    this.view = view;
    this.resize(300, 100, 0, 0);
  }

  // In CSS pixels; top and bottom are the margins.
  resize(width, height, top, bottom) {
    Object.assign(this, { width, height, top });
    this.inner = Math.max(1, width - LEFT - RIGHT);
    this.tall = Math.max(1, height - top - bottom);
    this.right = LEFT + this.inner;
    this.bottom = top + this.tall;
  }

  get pixelsPerStep() {
    return this.inner / (this.view.x1 - this.view.x0);
  }

  get pixelsPerByte() {
    return this.tall / (this.view.y1 - this.view.y0);
  }

  x(step) {
    return LEFT + (step - this.view.x0) * this.pixelsPerStep;
  }

  y(address) {
    return this.bottom - (address - this.view.y0) * this.pixelsPerByte;
  }

  step(x) {
    return this.view.x0 + (x - LEFT) / this.pixelsPerStep;
  }

  address(y) {
    return this.view.y0 + (this.bottom - y) / this.pixelsPerByte;
  }

  holds(x, y) {
    return x >= LEFT && x <= this.right && y >= this.top && y <= this.bottom;
  }
}

function fitted(text, width) {
  const most = Math.floor(width / CHARACTER_WIDTH);
  if (text.length <= most) return text;
  return most < 3 ? "" : `${text.slice(0, most - 1)}\u2026`;
}

function drawStepAxis(context, frame, y) {
  const { view } = frame;
  const gap = Math.max(1, niceGap((70 / frame.inner) * (view.x1 - view.x0)));
  context.font = FONT;
  context.textAlign = "center";
  context.textBaseline = "top";
  for (let step = Math.ceil(view.x0 / gap) * gap; step < view.x1; step += gap) {
    const x = frame.x(step + 0.5);
    if (x > frame.right - 12) continue;
    context.fillStyle = theme.quiet;
    context.fillText(grouped.format(step), x, y + 3);
  }
}

// Byte ticks from `low` to `high` of something that starts at `base`; `y` maps to the canvas.
function drawByteAxis(context, frame, { low, high, base, y }) {
  const pixels = Math.abs(y(high) - y(low));
  if (pixels < 14) return;
  const gap = Math.max(1, niceGap(((high - low) * 34) / pixels));
  context.font = FONT;
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.lineWidth = 1;
  for (let bytes = Math.ceil((low - base) / gap) * gap; base + bytes <= high; bytes += gap) {
    const at = Math.round(y(base + bytes)) + 0.5;
    context.strokeStyle = theme.grid;
    context.beginPath();
    context.moveTo(LEFT, at);
    context.lineTo(frame.right, at);
    context.stroke();
    context.fillStyle = theme.quiet;
    if (at < frame.bottom + 4) context.fillText(tickText(bytes, gap), LEFT - 8, at);
  }
}

// Runs of steps that are one instruction.
function instructionRuns(method) {
  const runs = [];
  for (let step = 0; step < method.stepCount; step++) {
    const { instruction, kind, label, delegate } = method.steps[step];
    const last = runs.at(-1);
    if (last && last.instruction === instruction) {
      last.end = step + 1;
    } else {
      const name = delegate >= 0 ? method.delegates[delegate].backend : label;
      runs.push({ instruction, kind, name, start: step, end: step + 1 });
    }
  }
  return runs;
}

const STRIP_FILLS = ["grid", "quiet", "accent", "accent", "grid", "grid"]; // by STEP_KINDS

// A band that says which instruction, and zoomed in which node, runs at each step.
function drawStrip(context, frame, pane, y) {
  const { method } = pane;
  const perStep = frame.pixelsPerStep >= 56;
  const pieces = perStep
    ? method.steps.map((step, k) => ({ start: k, end: k + 1, kind: step.kind, name: step.label }))
    : pane.runs;
  let drawn = LEFT - 1;
  context.font = FONT;
  context.textAlign = "left";
  context.textBaseline = "middle";
  pieces.forEach((piece, k) => {
    const left = Math.max(LEFT, frame.x(piece.start));
    const right = Math.min(frame.right, frame.x(piece.end));
    if (right <= left || right - drawn < 0.75) return;
    drawn = right;
    context.globalAlpha = k % 2 ? 0.28 : 0.42;
    context.fillStyle = theme[STRIP_FILLS[piece.kind]];
    context.fillRect(left, y, Math.max(0.75, right - left - (right - left > 4 ? 1 : 0)), STRIP_HEIGHT);
    context.globalAlpha = 1;
    const text = fitted(piece.name.replace(/^XNNPACK |^aten::|Backend$/g, ""), right - left - 8);
    if (!text) return;
    context.fillStyle = theme.text;
    context.fillText(text, left + 4, y + STRIP_HEIGHT / 2 + 0.5);
  });
}
