// The check of a record that comes from a link, in the page's form (content.py): what it lets through can be drawn.
//
// A table for each kind of object names its fields and their checks, as in minigrad/record/validate.py. A check returns a
// clean copy of what it is given: fields that no table names, such as `__proto__`, are left out. Errors give the place:
// `ops[3].in[0]: 99 is not a value`.

const MOST = {
  parts: 300_000, ops: 2_000, values: 12_000, reads: 8_000, letters: 100_000, name: 1_000, cells: 20_000, all: 4_096, rooms: 8,
  steps: 8_000, expression: 100_000, expressions: 400_000,
}; // prettier-ignore
const PASSES = ["forward", "backward", "jvp"];
const KINDS = ["input", "parameter", "constant", "computed", "gradient", "tangent"];
const CELLS = /^[A-Za-z0-9+/]*$/;

class NotARecord extends Error {}
const trail = []; // the steps to the part that is being checked
const many = {}; // the number of values, operations, files, lanes and sorts
let left = 0; // the number of parts that may still come
let deep = 0; // the number of rooms around a room

function refuse(what) {
  const place = trail.join("").replace(/^\./, "");
  throw new NotARecord(place ? `${place}: ${what}` : what);
}

/** Return data in the form that an error shows. */
function shownData(x) {
  if (typeof x === "object" && x !== null) return Array.isArray(x) ? "a list" : "an object";
  const words = typeof x === "string" ? `"${x}"` : String(x);
  return words.length > 40 ? `${words.slice(0, 40)}…` : words;
}

/** Check a part, and name it in errors. */
function part(step, check, x) {
  if (--left < 0) refuse(`the record has more than ${MOST.parts.toLocaleString("en")} parts`);
  trail.push(step);
  const made = check(x);
  trail.pop();
  return made;
}

// ---------------------------------------------------------------- kinds of data
const text = (x) => {
  if (typeof x !== "string") refuse(`${shownData(x)} is not a text`);
  return x.length > MOST.letters ? refuse(`the text has ${x.length.toLocaleString("en")} characters`) : x;
};
const nameOf = (x) => (text(x).length > MOST.name ? refuse(`the name has ${x.length.toLocaleString("en")} characters`) : x);
const flag = (x) => (typeof x === "boolean" ? x : refuse(`${shownData(x)} is neither true nor false`));
const number = (x) =>
  typeof x === "boolean" || Number.isFinite(x) || ["nan", "inf", "-inf"].includes(x) ? x : refuse(`${shownData(x)} is not a number`);
const finite = (x) => (Number.isFinite(x) ? x : refuse(`${shownData(x)} is not a finite number`));
const whole = (most) => (x) =>
  Number.isInteger(x) && x >= 0 && x <= most ? x : refuse(`${shownData(x)} is not a whole number from 0 to ${most}`);
const count = whole(Number.MAX_SAFE_INTEGER);
const line = whole(1e7);
const optional = (check) => (x) => (x === null ? null : check(x));
const oneOf = (words) => (x) => (words.includes(x) ? x : refuse(`${shownData(x)} is not one of ${words.join(", ")}`));
const index = (kind, name) => (x) => (Number.isInteger(x) && x >= 0 && x < many[kind] ? x : refuse(`${shownData(x)} is not ${name}`));
const [value, op] = [index("values", "a value"), index("ops", "an operation")];
const [file, lane, sort] = [index("files", "a file"), index("lanes", "a lane"), index("sorts", "a sort of value")];

function list(check, most = MOST.parts) {
  return (x) => {
    if (!Array.isArray(x)) refuse(`${shownData(x)} is not a list`);
    if (x.length > most) refuse(`the list has ${x.length.toLocaleString("en")} entries, more than ${most.toLocaleString("en")}`);
    return x.map((one, i) => part(`[${i}]`, check, one));
  };
}

const tuple = (...checks) => (x) => {
  if (!Array.isArray(x) || x.length !== checks.length) refuse(`${shownData(x)} is not a list of ${checks.length}`);
  return x.map((one, i) => part(`[${i}]`, checks[i], one));
};

function entriesOf(x) {
  if (typeof x !== "object" || x === null || Array.isArray(x)) refuse(`${shownData(x)} is not an object`);
  return Object.entries(x);
}

