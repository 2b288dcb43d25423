// All rectangles of a method as flat arrays, and which of them may be alive at a step.

const MAX_BUCKETS = 1024;

class ItemIndex {
  constructor(method) {
    const rectangles = [];
    for (const item of method.items) {
      for (let r = 0; r < item.rectangles.length; r += 4) {
        const [start, end, low, high] = item.rectangles.slice(r, r + 4);
        if (end > start && high > low) {
          rectangles.push([start, end, item.base + low, item.base + high, item.number]);
        }
      }
    }
    rectangles.sort((a, b) => a[0] - b[0] || a[2] - b[2]);
    const count = (this.count = rectangles.length);
    this.start = Int32Array.from(rectangles, (r) => r[0]);
    this.end = Int32Array.from(rectangles, (r) => r[1]);
    this.low = Float64Array.from(rectangles, (r) => r[2]);
    this.high = Float64Array.from(rectangles, (r) => r[3]);
    this.item = Int32Array.from(rectangles, (r) => r[4]);
    this.kind = Uint8Array.from(rectangles, (r) => method.items[r[4]].kind);
    this.byKind = KINDS.map((_, kind) =>
      Int32Array.from({ length: count }, (_, k) => k).filter((k) => this.kind[k] === kind),
    );
    this.bucketSteps = Math.max(1, Math.ceil(method.stepCount / MAX_BUCKETS));
    this.buckets = Array.from(
      { length: Math.ceil(Math.max(1, method.stepCount) / this.bucketSteps) },
      () => [],
    );
    // What lives for long would be in very many buckets; it is looked at every time instead.
    this.long = [];
    const longest = this.bucketSteps * 64;
    for (let k = 0; k < count; k++) {
      if (this.end[k] - this.start[k] > longest) {
        this.long.push(k);
        continue;
      }
      const last = Math.floor((this.end[k] - 1) / this.bucketSteps);
      for (let b = Math.floor(this.start[k] / this.bucketSteps); b <= last; b++) {
        this.buckets[b]?.push(k);
      }
    }
  }

  // Rectangles that are alive at a step.
  *rectanglesAt(step) {
    for (const list of [this.long, this.buckets[Math.floor(step / this.bucketSteps)] ?? []]) {
      for (const k of list) if (this.start[k] <= step && step < this.end[k]) yield k;
    }
  }

  // Items alive at a step, each once.
  at(step) {
    return [...new Set(Array.from(this.rectanglesAt(step), (k) => this.item[k]))];
  }

  // The item at a point, or -1. Where several are, the smallest: one that is lower than twice
  // `slack` bytes is hit from as far away, or it could hardly be pointed at.
  hit(step, address, slack = 0) {
    let best = -1;
    for (const k of this.rectanglesAt(step)) {
      const reach = this.high[k] - this.low[k] < 2 * slack ? slack : 0;
      if (address < this.low[k] - reach || address >= this.high[k] + reach) continue;
      if (best < 0 || this.high[k] - this.low[k] < this.high[best] - this.low[best]) best = k;
    }
    return best < 0 ? -1 : this.item[best];
  }

  // The item next to an address at a step: the nearest one above (direction 1) or below (-1).
  beside(step, address, direction) {
    let best = -1;
    for (const k of this.rectanglesAt(step)) {
      const distance = (this.low[k] - address) * direction;
      if (distance <= 0) continue;
      if (best < 0 || distance < (this.low[best] - address) * direction) best = k;
    }
    return best < 0 ? -1 : this.item[best];
  }
}
