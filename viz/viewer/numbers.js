// Numbers that can be changed: each is a slider for pointers, keys and screen readers, on cards, in the pane, in heat maps.
//
// An element with `data-live` stands for elements of a leaf, of its tangent or of a seed: "12:3" for element 3 of value 12,
// "12:0,4,5" for the cell (panel, row, column) of its heat map. The gestures are in gestures.js.

const FEW_ELEMENTS = 32; // up to this many, the pane shows each element as a number
const WIDE = 8; // elements of a vector in a row
const NUMBERS = /\u2212?(?:\d[\d.]*(?:e\u2212?\d+)?|inf|nan)|True|False/g;
const ROOMY = 7; // characters: a changed number of four digits needs no more

/** Return the index of the value and the positions of the elements that an element of the page stands for. */
function liveTarget(element) {
  const [i, at] = element.dataset.live.split(":");
  const value = values[i];
  if (!at.includes(",")) return { i: Number(i), places: [Number(at)] };
  const [parts, [panel, ...cell]] = [partsOf(value.shape, value.grid), at.split(",")];
  const panels = panel === "*" ? Array.from({ length: parts.panels }, (_, p) => p) : [Number(panel)]; // colours of a pixel
  return { i: Number(i), places: panels.flatMap((p) => placesOf(parts, p, ...cell.map(Number))) };
}

const tensorNow = (i) => held.get(values[i].id);

/** Return the number that an element of the page stands for: of several, the mean. */
function liveNumber({ i, places }, elements = tensorNow(i).data) {
  return places.reduce((sum, k) => sum + elements[k], 0) / places.length;
}

/** Set the number; several elements are shifted together. */
function setLiveNumber({ i, places }, number) {
  const { dtype, shape, data } = tensorNow(i);
  const next = Array.from(data);
  const by = places.length > 1 ? number - liveNumber({ i, places }) : 0;
  for (const k of places) next[k] = places.length > 1 ? next[k] + by : number;
  change(values[i].id, live.fromNested(next, dtype, shape));
}

const isWhole = (i) => !/float/.test(values[i].dtype);

/** Return a round step: about the size of a number divided by `parts`. */
function roundStep(target, parts) {
  if (isWhole(target.i)) return parts > 20 ? 0.1 : 1;
  const [now, before] = [liveNumber(target), liveNumber(target, recordedContents.get(values[target.i].id).data)];
  const largest = Math.max(...recordedContents.get(values[target.i].id).data.map(Math.abs).filter(Number.isFinite), 0);
  const size = Math.max(...[now, before].map(Math.abs).filter(Number.isFinite), 0) || largest || 1;
  const power = 10 ** Math.floor(Math.log10(size / parts));
  return power * ([5, 2].find((one) => one * power <= size / parts) ?? 1);
}

/** Return a number moved by steps, and rounded to them. */
function movedBy(number, steps, step, whole) {
  const next = (Number.isFinite(number) ? number : 0) + steps * step;
  const moved = Number((Math.round(next / step) * step).toPrecision(12));
  return whole ? Math.round(moved) : moved;
}

/** Name elements as Python writes them: "w[0, 1]", "tangent of x". */
function liveName({ i, places }) {
  const { name, shape } = values[i];
  const begin = primalOf.has(i) ? `tangent of ${values[primalOf.get(i)].name}` : name;
  if (places.length > 1) return `${count(places.length, "element")} of ${begin}`;
  const index = shape.map((n, d) => Math.floor(places[0] / shape.slice(d + 1).reduce((a, b) => a * b, 1)) % n);
  return shape.length ? `${begin}[${index.join(", ")}]` : begin;
}

/** Return the attributes of an element that is a slider for a number. */
function sliderFor(i, at, focusable = true) {
  const target = liveTarget({ dataset: { live: `${i}:${at}` } });
  const now = liveNumber(target);
  return {
    role: "slider",
    tabindex: focusable ? "0" : "-1",
    "data-live": `${i}:${at}`,
    "aria-label": liveName(target),
    "aria-valuenow": Number.isFinite(now) ? String(Number(now.toPrecision(7))) : "0",
    "aria-valuetext": number(now),
  };
}

