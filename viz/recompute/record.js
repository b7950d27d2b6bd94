// A record computed again by the steps of live_record (record.py), from its leaves, their tangents and the first gradients.
//
// The first run, from the recorded numbers, finds what more than the formulas has made, such as a hook: these numbers stay as
// they are. What cannot be computed keeps its recorded numbers, and has a reason in `frozen`; `behind` has what follows from it.
const plans = new WeakMap();
const LEAVES = ["parameter", "input", "constant"];
const DRAWN = "random draws keep their numbers";
const MORE = "more than the record's formula makes this number";

// Returns what `f` gives, or the reason for which it cannot: a record may come from anywhere, so that no error is a surprise.
function attempt(f) {
  try {
    return { found: f() };
  } catch (error) {
    return { reason: error instanceof LiveError ? error.message : `the record is faulty: ${error.message}` };
  }
}

// Returns the recorded tensors by the ids of values, as far as the record holds them; each time the same tensors.
function heldOf(record) {
  return new Map(attempt(() => within(() => planOf(record).held)).found ?? []);
}

function recordedTensor({ shape, dtype, content, summary = {} }) {
  const { Memory } = entryOf(DTYPES, dtype);
  if (content === undefined)
    return summary.values === undefined ? undefined : fromNested(summary.values, dtype, [...shape]);
  const data = new Memory(Uint8Array.from(atob(content), (c) => c.charCodeAt(0)).buffer);
  return data.length === checkedSize(shape) ? new Tensor(shape, dtype, data) : undefined;
}

// Computes a record again. Options: `forwardOnly`; `forgotten`, a Set of "operation:value", saved tensors that are lost;
// `formulas`, a Map from "operation:edge" to another formula of that edge; `names`, the values of names that only these have;
// `wide`: floats keep the dtype of their expression. The result has `values` by id, `tangents` and `gradients` by the value to
// which they belong, and `contributions` by "operation:edge"; `lost` has the reasons for those that are impossible, by the name
// of the table and the key in it, as in "gradients:3".
function computeAgain(record, held, options = {}) {
  const run = attempt(() =>
    within(() => {
      const plan = planOf(record);
      plan.first ??= attempt(() => (plan.run = execute(plan, plan.held, {}, true)));
      if (plan.first.reason) fail(plan.first.reason);
      return results(execute(plan, held, options));
    }),
  );
  if (run.found) return run.found;
  const frozen = attempt(() => new Map(record.values.map(({ id }) => [id, run.reason]))).found ?? new Map();
  return { ...emptyResults(), frozen, behind: new Map(), otherwise: [] };
}

const TABLES = ["values", "tangents", "gradients", "contributions", "lost"];
const emptyResults = () => Object.fromEntries(TABLES.map((name) => [name, new Map()]));

function planOf(record) {
  if (plans.has(record)) return plans.get(record);
  const steps = record.steps.map((step) => {
    const names = new Map(Object.entries(step.names ?? {}));
    return { ...step, names, ids: [...names.values()].flat() };
  });
  const plan = { record, steps, values: new Map(record.values.map((value) => [value.id, value])), held: new Map() };
  for (const value of record.values) {
    const tensor = attempt(() => recordedTensor(value)).found;
    if (tensor) plan.held.set(value.id, tensor);
  }
  plan.read = steps.reduce((n, { ids }) => n + 1 + ids.length, 0);
  plan.makers = new Map(steps.toReversed().flatMap((step) => step.outputs.map((id) => [id, step])));
  plan.fixed = new Map(); // the reasons for what the first run finds
  plan.forward = neededForValues(steps);
  plans.set(record, plan);
  return plan;
}

// Returns the steps from which values follow: gradients are among them if the program has used them.
function neededForValues(steps) {
  const read = new Set();
  const isNeeded = ({ back, moves, outputs, ids }) => {
    const used = !(back || moves) || outputs.some((id) => read.has(id));
    if (used) ids.forEach((id) => read.add(id));
    return used;
  };
  return new Set(steps.toReversed().filter(isNeeded));
}

function execute(plan, held, options, first = false) {
  const maps = { known: new Map(), frozen: new Map(), behind: new Map(), lost: new Map() };
  const run = { plan, held, options, first, otherwise: [], ...maps };
  for (const id of plan.values.keys()) {
    const tensor = plan.makers.has(id) ? undefined : (held.get(id) ?? plan.held.get(id));
    if (tensor) run.known.set(id, tensor);
  }
  for (const { noise } of plan.steps) if (noise !== undefined) run.frozen.set(noise, DRAWN);
  for (const step of plan.steps) if (!options.forwardOnly || plan.forward.has(step)) runStep(run, step);
  return run;
}

