// The record computed again: changed numbers of leaves, of their tangents and of seeds, and everything that follows from them.
//
// `change` notes a number; `computeNow` computes what follows, at the latest in the next frame, in which the page draws it once.
// The values of the page show the numbers of `run` through the same fields (`all`, `statistics`, ...) as recorded ones.

const isLive = live !== null && typeof data.live === "object" && data.live !== null;
const whyNotLive = isLive ? "" : (data.live ?? "");
/** Return the summary of a value that the page shows, in the form of the record. */
function summaryShown({ all, statistics: found } = {}) {
  if (all !== undefined) return { values: all };
  return Object.fromEntries((found ?? []).map((x, i) => [["min", "max", "mean", "std", "nan", "inf", "-inf"][i], x]));
}

if (isLive) {
  const shown = new Map(values.map((value) => [value.id, value])); // the data has no summary twice
  for (const value of data.live.values) if (value.content === undefined) value.summary ??= summaryShown(shown.get(value.id));
}
const recordedContents = isLive ? live.heldOf(data.live) : new Map();
const held = new Map(recordedContents); // by id, the tensors from which the page computes
let baseline = null; // the run with the recorded numbers
let run = null; // the run with the present numbers
let runOptions = {};
let waiting = 0; // the request for a frame that draws changes
let stale = false; // true if `run` does not follow from `held`
const changed = new Set(); // the ids of changed tensors
const listeners = [];
const indexOfId = new Map(values.map((value, i) => [value.id, i]).reverse()); // the first of several
const primalOf = new Map(data.tangents.map(([value, tangent]) => [tangent, value]));
const liveOps = new Map(isLive ? data.live.ops.map((op) => [op.id, op]) : []);
const edgeOf = new Map(); // by the index of a contribution, the key of its edge
if (isLive) for (const op of ops) op.flows.forEach((flow, slot) => flow && edgeOf.set(flow.gives, edgeKey(op, slot)));

/** Return "operation:edge" of an edge, by which a run knows it. */
function edgeKey(op, slot) {
  const [input, gives] = [values[op.tensors[slot]].id, values[op.flows[slot].gives].id];
  return `${op.id}:${liveOps.get(op.id)?.edges.findIndex((edge) => edge.input === input && edge.gives === gives)}`;
}

/** Call a function after each computation. */
const onLive = (listener) => void listeners.push(listener);

/** Set a leaf, the tangent of a leaf, or a gradient that starts backward. */
function change(id, tensor) {
  held.set(id, tensor);
  if (sameElements(tensor, recordedContents.get(id))) changed.delete(id);
  else changed.add(id);
  computeLater();
}

/** Return to the recorded numbers. */
function resetLive() {
  for (const [id, tensor] of recordedContents) held.set(id, tensor);
  changed.clear();
  runOptions = {};
  computeLater();
}

/** Return true if a tensor that an operation saves is forgotten. */
const isForgotten = (op, value) => runOptions.forgotten?.has(`${op.id}:${values[value].id}`);
const savedBy = (op) => (op.saved ?? []).filter(([value]) => !isForgotten(op, value));

/** Compute with other options of `computeAgain`. */
function tryWith(options) {
  runOptions = options;
  computeLater();
}

function computeLater() {
  stale = true;
  waiting ||= requestAnimationFrame(() => {
    waiting = 0;
    computeNow();
    for (const listener of listeners) listener();
  });
}

/** Compute what follows from the present numbers, unless that is known. */
function computeNow() {
  if (!stale) return;
  stale = false;
  run = computed();
}

/** Compute from the present numbers; `stopped` is the limit of the page that this passed. */
function computed() {
  const made = live.computeAgain(data.live, held, runOptions);
  const stopped = live.spent.reason;
  const right = Object.keys(runOptions).length ? live.computeAgain(data.live, held, {}) : null; // as the program is written
  return { ...made, stopped, right };
}

const isOriginal = () => !changed.size && !Object.keys(runOptions).length;
const sameElements = (a, b) =>
  a === b || (a?.data.length === b?.data.length && a.data.every((x, i) => Object.is(x, b.data[i])));

/** Return the table of a run that has a value, gradient, contribution or tangent, and the key there. */
function tableOf(i) {
  const [primal, gradient] = [primalOf.get(i), gradientFor.get(i)];
  if (primal !== undefined) return ["tangents", values[primal].id];
  if (gradient !== undefined) return ["gradients", values[gradient].id];
  return edgeOf.has(i) ? ["contributions", edgeOf.get(i)] : ["values", values[i].id];
}

/** Return a value's tensor in a run; nothing if it is as recorded. */
function tensorIn(one, i) {
  const [table, key] = tableOf(i);
  return one.frozen.has(values[i].id) ? undefined : one[table].get(key);
}

