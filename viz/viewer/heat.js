// A large value as a picture in the pane: cells of a heat map, bars or pixels, with the number of the cell under the pointer.

const SHADES = 7; // shades of each colour, as in pictures
const [PICTURE_WIDE, BARS_TALL, BETWEEN_PANELS] = [240, 60, 6]; // width of a picture, height of bars, room between matrices
const INDEX = 9; // the size of the indices of rows and columns
const CELL_WORDS = { element: "", largest: "largest of ", mean: "mean of " };

/** Draw the grid of a value, with a line for the number under the pointer; cells of a value that can be changed are sliders. */
function heatMap(value, grid, changes) {
  const { rows: tall, image, unit, panels: all } = grid;
  const rows = cellRows(grid);
  const largest = Math.max(...rows.flat().map(Math.abs).filter(Number.isFinite), 0) || 1;
  const panels = Array.from({ length: rows.length / tall }, (_, i) => rows.slice(i * tall, (i + 1) * tall));
  const bars = value.shape.length === 1;
  const hint = changes === null ? "Point at a cell to read it." : "Point at a cell to read it, drag it to change it.";
  const line = el("p", { class: "cell", "aria-live": changes === null ? "polite" : null, "data-own": true }, hint);
  const tell = ({ currentTarget: cell }) => dragging || readCell(cell);
  const told = (text, at) => ({
    "data-read": text,
    onpointerenter: tell,
    onpointerdown: tell,
    ...(changes === null ? {} : sliderFor(changes, at, at === "0,0,0" || at === "*,0,0")),
  });
  const read = (panel, i, j) => `${cellPlace(value, grid, panel, i, j)} = ${number(rows[panel * tall + i][j] * unit, 3)}`;
  let marks;
  if (bars) marks = barMarks(rows[0], (j) => told(read(0, 0, j), `0,0,${j}`));
  else if (image && [1, 3].includes(panels.length))
    marks = pixelMarks(panels, pixelTop(value, grid, largest), (i, j) => told(panels.map((_, p) => read(p, i, j)).join(", "), `*,${i},${j}`));
  else marks = cellMarks(panels, largest, value.shape, (p, i, j) => told(read(p, i, j), `${p},${i},${j}`));
  const drawn = image ? 1 : panels.length;
  const note = all > drawn && !image ? `the first ${drawn} of ${all} matrices` : "";
  const [kind, role] = changes === null ? ["heat", "img"] : ["heat live", "group"];
  const frame = { class: kind, role, viewBox: `0 0 ${PICTURE_WIDE} ${marks.height.toFixed(1)}` };
  const picture = shape("svg", { ...frame, "aria-label": `Picture of ${count(elements(value), "element")}` }, marks.shapes);
  return el("figure", {}, changes === null ? [picture, note && el("p", { class: "note" }, note), line] : [line, picture]);
}

/** Show the number of a cell beside its picture. */
const readCell = (cell) => setText(cell.closest("figure").querySelector(".cell"), cell.dataset.read);

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const cellLetters = (grid) => (grid.cell === "element" ? 2 : 1);

/** Return the rows of all panels as numbers; in a record they are letters, as docs/record.md describes their letters. */
function cellRows(grid) {
  if (grid.numbers) return grid.numbers; // of changed numbers
  const letters = cellLetters(grid);
  const last = DIGITS.length ** letters - 1;
  const odd = { [last - 2]: NaN, [last - 1]: Infinity, [last]: -Infinity };
  return grid.cells.flatMap((panel) => {
    const wide = panel.length / grid.rows;
    return Array.from({ length: grid.rows }, (_, i) =>
      Array.from({ length: wide / letters }, (_, j) => {
        const word = [...panel.slice(i * wide + j * letters, i * wide + (j + 1) * letters)];
        const code = word.reduce((sum, letter) => sum * DIGITS.length + DIGITS.indexOf(letter), 0);
        return odd[code] ?? code - (last - 3) / 2;
      }));
  });
}

const pixelTop = (value, { unit }, largest) => Math.max(largest, (value.dtype === "uint8" ? 255 : 1) / (unit || 1));

