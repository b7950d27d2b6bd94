// Cards and edges as SVG, for as much of the graph as the window shows; a step touches only what it changes.

const world = $("world");
const layers = { edges: $("edges"), cards: $("cards"), labels: $("labels") };
const mounted = new Map(); // by key, the elements of a card
const mountedEdges = new Map();
const FEW = 300; // cards: so few stay drawn, so that the browser's own search and screen readers find them all
const FORMS = { op: ["round", 6], function: ["round", 6], fold: ["round", 6], input: ["round", 15], parameter: ["cut", 10], constant: ["cut", 0], computed: ["cut", 0], copy: ["cut", 6] };

/** A box whose corners are round or cut. */
function outline(x, y, w, h, corner, form, low = corner) {
  const [a, b] = [Math.min(corner, h / 2), Math.min(low, h / 2)];
  const turn = (size, x1, y1) => (form === "round" ? `A${size} ${size} 0 0 1 ${x1} ${y1}` : `L${x1} ${y1}`);
  return `M${x + a} ${y}H${x + w - a}${turn(a, x + w, y + a)}V${y + h - b}${turn(b, x + w - b, y + h)}H${x + b}${turn(b, x, y + h - b)}V${y + a}${turn(a, x + a, y)}Z`;
}

function mountCard(box) {
  const [form, corner] = FORMS[box.kind];
  const top = box.strip;
  const tall = box.h - top;
  const g = shape("g", { class: `card k-${box.kind}`, id: box.key, transform: `translate(${box.x.toFixed(1)} ${box.y.toFixed(1)})`, role: "button", tabindex: box === (focused ?? graph.boxes[0]) ? "0" : "-1", "aria-label": spoken(box) });
  if (box.leaf) g.dataset.value = values[box.out[0]].id;
  else if (box.kind !== "fold") g.dataset.op = ops[box.from].id;
  if (box.kind === "fold") for (const by of [8, 4]) g.append(shape("path", { class: "under", d: outline(by, top + by, box.w, tall, corner, form) }));
  if (box.kind !== "copy" && box.out.some((value) => outputs.has(value))) g.append(shape("path", { class: "ring", d: outline(-4, top - 4, box.w + 8, tall + 8, corner + 4, form) }));
  g.append(shape("path", { class: "halo", d: outline(-5, top - 5, box.w + 10, tall + 10, corner + 5, form) }));
  g.append(shape("path", { class: "paper", d: outline(0, top, box.w, tall, corner, form) }));
  const headTall = HEAD + (box.tag ? TAG : 0);
  if (box.kind !== "copy") g.append(shape("path", { class: "band", d: outline(0.8, top + 0.8, box.w - 1.6, (box.rows.length ? headTall : tall) - 1, corner - 0.8, form, box.rows.length ? 0 : corner - 0.8) }));
  if (box.kind === "function") g.append(shape("rect", { class: "bar", x: 0.8, y: top + headTall, width: 4, height: Math.max(0, tall - headTall - corner) }));
  const base = top + (box.kind === "copy" ? 17.5 : 20);
  const title = shape("text", { class: box.kind === "copy" ? "mono" : "name", x: SIDE, y: base }, box.title);
  if (box.note) title.append(shape("tspan", { class: "mono call" }, box.note));
  g.append(title);
  if (box.right) g.append(shape("text", { class: box.leaf ? "small" : "mono formula", x: box.w - SIDE, y: base, "text-anchor": "end" }, box.right));
  if (box.tag) g.append(shape("text", { class: "small", x: SIDE, y: base + TAG }, box.tag));
  const rows = box.rows.map((row, i) => mountRow(g, box, row, top + headTall + 2 + i * LINE));
  layers.cards.append(g);
  const made = { box, g, rows };
  box.sums = sumValue(box);
  if (box.sums !== undefined) {
    made.sum = shape("g", { class: "sum", transform: `translate(${box.x + box.exitAt(box.sums)} ${box.y + box.h + 11})` }, shape("circle", { r: 8.5 }), shape("path", { d: "M-4.5 0H4.5M0 -4.5V4.5" }));
    layers.labels.append(made.sum);
  }
  mounted.set(box.key, made);
  updateCard(made);
}