/** Return a check of an object by its fields, some of which are needed. */
function fields(table, ...needed) {
  return (x) => {
    const given = new Map(entriesOf(x));
    for (const name of needed) if (!given.has(name)) refuse(`the field ${name} is missing`);
    const known = Object.keys(table).filter((name) => given.has(name));
    return Object.fromEntries(known.map((name) => [name, part(`.${name}`, table[name], given.get(name))]));
  };
}

/** Return a check of an object by its keys and its values. */
const map = (key, check) => (x) => Object.fromEntries(entriesOf(x).map(([name, one]) => [key(name), part(`.${name}`, check, one)]));
const numeral = (most) => (key) => (/^\d{1,9}$/.test(key) && Number(key) < most() ? key : refuse(`${shownData(key)} is not a number in range`));
const pass = oneOf(PASSES);
const anyNumeral = numeral(() => 1e9);

function distinct(check) {
  return (x) => {
    const made = check(x);
    return new Set(made).size === made.length ? made : refuse("an entry occurs twice");
  };
}

// ---------------------------------------------------------------- values
const shape = list(count, 64);
const sorted = (x) => tuple(oneOf(KINDS), shape, text, count, ...(x?.length === 5 ? [text] : []))(x);
const GRID = fields(
  { rows: count, panels: count, image: flag, cell: oneOf(["element", "largest", "mean"]), unit: finite, cells: list(text, 64) },
  "rows", "panels", "image", "cell", "unit", "cells",
); // prettier-ignore
const ODD = [optional(count), optional(count), optional(count)]; // older pages have two
const STATISTICS = [optional(finite), optional(finite), optional(number), optional(number), ...ODD];
const CONTENT = {
  all: (x) => x,
  statistics: (x) => tuple(...STATISTICS.slice(0, Math.max(6, x?.length ?? 0)))(x),
  histogram: list(count, 200),
  grid: GRID,
};
const VALUE = fields({ sort, id: count, name: text, ...CONTENT }, "sort");
const STEP_VALUE = fields({ id: count, name: text, kind: oneOf(KINDS), shape, dtype: text, bytes: count, device: text, ...CONTENT },
  "name", "kind", "shape", "dtype", "bytes"); // prettier-ignore

/** Check the elements of a value: lists nested as its shape says. */
function elementsOf(x, sides) {
  if (!sides.length) return number(x);
  if (!Array.isArray(x) || x.length !== sides[0]) refuse(`${shownData(x)} does not have the shape of its value`);
  return x.map((one, i) => part(`[${i}]`, (of) => elementsOf(of, sides.slice(1)), one));
}

/** Return the number of elements of a shape that can be drawn. */
function sizeOfShape(sides) {
  const size = sides.reduce((a, b) => a * b, 1);
  const wide = Math.max(...sides, 0);
  return size > Number.MAX_SAFE_INTEGER || (!size && wide > MOST.all) ? refuse("the shape has too many elements") : size;
}

/** Check what a value's content and its shape must have in common. */
function content(made, sides) {
  const size = sizeOfShape(sides);
  if ("all" in made && size > MOST.all) refuse(`there are more than ${MOST.all} elements`);
  if ("all" in made) made.all = part(".all", (x) => elementsOf(x, sides), made.all);
  if ("statistics" in made && (made.statistics[0] === null) !== (made.statistics[1] === null)) refuse("only one of minimum and maximum is known");
  if ("grid" in made) part(".grid", (x) => cells(x, sides), made.grid);
  return made;
}

/** Check a heat map: panels of whole rows, all alike. */
function cells({ rows, cell, cells: panels }, sides) {
  const wide = rows * (cell === "element" ? 2 : 1);
  const letters = panels[0]?.length ?? 0;
  if (!sides.length || !letters || !wide || letters % wide) refuse("the cells do not make whole rows");
  if (letters * panels.length > MOST.cells) refuse("there are too many cells");
  if (panels.some((one) => one.length !== letters || !CELLS.test(one))) refuse("the panels differ in size, or are not cells");
}

const described = (x) => {
  const made = STEP_VALUE(x);
  return content(made, made.shape);
};

