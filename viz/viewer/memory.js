// The strip under the graph: bytes saved for backward, over the steps.  It shares the slider's axis.

const strip = $("memory");
let alive = memoryOverSteps(); // without what is forgotten
// a jvp pass without a backward pass saves nothing
const saves = passes.includes("backward") || !passes.includes("jvp");
const largestOf = (sizes) => sizes.reduce((most, size) => Math.max(most, size), 0);
const peak = saves ? largestOf(alive) : 0; // as the program is written: the height of the strip
const COLUMNS = 600; // with more steps, a column shows the largest of several

/** Return the saved bytes after each step; a tensor saved by several operations counts once. */
function memoryOverSteps() {
  const change = new Float64Array(steps.length + 1);
  const spans = new Map(); // value -> bytes, first step, last step
  for (const op of ops) {
    for (const [value, size, freer] of savedBy(op)) {
      const [, from, to] = spans.get(value) ?? [size, Infinity, 0];
      const ends = [Math.min(from, stepFor.forward.get(op.index)), Math.max(to, freedAt.get(freer) ?? steps.length)];
      spans.set(value, [size, ...ends]);
    }
  }
  for (const [size, from, to] of spans.values()) {
    change[from] += size;
    change[Math.min(to, steps.length)] -= size;
  }
  let now = 0;
  return change.map((by) => (now += by)).slice(0, steps.length);
}

function drawMemory() {
  $("strip").hidden = !peak;
  if (!peak) return;
  alive = memoryOverSteps();
  const [w, h] = [1000, 40];
  const n = stops.length;
  const columns = Math.min(n, COLUMNS);
  let path = `M0 ${h}`;
  for (let c = 0; c < columns; c++) {
    const [from, to] = [c, c + 1].map((at) => Math.floor((at * n) / columns));
    const most = largestOf(stops.slice(from, to).map((step) => alive[step]));
    path += `V${(h - (most / peak) * (h - 2)).toFixed(1)}H${(((c + 1) * w) / columns).toFixed(1)}`;
  }
  const area = shape("path", { class: "area", d: `${path}V${h}Z` });
  const starts = passes.slice(1).map((pass) => stops.findIndex((step) => step >= startOf[pass]));
  const marksAt = starts.map((i) => shape("line", { class: "start", x1: (i * w) / n, x2: (i * w) / n, y1: 0, y2: h }));
  strip.replaceChildren(area, ...marksAt, shape("rect", { id: "cursor", y: 0, width: Math.max(2, w / n), height: h }));
}

function showMemory(step) {
  if (!peak) return;
  const i = stopAt(step);
  $("cursor").setAttribute("x", ((i * 1000) / stops.length).toFixed(1));
  $("amount").textContent = `saved for backward: ${bytes(alive[step])} of at most ${bytes(largestOf(alive))}`;
}

strip.addEventListener("click", (event) => {
  const { left, width } = strip.getBoundingClientRect();
  go(stops[Math.min(stops.length - 1, Math.floor(((event.clientX - left) / width) * stops.length))]);
});
