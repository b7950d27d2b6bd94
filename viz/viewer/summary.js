// The summary of a tensor, as minigrad/record/schema.py and grid.py make it: elements, or statistics, a histogram and a grid.

const WHOLE = 16; // elements: up to this many are all in a summary
const BINS = 16;
const [CELLS_PANELS, CELLS_WIDEST, CELLS_BUDGET, CELLS_LESS] = [4, 48, 1024, 256];

/** Return the summary of a tensor; `old` is the recorded one. */
function summaryOf(tensor, old) {
  if (tensor.data.length <= WHOLE) return { all: live.toNested(tensor) };
  const finite = tensor.data.filter(Number.isFinite);
  const found = statisticsOf(tensor.data, finite);
  const made = { statistics: found, histogram: finite.length ? histogramOf(finite, found[0], found[1]) : [] };
  return old.grid ? { ...made, grid: gridOf(tensor, old.grid) } : made;
}

function statisticsOf(all, finite) {
  const odd = oddIn(all);
  if (!finite.length) return [null, null, null, null, ...odd];
  let [low, high, total, squares] = [Infinity, -Infinity, 0, 0];
  for (const x of finite) [low, high, total] = [Math.min(low, x), Math.max(high, x), total + x];
  const mean = total / finite.length;
  for (const x of finite) squares += (x - mean) ** 2;
  return [low, high, mean, Math.sqrt(squares / finite.length), ...odd];
}

function histogramOf(numbers, low, high) {
  const margin = low < high ? 0 : Math.max(Math.abs(low), Math.abs(high)) / 2 || 0.5;
  const [from, wide] = [low - margin, high - low + 2 * margin];
  const counts = new Array(BINS).fill(0);
  for (const x of numbers) counts[Math.min(BINS - 1, Math.floor(((x - from) / wide) * BINS))]++;
  return counts;
}

/** Return the grid of a tensor; its cells are numbers, not letters. */
function gridOf(tensor, old) {
  const parts = partsOf(tensor.shape, old);
  const numbers = [];
  for (let panel = 0; panel < parts.panels; panel++)
    for (let i = 0; i < parts.tall; i++)
      numbers.push(Array.from({ length: parts.wide }, (_, j) => cellOf(tensor.data, parts, panel, i, j)));
  return { ...old, cell: parts.cell, numbers, rows: parts.tall, unit: 1 };
}

/** Return the division of a tensor into cells: its panels, the cells of one, and the elements that these stand for. */
function partsOf(shape, { image, panels: all }) {
  const last = image && shape.length === 3 && [1, 3].includes(shape[2]); // (H, W, C)
  const [rows, columns] = last ? shape : shape.length > 1 ? shape.slice(-2) : [1, shape[0]];
  const colours = image ? (last ? shape[2] : shape.at(-3)) : 0;
  const panels = Math.min(all, colours > 1 ? colours : CELLS_PANELS);
  const size = shape.reduce((a, b) => a * b, 1);
  const budget = Math.floor((size <= CELLS_BUDGET ? CELLS_BUDGET : CELLS_LESS) / panels);
  const tall = Math.min(rows, image ? 32 : Math.floor(Math.sqrt(budget)));
  const wide = image ? Math.min(columns, 32) : Math.min(columns, CELLS_WIDEST, Math.floor(budget / tall));
  const high = image ? tall : Math.min(rows, CELLS_WIDEST, Math.floor(budget / wide));
  const cell = high === rows && wide === columns ? "element" : image ? "mean" : "largest";
  return { rows, columns, panels, tall: high, wide, cell, step: last ? colours : 1 };
}

/** Return the positions of the elements of a cell. */
function placesOf({ rows, columns, tall, wide, step }, panel, i, j) {
  const span = (k, parts, size) => [Math.floor((k * size) / parts), Math.floor(((k + 1) * size) / parts)];
  const [[top, low], [left, right]] = [span(i, tall, rows), span(j, wide, columns)];
  const start = step > 1 ? panel : panel * rows * columns;
  const found = [];
  for (let y = top; y < low; y++) for (let x = left; x < right; x++) found.push(start + (y * columns + x) * step);
  return found;
}

/** Return the number of a cell: its element, the one of the largest magnitude, or the mean. */
function cellOf(elements, parts, ...cell) {
  const inside = placesOf(parts, ...cell).map((at) => elements[at]);
  if (parts.cell === "mean") return inside.reduce((a, b) => a + b, 0) / inside.length;
  return inside.find(Number.isNaN) ?? inside.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a));
}
