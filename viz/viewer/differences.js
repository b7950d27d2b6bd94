// The numbers of the experiments: steps downhill, and differences that are taken beside derivatives. Nothing here draws.

const GIVEN = ["parameter", "input", "constant"];
const SMALL_LEAF = 32; // elements: up to this many are moved one by one
const SLOPES = { precise: [1e-6, 1e-5, 1e-8], coarse: [5e-3, 2e-2, 1e-3] }; // step, tolerance, tolerance for the output's rounding

const isReal = ({ dtype }) => dtype.includes("float");
const tensorLike = (t, numbers, dtype = t.dtype) => live.fromNested(Array.from(numbers), dtype, t.shape);
const combined = (a, b, f) => tensorLike(a, a.data.map((x, i) => f(x, b.data[i]))); // prettier-ignore

/** Return the outputs from which backward starts, each with its gradient. */
const seedsOf = (record, held) =>
  record.outputs.map((id) => [id, held.get(record.gradients[id])]).filter(([, seed]) => seed);

/** Return the number whose gradient backward computes: the outputs' elements, each times its gradient, added up. */
function objective(record, held, run) {
  let total = 0;
  for (const [id, seed] of seedsOf(record, held))
    seed.data.forEach((g, i) => (total += g * (run.values.get(id)?.data[i] ?? NaN)));
  return total;
}

/** Return the leaves of some kinds that a record's operations do not write. */
function leavesOf(record, held, kinds) {
  const made = new Set(record.ops.flatMap((op) => op.outputs));
  return record.values.filter((value) => kinds.includes(value.kind) && held.has(value.id) && !made.has(value.id));
}

/** Return the parameters after a step downhill, as `p -= rate * p.grad` computes them. */
function descended(record, held, run, rate) {
  const moved = new Map();
  for (const { id } of leavesOf(record, held, ["parameter"])) {
    const grad = run.gradients.get(id);
    if (!grad || isRecorded(record, run, id)) continue;
    const step = tensorLike(grad, grad.data.map((g) => rate * g)); // prettier-ignore
    moved.set(id, combined(held.get(id), step, (x, by) => x - by));
  }
  return moved;
}

/** Return the leaves that have tangents, each with its tangent. */
function directionsOf(record, held) {
  const tangents = Object.assign({}, ...record.ops.map((op) => op.tangents));
  const leaves = leavesOf(record, held, GIVEN).filter(({ id }) => held.has(tangents[id]));
  return leaves.map(({ id }) => [id, held.get(tangents[id])]);
}

/** Return (f(x + h t) - f(x)) / h of each output with a tangent, every step of it in the program's dtype. */
function forwardDifferences(record, held, run, h) {
  const ahead = new Map(held);
  for (const [id, t] of directionsOf(record, held)) {
    const step = tensorLike(t, t.data.map((d) => h * d)); // prettier-ignore
    ahead.set(id, combined(held.get(id), step, (x, by) => x + by));
  }
  const there = live.computeAgain(record, ahead, { forwardOnly: true });
  const known = record.outputs.filter((id) => run.tangents.has(id) && there.values.has(id));
  return known.map((id) => {
    const [y, tangent] = [run.values.get(id), run.tangents.get(id)];
    const rise = combined(there.values.get(id), y, (to, from) => to - from);
    const ratio = tensorLike(y, rise.data.map((r) => r / h)); // prettier-ignore
    return { id, tangent, ratio, error: largest(combined(ratio, tangent, (a, b) => a - b).data) };
  });
}

/** Return the largest magnitude; NaN if there is one. */
const largest = (numbers) => numbers.reduce((most, x) => (Math.abs(x) > most || x !== x ? Math.abs(x) : most), 0);

/** Return the operations whose results follow from a value. */
function following(record, id) {
  const reached = new Set([id]);
  return record.ops.filter((op) => {
    const reads = op.inputs.some((input) => reached.has(input));
    if (reads) for (const output of op.outputs) reached.add(output);
    return reads;
  });
}

