// The keyboard on a map and on a curve.

const ZOOM_STEP = 0.7;
const PAN_STEP = 0.15;

const MAP_HELP =
  "Arrow keys go to the next block: left and right in time, up and down in address. " +
  "Enter follows it, Escape lets go. Plus and minus zoom, with Shift along the addresses only; " +
  "Shift and arrow keys move the view; Home shows everything.";
const CURVE_HELP =
  "Left and right arrow keys go from step to step, Page Up and Page Down to the next instruction. " +
  "Enter lists what is alive there, P goes to the peak. Plus and minus zoom, Home shows everything.";

function installMapKeys(pane) {
  const { view } = pane;
  const moves = {
    ArrowRight: () => pane.focusTo(nextInTime(pane, 1)),
    ArrowLeft: () => pane.focusTo(nextInTime(pane, -1)),
    ArrowUp: () => pane.focusTo(nextInAddress(pane, 1)),
    ArrowDown: () => pane.focusTo(nextInAddress(pane, -1)),
    Enter: () => pane.select(pane.focus ?? nextInTime(pane, 1)),
    " ": () => pane.select(pane.focus ?? nextInTime(pane, 1)),
    Escape: () => pane.clear(),
  };
  const span = (sign, x) => sign * PAN_STEP * (x ? view.x1 - view.x0 : view.y1 - view.y0);
  const pans = {
    ArrowRight: () => view.pan(span(1, true), 0),
    ArrowLeft: () => view.pan(span(-1, true), 0),
    ArrowUp: () => view.pan(0, span(1, false)),
    ArrowDown: () => view.pan(0, span(-1, false)),
  };
  pane.map.host.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const action = (event.shiftKey && pans[event.key]) || moves[event.key] || zoomKey(pane, event, true);
    if (!action) return;
    event.preventDefault();
    action();
  });
  pane.map.host.addEventListener("blur", () => pane.blur());
}

function zoomKey(pane, event, vertical) {
  const { view } = pane;
  const item = vertical && pane.focus !== null ? pane.method.items[pane.focus] : null;
  const at = item?.rectangles.length ? middle(item) : [];
  const alongX = !(vertical && event.shiftKey && event.key !== "+");
  const zoom = (factor) => () => {
    view.zoom(alongX ? factor : 1, vertical ? factor : 1, ...at);
    say(rangeText(pane));
  };
  switch (event.key) {
    case "+":
    case "=":
      return zoom(ZOOM_STEP);
    case "*":
      return () => view.zoom(1, vertical ? ZOOM_STEP : 1, ...at);
    case "-":
    case "_":
      return zoom(1 / ZOOM_STEP);
    case "Home":
    case "0":
      return () => {
        view.reset();
        say(rangeText(pane));
      };
    default:
      return null;
  }
}

function rangeText(pane) {
  const { view } = pane;
  return `steps ${Math.floor(view.x0)} to ${Math.ceil(view.x1) - 1} of ${view.maxX}`;
}

function middle(item) {
  const [start, end, low, high] = item.rectangles;
  return [(start + end) / 2, item.base + (low + high) / 2];
}

// Items in the order of their first step, then address: the order of the index.
function nextInTime(pane, direction) {
  const { order } = pane;
  if (!order.length) return null;
  if (pane.focus === null) return order[direction > 0 ? 0 : order.length - 1];
  const at = pane.places.get(pane.focus) + direction;
  return order[Math.min(order.length - 1, Math.max(0, at))];
}

function nextInAddress(pane, direction) {
  if (pane.focus === null) return nextInTime(pane, 1);
  const item = pane.method.items[pane.focus];
  const found = pane.method.index.beside(item.start, item.low, direction);
  return found < 0 ? pane.focus : found;
}

function installCurveKeys(pane) {
  const last = pane.method.stepCount - 1;
  const go = (step) => () => pane.visitStep(Math.min(last, Math.max(0, step)));
  pane.curve.host.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = pane.hoverStep ?? pane.step ?? 0;
    const run = pane.runs.findIndex((r) => r.start <= at && at < r.end);
    const actions = {
      ArrowRight: go(at + 1),
      ArrowLeft: go(at - 1),
      PageDown: go(pane.runs[run + 1]?.start ?? last),
      PageUp: go(pane.runs[run - 1]?.start ?? 0),
      End: go(last),
      p: go(pane.peakStep ?? 0),
      P: go(pane.peakStep ?? 0),
      Enter: () => pane.listStep(at),
      " ": () => pane.listStep(at),
      Escape: () => pane.listStep(pane.peakStep),
    };
    const action = actions[event.key] ?? zoomKey(pane, event, false);
    if (!action) return;
    event.preventDefault();
    action();
  });
  pane.curve.host.addEventListener("blur", () => pane.blur());
}
