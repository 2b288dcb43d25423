// The list of what is alive at a step: at first the peak.

const FIRST_ROWS = 12;

class AliveList {
  constructor(pane) {
    this.pane = pane;
    this.all = false;
    this.arena = peakArena(pane.method)?.id ?? pane.method.arenas[0]?.id ?? null;
    this.node = el("section", { class: "alive", "aria-label": "Alive at a step" });
    this.show(pane.peakStep);
  }

  show(step) {
    const { pane } = this;
    const { method } = pane;
    const arena = method.arenas.find((a) => a.id === this.arena);
    if (step === null || !arena) {
      this.node.replaceChildren(el("p", { class: "note" }, "Nothing is alive at any step."));
      return;
    }
    const live = arena.live[step];
    const tensors = aliveAt(method, step, this.arena);
    const isPeak = step === pane.peakStep;
    const shown = this.all ? tensors : tensors.slice(0, FIRST_ROWS);
    this.node.replaceChildren(
      el(
        "h4",
        {},
        isPeak ? "Peak" : `Step ${step}`,
        el("span", { class: "quiet" }, ` ${sizeText(live)} alive`),
      ),
      el(
        "p",
        { class: "where" },
        `${stepText(method, step)}; ${exactText(live)} in arena ${this.arena}, `,
        `workspace ${bothTexts(method.workspace[step] ?? null)}`,
      ),
      this.arenaChoice(step),
      this.table(shown, live),
      this.buttons(step, tensors.length, isPeak),
    );
  }

  arenaChoice(step) {
    const { arenas } = this.pane.method;
    if (arenas.length < 2) return "";
    const choice = (arena) =>
      button(
        `arena ${arena.id}`,
        () => {
          this.arena = arena.id;
          this.show(step);
        },
        { "aria-pressed": String(arena.id === this.arena) },
      );
    return el("div", { class: "buttons", role: "group", "aria-label": "Arena" }, ...arenas.map(choice));
  }

  table(tensors, live) {
    const row = (tensor) => {
      const bar = el("span", { class: `bar kind-${KINDS[tensor.kind]}`, "aria-hidden": "true" });
      bar.style.width = `${live ? (100 * tensor.size) / live : 0}%`;
      return el(
        "tr",
        {},
        el(
          "th",
          { scope: "row" },
          swatch(tensor.kind),
          button(tensor.name, () => this.pane.select(tensor.item, true), { class: "link" }),
          el("small", {}, ` ${shapeText(tensor)}, ${KIND_WORDS[tensor.kind]}`),
        ),
        el("td", { class: "number" }, sizeText(tensor.size), el("small", { class: "exact" }, exactText(tensor.size))),
        el("td", { class: "number share" }, percentText(tensor.size, live), bar),
      );
    };
    const head = ["tensor", "bytes", "share"].map((text) => el("th", { scope: "col" }, text));
    return el(
      "table",
      {},
      el("thead", {}, el("tr", {}, ...head)),
      el("tbody", {}, ...tensors.map(row)),
    );
  }

  buttons(step, count, isPeak) {
    const found = [];
    if (count > FIRST_ROWS) {
      const text = this.all ? `Show the largest ${FIRST_ROWS}` : `Show all ${count}`;
      found.push(
        button(text, () => {
          this.all = !this.all;
          this.show(step);
        }),
      );
    }
    const full = this.pane.fullPeak;
    if (full && full.step !== this.pane.peakStep && full.step !== step) {
      found.push(button("Peak with workspace", () => this.pane.listStep(full.step)));
    }
    if (!isPeak) found.push(button("Back to the peak", () => this.pane.listStep(this.pane.peakStep)));
    return el("div", { class: "buttons" }, ...found);
  }
}