/** Return the indices that a cell stands for, as they are written in Python. */
function cellPlace(value, grid, panel, i, j) {
  const { rows: tall, cells, cell, image } = grid;
  const last = image && value.shape.length === 3 && [1, 3].includes(value.shape[2]); // (H, W, C)
  const sizes = last ? [value.shape[2], value.shape[0], value.shape[1]] : value.shape;
  const wide = grid.numbers?.[0].length ?? cells[0].length / tall / cellLetters(grid);
  const span = (k, parts, size) => {
    const [from, to] = [Math.floor((k * size) / parts), Math.floor(((k + 1) * size) / parts)];
    return to - from > 1 ? `${from}:${to}` : `${from}`;
  };
  const lead = [];
  let rest = panel;
  for (const size of sizes.slice(0, -2).reverse()) (lead.unshift(String(rest % size)), (rest = Math.floor(rest / size)));
  const inner = sizes.length > 1 ? [span(i, tall, sizes.at(-2)), span(j, wide, sizes.at(-1))] : [span(j, wide, sizes[0])];
  return `${CELL_WORDS[cell]}[${(last ? [...inner, ...lead] : [...lead, ...inner]).join(", ")}]`;
}

/** Return the class and the strength of a cell's colour. */
function shade(cell, largest) {
  if (!Number.isFinite(cell)) return { class: Number.isNaN(cell) ? "nan" : "inf" };
  const level = Math.ceil((Math.abs(cell) / largest) * SHADES) / SHADES;
  return { class: cell > 0 ? "positive" : cell < 0 ? "negative" : "zero", "fill-opacity": level.toFixed(2) };
}

/** Draw matrices, with the first and the last index of their rows and columns. */
function cellMarks(panels, largest, sizes, listen) {
  const [tall, wide] = [panels[0].length, panels[0][0].length];
  const [top, room] = [INDEX + 2, INDEX * 0.6 * `${sizes.at(-2)}`.length + 3];
  const across = (PICTURE_WIDE - room - BETWEEN_PANELS * (panels.length - 1)) / panels.length;
  const side = Math.min(across / wide, 132 / tall, 18);
  const index = (number, x, y, anchor) =>
    shape("text", { x: x.toFixed(1), y: y.toFixed(1), "text-anchor": anchor, "font-size": INDEX, fill: "currentColor" }, number);
  const ends = (many, size) => [[0, 0], [many - 1, size - 1]].slice(0, many);
  const rows = ends(tall, sizes.at(-2)).map(([i, number]) => index(number, room - 3, top + (i + 0.5) * side + INDEX * 0.35, "end"));
  const shapes = panels.flatMap((panel, p) => {
    const left = room + p * (side * wide + BETWEEN_PANELS);
    const frame = shape("rect", { class: "frame", x: left, y: top, width: side * wide, height: side * tall });
    const columns = ends(wide, sizes.at(-1)).map(([j, number]) => index(number, left + (j + 0.5) * side, top - 3, "middle"));
    return [frame, ...columns, ...panel.flatMap((row, i) => row.map((cell, j) => square(left + j * side, top + i * side, side, side, {
      ...shade(cell, largest),
      ...listen(p, i, j),
    })))];
  });
  return { shapes: [...rows, ...shapes], height: top + side * tall };
}

function pixelMarks(panels, most, listen) {
  const [tall, wide] = [panels[0].length, panels[0][0].length];
  const side = Math.min(PICTURE_WIDE / wide, 132 / tall);
  const shapes = panels[0].flatMap((row, i) => row.map((_, j) => {
    const parts = panels.map((panel) => Math.round((255 * panel[i][j]) / most));
    const fill = `rgb(${(parts.length === 1 ? [parts[0], parts[0], parts[0]] : parts).join(",")})`;
    return square(j * side, i * side, side, side, { fill, ...listen(i, j) });
  }));
  return { shapes, height: side * tall };
}

function barMarks(row, listen) {
  const finite = row.filter(Number.isFinite);
  const [high, low] = [Math.max(0, ...finite), Math.min(0, ...finite)];
  const [unit, wide] = [BARS_TALL / (high - low || 1), Math.min(PICTURE_WIDE / row.length, 24)];
  const shapes = row.flatMap((cell, j) => {
    const odd = !Number.isFinite(cell);
    const [top, tall] = odd ? [0, BARS_TALL] : [(high - Math.max(cell, 0)) * unit, Math.abs(cell) * unit];
    const bar = square(j * wide, top, wide * 0.85, tall, shade(odd ? cell : Math.sign(cell), 1));
    return [bar, square(j * wide, 0, wide, BARS_TALL, { class: "target", ...listen(j) })]; // easier to hit than the bar
  });
  return { shapes: [...shapes, shape("line", { x1: 0, x2: row.length * wide, y1: high * unit, y2: high * unit })], height: BARS_TALL };
}

const square = (x, y, width, height, more = {}) =>
  shape("rect", { x: x.toFixed(1), y: y.toFixed(1), width: width.toFixed(1), height: height.toFixed(1), ...more });
