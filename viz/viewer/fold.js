// Folding: groups of operations as single boxes, and the resulting graph of boxes.
//
// A fold is always a stretch of consecutive operations of the program, so the graph of boxes never has a cycle.  Stretches
// nest and form a tree; an open one is a frame around its parts.

const MANY = 150; // a graph with more boxes than this opens folded
const FEW_BOXES = 4; // with fewer, the outermost folds start open
const CROWD = 120; // the largest number of parts of a fold; more are grouped into stretches
const USES = 3; // a leaf with more uses, or with uses far apart, is drawn as a copy at each later use
const FAR_USE = 8;

const FOLDS = {
  module: (op) => op.module ?? [],
  function: (op) => (op.within ? [op.within] : []),
  line: (op) => (op.at ? [placeOf(op)] : []),
  round: (op) => (rounds.at(-1) > 1 ? [`iteration ${rounds[op.index]}`] : []),
};

/** Return the loop iteration of each operation: a new one begins when an expression repeats. */
const rounds = roundsOfLoops();

function roundsOfLoops() {
  const seen = new Set();
  let round = 1;
  return ops.map((op) => {
    const mark = `${op.at}/${op.columns}/${op.name}/${op.module}`;
    if (seen.has(mark)) (round++, seen.clear());
    seen.add(mark);
    return round;
  });
}

/** Build the tree of folds by a rule, which returns the path of names above each operation. */
function tree(pathOf) {
  const root = { label: "", from: 0, to: ops.length, parts: [], open: true };
  let stack = [root];
  ops.forEach((op, index) => {
    const path = op.transfer ? [] : pathOf(op);
    const lane = op.lanes?.[0];
    const goesOn = (node, label) => node.label === label && node.lane === lane;
    let depth = 0;
    while (depth < path.length && depth + 1 < stack.length && goesOn(stack[depth + 1], path[depth])) depth++;
    stack = stack.slice(0, depth + 1);
    for (const label of path.slice(depth)) {
      const node = { label, lane, level: stack.length, from: index, to: index, parts: [], open: false };
      stack.at(-1).parts.push(node);
      stack.push(node);
    }
    stack.at(-1).parts.push(index);
    for (const node of stack) node.to = index + 1;
  });
  return simpler(root);
}

/** Return the tree of modules, with their names; equal neighbours are together. */
function moduleTree() {
  const root = tree(FOLDS.module);
  const name = (node) => {
    if (node !== root) node.label = moduleTitle(FOLDS.module(ops[node.from]).slice(0, node.level));
    for (const part of node.parts) if (part.parts) name(part);
  };
  name(root);
  return grouped(root);
}

/** Remove folds that contain only one operation or one other fold. */
function simpler(node) {
  node.parts = node.parts.map((part) => {
    if (typeof part === "number") return part;
    return simpler(part).parts.length > 1 ? part : part.parts[0];
  });
  return node;
}

/** Group long rows of parts into stretches of a readable size. */
function gathered(node) {
  for (const part of node.parts) if (part.parts) gathered(part);
  if (node.parts.length <= CROWD) return node;
  const size = Math.ceil(node.parts.length / CROWD);
  const starts = Array.from({ length: Math.ceil(node.parts.length / size) }, (_, i) => i * size);
  node.parts = starts.map((start) => stretch(node.parts.slice(start, start + size)));
  return node;
}

function stretch(parts) {
  const [first, last] = [parts[0], parts.at(-1)];
  const from = first.parts ? first.from : first;
  const to = last.parts ? last.to : last + 1;
  const label = first.parts && last.parts ? `${first.label} – ${last.label}` : `operations ${from + 1} – ${to}`;
  return { label, from, to, parts, open: false };
}

let folded = null; // the current tree, or null if everything is open
let boxOf = []; // by operation, its box

/** Return the rules that would fold anything in this program. */
const foldModes = () => Object.keys(FOLDS).filter((mode) => tree(FOLDS[mode]).parts.some((part) => part.parts));

/** Fold by a rule: open to a given depth, else as far as necessary to show a few boxes. */
function foldBy(mode, depth = null) {
  folded = mode === "none" ? null : gathered(mode === "module" ? moduleTree() : tree(FOLDS[mode] ?? (() => [])));
  if (folded && depth !== null) return openTo(folded, depth);
  if (mode === "module") return openToScreen();
  const closed = () => visibleParts().map(([part]) => part).filter((part) => part.parts);
  const largest = () => closed().sort((a, b) => b.to - b.from - (a.to - a.from))[0];
  while (folded && visibleParts().length < FEW_BOXES && largest()?.parts.some((part) => part.parts))
    largest().open = true;
}

function openTo(node, depth) {
  for (const part of node.parts.filter((part) => part.parts)) {
    part.open = part.times > 1 || part.level < depth;
    openTo(part, depth);
  }
}

/** Return the innermost open fold around an operation, which "close" acts on. */
function foldAround(index) {
  let found = null;
  for (let node = folded; node;) {
    if (node !== folded && node.open) found = node;
    node = node.open ? node.parts.find((part) => part.parts && part.from <= index && index < part.to) : null;
  }
  return found;
}

/** Open every fold around an operation, so that it has its own box. */
function reveal(index) {
  for (let node = folded; node;) {
    node.open = true;
    node = node.parts.find((part) => part.parts && part.from <= index && index < part.to);
  }
}

