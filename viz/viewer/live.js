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
const indexOfId = new Map(values.map((value, i) => [value.id, i]));
const primalOf = new Map(data.tangents.map(([value, tangent]) => [tangent, value]));
const contributed = new Set(isLive ? data.live.ops.flatMap(({ edges }) => edges.map(({ gives }) => gives)) : []);

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
  summaries.clear();
}

/** Compute from the present numbers; `stopped` is the limit of the page that this passed. */
function computed() {
  const made = live.computeAgain(data.live, held, runOptions);
  return { ...made, stopped: live.spent.reason };
}

const isOriginal = () => !changed.size && !Object.keys(runOptions).length;
const sameElements = (a, b) =>
  a === b || (a?.data.length === b?.data.length && a.data.every((x, i) => Object.is(x, b.data[i])));

/** Return the tensor of a value, gradient, contribution or tangent in a run; nothing if it is as recorded. */
function tensorIn(one, i) {
  const { id } = values[i];
  if (one.frozen.has(id)) return undefined;
  const primal = primalOf.get(i);
  if (primal !== undefined) return one.tangents.get(values[primal].id);
  const gradient = gradientFor.get(i);
  if (gradient !== undefined && gradientOf.get(gradient) === i) return one.gradients.get(values[gradient].id);
  return contributed.has(id) ? one.contributions.get(id) : one.values.get(id);
}

const recordedSummaries = []; // by index

/** Return a value with its recorded numbers. */
const recordedValue = (i) => ({ shape: values[i].shape, ...recordedSummaries[i] });

const summaries = new Map(); // by index, what the page shows of the changed values

/** Return the summary of a value if it is other than recorded. */
function changedSummary(i, old) {
  if (isOriginal()) return old;
  if (!summaries.has(i)) {
    const tensor = tensorIn(run, i);
    const same = !tensor || sameElements(tensor, tensorIn(baseline, i));
    summaries.set(i, same ? old : summaryOf(tensor, old));
  }
  return summaries.get(i);
}

if (isLive) {
  run = baseline = computed();
  values.forEach((value, i) => {
    const old = { all: value.all, statistics: value.statistics, histogram: value.histogram, grid: value.grid };
    recordedSummaries[i] = old;
    for (const field of Object.keys(old))
      Object.defineProperty(value, field, { get: () => changedSummary(i, old)[field] });
  });
}

/** Return what a value inside a custom Function is with the present numbers: `text` in the recorded run. */
function amountInside(text, of) {
  if (isOriginal()) return text;
  const [op, call, id] = of.split(":");
  const at = data.live.inside[`${op}:${call}`]?.[id];
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