function runStep(run, step) {
  const { plan, held, known, frozen, lost } = run;
  if (isLost(run, step)) return;
  const { found, reason } = attempt(() => (step.reason ? fail(step.reason) : stepResults(run, step)));
  if (run.first) step.reason = reason; // so that nothing that takes long is tried again
  const before = step.ids.find((id) => run.behind.has(id) || (frozen.has(id) && frozen.get(id) !== DRAWN));
  // what an operation computes from something frozen that the record does not list is frozen for the same reason
  const within = step.ids.find((id) => id >= plan.record.size && frozen.has(id) && plan.makers.get(id)?.op === step.op);
  const mistaken = isMistaken(run, step); // then another shape is no result of other numbers: the engine would refuse it
  step.outputs.forEach((id, k) => {
    const given = found?.[step.is === undefined ? (step.picks?.[k] ?? k) : 0];
    const [value, recorded] = [plan.values.get(step.is ?? id), plan.held.get(step.is ?? id)];
    const dtype = run.options.wide && isFloat(given?.dtype ?? "bool") ? given.dtype : value?.dtype;
    const tensor = given && cast(given, dtype ?? given.dtype); // a call writes 2.0 as 2
    // a parameter that operations have made, such as the weight of a new layer, may have been changed since
    const changed = LEAVES.includes(plan.values.get(id)?.kind) && held.has(id) && held.get(id) !== recorded;
    const unlike = run.first ? compared : reshaped;
    const problem = frozen.get(within) ?? reason ?? plan.fixed.get(id) ?? unlike(run, step, id, tensor);
    if (problem && mistaken) return lost.set(id, problem), known.delete(id);
    if (changed) known.set(id, held.get(id));
    else if (!problem) known.set(id, tensor);
    else if (recorded) known.set(id, recorded);
    if (problem && !changed) frozen.set(id, problem);
    else if (before !== undefined && !changed) run.behind.set(id, run.behind.get(before) ?? labelOf(plan, before));
  });
}

const isMistaken = ({ options }, { op, edge }) => edge !== undefined && options.formulas?.has(`${op}:${edge}`);

// Returns true if a step reads something that is forgotten, or that follows from it: then its results are lost too.
function isLost({ plan, options, known, lost }, step) {
  if (!options.forgotten?.size && !lost.size) return false;
  const of = step.back ? step.op : step.of; // a backward that the program differentiates is a part of the program
  const forgotten = (id) => of !== undefined && options.forgotten?.has(`${of}:${id}`);
  const id = [...step.ids, ...(step.reads ?? [])].find((one) => forgotten(one) || lost.has(one));
  if (id === undefined) return false;
  const reason = lost.get(id) ?? `the saved tensor ${labelOf(plan, id)} is forgotten`;
  for (const output of step.outputs) {
    lost.set(output, reason);
    known.delete(output);
  }
  return true;
}

// Returns the tensors that a step gives: those of the last run, if it reads the same ones.
function stepResults({ plan, known, options }, step) {
  const other = step.edge === undefined ? undefined : options.formulas?.get(`${step.op}:${step.edge}`);
  const named = other !== undefined && step.named;
  const names = named ? new Map(Object.entries({ ...options.names, ...named })) : step.names;
  const given = (id) => known.get(id) ?? fail(`the record does not hold ${labelOf(plan, id)}`);
  const read = step.ids.map(given);
  if (other === undefined && step.read?.every((t, k) => t === read[k])) return step.found;
  const scope = new Map();
  for (const [name, of] of names) scope.set(name, Array.isArray(of) ? of.map(given) : given(of));
  if (other !== undefined) return [evaluate(other, scope)].flat();
  const found = eachExample(step.text, scope, step.each ?? []);
  if (!found.every(isTensor)) fail("the expression gives no tensor");
  step.picks ??= found.length > 1 ? step.outputs.map((id, k) => pick(plan, id, found, k)) : [];
  Object.assign(step, { read, found });
  return found;
}

// Returns which of several results a recorded value is: a program may use only some of them.
function pick(plan, id, found, k) {
  if (!plan.values.has(id)) return k;
  const isIt = (t) => agrees(t, plan.held.get(id), plan.values.get(id));
  return isIt(found[k]) || !found.some(isIt) ? k : found.findIndex(isIt);
}

// Evaluates a call for each example of a vmap, and stacks the results.
function eachExample(text, scope, [dims, ...inner]) {
  const batched = Object.entries(dims ?? {}).filter(([name]) => scope.has(name));
  if (!batched.length) return dims ? eachExample(text, scope, inner) : [evaluate(text, scope)].flat();
  const found = range(scope.get(batched[0][0]).shape[batched[0][1]]).map((i) => {
    const one = batched.map(([name, d]) => [name, run("select", scope.get(name), d, i)]);
    return eachExample(text, new Map([...scope, ...one]), inner);
  });
  if (!found.length) fail("a vmap over no examples");
  return found[0].map((_, k) => run("stack", found.map((made) => made[k])));
}

// Compares a result of the first run with the recorded one: a reason if more than the formula has made that, and its tangent.
function compared({ plan }, step, id, tensor) {
  const value = plan.values.get(step.is ?? id);
  if (!value || agrees(tensor, plan.held.get(value.id), value)) return undefined;
  const reason = tensor ? MORE : "its call gives only the first result";
  for (const other of [plan.record.tangents[id], ...(step.is === undefined ? [id] : step.outputs)])
    plan.fixed.set(other, reason);
  return reason;
}

