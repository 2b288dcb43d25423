// All tensors as a table: searched, sorted, one page at a time. Filled when it is opened.

const PAGE_ROWS = 100;
const MOST_PRINTED = 1000;

const COLUMNS = [
  { title: "tensor", key: (t) => t.value, text: (t) => t.name },
  { title: "kind", key: (t) => KIND_WORDS[t.kind], text: (t) => KIND_WORDS[t.kind] },
  { title: "type", key: (t) => shapeText(t), text: (t) => shapeText(t) },
  { title: "bytes", key: (t) => t.size, text: (t) => grouped.format(t.size), number: true },
  { title: "arena", key: (t) => t.arena, text: (t) => String(t.arena), number: true },
  { title: "offset", key: (t) => t.offset, text: (t) => grouped.format(t.offset), number: true },
  { title: "alive", key: (t) => t.life[0] ?? Infinity, text: (t) => lifeText(t) },
  { title: "written by", key: (t) => t.producers[0] ?? -1, text: (t, m) => usersText(m, t.producers, "nothing") },
  { title: "read by", key: (t) => t.consumers[0] ?? Infinity, text: (t, m) => usersText(m, t.consumers, "nothing") },
];
const BYTES = 3;

class TensorTable {
  constructor(pane) {
    this.pane = pane;
    this.column = BYTES;
    this.up = false;
    this.page = 0;
    this.printing = false;
    this.search = el("input", { type: "search", oninput: () => this.change(0) });
    this.count = el("span", { class: "quiet", role: "status" });
    this.back = button("Previous", () => this.change(this.page - 1));
    this.next = button("Next", () => this.change(this.page + 1));
    this.head = el("tr");
    this.body = el("tbody");
    const count = pane.method.tensors.length;
    this.node = el(
      "details",
      { class: "tensors", ontoggle: () => this.node.open && this.change(this.page) },
      el("summary", {}, `All tensors (${grouped.format(count)})`),
      el("div", { class: "buttons" }, el("label", {}, "Search ", this.search), this.back, this.next, this.count),
      el(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": `All tensors of ${pane.label}` },
        el("table", {}, el("thead", {}, this.head), this.body),
      ),
    );
  }

  rows() {
    const { method } = this.pane;
    const wanted = this.search.value.trim().toLowerCase();
    const found = wanted
      ? method.tensors.filter((t) => COLUMNS.some((c) => c.text(t, method).toLowerCase().includes(wanted)))
      : [...method.tensors];
    const { key } = COLUMNS[this.column];
    const sign = this.up ? 1 : -1;
    return found.sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      return (x < y ? -sign : x > y ? sign : 0) || a.number - b.number;
    });
  }

  change(page) {
    const rows = this.rows();
    const perPage = this.printing ? MOST_PRINTED : PAGE_ROWS;
    this.page = Math.max(0, Math.min(page, Math.ceil(rows.length / perPage) - 1));
    const first = this.page * perPage;
    const shown = rows.slice(first, first + perPage);
    const range = shown.length ? `${grouped.format(first + 1)} to ${grouped.format(first + shown.length)}` : "none";
    this.count.textContent = `${range} of ${grouped.format(rows.length)}`;
    this.back.disabled = this.page === 0;
    this.next.disabled = first + perPage >= rows.length;
    this.head.replaceChildren(...COLUMNS.map((column, k) => this.headCell(column, k)));
    this.body.replaceChildren(...shown.map((tensor) => this.row(tensor)));
  }

  headCell(column, k) {
    const sorted = k === this.column;
    const sort = button(column.title, () => {
      this.up = sorted ? !this.up : !column.number;
      this.column = k;
      this.change(0);
      this.head.children[k].firstChild.focus();
    });
    const state = sorted ? (this.up ? "ascending" : "descending") : null;
    return el("th", { scope: "col", "aria-sort": state }, sort);
  }

  row(tensor) {
    const { pane } = this;
    const cells = COLUMNS.slice(1).map((column) =>
      el("td", { class: column.number ? "number" : null }, column.text(tensor, pane.method)),
    );
    const name = button(tensor.name, () => pane.select(tensor.item, true), { class: "link" });
    return el("tr", {}, el("th", { scope: "row" }, swatch(tensor.kind), name), ...cells);
  }

  print(on) {
    if (on) this.wasOpen = this.node.open;
    this.printing = on;
    this.node.open = on || this.wasOpen;
    this.change(0);
  }
}