// ---------------------------------------------------------------- operations
const figures = list((x) => (typeof x === "string" ? text(x) : value(x)), 1000);
const FLOW = fields({ up: value, gives: value, rule: text, figures }, "up", "gives", "rule");
const amounts = list(tuple(text, text, text), 1000);
const place = tuple(file, line);
const BOX = fields(
  { kind: oneOf(["port", "saved", "leaf", "op", "function", "transfer", "error"]), text, said: list(text, 100), of: text, made: amounts, reads: amounts, at: place, room: (x) => room(x), open: flag },
  "kind", "text",
); // prettier-ignore
const box = (x) => {
  const made = BOX(x);
  return made.made || made.of !== undefined ? made : refuse("its origin is missing");
};
const ROOM = { title: text, turned: flag, boxes: list(box, 400), lines: list(tuple(count, count, count, count), 2000),
  entries: map(anyNumeral, count), exits: map(anyNumeral, count) }; // prettier-ignore
const drawnRoom = fields(ROOM, ...Object.keys(ROOM));

/** Check the inside of a Function, and of those that it applies. */
function room(x) {
  if (++deep > MOST.rooms) refuse("too many Functions are inside each other");
  const made = drawnRoom(x);
  deep--;
  const isBox = (i) => i < made.boxes.length || refuse(`${i} is not a box`);
  for (const [from, to] of made.lines) (isBox(from), isBox(to));
  for (const i of [...Object.values(made.entries), ...Object.values(made.exits)]) isBox(i);
  return made.boxes.length ? made : refuse("there is no box");
}

const METHOD = fields({ method: text, steps: list(fields({ text, out: list(described, 100), line }, "text", "out", "line"), 1000) }, "method", "steps");
const TRANSFER = fields(
  { whom: text, details: list(text, 20), waited: map(pass, map(numeral(() => many.lanes), text)) },
  "whom", "details", "waited",
); // prettier-ignore
const OP = fields(
  {
    id: count, name: text, call: text, formula: text, rule: text, within: text, at: place, columns: list(line, 4),
    in: list((x) => (Array.isArray(x) ? tuple(text)(x) : value(x)), 1000), out: list(value, 1000),
    module: list(text, 40), layer: list(text, 40), views: list(fields({ layer: text, inputs: list(shape, 100) }, "layer", "inputs"), 40),
    custom: flag, alone: text, inplace: flag, ends: flag, raised: flag, cut: list(text, 100), error: list(tuple(text, text), 100), open: flag, saved: list(tuple(value, count, optional(op)), 1000),
    flows: list(optional(FLOW), 1000), held: list(count, 1000), lanes: distinct(list(lane)), times: map(pass, finite),
    transfer: TRANSFER, inside: list(METHOD, 40), rooms: map(pass, room),
  },
  "id", "name", "call", "in", "out",
); // prettier-ignore

// ---------------------------------------------------------------- what a page computes with (viz/recompute/record.py)
const BYTES = { bool: 1, uint8: 1, int8: 1, int16: 2, int32: 4, int64: 8, float16: 4, bfloat16: 4, float32: 4, float64: 8 }; // in a page
const id = whole(1e6); // also of values that the record does not list
const ids = list(id, 1000);
const idKey = numeral(() => 1e6);
const names = map(nameOf, (x) => (Array.isArray(x) ? ids(x) : id(x)));
const expression = (x) => (text(x).length > MOST.expression ? refuse("the expression is too long") : x);
const SUMMARY = fields({
  values: (x) => x, min: optional(finite), max: optional(finite), mean: optional(number), std: optional(number), nan: count, inf: count, "-inf": count,
}); // prettier-ignore
const LIVE_VALUE = fields(
  { id, label: nameOf, kind: oneOf(KINDS), shape, dtype: oneOf(Object.keys(BYTES)), content: text, summary: SUMMARY },
  "id", "label", "kind", "shape", "dtype",
); // prettier-ignore
const LIVE_EDGE = fields(
  { input: id, formula: optional(expression), gives: optional(id), upstreams: list(optional(id), 1000), names: optional(names) },
  "input", "formula", "gives", "upstreams",
); // prettier-ignore
const PUSH = fields({ output: id, formula: expression, names: optional(names) }, "output", "formula");
const LIVE_OP = fields(
  {
    id: count, phase: oneOf([...PASSES, "update"]), name: text, call: optional(text), function: optional(text), outputs: ids,
    inputs: list((x) => (Number.isInteger(x) ? id(x) : {}), 1000), tangents: map(idKey, id), edges: list(LIVE_EDGE, 1000),
    pushes: list(PUSH, 1000), saved: ids, line: optional(line),
  },
  "id", "phase", "name", "outputs", "inputs", "tangents", "edges", "pushes", "saved",
); // prettier-ignore
const STEP = fields(
  {
    outputs: ids, text: expression, names, reason: text, op: id, edge: count, named: names, is: id, back: flag, moves: flag, reads: ids,
    each: list(optional(map(text, whole(64))), 8), noise: (x) => (Array.isArray(x) ? ids(x) : id(x)),
  },
  "outputs",
); // prettier-ignore
const READ = fields({ value: id, how: text, line: optional(line), op: id, method: text }, "value", "how");
const byId = map(idKey, id);
const twoIds = (key) => (/^\d{1,9}:\d{1,9}$/.test(key) ? key : refuse(`${shownData(key)} is not two ids, such as 3:1`));
const LIVE = {
  values: list(LIVE_VALUE, 2 * MOST.values), ops: list(LIVE_OP, 5 * MOST.ops), outputs: ids, size: id, gradients: byId, totals: byId,
  seeds: byId, tangents: byId, reads: list(READ, 1000), steps: list(STEP, MOST.steps), inside: map(twoIds, byId),
}; // prettier-ignore
const liveFields = fields(LIVE, ...Object.keys(LIVE));

