// The camera: the graph is larger than the window, and only the part in the window is drawn.

const stage = $("stage");
const camera = { x: 0, y: 0, k: 1 };
let onCamera = () => {};
let glide = 0; // the request for the next frame of a smooth move, or 0
const READABLE = touch ? 0.86 : 0.62; // the smallest scale of a whole graph, so that its numbers can be read and dragged
const READABLE_SHORT = 0.6; // of one with short cards, which have no numbers to drag
const LEAST = 0.2; // of one that is not folded further
let fitted = null; // the last result of `fit`, and its input
let chosen = false; // true if the reader has chosen what is folded or open

function stopGliding() {
  cancelAnimationFrame(glide);
  glide = 0;
}

function moveTo(x, y, k = camera.k) {
  camera.k = Math.min(3, Math.max(0.004, k));
  camera.x = x;
  camera.y = y;
  onCamera();
}

/** Return the part of the graph in the window, with a margin in window pixels. */
function windowOnGraph(margin = 0) {
  const { k, x, y } = camera;
  return {
    left: (-x - margin) / k,
    top: (-y - margin) / k,
    right: (stage.clientWidth - x + margin) / k,
    bottom: (stage.clientHeight - y + margin) / k,
  };
}

/** Shade the edges of the stage beyond which the graph goes on. */
function shadeEdges({ width, height }) {
  const { left, top, right, bottom } = windowOnGraph(4);
  const beyond = { up: top > 0, down: bottom < height, left: left > 0, right: right < width };
  for (const [edge, more] of Object.entries(beyond)) stage.style.setProperty(`--${edge}`, more ? "16px" : "0px");
}

function zoomAt(factor, px = stage.clientWidth / 2, py = stage.clientHeight / 2) {
  stopGliding();
  const k = Math.min(3, Math.max(0.004, camera.k * factor));
  moveTo(px - ((px - camera.x) * k) / camera.k, py - ((py - camera.y) * k) / camera.k, k);
}

const centred = (size, room) => (room - size) / 2;
const STAGE_MARGIN = 10; // between the graph and the border of the stage: the ring around an output needs some

/** Return the scale at which the whole graph fits. */
const wholeScale = ({ width, height }) =>
  Math.min((stage.clientWidth - 2 * STAGE_MARGIN) / width, (stage.clientHeight - 2 * STAGE_MARGIN) / height, 1.25);

/** Return true if the whole graph can be read at once. */
const isLegible = (size) => wholeScale(size) >= (short ? READABLE_SHORT : READABLE);

/** Show the whole graph, unless nothing could be read then: else its beginning. */
function fit(size, whole = false) {
  stopGliding();
  const all = wholeScale(size);
  const k = whole || all >= LEAST ? all : READABLE_SHORT;
  const spare = stage.clientWidth - size.width * k - STAGE_MARGIN;
  const start = Math.min(Math.max(stage.clientWidth / 2 - size.start * k, spare), STAGE_MARGIN);
  const x = spare >= STAGE_MARGIN ? centred(size.width * k, stage.clientWidth) : start;
  moveTo(x, Math.max(STAGE_MARGIN, centred(size.height * k, stage.clientHeight)), k);
  fitted = { ...camera, size, whole };
}

/** Open or fit again after a change of the window's size, unless the camera was moved. A notebook shows frames before it sizes them. */
function refit() {
  const still = !glide && fitted && camera.x === fitted.x && camera.y === fitted.y && camera.k === fitted.k;
  if (!still) return onCamera();
  if (!chosen) openView(fitted.whole);
  else fit(fitted.size, fitted.whole);
}

/** Bring a rectangle of the graph into the window if it is outside, smoothly unless reduced motion is set. */
function show(box, centre = false) {
  const view = windowOnGraph(-8);
  const inside = box.x >= view.left && box.x + box.w <= view.right && box.y >= view.top && box.y + box.h <= view.bottom;
  if (inside && !centre) return;
  const k = centre && camera.k < 0.5 ? 1 : camera.k;
  const along = (at, from, size, room) =>
    centre ? centred(size * k, room) - from * k : nearest(at, from * k, size * k, room);
  const x = along(camera.x, box.x, box.w, stage.clientWidth);
  const y = along(camera.y, box.y, box.h, stage.clientHeight);
  const far = Math.hypot(x - camera.x, y - camera.y);
  stopGliding();
  if (calm.matches || k !== camera.k || far > 3000 || playing) return moveTo(x, y, k);
  const [x0, y0, began] = [camera.x, camera.y, performance.now()];
  const move = (now) => {
    const t = Math.min(1, Math.max(0, (now - began) / 220));
    const eased = t * (2 - t);
    moveTo(x0 + (x - x0) * eased, y0 + (y - y0) * eased);
    glide = t < 1 ? requestAnimationFrame(move) : 0;
  };
  glide = requestAnimationFrame(move);
}

/** Return the shift, starting from `shift`, that shows an interval with some of its surroundings. */
function nearest(shift, from, size, room) {
  if (from + shift >= 8 && from + size + shift <= room - 8) return shift;
  const around = Math.min(room * 0.3, (room - size) / 2);
  return size > room ? centred(size, room) - from : from + shift < 8 ? around - from : room - around - from - size;
}

stage.addEventListener(
  "wheel",
  (event) => {
    if (window.parent !== window && !document.hasFocus()) return; // the surrounding page scrolls until this frame is clicked
    event.preventDefault();
    stopGliding();
    const { left, top } = stage.getBoundingClientRect();
    if (event.ctrlKey || event.metaKey)
      return zoomAt(Math.exp(-event.deltaY / 300), event.clientX - left, event.clientY - top);
    const unit = event.deltaMode === 1 ? 20 : 1;
    const [dx, dy] = event.shiftKey ? [event.deltaY, 0] : [event.deltaX, event.deltaY];
    moveTo(camera.x - dx * unit, camera.y - dy * unit);
  },
  { passive: false },
);

const fingers = new Map();
stage.addEventListener("pointerdown", (event) => {
  if (event.button !== 0) return;
  fingers.set(event.pointerId, [event.clientX, event.clientY]);
  stage.dataset.moved = "";
});
window.addEventListener("pointermove", (event) => {
  const before = fingers.get(event.pointerId);
  if (!before) return;
  const now = [event.clientX, event.clientY];
  if (fingers.size === 2) {
    const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    const spread = (point) => Math.max(20, Math.hypot(point[0] - other[0], point[1] - other[1]));
    const { left, top } = stage.getBoundingClientRect();
    zoomAt(spread(now) / spread(before), (now[0] + other[0]) / 2 - left, (now[1] + other[1]) / 2 - top);
  } else {
    if (!stage.dataset.moved && Math.hypot(now[0] - before[0], now[1] - before[1]) < 4) return;
    stage.dataset.moved = "yes"; // a drag, not a click
    stopGliding();
    moveTo(camera.x + now[0] - before[0], camera.y + now[1] - before[1]);
  }
  fingers.set(event.pointerId, now);
});
for (const end of ["pointerup", "pointercancel"])
  window.addEventListener(end, (event) => fingers.delete(event.pointerId));
