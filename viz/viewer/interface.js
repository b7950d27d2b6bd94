// `window.minigrad`: the interface to a live page for the scripts of a course page, and for tests (docs/viewer.md).

const used = new Set(isLive ? [...data.live.outputs, ...data.live.ops.flatMap((op) => [...op.inputs, ...op.outputs, ...op.saved])] : []);
const isLabelled = ({ id, kind }) => used.has(id) && !["gradient", "tangent"].includes(kind);
const liveValues = isLive ? data.live.values.filter(isLabelled) : [];
const byLabel = new Map(liveValues.map((value) => [value.label, indexOfId.get(value.id)]).filter(([, i]) => i !== undefined));
const byName = new Map([...byLabel.values()].map((i) => [values[i].name, i]));
const shapeText = (shape) => (shape.length ? sizes(shape) : "() (a number)");

function complain(message) {
  throw new Error(message);
}

function mustBeLive() {
  if (!isLive) complain(`the numbers of this page cannot be changed${whyNotLive ? `: ${whyNotLive}` : ""}`);
}

/** Return the index of a value with this label, or with this name in the picture. */
function labelled(label) {
  mustBeLive();
  return byLabel.get(label) ?? byName.get(label) ?? complain(`no value has the label "${label}"; labels() lists those of this page`);
}

/** Return the tensor of nested lists; its shape must be that of the value, gradient or tangent with the index. */
function given(nestedLists, i, label) {
  const shape = [];
  for (let level = nestedLists; Array.isArray(level); level = level[0]) shape.push(level.length);
  const value = values[i];
  const flat = [nestedLists].flat(Infinity);
  const even = (level, d) =>
    d === shape.length ? !Array.isArray(level) : Array.isArray(level) && level.length === shape[d] && level.every((one) => even(one, d + 1));
  const [wanted, found] = [shapeText(value.shape), even(nestedLists, 0) ? shapeText(shape) : "no single shape"];
  if (found !== wanted) complain(`${label} has shape ${wanted}, the lists ${found}: give nested lists of shape ${wanted}`);
  if (!flat.every((x) => typeof x === "number" || typeof x === "boolean"))
    complain(`an element for ${label} is no number: give numbers`);
  return live.fromNested(flat.map(Number), value.dtype, value.shape);
}

/** Set the value, tangent or gradient that `indexOf` finds for a label. */
function setAt(indexOf, label, lists, problem) {
  const i = indexOf(labelled(label));
  const can = [...byLabel].filter(([, j]) => canChange(indexOf(j))).map(([name]) => name);
  if (!canChange(i)) complain(`${label} ${problem}; ${can.join(", ") || "none"} can be set`);
  change(values[i].id, given(lists, i, label));
}

/** Return the elements of a value, gradient or tangent as nested lists, or null if the page does not know them. */
function nestedAt(i) {
  if (i === undefined) return null;
  if (values[i].impossible) return null;
  const tensor = tensorIn(run, i) ?? recordedContents.get(values[i].id);
  return tensor ? live.toNested(tensor) : (values[i].all ?? null);
}

/** Move each parameter against its gradient. */
function descend(lr) {
  mustBeLive();
  if (!Number.isFinite(lr)) complain(`step(${lr}): lr is no number: give one, as in step(0.1)`);
  stepDownhill(lr);
}

window.minigrad = {
  ready: Promise.resolve(),
  labels: () => [...byLabel.keys()],
  get(label) {
    const i = labelled(label);
    computeNow();
    return { value: nestedAt(i), grad: nestedAt(gradientOf.get(i)), tangent: nestedAt(tangentOf.get(i)) };
  },
  set: (label, lists) => setAt((i) => i, label, lists, "is the result of an operation"),
  setTangent: (label, lists) => setAt((i) => tangentOf.get(i), label, lists, "has no tangent that can be set"),
  setGrad: (label, lists) => setAt((i) => (outputs.has(i) ? gradientOf.get(i) : undefined), label, lists, "does not start backward"),
  step: descend,
  reset() {
    if (isLive) (resetLive(), computeNow());
  },
  frozen() {
    if (!isLive) return [];
    computeNow();
    const lost = values.filter((value) => value.impossible).map(({ id, impossible }) => [id, impossible]);
    return [...new Map([...run.frozen, ...lost])].map(([id, reason]) => ({ label: data.live.values[id].label, reason }));
  },
};