// ---------------------------------------------------------------- on cards

/** Return the index of the value that a row shows, if its numbers can be changed. */
function changeable(row) {
  if (!isLive || !["value", "grad", "tangent"].includes(row.kind)) return undefined;
  const i = indexOf(row, row.kind);
  const own = row.kind !== "grad" || outputs.has(row.value);
  return own && i !== undefined && canChange(i) ? i : undefined;
}

/** Return a text with room for other numbers. */
const roomy = (text) => (isLive ? text.replace(NUMBERS, (one) => one.padStart(ROOMY, "0")) : text);

/** Put a slider over each number in the text of a row; the text begins at (x, y). */
function placeSliders(drawn) {
  const { row, line, text, x, y, changes: i } = drawn;
  const words = text.textContent;
  const found = elements(values[i]) <= FEW_ELEMENTS && whole(values[i]) === words ? [...words.matchAll(NUMBERS)] : [];
  const sliders = (drawn.sliders ??= []);
  const wide = advance[row.kind === "value" ? "mono" : "bold"];
  found.forEach((one, k) => {
    const g = (sliders[k] ??= line.appendChild(shape("g", { class: "live" }, shape("rect", { rx: 3 }), shape("path"))));
    const [left, width] = [x + one.index * wide, one[0].length * wide];
    setAll(g, sliderFor(i, k, drawn.box === (focused ?? graph.boxes[0])));
    setAll(g.firstChild, { x: left - 3, y: y + 1, width: width + 6, height: LINE - 2 });
    setAll(g.lastChild, { d: `M${left.toFixed(1)} ${y + LINE - 3.5}h${width.toFixed(1)}` });
  });
  sliders.forEach((g, k) => g.classList.toggle("gone", k >= found.length));
}

// ---------------------------------------------------------------- in the pane

/** Show the elements of a tensor that can be changed, each as a number. */
function liveElements(i) {
  const { shape: sides } = values[i];
  const all = Array.from(tensorNow(i).data);
  const one = (x, k) =>
    el("span", { class: "live", ...sliderFor(i, k) }, marked(number(values[i].dtype === "bool" ? x === 1 : x)));
  if (!sides.length) return el("code", { class: "all" }, one(all[0], 0));
  const wide = sides.length > 1 ? sides.at(-1) : Math.min(sides[0], WIDE);
  const rows = Array.from({ length: Math.ceil(all.length / wide) }, (_, r) => all.slice(r * wide, (r + 1) * wide));
  return table({ class: "all" }, rows.map((row, r) => row.map((x, c) => one(x, r * wide + c))));
}

/** Make two fields, which multiply all elements and add to them. */
function fieldsForAll(i) {
  const apply = (f) => (event) => {
    const by = readNumber(event.target.value);
    if (by === undefined) return;
    const now = tensorNow(i);
    change(values[i].id, tensorLike(now, Array.from(now.data, (x) => f(x, by))));
    event.target.value = "";
  };
  const field = (sign, label, f) =>
    el("label", {}, sign, el("input", { class: "number", inputmode: "decimal", "aria-label": label, onchange: apply(f) }));
  const { name } = values[i];
  const fields = [field("× ", `multiply all elements of ${name}`, (x, by) => x * by), field("+ ", `add to all elements of ${name}`, (x, by) => x + by)];
  return el("p", { class: "note for-all" }, "all elements ", fields);
}

/** Return the number that a text means; nothing if it means none. */
function readNumber(text) {
  const plain = text.trim().replace(/\u2212/g, "-").replace(",", ".").replace(/^([-+]?)inf$/i, "$1Infinity");
  const found = /^nan$/i.test(plain) ? NaN : plain === "" ? undefined : Number(plain);
  return Number.isNaN(found) && !/^nan$/i.test(plain) ? undefined : found;
}
