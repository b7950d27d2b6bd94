// Where a gradient comes from: the paths from the outputs that contribute to it, each with its share.
//
// The share of an edge is how much of the gradient its contribution makes up.  Going on to the outputs, shares multiply:
// along a path they give the path's share, summed over the paths through an edge the share that flows through it.

const PATHS = 6;
const TRIES = 4000; // partial paths looked at: there may be more paths than could ever be listed

const percent = (share) => `${minus((100 * share).toFixed(Math.abs(share) < 0.095 && share !== 0 ? 1 : 0))} %`;

/** The shares of the contributions to a value: by projection on the gradient where all elements are known, else by size. */
function shares(value) {
  const all = flowsInto.get(value) ?? [];
  if (all.length === 1) return [[all[0], 1]];
  const flat = (one) => (one.all === undefined ? null : [one.all].flat(Infinity).map(Number));
  const total = flat(values[gradientOf.get(value)] ?? {});
  const parts = all.map((flow) => flat(values[flow.gives]));
  const square = total?.reduce((sum, x) => sum + x * x, 0);
  if (square > 0 && Number.isFinite(square) && parts.every((one) => one?.length === total.length)) {
    return all.map((flow, i) => [flow, parts[i].reduce((sum, x, k) => sum + x * total[k], 0) / square]);
  }
  const sized = all.map((flow) =>
    Math.hypot(statistics(values[flow.gives])?.[2] ?? 0, statistics(values[flow.gives])?.[3] ?? 0),
  );
  const sum = sized.reduce((a, b) => a + b, 0);
  return all.map((flow, i) => [flow, sum ? sized[i] / sum : 1 / all.length]);
}

/** The result of an operation through which the upstream gradient of a flow came. */
const through = (flow) =>
  ops[flow.op].out.includes(gradientFor.get(flow.up)) ? gradientFor.get(flow.up) : ops[flow.op].out[0];

function trace(value) {
  const weights = new Map([[value, 1]]);
  const onEdges = new Map(); // "operation:slot" -> share
  const expand = (one) => {
    for (const [flow, share] of shares(one)) {
      const weight = weights.get(one) * share;
      onEdges.set(`${flow.op}:${flow.slot}`, weight);
      weights.set(through(flow), (weights.get(through(flow)) ?? 0) + weight);
    }
  };
  if (isLeaf(value)) expand(value);
  for (let i = Math.max(0, maker[value]); i < ops.length; i++)
    for (const one of ops[i].out) if (weights.has(one)) expand(one);
  return { value, weights, onEdges, list: heaviest(value) };
}

/** The paths with the largest shares, the largest first. */
function heaviest(value) {
  const open = [{ at: value, share: 1, ops: [] }];
  const found = [];
  for (let tries = 0; open.length && found.length < PATHS && tries < TRIES; tries++) {
    open.sort((a, b) => Math.abs(a.share) - Math.abs(b.share));
    const path = open.pop();
    const next = shares(path.at);
    if (!next.length) found.push(path);
    for (const [flow, share] of next)
      open.push({ at: through(flow), share: path.share * share, ops: [...path.ops, flow.op] });
    if (open.length > 200) open.splice(0, 100);
  }
  return found;
}

/** Light up what contributes to a value's gradient. */
function showPaths(value) {
  state.paths = trace(value);
  placePaths();
  if (state.step < gradientKnown.get(value)) go(gradientKnown.get(value));
  refresh();
  drawFar();
  showDetails(current());
  const amount = gist(values[gradientOf.get(value)]);
  const heaviest = state.paths.list.map((path) => percent(path.share)).join(", ");
  announce(`Gradient of ${values[value].name}, ${amount}. Its heaviest paths: ${heaviest}.`);
}

/** The boxes and edges of the graph as it is folded now through which shares flow. */
function placePaths() {
  if (!state.paths) return;
  const { value, onEdges } = state.paths;
  state.paths.boxes = new Map();
  state.paths.edges = new Map();
  for (const edge of graph.edges) {
    const along = edge.uses.map(([op, slot]) => onEdges.get(`${op}:${slot}`)).filter((share) => share !== undefined);
    if (along.length)
      state.paths.edges.set(
        edge.key,
        along.reduce((a, b) => a + b, 0),
      );
  }
  for (const key of onEdges.keys()) state.paths.boxes.set(boxOf[Number(key.split(":")[0])].key, true);
  for (const box of graph.boxes) if (box.out.includes(value)) state.paths.boxes.set(box.key, true);
}

function clearPaths() {
  if (!state.paths) return false;
  state.paths = null;
  refresh();
  drawFar();
  showDetails(current());
  return true;
}

function pathList() {
  const words = (path) => path.ops.map((op) => ops[op].name).reverse();
  const row = (path) => {
    const names = words(path);
    const text = names.length > 9 ? [...names.slice(0, 4), `… ${names.length - 8} more …`, ...names.slice(-4)] : names;
    const bar = shape(
      "svg",
      { class: "bar", viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" },
      shape("rect", { width: Math.min(100, 100 * Math.abs(path.share)).toFixed(1), height: 6 }),
    );
    return el(
      "li",
      {},
      el("strong", {}, percent(path.share)),
      bar,
      el("span", {}, [...text, values[state.paths.value].name].join(" → ")),
    );
  };
  const { list } = state.paths;
  const rest = 1 - list.reduce((sum, path) => sum + path.share, 0);
  const more = Math.abs(rest) > 0.005 ? el("p", { class: "note" }, `all other paths: ${percent(rest)}`) : null;
  return el(
    "div",
    { class: "paths" },
    el("ol", {}, list.map(row)),
    more,
    button("Clear", clearPaths, { class: "link" }),
  );
}
