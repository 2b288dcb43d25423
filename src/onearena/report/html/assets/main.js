// Reads the data block and puts a pane into every place that the page has for one.

function start() {
  installTheme();
  const data = JSON.parse(byId("data").textContent);
  const groups = new Map();
  for (const root of document.querySelectorAll(".drawing")) {
    const file = data.files[root.dataset.file];
    const raw = file.methods[root.dataset.method];
    const label = data.files.length > 1 ? `${raw.name} in ${file.path}` : raw.name;
    const pane = new Pane(root, decodeMethod(raw), label);
    const section = root.closest("section");
    if (!groups.has(section)) groups.set(section, []);
    groups.get(section).push(pane);
  }
  const panes = [...groups.values()].flat();
  for (const group of groups.values()) {
    const height = Math.max(...group.map((pane) => pane.method.height));
    const curveMax = Math.max(...group.map((pane) => pane.curveMax));
    for (const pane of group) {
      pane.shareScale(height, curveMax);
      pane.layout();
    }
  }
  installPrinting(panes);
  // For tests and for measuring: what is in sight, and how much of it was drawn.
  window.onearena = {
    panes: panes.map((pane) => ({
      view: () => ({ x0: pane.view.x0, x1: pane.view.x1, y0: pane.view.y0, y1: pane.view.y1 }),
      drawn: () => pane.drawn,
      pan: (steps) => pane.view.pan(steps, 0),
      zoom: (factor) => pane.view.zoom(factor, factor),
      place: (number) => {
        const item = pane.method.items[number];
        const [x, y] = middle(item);
        return { x: pane.map.frame.x(x), y: pane.map.frame.y(y), name: itemLabel(pane.method, item, item.start)[0] };
      },
    })),
  };
}

// On paper: light colours, the width of the paper, everything unfolded.
const PRINT_WIDTH = 1000;

function installPrinting(panes) {
  const root = document.documentElement;
  const others = [...document.querySelectorAll("details:not(.tensors)")];
  let open = [];
  const print = (on) => {
    if (root.classList.contains("printing") === on) return;
    root.classList.toggle("printing", on);
    if (on) open = others.map((node) => node.open);
    others.forEach((node, k) => (node.open = on || open[k]));
    readTheme();
    for (const pane of panes) {
      pane.table.print(on);
      pane.printWidth = on ? PRINT_WIDTH : null;
      pane.layout();
    }
  };
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  matchMedia("print").addEventListener("change", (event) => print(event.matches));
}

start();