/** The value of a box in which several contributions meet (copies only pass theirs on). */
const sumValue = (box) => (box.kind === "copy" ? undefined : box.exits.find((value) => (flowsInto.get(value) ?? []).length > 1 && gradientOf.has(value)));

function mountRow(g, box, row, y) {
  const text = shape("tspan", { class: row.kind === "kept" ? "small" : row.kind === "value" ? "mono" : "mono strong" });
  const line = shape("g", { class: `row r-${row.kind}` });
  if (row.kind !== "value") line.append(shape("rect", { x: box.kind === "function" ? 7 : 5, y: y + 1, width: box.w - (box.kind === "function" ? 12 : 10), height: LINE - 2, rx: 4 }));
  line.append(shape("text", { x: SIDE, y: y + 15.5 }, shape("tspan", { class: row.kind === "kept" ? "small" : "mono label" }, row.label), text));
  if (row.type) line.append(shape("text", { class: "small type", x: box.w - SIDE, y: y + 15.5, "text-anchor": "end" }, row.type));
  if (row.kind === "grad") line.dataset.gradient = row.value; // a click shows its paths
  g.append(line);
  return { row, line, text };
}

function updateCard({ box, g, rows, sum }) {
  const step = state.step;
  const { pass } = steps[step];
  for (const { row, line, text } of rows) {
    if (row.kind === "kept") {
      const stands = step < row.from ? "todo" : row.freed !== undefined && step >= row.freed ? "freed" : "known";
      setText(text, row.last);
      line.setAttribute("class", `row r-kept ${stands}`);
      continue;
    }
    const done = row.kind === "value" ? step >= known[row.value] : row.kind === "grad" ? gradientAt(row.value, step).state : step >= tangentKnown.get(row.value);
    const stands = done === true ? "known" : done === false ? "todo" : done;
    setText(text, stands === "known" ? row.last : row.kind === "grad" ? gradientText(row.value, step) : "–");
    line.setAttribute("class", `row r-${row.kind} ${stands}`);
  }
  const reached = box.leaf || step >= stepFor.forward.get(box.from);
  const lit = state.now.has(box.key) ? ` now p-${pass}` : "";
  const found = state.found ? (matches(box) ? " found" : " dim") : state.paths && !state.paths.boxes.has(box.key) ? " dim" : "";
  g.setAttribute("class", `card k-${box.kind}${reached ? "" : " todo"}${lit}${found}${state.selected === box.key ? " selected" : ""}`);
  if (sum) sum.setAttribute("class", gradientAt(box.sums, step).terms.length ? "sum on" : "sum");
}

function mountEdge(edge) {
  const [end, start] = [edge.points.at(-1), edge.points[0]];
  const tip = (x, y, up) => `M${x} ${y}L${x - 4} ${y + (up ? 8 : -8)}H${x + 4}Z`;
  const low = sumValue(edge.source) === edge.value ? 20 : 1;
  const g = shape("g", { class: "edge", id: edge.key }, shape("path", { class: "line", d: curve(edge.points) }), shape("path", { class: "tip down", d: tip(end[0], end[1], false) }), shape("path", { class: "tip up", d: tip(start[0], start[1] + low, true) }));
  const made = { edge, g, label: null };
  const label = edge.target.labels[edge.slot];
  if (label) {
    const [x, y, w] = [end[0], end[1] - 8 - label.height, label.width + 14];
    const lines = [...label.rule, label.gives].map((line, i) => shape("text", { class: i === label.rule.length ? "mono strong" : "mono", x, y: y + 14.5 + i * LABEL_LINE, "text-anchor": "middle" }, line));
    made.label = shape("g", { class: "flow" }, shape("rect", { x: x - w / 2, y, width: w, height: label.height, rx: 5 }), lines);
    layers.labels.prepend(made.label);
  }
  layers.edges.append(g);
  mountedEdges.set(edge.key, made);
  updateEdge(made);
}

