// The panel of the selected item: all about it, and the way along its producers and consumers.

class Details {
  constructor(pane) {
    this.pane = pane;
    this.node = el("section", { class: "details", "aria-label": "Selected" });
    this.show(null);
  }

  show(number) {
    const { pane } = this;
    if (number === null) {
      this.node.replaceChildren(
        el("h4", {}, "Selected"),
        el("p", { class: "where" }, "Click a rectangle, or press Enter on one, to follow it through time."),
      );
      return;
    }
    const { method } = pane;
    const item = method.items[number];
    const { title, kind, pairs } = describeItem(method, item, item.start);
    const names = item.tensors.length > 1 ? this.names(item) : "";
    this.node.replaceChildren(
      el("h4", {}, swatch(kind), title, el("span", { class: "quiet" }, ` ${KIND_WORDS[kind]}`)),
      pairList(pairs),
      names,
      this.links("made from", pane.related.sources),
      this.links("goes into", pane.related.results),
      el("div", { class: "buttons" }, button("Let go", () => pane.clear())),
    );
  }

  names(item) {
    const rows = item.tensors.map((number) => {
      const tensor = this.pane.method.tensors[number];
      return el("li", {}, `${tensor.name}: ${shapeText(tensor)}, ${sizeText(tensor.size)}, ${lifeText(tensor)}`);
    });
    return el("div", { class: "links" }, el("h5", {}, "names of this memory"), el("ul", {}, ...rows));
  }

  links(title, numbers) {
    if (!numbers.length) return "";
    const { method } = this.pane;
    const entries = numbers.slice(0, FIRST_ROWS).map((number) => {
      const item = method.items[number];
      const [name, size] = itemLabel(method, item, item.start);
      return el(
        "li",
        {},
        swatch(item.kind),
        button(name, () => this.pane.select(number, true), { class: "link" }),
        el("small", {}, ` ${size}`),
      );
    });
    const more = numbers.length - entries.length;
    if (more > 0) entries.push(el("li", {}, `and ${more} more`));
    return el("div", { class: "links" }, el("h5", {}, title), el("ul", {}, ...entries));
  }
}