/** Check what a page computes with: contents have the bytes of their elements, expressions are not too many. */
function computable(x) {
  if (typeof x === "string") return text(x); // the reason why the page cannot compute
  const made = liveFields(x);
  unique(made.values.map((one) => one.id), ".values"); // prettier-ignore
  if (made.size > made.values.length || made.values.some((one, i) => (i < made.size) !== (one.id < made.size) || (i < made.size && one.id !== i)))
    part(".size", () => refuse("the ids of the first values are not their places"));
  made.values.forEach((one, i) => part(`.values[${i}]`, contentOf, one));
  const letters = made.steps.reduce((sum, step) => sum + (step.text?.length ?? 0), 0);
  return letters > MOST.expressions ? refuse("the expressions are too long together") : made;
}

function contentOf({ shape: sides, dtype, content: letters, summary }) {
  const size = sizeOfShape(sides);
  if (summary?.values !== undefined) elementsOf(summary.values, size > MOST.all ? refuse(`there are more than ${MOST.all} elements`) : sides);
  if (letters === undefined) return;
  if (letters.length % 4 || !/^[A-Za-z0-9+/]*={0,2}$/.test(letters)) refuse("the content is not base64");
  if (atob(letters).length !== size * BYTES[dtype]) refuse(`the content is not that of ${size} elements`);
}

// ---------------------------------------------------------------- the whole
const pairs = list(tuple(value, value));
const PAGE = {
  program: fields({ name: text, file: text, title: text, place: text }),
  passes: distinct(list(pass)),
  sorts: list(sorted),
  values: list(VALUE),
  ops: list(OP),
  outputs: list(value),
  gradients: pairs,
  held: list(tuple(value, text)),
  tangents: pairs,
  backward: distinct(list(op)),
  files: list(fields({ name: text, lines: map(anyNumeral, text) }, "name", "lines"), 100),
  classes: map(text, map(text, text)),
  color: text,
  special: list(tuple(oneOf(PASSES), oneOf(["op", "value"]), count, text), 20),
  depth: optional(whole(100)),
  opened: flag,
  lanes: list(text, 64),
  titles: list(text, 64),
  laneOf: list(lane),
  live: computable,
  now: map(idKey, text),
  choices: fields({ forgotten: list(twoIds, 1000), mistakes: list(tuple(twoIds, nameOf), 1000) }, "forgotten", "mistakes"),
};
const PLACES = ["program", "passes", "sorts", "values", "ops", "outputs", "gradients", "tangents", "backward", "files"];