function updateEdge({ edge, g, label }) {
  const { pass } = steps[state.step];
  const flow = edge.target.labels[edge.slot];
  const passed = pass === "forward" ? edge.target.leaf || state.step >= stepFor.forward.get(edge.uses[0][0]) : pass === "backward" ? flow && state.step >= flow.step : tangentKnown.has(edge.value) && state.step >= (stepFor.jvp.get(edge.uses[0][0]) ?? Infinity);
  const possible = pass === "forward" || (pass === "backward" ? flow : tangentKnown.has(edge.value));
  const share = state.paths?.edges.get(edge.key);
  const kind = `${possible ? "" : " none"}${passed ? " passed" : ""}${state.now.has(edge.key) ? " now" : ""}${share !== undefined ? " path" : state.paths ? " dim" : ""}`;
  g.setAttribute("class", `edge p-${pass}${kind}`);
  g.firstChild.style.strokeWidth = share === undefined ? "" : `${(1.5 + 6 * Math.min(1, Math.abs(share))).toFixed(1)}px`;
  if (!label) return;
  const shown = share !== undefined || (state.step >= flow.step && pass === "backward" && !state.paths);
  label.setAttribute("class", `flow${shown ? " on" : ""}${state.now.has(edge.key) ? " now" : ""}${share !== undefined ? " path" : ""}`);
  const first = label.children[1];
  setText(first, share !== undefined ? percent(share) : flow.rule[0]);
  if (flow.rule.length > 1) setText(label.children[2], share !== undefined ? "" : flow.rule[1]);
}

/** What a card is called by a screen reader. */
function spoken(box) {
  if (box.leaf) return `${box.kind === "copy" ? "copy of " : ""}${leafKind(box.out[0])} ${values[box.out[0]].name}, ${typeOf(values[box.out[0]])}`;
  if (box.kind === "fold") return `fold ${box.label}, ${count(box.to - box.from, "operation")}, closed`;
  const op = ops[box.from];
  return `operation ${op.name}${op.call}${op.formula ? `, ${op.formula}` : ""}`;
}

// ---------------------------------------------------------------- what lies in the window

/** Draw what has come into the window and drop what has left it. */
function mount(everything = graph.boxes.length <= FEW) {
  const view = everything ? { left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity } : windowOnGraph(160);
  const wanted = new Set();
  const links = new Set();
  for (const box of boxesIn(view)) {
    wanted.add(box.key);
    if (!mounted.has(box.key)) mountCard(box);
  }
  for (const edge of edgesIn(view)) {
    links.add(edge.key);
    if (!mountedEdges.has(edge.key)) mountEdge(edge);
  }
  for (const [key, { box, g, sum }] of mounted) if (!wanted.has(key) && box !== focused) g.remove(), sum?.remove(), mounted.delete(key);
  for (const [key, { g, label }] of mountedEdges) if (!links.has(key)) g.remove(), label?.remove(), mountedEdges.delete(key);
}

function unmount() {
  for (const { g, sum } of mounted.values()) g.remove(), sum?.remove();
  for (const { g, label } of mountedEdges.values()) g.remove(), label?.remove();
  mounted.clear();
  mountedEdges.clear();
}

/** The ranks that a view shows, as places in graph.rows. */
function ranksIn({ top, bottom }) {
  const { tops } = graph.size;
  const from = tops.findLastIndex((y) => y <= top);
  const to = tops.findIndex((y) => y > bottom);
  return [Math.max(0, from), to < 0 ? tops.length : to];
}

function boxesIn(view) {
  const [from, to] = ranksIn(view);
  const found = [];
  for (let rank = from; rank < to; rank++) {
    for (const i of graph.size.rows[rank]) {
      const box = graph.boxes[i];
      if (box.x < view.right && box.x + box.w > view.left) found.push(box);
    }
  }
  return found;
}

/** The edges that pass through a view: those that end at or leave one of its ranks, and the few that are longer. */
function edgesIn(view) {
  const [from, to] = ranksIn(view);
  const found = new Set();
  for (let rank = from; rank < to; rank++) for (const i of graph.size.rows[rank]) {
    for (const edge of graph.boxes[i].ins) found.add(edge);
    for (const edge of graph.boxes[i].outs) found.add(edge);
  }
  for (const edge of graph.long) if (edge.source.rank < from && edge.target.rank >= to) found.add(edge);
  return found;
}

/** Update the cards and edges of these keys; of everything drawn where none are given. */
function refresh(keys) {
  if (!keys) {
    for (const card of mounted.values()) updateCard(card);
    for (const edge of mountedEdges.values()) updateEdge(edge);
    return;
  }
  for (const key of keys) {
    if (mounted.has(key)) updateCard(mounted.get(key));
    else if (mountedEdges.has(key)) updateEdge(mountedEdges.get(key));
  }
}