/** Return the operations and closed folds, each with the open folds around it, the innermost first. */
function visibleParts() {
  if (!folded) return ops.map((_, index) => [index, []]);
  const found = [];
  const walk = (node, around) =>
    node.parts.forEach((part) => (part.open ? walk(part, [part, ...around]) : found.push([part, around])));
  walk(folded, []);
  return found;
}

/** Make the box of one visible part: an operation, or a fold. */
function boxFor(part) {
  if (part.parts) {
    const { from, to } = part;
    const label = part.label + (part.times > 1 ? ` × ${part.times}` : "");
    const across = [...new Set(ops.slice(from, to).flatMap((op) => op.lanes ?? []))];
    return { key: `fold-${from}-${to}`, kind: "fold", from, to, label, fold: part, out: [], lanes: across };
  }
  const op = ops[part];
  const kind = op.raised ? "error" : op.transfer ? "transfer" : op.custom ? "function" : op.ends ? "cut" : "op";
  return { key: `op-${op.id}`, kind, from: part, to: part + 1, out: op.out, lanes: op.lanes ?? [] };
}

/** Build the visible boxes and the edges between them. */
function boxGraph() {
  const made = { boxes: [], edges: [], frames: [], frameOf: new Map(), leaves: new Map(), copies: new Map() };
  boxOf = new Array(ops.length);
  for (const [time, [part, around]] of visibleParts().entries()) {
    const box = boxFor(part);
    box.frame = frameFor(made, around);
    boxOf.fill(box, box.from, box.to);
    const edges = edgesInto(made, box, time); // before the box itself: each box comes after its inputs
    addBox(made, box);
    for (const edge of edges) connect(made, edge, box);
  }
  const readers = new Map();
  for (const { source, target } of made.edges) if (source.leaf) listed(readers, source).push(target);
  for (const [leaf, targets] of readers) leaf.frame = frameOfLeaf(leaf, targets);
  for (const value of outputs) if (isLeaf(value) && !made.leaves.has(value)) leafBox(made, value, 0);
  for (const box of made.boxes) if (box.kind === "fold") box.out = box.exits.length ? box.exits : ops[box.to - 1].out;
  return made;
}

/** Return the frame of the innermost of several open folds; records of several processes have lanes instead. */
function frameFor(made, [fold, ...outer]) {
  if (!fold || lanes.length) return null;
  if (made.frameOf.has(fold)) return made.frameOf.get(fold);
  const { from, to, label } = fold;
  const frame = { key: `frame-${from}-${to}`, fold, from, to, label, frame: frameFor(made, outer) };
  made.frames.push(frame);
  made.frameOf.set(fold, frame);
  return frame;
}

/** Return the innermost frame around all uses of a leaf; variables of the program are outside all frames. */
function frameOfLeaf(box, targets) {
  const [first, ...others] = targets.map(framesAround);
  const shared = first.find((frame) => others.every((frames) => frames.includes(frame))) ?? null;
  const variable = box.kind === "input" && /^(?!v\d)[^.[\]]+$/.test(values[box.out[0]].name);
  return variable ? null : shared;
}

function addBox({ boxes }, box) {
  boxes.push(Object.assign(box, { index: boxes.length, ins: [], exits: [] }));
  return box;
}

/** Return the edges into a box; a fold reads a value once, and its parameters stay inside. */
function edgesInto(made, box, time) {
  const found = [];
  const seen = new Map();
  const fold = box.kind === "fold";
  for (let i = box.from; i < box.to; i++) {
    ops[i].tensors.forEach((value, slot) => {
      if (ops[i].held?.includes(slot)) return; // it is on the card of the operation
      const source = isLeaf(value) ? null : boxOf[maker[value]];
      if (source === box || (fold && isLeaf(value) && leafKind(value) !== "input")) return;
      if (fold && seen.has(value)) return void seen.get(value).uses.push([i, slot]);
      const edge = { value, source: source ?? leafBox(made, value, time), uses: [[i, slot]] };
      found.push(edge);
      seen.set(value, edge);
    });
  }
  return found;
}

/** Return the box of a leaf for one use: the leaf itself, or a copy if it has many uses or one far away. */
function leafBox(made, value, time) {
  const key = `value-${values[value].id}`;
  const first = made.leaves.get(value);
  if (first === undefined) {
    const box = addBox(made, { key, kind: leafKind(value), out: [value], leaf: true, lanes: [laneOf(value)] });
    made.leaves.set(value, { time, box });
    return box;
  }
  if ((uses.get(value) ?? []).length <= USES && time - first.time <= FAR_USE) return first.box;
  const copies = (made.copies.get(value) ?? 0) + 1;
  made.copies.set(value, copies);
  return addBox(made, { key: `${key}-copy-${copies}`, kind: "copy", out: [value], leaf: true, lanes: [laneOf(value)] });
}

function connect({ edges }, edge, target) {
  const [op, slot] = edge.uses[0];
  if (!edge.source.exits.includes(edge.value)) edge.source.exits.push(edge.value);
  const key = `edge-${values[edge.value].id}-${ops[op].id}-${slot}`;
  edges.push(Object.assign(edge, { key, target, slot: target.ins.length }));
  target.ins.push(edge);
}