const recordedSummaries = []; // by index

/** Return a value with its recorded numbers. */
const recordedValue = (i) => ({ shape: values[i].shape, ...recordedSummaries[i] });

const present = new Map(); // by index, what the values are now

/**
 * Return what a value is now: `all`, `statistics`, ... of its elements, or `impossible`, the reason for which it has none; and
 * `wrong`, if a mistake has made it another. Every place that shows a number reads it here, through the fields of the value.
 */
function presentOf(i) {
  if (isOriginal()) return recordedSummaries[i];
  const known = present.get(i);
  if (known?.run === run) return known;
  const [tensor, right] = [run, run.right ?? run].map((one) => tensorIn(one, i));
  const impossible = run.lost.size ? run.lost.get(tableOf(i).join(":")) : undefined;
  if (known && known.tensor === tensor && known.right === right && known.impossible === impossible)
    return Object.assign(known, { run }); // the same object: nothing is to be drawn again
  const same = !tensor || sameElements(tensor, tensorIn(baseline, i));
  const summary = impossible ? {} : same ? recordedSummaries[i] : summaryOf(tensor, recordedSummaries[i]);
  const made = { ...summary, run, tensor, right, impossible, wrong: isWrong(tensor, right) };
  present.set(i, made);
  return made;
}

/** Return true if a value is possible, and another one than the right formulas give. */
function isWrong(tensor, right) {
  if (!tensor || !right || tensor === right) return false;
  const few = 1e-5 * Math.max(largest(right.data), 1e-30);
  return tensor.data.some((x, k) => !(Math.abs(x - right.data[k]) <= few || Object.is(x, right.data[k])));
}

if (isLive) {
  run = baseline = computed();
  values.forEach((value, i) => {
    const old = { all: value.all, statistics: value.statistics, histogram: value.histogram, grid: value.grid };
    recordedSummaries[i] = old;
    for (const field of Object.keys(old))
      Object.defineProperty(value, field, { get: () => presentOf(i)[field] });
    Object.defineProperty(value, "impossible", { get: () => presentOf(i).impossible });
  });
}

const isBackward = (method) => method === "backward" || method === "vjp";
const backwards = new Set(ops.flatMap(({ id, inside = [] }) => inside.map(({ method }, call) => isBackward(method) && `${id}:${call}`)));
const FORGOTTEN = "\u2717 forgotten";

/**
 * Return what a value inside a custom Function is with the present numbers: `text` in the recorded run. `of` is its place in
 * the Function, or the index of a value of the program.
 */
function amountInside(text, of) {
  if (Number.isInteger(of)) return gist(values[of]);
  if (isOriginal()) return text;
  const [op, call, id] = of.split(":");
  const at = data.live.inside[`${op}:${call}`]?.[id];
  if (run.lost.has(`inside:${at}`)) return IMPOSSIBLE;
  if (runOptions.forgotten?.has(`${op}:${at}`) && backwards.has(`${op}:${call}`)) return FORGOTTEN;
  const tensor = run.inside?.get(at);
  if (!tensor) return "…";
  return sameElements(tensor, baseline.inside.get(at)) ? text : gist({ shape: tensor.shape, ...summaryOf(tensor, {}) });
}

const leafTensor = (i) => isLive && isLeaf(i) && leafKind(i) !== "computed" && recordedContents.has(values[i].id);
const leafTangent = (i) => isLive && primalOf.has(i) && isLeaf(primalOf.get(i)) && recordedContents.has(values[i].id);

const seeds = new Set([...outputs].filter((value) => !flowsInto.has(value)).map((value) => gradientOf.get(value)));

/** Return true for a gradient that starts backward. */
const isSeed = (i) => isLive && seeds.has(i) && recordedContents.has(values[i].id);

/** Return true for a value whose elements can be changed. */
const canChange = (i) => leafTensor(i) || leafTangent(i) || isSeed(i);

/** Return the contents of the changed tensors by id, as a record holds them. */
function changedContents() {
  const bytes = ({ data: { buffer, byteOffset, byteLength } }) => new Uint8Array(buffer, byteOffset, byteLength);
  const content = (id) => btoa(bytes(held.get(id)).reduce((all, byte) => all + String.fromCharCode(byte), ""));
  return Object.fromEntries([...changed].map((id) => [id, content(id)]));
}

// the numbers of the page from which a link was copied
if (isLive)
  for (const [key, content] of Object.entries(data.now ?? {})) {
    const [id, of] = [Number(key), data.live.values.find((one) => one.id === Number(key))];
    if (canChange(indexOfId.get(id))) change(id, live.recordedTensor({ ...of, content }));
  }
