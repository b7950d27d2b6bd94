// The record in the page's form, and the format of its numbers.

/** Return numbers, also in nested lists, with those that JSON has as words. */
const decoded = (x) => (Array.isArray(x) ? x.map(decoded) : ({ nan: NaN, inf: Infinity, "-inf": -Infinity }[x] ?? x));

const data = JSON.parse($("record").textContent);
const { values, ops, files } = data;
const passes = data.passes;
const outputs = new Set(data.outputs);
const firstSpecial = new Map((data.special ?? []).map(([pass, kind, i, words]) => [`${pass}:${kind}:${i}`, words]));
const tangentOf = new Map(data.tangents);
const heldBy = new Map(); // by leaf, what its .grad holds after the passes if it was not empty before
for (const [value, words] of data.held ?? []) heldBy.set(value, [...(heldBy.get(value) ?? []), words]);

values.forEach((value, i) => {
  value.id ??= i;
  value.name ??= `v${value.id}`;
  [value.kind, value.shape, value.dtype, value.bytes, value.device] = data.sorts[value.sort];
  for (const part of ["all", "statistics"]) if (value[part] !== undefined) value[part] = decoded(value[part]);
});

// The page may change one of two gradients that are the same tensor: each gradient and contribution has its own entry.
const taken = new Set(data.live?.steps ? ops.flatMap((op) => [...op.in, ...op.out]) : []);
function owned(i) {
  if (data.live?.steps && taken.has(i)) return values.push({ ...values[i] }) - 1;
  taken.add(i);
  return i;
}

const gradientOf = new Map(data.gradients.map(([value, gradient]) => [value, owned(gradient)]));
for (const op of data.live?.steps ? ops : [])
  for (const flow of op.flows ?? []) {
    if (!flow) continue;
    const arrives = op.out.find((value) => values[gradientOf.get(value)]?.id === values[flow.up].id);
    [flow.gives, flow.up] = [owned(flow.gives), gradientOf.get(arrives) ?? flow.up];
  }

const maker = new Int32Array(values.length).fill(-1); // by value, the operation that made it
const uses = new Map(); // by value, [operation, slot] of each use
const flowsInto = new Map(); // by value, the edges that contribute to its gradient
const gradientFor = new Map(); // by gradient, the value that it belongs to

const listed = (map, key) => map.get(key) ?? (map.set(key, []), map.get(key));

ops.forEach((op, index) => {
  op.index = index;
  op.tensors = op.in.filter(Number.isInteger);
  op.flows ??= [];
  op.tensors.forEach((value, slot) => listed(uses, value).push([index, slot]));
  for (const value of op.out) maker[value] = index;
});
for (const op of ops) {
  op.flows.forEach((flow, slot) => flow && listed(flowsInto, op.tensors[slot]).push({ op: op.index, slot, ...flow }));
}
for (const [value, gradient] of gradientOf) gradientFor.set(gradient, value);

/** Return the index in sorted numbers of the first that is at least `least`. */
function firstFrom(sorted, least) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

const isLeaf = (value) => maker[value] < 0;
const leafKind = (value) =>
  ["input", "parameter", "constant"].includes(values[value].kind) ? values[value].kind : "computed";

// ---------------------------------------------------------------- words

const minus = (text) => text.replace(/-/g, "\u2212");

/** Format a number as text.py does: four significant digits, all digits before the point, but with a true minus sign. */
function number(x, digits = 4) {
  if (typeof x === "boolean") return x ? "True" : "False";
  if (typeof x !== "number") return minus(String(x));
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "nan" : x > 0 ? "inf" : "\u2212inf";
  const size = Math.abs(x);
  if (size < 1e7 && (Number.isInteger(x) || size >= 10 ** digits - 0.5)) return minus(String(Math.round(x)));
  const [mantissa, exponent] = x.toExponential(digits - 1).split("e").map(Number);
  const short = exponent < -4 || exponent >= digits ? `${mantissa}e${exponent}` : String(Number(x.toPrecision(digits)));
  return minus(short);
}