// Returns a reason if a result has another shape than the recorded one, as x[x > 0] may have.
function reshaped({ plan, options, otherwise }, step, id, tensor) {
  const recorded = plan.values.get(step.is ?? id)?.shape;
  if (!tensor) return "its call gives only the first result";
  if (!recorded || sameShape(recorded, tensor.shape)) return undefined;
  if (isMistaken({ options }, step)) return `its shape is (${tensor.shape}) instead of (${recorded})`;
  const line = plan.record.ops[step.op]?.line;
  if (!otherwise.some((one) => one.line === line))
    otherwise.push({ line, text: `with these numbers ${labelOf(plan, id)} at line ${line} has another shape` });
  return `with these numbers its shape is (${tensor.shape}) instead of (${recorded})`;
}

function labelOf({ values, makers, record }, id) {
  const op = record.ops[makers.get(id)?.op];
  return values.get(id)?.label ?? op?.function ?? op?.name ?? "a value";
}

function agrees(tensor, recorded, { shape, dtype, summary = {} }) {
  spend(8 + (tensor?.data.length ?? 0) / 8);
  if (!tensor || tensor.dtype !== dtype || !sameShape(tensor.shape, shape)) return false;
  const few = dtype === "float64" ? 1e-12 : isFloat(dtype) ? 2e-6 : 0;
  if (recorded) return near(tensor.data, recorded.data, few);
  const finite = tensor.data.filter(Number.isFinite);
  if (summary.nan !== undefined && finite.length !== tensor.data.length - summary.nan - summary.inf) return false;
  if (typeof summary.mean !== "number" || !finite.length) return true; // nothing more is known
  const extremes = [finite.reduce((a, b) => Math.min(a, b)), finite.reduce((a, b) => Math.max(a, b)), average(finite)];
  return near(extremes, [summary.min, summary.max, summary.mean], 10 * few);
}

function near(found, expected, few) {
  const most = expected.reduce((top, x) => (Number.isFinite(x) ? Math.max(top, Math.abs(x)) : top), 1);
  const same = (x, y) => x === y || (x !== x && y !== y) || Math.abs(x - y) <= few * most;
  return found.every((x, i) => same(x, expected[i]));
}

// Returns what a run gives, by the record's ids.
function results(run) {
  const { plan, known, frozen, behind, lost, otherwise } = run;
  const { size, tangents, totals, gradients, reads } = plan.record;
  for (const read of reads) readAgain(run, read);
  const found = emptyResults();
  const copy = (key, of, table) => {
    if (known.has(of)) found[table].set(key, known.get(of));
    else if (lost.has(of)) found.lost.set(`${table}:${key}`, lost.get(of));
  };
  for (const id of [...known.keys(), ...lost.keys()]) if (id < size) copy(id, id, "values");
  for (const [id, tangent] of Object.entries(tangents)) copy(+id, tangent, "tangents");
  for (const { op, edge, outputs } of plan.steps) if (edge !== undefined) copy(`${op}:${edge}`, outputs[0], "contributions");
  for (const [id, total] of Object.entries(totals)) {
    copy(+id, total, "gradients");
    for (const map of [frozen, behind]) if (map.has(total)) map.set(gradients[id], map.get(total));
  }
  for (const [id, reason] of lost) found.lost.set(`inside:${id}`, reason);
  const listed = (map) => new Map([...map].filter(([id]) => id < size));
  return { ...found, frozen: listed(frozen), behind: listed(behind), otherwise, inside: known };
}

// What Python does with elements that it reads is from the recorded run. Notes those that have changed, and what comes after:
// in a method of a Function, `within`, what that pass computes from there on.
const PYTHON = ["item", "float", "int", "index", "tolist", "numpy", "allclose"];
function readAgain({ plan, known, behind, otherwise }, { value, how, line, op: within, method }) {
  const [now, before] = [known.get(value), plan.held.get(value) ?? plan.run.known.get(value)];
  if (!now || !before || now === before || !(how === "bool" || PYTHON.includes(how))) return;
  if (how === "bool" ? truth(now) === truth(before) : near(now.data, before.data, 1e-12)) return;
  const label = labelOf(plan, value);
  const read = plan.values.has(value) ? label : "number";
  const way = how === "bool" ? "would take another way" : `would read another ${read}`;
  otherwise.push({ line, text: `with these numbers the program ${way} at line ${line}` });
  const at = within ?? (plan.makers.get(value)?.op ?? -1) + 1;
  const passes = { backward: ({ op, back }) => back && op <= at, jvp: ({ op, moves }) => moves && op >= at };
  const later = passes[method] ?? (({ op }) => op >= at);
  spend(plan.read);
  for (const step of plan.steps)
    if (later(step) || step.ids.some((id) => behind.has(id)))
      for (const id of step.outputs) if (!behind.has(id)) behind.set(id, label);
}
