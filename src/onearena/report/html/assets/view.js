// What part of a method is seen: steps [x0, x1) by bytes [y0, y1). Map and curve share it.

const LEAST_STEPS = 4;
const LEAST_BYTES = 64;
const LEAST_PART = 1e-9; // of all bytes: numbers have some sixteen digits, and the axis needs a few

class View {
  constructor(stepCount, height, changed) {
    this.maxX = Math.max(stepCount, 1);
    this.maxY = Math.max(height, 1);
    this.changed = changed;
    this.x0 = 0;
    this.x1 = this.maxX;
    this.y0 = 0;
    this.y1 = this.maxY;
  }

  get leastY() {
    return Math.min(this.maxY, Math.max(LEAST_BYTES, this.maxY * LEAST_PART));
  }

  reset() {
    this.set(0, this.maxX, 0, this.maxY);
  }

  set(x0, x1, y0, y1) {
    [this.x0, this.x1] = clamped(x0, x1, this.maxX, Math.min(LEAST_STEPS, this.maxX));
    [this.y0, this.y1] = clamped(y0, y1, this.maxY, this.leastY);
    this.changed();
  }

  // Factors below 1 zoom in; what is at (x, y) stays where it is.
  zoom(factorX, factorY, x = (this.x0 + this.x1) / 2, y = (this.y0 + this.y1) / 2) {
    const limited = (factor, least) => (factor < 1 ? Math.min(1, Math.max(factor, least)) : factor);
    const fx = limited(factorX, LEAST_STEPS / (this.x1 - this.x0));
    const fy = limited(factorY, this.leastY / (this.y1 - this.y0));
    this.set(
      x - (x - this.x0) * fx,
      x + (this.x1 - x) * fx,
      y - (y - this.y0) * fy,
      y + (this.y1 - y) * fy,
    );
  }

  pan(steps, bytes) {
    this.set(this.x0 + steps, this.x1 + steps, this.y0 + bytes, this.y1 + bytes);
  }

  // Moves as little as needed to have a rectangle in sight.
  reveal(start, end, low, high) {
    const [x0, x1] = revealed(this.x0, this.x1, start, end);
    const [y0, y1] = revealed(this.y0, this.y1, low, high);
    if (x0 !== this.x0 || y0 !== this.y0) this.set(x0, x1, y0, y1);
  }
}

function clamped(low, high, max, least) {
  const span = Math.min(max, Math.max(high - low, least));
  const start = Math.min(Math.max(low, 0), max - span);
  return [start, start + span];
}

function revealed(low, high, start, end) {
  const span = high - low;
  if (start < high && end > low && (end - start > span || (start >= low && end <= high))) {
    return [low, high];
  }
  const target = end - start > span ? start : start < low ? start - span * 0.1 : end - span * 0.9;
  return [target, target + span];
}