const SPECIAL = /(?<![\w.\u2212])(\u2212?(?:inf|nan))(?![\w.])/;

/** Return a text in parts: NaN and infinities are elements, made by `make`. */
const marked = (text, make = (word) => el("span", { class: "special" }, word)) =>
  text.split(SPECIAL).map((part, i) => (i % 2 ? make(part) : part));

/** Return the same for a drawing. */
const markedShapes = (text) => marked(text, (word) => shape("tspan", { class: "special" }, word));

function setNumbers(element, text) {
  if (element.textContent !== text) element.replaceChildren(...markedShapes(text));
}

const nested = (x) => (Array.isArray(x) ? `[${x.map(nested).join(", ")}]` : number(x));
const elements = (value) => value.shape.reduce((a, b) => a * b, 1);
const sizes = (shape) => (shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(", ")})`);

function bytes(count) {
  if (count < 1024) return `${count} B`;
  const units = ["kB", "MB", "GB"];
  let amount = count / 1024;
  while (amount >= 1024 && units.length > 1) ((amount /= 1024), units.shift());
  return `${amount.toFixed(1)} ${units[0]}`;
}

const typeOf = (value) => `${value.dtype} ${sizes(value.shape)}${value.device ? ` on ${value.device}` : ""}`;

const LONGEST = 44; // characters of a value shown whole on a card

/** Return all elements of a value with at most `most`, or nothing if the text is too long. */
function whole(value, most = 6) {
  if (value.all === undefined || elements(value) > most) return "";
  const text = elements(value) ? nested(value.all) : "no elements";
  return text.length <= LONGEST ? text : "";
}

/** Return minimum, maximum, mean, spread, and how often NaN, infinities and minus infinity occur; nothing if unknown. */
function statistics(value) {
  if (value.statistics) return value.statistics;
  const all = [value.all].flat(Infinity).map(Number); // of booleans, too
  const finite = all.filter(Number.isFinite);
  if (value.all === undefined || !all.length) return null;
  const mean = finite.reduce((a, b) => a + b, 0) / finite.length;
  const spread = Math.sqrt(finite.reduce((a, b) => a + (b - mean) ** 2, 0) / finite.length);
  const ends = finite.length ? [Math.min(...finite), Math.max(...finite), mean, spread] : [null, null, null, null];
  return [...ends, ...oddIn(all)];
}

/** Return how often NaN, infinities of both signs and minus infinity occur. */
const oddIn = (all) =>
  [Number.isNaN, (x) => Math.abs(x) === Infinity, (x) => x === -Infinity].map((is) => all.reduce((n, x) => n + is(x), 0));

/** Return how often NaN and each infinity occur, in words. */
function special([least, , , , nan, infinite, negative = 0]) {
  const found = Object.entries({ nan, inf: infinite - negative, "\u2212inf": negative }).filter(([, many]) => many);
  if (least === null && found.length === 1) return `all ${found[0][0]}`;
  return found.map(([word, many]) => `${many} ${word}`).join(" ");
}

const IMPOSSIBLE = "\u2717 impossible"; // what was forgotten is needed for it

/** Describe a value in a few characters: all its elements, or their range. */
function gist(value, most = 6) {
  if (value.impossible) return IMPOSSIBLE;
  const all = whole(value, most);
  if (all) return all;
  const found = statistics(value);
  const odd = found ? special(found) : "";
  if (!found || found[0] === null) return odd || sizes(value.shape);
  const range = found[0] === found[1] ? `${odd ? "" : "all "}${number(found[0])}` : `${number(found[0], 3)} … ${number(found[1], 3)}`;
  return odd ? `${range} ${odd}` : range;
}

const shorten = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const withCommas = new Intl.NumberFormat("en"); // made once, as it takes a while
const count = (n, thing) => `${withCommas.format(n)} ${thing}${n === 1 ? "" : "s"}`;
const placeOf = (op) => (op.at ? `${files[op.at[0]].name}:${op.at[1]}` : "");
const codeOf = (op) => (op.at ? (files[op.at[0]].lines[op.at[1]] ?? "").trim() : "");