/** Return (f(x + h) - f(x - h)) / 2h for each element of a leaf. */
function centralDifference(record, held, id, step) {
  const x = held.get(id);
  const at = (i, by) => {
    const moved = new Map(held).set(id, tensorLike(x, x.data.map((e, j) => (i === j ? e + by : e)))); // prettier-ignore
    return objective(record, moved, live.computeAgain(record, moved, { forwardOnly: true, wide: true }));
  };
  return Array.from(x.data, (e, i) => {
    const h = step * Math.max(1, Math.abs(e));
    return (at(i, h) - at(i, -h)) / (2 * h);
  });
}

/**
 * Return a function for each leaf that compares its gradient with central differences, in float64 as far as the program allows
 * it: it gives the label, the state "agrees", "differs", "impossible" or "unknown", and the words for it.
 */
function comparisons(record, held, options = {}) {
  const wide = new Map([...held].map(([id, t]) => [id, isReal(t) ? tensorLike(t, t.data, "float64") : t]));
  const [right, run] = [{}, options].map((more) => live.computeAgain(record, wide, { ...more, wide: true }));
  const leaves = leavesOf(record, wide, GIVEN).filter(({ id }) => isReal(wide.get(id)) && right.gradients.has(id));
  const compare = ({ id, label }) => {
    const lost = run.lost.get(`gradients:${id}`);
    if (lost) return { id, label, state: "impossible", by: lost };
    const why = incomparable(record, right, id);
    if (why) return { id, label, state: "unknown", by: why };
    const by = compared(record, wide, run, id);
    return { id, label, state: by ? "differs" : "agrees", by };
  };
  return leaves.map((leaf) => () => {
    const made = live.within(() => compare(leaf));
    return live.spent.reason ? { ...made, state: "unknown", by: live.spent.reason } : made;
  });
}

/** Return the reason for which the gradient of a leaf is not compared, or nothing. */
function incomparable(record, run, id) {
  const isFrozen = ({ call, outputs }) => call && outputs.some((output) => run.frozen.has(output));
  const frozen = following(record, id).find(isFrozen);
  if (run.values.get(id).data.length > SMALL_LEAF) return `it has more than ${SMALL_LEAF} elements`;
  if (frozen) return `${frozen.call} is from the recorded run`;
  if (record.ops.some(({ phase }) => phase === "update")) return "the program itself takes steps";
  return isRecorded(record, run, id) ? "it is from the recorded run" : "";
}

/** Return the words for the difference between a gradient and central differences; nothing if they agree. */
function compared(record, held, run, id) {
  const dtypes = following(record, id).flatMap(({ outputs }) => outputs.map((output) => run.values.get(output)));
  const coarse = dtypes.some((t) => t && isReal(t) && t.dtype !== "float64");
  const [step, relative, absolute] = coarse ? SLOPES.coarse : SLOPES.precise;
  const expected = centralDifference(record, held, id, step);
  const given = Array.from(run.gradients.get(id).data);
  const scale = largest([...expected, ...given].filter(Number.isFinite));
  const most = relative * scale + absolute * Math.max(1, Math.abs(objective(record, held, run)));
  const same = given.every((g, i) => Math.abs(g - expected[i]) <= most || Object.is(g, expected[i]));
  return same ? "" : discrepancy(given, expected, most);
}

/** Return true if a value's gradient is from the recorded run, or follows such a number. */
const isRecorded = (record, run, id) => [run.frozen, run.behind].some((map) => map?.has(record.gradients[id]));

/** Return the words for the difference between a gradient and the finite differences. */
function discrepancy(given, expected, most) {
  const apart = given.map((g, i) => Math.abs(g - expected[i]));
  if (apart.some(Number.isNaN)) return "which is not a number";
  if (given.every((g) => g === 0)) return "which is 0";
  const counted = expected.map((e, i) => [given[i], e]).filter(([g, e]) => Math.max(Math.abs(g), Math.abs(e)) > most);
  const [factor] = counted.map(([g, e]) => g / e);
  const isAlike = ([g, e]) => Math.abs(g / e - factor) < 1e-2 * Math.abs(factor);
  const alike = Number.isFinite(factor) && counted.every(isAlike);
  if (alike && Math.abs(factor + 1) < 1e-2) return "by its sign";
  return alike ? `by a factor of ${number(factor, 3)}` : `by up to ${number(Math.max(...apart), 3)}`;
}
