// Small helpers for elements. Text from the file only ever goes through textContent.

const byId = (id) => document.getElementById(id);

// el("button", {class: "x", type: "button", onclick: f}, "text", child)
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const button = (text, onclick, attributes = {}) =>
  el("button", { type: "button", onclick, ...attributes }, text);

// Says it to screen readers. The same text twice would stay unheard: it is emptied first.
function say(text) {
  const live = byId("live");
  live.textContent = "";
  requestAnimationFrame(() => {
    live.textContent = text;
  });
}

// A canvas that is sharp on every screen; returns its context in CSS pixels.
function sized(canvas, width, height, ratio = window.devicePixelRatio || 1) {
  const w = Math.max(1, Math.round(width * ratio));
  const h = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d", { alpha: canvas.classList.contains("top") });
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

// Calls at most once per frame, however often it is asked to.
function oncePerFrame(action) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      action();
    });
  };
}
