// The view from afar: thousands of cards are dots, painted on a canvas in the colour of their kind and state.

const far = $("far");
const paint = far.getContext("2d");
const NEAR = 0.22; // below this scale text is unreadable
const CROWDED = 420; // more cards than this in the window are painted, too
const NAMED = 400; // the largest number of names on them
let colours = {};

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const names = "ink paper line op function input parameter constant fold transfer cut forward backward jvp".split(" ");
  colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  colours.computed = colours.copy = colours.constant;
}

/** Paint the graph if the view is from afar; return true if it did. */
function paintFar() {
  const view = windowOnGraph(0);
  const distant = camera.k < NEAR || boxesIn(view).length > CROWDED;
  far.hidden = !distant;
  world.classList.toggle("hidden", distant);
  if (!distant) return false;
  const ratio = window.devicePixelRatio || 1;
  const [w, h] = [stage.clientWidth, stage.clientHeight];
  if (far.width !== Math.round(w * ratio) || far.height !== Math.round(h * ratio)) {
    far.width = Math.round(w * ratio);
    far.height = Math.round(h * ratio);
  }
  paint.setTransform(ratio, 0, 0, ratio, 0, 0);
  paint.clearRect(0, 0, w, h);
  paint.setTransform(ratio * camera.k, 0, 0, ratio * camera.k, ratio * camera.x, ratio * camera.y);
  paint.lineWidth = 1 / camera.k;
  paint.strokeStyle = colours.line;
  paint.beginPath();
  for (const edge of edgesIn(view)) {
    const [[x0, y0], [x1, y1]] = [edge.points[0], edge.points.at(-1)];
    paint.moveTo(x0, y0);
    paint.lineTo(x1, y1);
  }
  paint.stroke();
  paintFrames();
  const boxes = boxesIn(view);
  for (const box of boxes) paintBox(box);
  paint.setTransform(ratio, 0, 0, ratio, 0, 0);
  paint.font = FONTS.small;
  paint.fillStyle = colours.ink;
  paint.textAlign = "center";
  for (const box of boxes.length <= NAMED ? boxes : []) paintName(box);
  return true;
}

/** Paint the name of a box if it fits at a readable size. */
function paintName(box) {
  const [w, h] = [box.w * camera.k, (box.h - box.strip) * camera.k];
  const room = Math.floor((w - 4) / 6.2);
  if (h < 12 || room < 4) return;
  const [x, y] = [box.x * camera.k + camera.x, (box.y + box.strip) * camera.k + camera.y];
  paint.fillText(shorten(box.title, room), x + w / 2, y + h / 2 + 4);
}

function paintBox(box) {
  const least = 2 / camera.k;
  const tall = Math.max(least, box.h - box.strip);
  const lit = state.now.has(box.key);
  const off = (state.found && !matches(box)) || (state.paths && !state.paths.boxes.has(box.key));
  paint.globalAlpha = off ? 0.15 : box.leaf || state.step >= stepFor.forward.get(box.from) || lit ? 1 : 0.35;
  paint.fillStyle = lit ? colours[steps[state.step].pass] : colours[box.kind];
  const grow = lit ? 4 / camera.k : 0;
  paint.fillRect(box.x - grow, box.y + box.strip - grow, Math.max(least, box.w) + 2 * grow, tall + 2 * grow);
  if (camera.k > 0.06) {
    paint.strokeStyle = state.selected === box.key ? colours.ink : colours.line;
    paint.strokeRect(box.x, box.y + box.strip, box.w, tall);
  }
  paint.globalAlpha = 1;
}
