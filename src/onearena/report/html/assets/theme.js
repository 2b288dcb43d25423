// Colours come from the style sheet, so that light, dark and print are decided in one place.

const theme = { fill: [], ink: [], pattern: [] };
const themeListeners = [];

function readTheme() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  for (const name of ["paper", "panel", "grid", "line", "quiet", "text", "accent", "peak", "veil"]) {
    theme[name] = read(`--${name}`);
  }
  theme.fill = KINDS.map((kind) => read(`--kind-${kind}`));
  theme.arenas = [0, 1, 2].map((number) => read(`--arena-${number}`));
  theme.ink = theme.fill.map((fill) => (luminance(fill) > 0.18 ? "#000000" : "#ffffff"));
  theme.pattern = KINDS.map((kind, k) => kindPattern(kind, theme.fill[k], theme.ink[k]));
}

// Relative luminance, https://www.w3.org/TR/WCAG22/#dfn-relative-luminance
function luminance(hex) {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const channel = parseInt(hex.slice(at, at + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// Colour is not the only thing that tells kinds apart. Null: plain.
const PATTERNS = {
  input: (c) => lines(c, [[0, 2.5, 8, 2.5], [0, 6.5, 8, 6.5]]),
  output: (c) => lines(c, [[2.5, 0, 2.5, 8], [6.5, 0, 6.5, 8]]),
  opened: (c) => lines(c, [[-2, 10, 10, -2], [-2, 2, 2, -2], [6, 10, 10, 6]]),
  scratch: (c) => lines(c, [[0, 0, 8, 8], [0, 8, 8, 0]]),
  state: (c) => {
    c.fillRect(1, 1, 2, 2);
    c.fillRect(5, 5, 2, 2);
  },
  workspace: (c) => lines(c, [[-2, -2, 10, 10], [-2, 6, 2, 10], [6, -2, 10, 2]]),
};

function lines(context, segments) {
  context.beginPath();
  for (const [x0, y0, x1, y1] of segments) {
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
  }
  context.stroke();
}

function kindPattern(kind, fill, ink) {
  const draw = PATTERNS[kind];
  if (!draw) return null;
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const context = tile.getContext("2d");
  context.fillStyle = fill;
  context.fillRect(0, 0, 8, 8);
  context.globalAlpha = kind === "workspace" ? 0.35 : 0.16;
  context.fillStyle = context.strokeStyle = ink;
  draw(context);
  return context.createPattern(tile, "repeat");
}

function themeChanged() {
  readTheme();
  for (const listener of themeListeners) listener();
}

const THEMES = ["automatic", "light", "dark"];

function installTheme() {
  readTheme();
  const choice = byId("theme");
  let chosen = 0;
  choice.addEventListener("click", () => {
    chosen = (chosen + 1) % THEMES.length;
    if (chosen) document.documentElement.dataset.theme = THEMES[chosen];
    else delete document.documentElement.dataset.theme;
    choice.textContent = `Colours: ${THEMES[chosen]}`;
    themeChanged();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", themeChanged);
}
