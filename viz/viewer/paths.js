// The origin of a gradient: the paths from the outputs that contribute to it, each with its share.
//
// The share of an edge is its contribution relative to the whole gradient.  Towards the outputs, shares multiply: their product
// along a path is the path's share; the sum over all paths through an edge is the share that flows through the edge.

const PATHS = 6;
const TRIES = 4000; // the largest number of partial paths examined: there may be too many paths to list

const percent = (share) => `${minus((100 * share).toFixed(Math.abs(share) < 0.095 && share !== 0 ? 1 : 0))} %`;

/** Return the shares of a value's contributions: projected on the gradient if all elements are known, else by size. */
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
  const sized = all.map((flow) => Math.hypot(...(statistics(values[flow.gives])?.slice(2, 4) ?? [])));
  const whole = sum(sized);
  return all.map((flow, i) => [flow, whole ? sized[i] / whole : 1 / all.length]);
}

/** Return the result of an operation through which the incoming gradient of a flow came. */
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
  return { value, weights, onEdges, list: largestPaths(value) };
}

/** Return the paths with the largest shares, largest first. */
function largestPaths(value) {
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

/** Highlight everything that contributes to a value's gradient. */
function showPaths(value) {
  if (values[gradientOf.get(value)].impossible) return;
  state.paths = trace(value);
  placePaths();
  if (state.step < gradientKnown.get(value)) go(gradientKnown.get(value));
  refresh();
  drawFar();
  showDetails(current());
  const amount = gist(values[gradientOf.get(value)]);
  const largest = state.paths.list.map((path) => percent(path.share)).join(", ");
  announce(`Gradient of ${values[value].name}, ${amount}. Its largest paths: ${largest}.`);
}

/** Return the boxes and edges of the current folding through which shares flow. */
function placePaths() {
  if (!state.paths) return;
  const { value, onEdges } = state.paths;
  state.paths.boxes = new Map();
  state.paths.edges = new Map();
  for (const edge of graph.edges) {
    const along = edge.uses.map(([op, slot]) => onEdges.get(`${op}:${slot}`)).filter((share) => share !== undefined);
    if (along.length) state.paths.edges.set(edge.key, sum(along));
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
  const row = (path) => {
    const names = path.ops.map((op) => ops[op].name).reverse();
    const text = names.length > 9 ? [...names.slice(0, 4), `… ${names.length - 8} more …`, ...names.slice(-4)] : names;
    const frame = { class: "bar", viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" };
    const bar = shape("rect", { width: Math.min(100, 100 * Math.abs(path.share)).toFixed(1), height: 6 });
    const way = el("span", {}, [...text, values[state.paths.value].name].join(" → "));
    return el("li", {}, el("strong", {}, percent(path.share)), shape("svg", frame, bar), way);
  };
  const { list } = state.paths;
  const rest = 1 - sum(list.map((path) => path.share));
  const more = Math.abs(rest) > 0.005 ? el("p", { class: "note" }, `all other paths: ${percent(rest)}`) : null;
  const clear = button("Clear", clearPaths, { class: "link" });
  return el("div", { class: "paths" }, el("ol", {}, list.map(row)), more, clear);
}
