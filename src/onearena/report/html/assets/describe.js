// What an item is, as pairs for tooltips and panels and as a sentence for screen readers.

function shapeText(tensor) {
  return `${tensor.dtype} ${tensor.dynamic ? "at most " : ""}${tensor.shape}`;
}

function lifeText(tensor) {
  if (!tensor.life.length) return "never used";
  const parts = [];
  for (let i = 0; i < tensor.life.length; i += 2) {
    const last = tensor.life[i + 1] - 1;
    parts.push(last === tensor.life[i] ? `step ${last}` : `steps ${tensor.life[i]} to ${last}`);
  }
  return parts.length > 4 ? `${parts.slice(0, 4).join(", ")} and ${parts.length - 4} more` : parts.join(", ");
}

function usersText(method, steps, none) {
  if (!steps.length) return none;
  const first = steps.slice(0, 3).map((step) => stepText(method, step));
  return steps.length > 3 ? `${first.join("; ")} and ${steps.length - 3} more` : first.join("; ");
}

// {title, kind, pairs: [label, text], sentence}
function describeItem(method, item, step) {
  return item.kind === WORKSPACE
    ? describeWorkspace(method, item)
    : describeTensor(method, item, nameAt(method, item, step));
}

function describeTensor(method, item, tensor) {
  const others = item.tensors.length - 1;
  const pairs = [
    ["type", shapeText(tensor)],
    ["bytes", bothTexts(tensor.size)],
    ["offset", `${grouped.format(tensor.offset)} in arena ${tensor.arena}`],
    ["alive", lifeText(tensor)],
    ["written by", usersText(method, tensor.producers, "nothing")],
    ["read by", usersText(method, tensor.consumers, "nothing")],
  ];
  if (others > 0) pairs.push(["same memory", plural(others, "other name")]);
  if (tensor.pinned) pairs.push(["stays", tensor.pinned]);
  const source = tensor.producers.map((p) => method.steps[p]?.source).find(Boolean);
  if (source) pairs.push(["source", source]);
  return {
    title: tensor.name,
    kind: item.kind,
    pairs,
    sentence: `${tensor.name}, ${KIND_WORDS[tensor.kind]}, ${pairs.map((p) => p.join(" ")).join(", ")}`,
  };
}

function describeWorkspace(method, item) {
  const delegate = method.delegates[item.delegate];
  const [start, end] = item.rectangles;
  const pairs = [
    ["bytes", item.unknown ? "unknown: the file does not tell" : `${bothTexts(item.rectangles[3])}, predicted`],
    ["during", stepText(method, start).replace(/ \(node 0\)$/, "")],
    ["alive", end - start === 1 ? `step ${start}` : `steps ${start} to ${end - 1}`],
  ];
  if (delegate.closed) pairs.push(["closed", delegate.closed]);
  const title = `workspace of delegate ${item.delegate} (${delegate.backend})`;
  return {
    title,
    kind: WORKSPACE,
    pairs,
    sentence: `${title}, ${pairs.map((p) => p.join(" ")).join(", ")}`,
  };
}

function liveAt(method, step) {
  const arenas = method.arenas.map((arena) => [`arena ${arena.id}`, arena.live[step] ?? 0]);
  if (!method.delegates.length) return arenas;
  return [...arenas, ["workspace", method.workspace[step] ?? null]];
}

function describeStep(method, step) {
  const pairs = liveAt(method, step).map(([name, bytes]) => [name, bothTexts(bytes)]);
  const source = method.steps[step]?.source;
  if (source) pairs.push(["source", source]);
  const where = stepText(method, step);
  return {
    title: `step ${step}`,
    kind: -1,
    pairs: [["runs", where], ...pairs],
    sentence: `step ${step}, ${where}, ${pairs.map((p) => p.join(" ")).join(", ")}`,
  };
}

const swatch = (kind) => el("span", { class: `swatch kind-${KINDS[kind]}`, "aria-hidden": "true" });

function pairList(pairs) {
  return el("dl", {}, ...pairs.flatMap(([label, text]) => [el("dt", {}, label), el("dd", {}, text)]));
}

function showTip(description, x, y) {
  const tip = byId("tip");
  tip.replaceChildren(
    el("strong", {}, description.kind >= 0 ? swatch(description.kind) : null, description.title),
    description.kind >= 0 ? el("span", { class: "kind" }, KIND_WORDS[description.kind]) : "",
    pairList(description.pairs),
  );
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = x + 16 + width > innerWidth ? x - width - 16 : x + 16;
  const top = y + 16 + height > innerHeight ? innerHeight - height - 8 : y + 16;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, top)}px`;
}

function hideTip() {
  byId("tip").hidden = true;
}
