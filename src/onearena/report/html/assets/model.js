// The data block → methods with tensors, items and lanes.
//
// An item is what is drawn as one thing: a block of memory (one or more tensors that are names of
// the same bytes), or the workspace of a closed delegate call. A lane is one arena, or the
// workspace; lanes lie above each other in one coordinate system of bytes.

const LANE_GAP = 0.03; // of all bytes
const UNKNOWN_HEIGHT = 0.08; // of all bytes: how high a workspace of unknown size is drawn

function decodeMethod(raw) {
  const text = (number) => (number < 0 ? null : raw.strings[number]);
  const tensors = raw.tensors.value.map((value, k) => ({
    number: k,
    value,
    name: text(raw.tensors.name[k]),
    kind: raw.tensors.kind[k],
    dtype: text(raw.tensors.dtype[k]),
    shape: text(raw.tensors.shape[k]),
    dynamic: raw.tensors.dynamic[k] === 1,
    size: raw.tensors.size[k],
    arena: raw.tensors.arena[k],
    offset: raw.tensors.offset[k],
    life: raw.tensors.life[k],
    producers: raw.tensors.producers[k],
    consumers: raw.tensors.consumers[k],
    pinned: text(raw.tensors.pinned[k]),
    item: -1,
  }));
  const method = {
    name: raw.name,
    tensors,
    steps: decodeSteps(raw.steps, text),
    stepCount: raw.steps.label.length,
    arenas: raw.arenas,
    delegates: raw.delegates.map((d) => ({ ...d, backend: text(d.backend), closed: text(d.closed) })),
    workspace: raw.workspace,
    sharedWorkspace: raw.shared_workspace,
  };
  method.items = [...blockItems(raw.blocks, tensors), ...workspaceItems(method)];
  method.items.forEach((item, k) => {
    item.number = k;
    for (const tensor of item.tensors) tensors[tensor].item = k;
  });
  placeLanes(method);
  method.index = new ItemIndex(method);
  method.reads = usersByStep(method, "consumers");
  method.writes = usersByStep(method, "producers");
  return method;
}

function decodeSteps(raw, text) {
  return raw.label.map((label, k) => ({
    instruction: raw.instruction[k],
    node: raw.node[k],
    label: text(label),
    kind: raw.kind[k],
    delegate: raw.delegate[k],
    source: text(raw.source[k]),
  }));
}

function usersByStep(method, role) {
  const found = new Map();
  for (const tensor of method.tensors) {
    for (const step of tensor[role]) {
      if (!found.has(step)) found.set(step, []);
      found.get(step).push(tensor.number);
    }
  }
  return found;
}

// Rectangles are [start, end, low, high] one after another; low and high within the lane.
function blockItems(blocks, tensors) {
  return blocks.arena.map((arena, k) => ({
    lane: `arena ${arena}`,
    kind: blocks.kind[k],
    tensors: blocks.tensors[k],
    rectangles: blocks.rectangles[k],
    delegate: -1,
    unknown: false,
  }));
}

// One per run of steps in which the same call works.
function workspaceItems(method) {
  const items = [];
  let first = 0;
  for (let step = 1; step <= method.stepCount; step++) {
    const start = method.steps[first];
    const same =
      step < method.stepCount &&
      method.steps[step].instruction === start.instruction &&
      method.workspace[step] === method.workspace[first];
    if (same) continue;
    const bytes = method.workspace[first];
    if (bytes !== 0) {
      items.push({
        lane: "workspace",
        kind: WORKSPACE,
        tensors: [],
        rectangles: [first, step, 0, bytes ?? 0],
        delegate: start.delegate,
        unknown: bytes === null,
      });
    }
    first = step;
  }
  return items;
}

function placeLanes(method) {
  const tops = new Map(method.arenas.map((arena) => [`arena ${arena.id}`, arena.size]));
  for (const item of method.items) {
    for (let r = 3; r < item.rectangles.length; r += 4) {
      tops.set(item.lane, Math.max(tops.get(item.lane) ?? 0, item.rectangles[r]));
    }
    if (item.lane === "workspace") {
      tops.set("workspace", Math.max(tops.get("workspace"), method.sharedWorkspace ?? 0));
    }
  }
  const known = [...tops.values()].reduce((sum, bytes) => sum + bytes, 0) || 1;
  const hidden = method.items.some((item) => item.unknown);
  if (hidden) {
    const height = Math.max(tops.get("workspace"), known * UNKNOWN_HEIGHT);
    tops.set("workspace", height);
    for (const item of method.items) if (item.unknown) item.rectangles[3] = height;
  }
  let base = 0;
  method.lanes = [];
  for (const [name, size] of tops) {
    if (!size) continue;
    if (method.lanes.length) base += known * LANE_GAP;
    const arena = method.arenas.find((a) => `arena ${a.id}` === name) ?? null;
    method.lanes.push({ name, size, base, arena, hidden: hidden && name === "workspace" });
    base += size;
  }
  method.height = base;
  const bases = new Map(method.lanes.map((lane) => [lane.name, lane.base]));
  for (const item of method.items) {
    item.base = bases.get(item.lane) ?? 0;
    item.start = item.rectangles[0] ?? 0;
    item.low = item.base + (item.rectangles[2] ?? 0);
  }
}

// In words, as StepSummary.where says it.
function stepText(method, number) {
  const step = method.steps[number];
  if (!step) return `step ${number}`;
  if (step.kind === ENTRY) return "before the first instruction";
  if (step.kind === EXIT) return "after the last instruction";
  const node = step.node >= 0 ? ` (node ${step.node})` : "";
  return `instruction ${step.instruction}: ${step.label}${node}`;
}

const isAlive = (rectangles, step) => {
  for (let r = 0; r < rectangles.length; r += 4) {
    if (rectangles[r] <= step && step < rectangles[r + 1]) return true;
  }
  return false;
};

// The tensor an item is called by at a step: the largest that is alive then.
function nameAt(method, item, step) {
  const alive = item.tensors.filter((number) => {
    const life = method.tensors[number].life;
    for (let i = 0; i < life.length; i += 2) if (life[i] <= step && step < life[i + 1]) return true;
    return false;
  });
  return method.tensors[alive.length ? alive[0] : item.tensors[0]];
}

// As MethodSummary.alive_at: one tensor per block, the largest first.
function aliveAt(method, step, memoryId) {
  return method.index
    .at(step)
    .map((number) => method.items[number])
    .filter((item) => item.lane === `arena ${memoryId}` && isAlive(item.rectangles, step))
    .map((item) => nameAt(method, item, step))
    .sort((a, b) => b.size - a.size || a.value - b.value);
}

// The arena with the largest peak, as MethodSummary.peak_arena.
function peakArena(method) {
  let best = null;
  for (const arena of method.arenas) {
    if (arena.peak_step === null) continue;
    const peak = arena.live[arena.peak_step];
    if (best === null || peak > best.live[best.peak_step]) best = arena;
  }
  return best;
}
