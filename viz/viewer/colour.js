// Cards coloured by a size: the norm of the gradient, the bytes saved for backward, or the time in a pass, as in colouring.py.

const TINTS = 5;
let colourBy = ""; // a key of SIZES, or "" for colours by kind
const opsIn = (box) => (box.leaf ? [] : ops.slice(box.from, box.to));
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

const SIZES = {
  grad: { words: "norm of the gradient", of: gradientNorm, text: (x) => number(x, 2) },
  memory: { words: "saved for backward", of: savedBytes, text: bytes },
  time: { words: "time in this pass", of: (box, pass) => sum(opsIn(box).map((op) => op.times?.[pass] ?? 0)), text: seconds },
};

function gradientNorm(box) {
  if (box.kind === "copy") return 0;
  const of = box.out.filter((value) => gradientOf.has(value)).map((value) => norm(values[gradientOf.get(value)]));
  return Math.hypot(...of);
}

/** Return the Euclidean norm of a value's elements; infinity if some are not finite. */
function norm(value) {
  const found = statistics(value);
  if (!found) return 0;
  if (found[4] || found[5] || found[2] === null) return Infinity;
  return Math.sqrt(elements(value)) * Math.hypot(found[2], found[3]);
}

/** Return the bytes of each tensor that operations save and that is not forgotten; one saved several times counts once. */
const savedSizes = (some) => [...new Map(some.flatMap(savedBy).map(([value, size]) => [value, size])).values()];

function savedBytes(box) {
  return sum(savedSizes(opsIn(box)));
}

function seconds(x) {
  const [amount, unit] = x < 1e-3 ? [x * 1e6, "µs"] : x < 1 ? [x * 1e3, "ms"] : [x, "s"];
  return `${number(amount, 3)} ${unit}`;
}

/** Return the sizes by which this record's cards can be coloured. */
const colourings = () =>
  Object.keys(SIZES).filter((size) => ({ grad: gradientOf.size, memory: peak, time: ops.some((op) => op.times) })[size]);

/** Give each box its shade in each pass; all passes have one scale. */
function shadeBoxes() {
  for (const box of graph.boxes) box.shades = null;
  $("scale").hidden = !colourBy;
  if (!colourBy) return;
  const { words, of, text } = SIZES[colourBy];
  const sizes = graph.boxes.map((box) => Object.fromEntries(passes.map((pass) => [pass, of(box, pass)])));
  const finite = sizes.flatMap(Object.values).filter((size) => size > 0 && size < Infinity);
  const [low, high] = [Math.min(...new Set(finite)), Math.max(...new Set(finite))];
  const shade = (size) => {
    if (!size) return 0;
    if (low === high || size === Infinity) return TINTS;
    return Math.min(TINTS, 1 + Math.floor((TINTS * Math.log(size / low)) / Math.log(high / low)));
  };
  graph.boxes.forEach((box, i) => {
    box.shades = Object.fromEntries(Object.entries(sizes[i]).map(([pass, size]) => [pass, shade(size)]));
  });
  const swatch = (i) => el("i", { class: `shade-${i + 1}` });
  const range = finite.length ? `: ${text(low)} to ${text(high)}` : ": none";
  $("scale").replaceChildren(...Array.from({ length: TINTS }, (_, i) => swatch(i)), ` ${words}${range}`);
}

function colourCards(size) {
  colourBy = size;
  $("colour").value = size;
  shadeBoxes();
  refresh();
}
