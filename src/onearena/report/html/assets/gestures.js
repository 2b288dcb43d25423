// Pointer and wheel on a map or a curve.

const WHEEL_SPEED = 0.0016;
const CLICK_PIXELS = 4;
const PAGE_SCROLL_MS = 300;

// A wheel turn that scrolls the page goes on scrolling it when a map comes under the pointer.
let lastPageScroll = -Infinity;
addEventListener("scroll", () => (lastPageScroll = performance.now()), { passive: true });

// `vertical`: whether the plot can also be moved and zoomed along its bytes.
function installGestures(pane, plot, { vertical, onhover, onclick, onleave }) {
  const { host, frame } = plot;
  const pointers = new Map();
  let moved = 0;
  const place = (event) => {
    const box = host.getBoundingClientRect();
    // the canvases lie within the border
    const x = event.clientX - box.left - host.clientLeft;
    return { x, y: event.clientY - box.top - host.clientTop };
  };

  host.addEventListener(
    "wheel",
    (event) => {
      if (performance.now() - lastPageScroll < PAGE_SCROLL_MS) return;
      event.preventDefault();
      const { x, y } = place(event);
      const { view } = pane;
      if (event.deltaX && Math.abs(event.deltaX) > Math.abs(event.deltaY) && !event.shiftKey) {
        view.pan(event.deltaX / frame.pixelsPerStep, 0);
        return;
      }
      const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
      const factor = Math.exp((event.deltaY || event.deltaX) * lines * WHEEL_SPEED);
      const alongX = !event.shiftKey || !vertical;
      const alongY = vertical && (event.shiftKey || event.ctrlKey);
      const address = vertical ? frame.address(y) : undefined;
      view.zoom(alongX ? factor : 1, alongY ? factor : 1, frame.step(x), address);
    },
    { passive: false },
  );

  host.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    pointers.set(event.pointerId, place(event));
    host.setPointerCapture(event.pointerId);
    moved = 0;
  });

  host.addEventListener("pointermove", (event) => {
    const now = place(event);
    const before = pointers.get(event.pointerId);
    if (!before) {
      onhover(now, event);
      return;
    }
    if (pointers.size === 2) pinch(pane, frame, pointers, event.pointerId, now, vertical);
    else {
      moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
      if (moved > CLICK_PIXELS) {
        hideTip();
        host.classList.add("dragging");
        const bytes = vertical ? (now.y - before.y) / frame.pixelsPerByte : 0;
        pane.view.pan((before.x - now.x) / frame.pixelsPerStep, bytes);
      }
    }
    pointers.set(event.pointerId, now);
  });

  const lift = (event) => {
    const known = pointers.delete(event.pointerId);
    host.classList.remove("dragging");
    if (known && event.type === "pointerup" && moved <= CLICK_PIXELS) onclick(place(event), event);
  };
  host.addEventListener("pointerup", lift);
  host.addEventListener("pointercancel", lift);
  host.addEventListener("pointerleave", () => onleave());
  host.addEventListener("dblclick", () => pane.view.reset());
}

function pinch(pane, frame, pointers, moving, now, vertical) {
  const [other] = [...pointers].filter(([id]) => id !== moving).map(([, at]) => at);
  const before = pointers.get(moving);
  const ratio = (a, b) => Math.max(Math.abs(a), 24) / Math.max(Math.abs(b), 24);
  const factorX = ratio(before.x - other.x, now.x - other.x);
  const factorY = vertical ? ratio(before.y - other.y, now.y - other.y) : 1;
  pane.view.zoom(factorX, factorY, frame.step(other.x), vertical ? frame.address(other.y) : undefined);
}