/** Return a clean copy of a record in the page's form; throw NotARecord with the place of the first fault. */
function checked(x) {
  (trail.splice(0), (left = MOST.parts), (deep = 0));
  const given = new Map(entriesOf(x));
  for (const kind of ["values", "ops", "files", "lanes", "sorts"]) {
    many[kind] = given.get(kind)?.length ?? 0;
    const most = MOST[kind] ?? MOST.parts;
    if (many[kind] > most) refuse(`the record has ${many[kind].toLocaleString("en")} ${kind}, and ${most.toLocaleString("en")} are allowed`);
  }
  const made = fields(PAGE, ...PLACES)(x);
  made.values.forEach((one, i) => part(`.values[${i}]`, () => content(one, made.sorts[one.sort][1]), one));
  part(".passes", (passes) => passes[0] === "forward" || refuse("the forward pass is missing"), made.passes);
  unique(made.values.map(({ id }, i) => id ?? i), ".values");
  unique(made.ops.map(({ id }) => id), ".ops");
  madeBeforeRead(made);
  flowsArrive(made);
  inLanes(made);
  if (typeof made.live === "object") agree(made);
  if (made.now) part(".now", () => changesFit(made));
  return { ...made, depth: made.depth ?? null };
}

/** Check that changed contents belong to values with which the page computes. */
function changesFit({ now, live: { values: computed = [] } = {} }) {
  const known = new Map(computed.map((one) => [String(one.id), one]));
  for (const [key, content] of Object.entries(now))
    part(`.${key}`, () => contentOf({ ...(known.get(key) ?? refuse("it is not a value with which the page computes")), content }));
}

function unique(ids, step) {
  const seen = new Set();
  ids.forEach((id, i) => (seen.has(id) ? part(`${step}[${i}].id`, () => refuse(`${id} is the id of another entry`)) : seen.add(id)));
}

const tensorsOf = (one) => one.in.filter(Number.isInteger);

/** Check that each value has at most one maker, which comes before its readers: so nothing leads back to itself. */
function madeBeforeRead({ ops, values }) {
  const makers = new Map();
  ops.forEach((one, i) => one.out.forEach((of, k) => {
    if (makers.has(of)) part(`.ops[${i}].out[${k}]`, () => refuse(`${of} is an output of ops[${makers.get(of)}], too`));
    makers.set(of, i);
  })); // prettier-ignore
  ops.forEach((one, i) => one.in.forEach((of, k) => {
    if (makers.get(of) >= i) part(`.ops[${i}].in[${k}]`, () => refuse(`${of} is not made before it is read`));
  })); // prettier-ignore
  const reads = ops.reduce((sum, one) => sum + one.in.length, 0);
  if (reads > MOST.reads) refuse(`the operations read ${reads.toLocaleString("en")} values, and ${MOST.reads.toLocaleString("en")} are allowed`);
}

/** Check that contributions belong to tensors, and add up to gradients. */
function flowsArrive({ ops, gradients }) {
  const known = new Map(gradients);
  ops.forEach((one, i) => {
    const tensors = tensorsOf(one);
    const slot = (step, k) => k < tensors.length || part(`.ops[${i}]${step}`, () => refuse(`the operation reads ${tensors.length} tensors`));
    (one.flows ?? []).forEach((flow, k) => {
      slot(`.flows[${k}]`, k);
      if (flow && !known.has(tensors[k])) part(`.ops[${i}].flows[${k}]`, () => refuse("its tensor has no gradient"));
    });
    (one.held ?? []).forEach((k, n) => slot(`.held[${n}]`, k));
    for (const [name, { entries }] of Object.entries(one.rooms ?? {})) for (const k of Object.keys(entries)) slot(`.rooms.${name}.entries`, Number(k));
  });
}

/** Check that a record of several processes places everything in their lanes, and that another one has none. */
function inLanes({ lanes = [], titles = [], laneOf = [], ops, values }) {
  if (titles.length !== lanes.length) refuse("titles: there is not one for each lane");
  if (lanes.length && laneOf.length !== values.length) refuse("laneOf: there is not one for each value");
  ops.forEach((one, i) => {
    if (lanes.length && !one.lanes?.length) part(`.ops[${i}].lanes`, () => refuse("the operation is in no lane"));
    if (one.transfer && !lanes.length) part(`.ops[${i}].transfer`, () => refuse("the record has no lanes"));
  });
}

/** Check that values of the drawing have the shapes and dtypes with which the page computes them. */
function agree({ values, sorts, live: { values: computed } }) {
  const others = new Map(computed.map((one) => [one.id, one]));
  values.forEach((one, i) => {
    const [, sides, dtype] = sorts[one.sort];
    const other = others.get(one.id ?? i);
    if (other && (String(other.shape) !== String(sides) || other.dtype !== dtype))
      part(`.live.values.${one.id ?? i}`, () => refuse(`its type differs from that of values[${i}]`));
  });
}
