// The state of the page: the folded graph, the steps to halt at, and the highlights, search hits and selection.

const state = { step: 0, now: new Set(), found: null, paths: null, selected: null };
let graph = { boxes: [], edges: [], frames: [], long: [], placed: { bands: [], tallest: 0 }, size: { start: 0, width: 0, height: 0 } };
let stops = []; // the steps to halt at: all steps inside a closed fold are one stop
let edgeAt = []; // by operation and slot, the edge
let home = new Map(); // by value, the box that shows it

/** Lay out the graph in its current folding. */
function rebuild(keep) {
  unmount();
  hovered = null;
  graph = laidOut();
  mountLanes();
  mountFrames();
  shadeBoxes();
  graph.placed = inBands(graph.boxes);
  graph.long = graph.edges.filter(isLong);
  edgeAt = ops.map(() => []);
  home = new Map();
  for (const edge of graph.edges) for (const [op, slot] of edge.uses) edgeAt[op][slot] = edge;
  for (const one of graph.boxes)
    if (one.kind !== "copy") for (const value of one.out) if (!home.has(value)) home.set(value, one);
  focused = graph.boxes.find((one) => one.key === keep) ?? null;
  stops = halts();
  $("slider").max = stops.length - 1;
  placePaths();
  state.now = inPlay(state.step);
  drawMemory();
}

/** Return the graph of boxes in the current folding, with their places. */
function laidOut() {
  const made = boxGraph();
  for (const one of made.boxes) one.outs = [];
  for (const edge of made.edges) edge.source.outs.push(edge);
  measure(made.boxes);
  made.size = lanes.length ? laneLayout(made) : layout(made);
  return made;
}

/** Return the closed fold that contains a whole step, or null. */
function foldOf({ op, slot }) {
  const box = op && boxOf[op.index];
  return box?.kind === "fold" && (slot === null || !edgeAt[op.index][slot]) ? box : null;
}

/** Return true if a step is one of the drawing: not inside a closed Function. */
const isDrawn = ({ pass, op, inside, around }) => !inside || (!(pass === "backward" && isBroken(op)) && isOpen(boxOf[op.index]) && around.every((box) => box.open));

/** Return the last step of each beat and of each run of beats inside the same closed folds, and those in open Functions. */
function halts() {
  const names = new Map(); // by beat, the folds; null if something happens outside them
  for (const step of steps.filter((one) => !one.inside)) {
    const [fold, before] = [foldOf(step), names.get(step.beat)];
    const name = fold && before !== null ? `${before ?? step.pass} ${fold.key}` : null;
    if (before?.endsWith(fold?.key)) continue;
    names.set(step.beat, name);
  }
  const last = steps.map((_, i) => i).filter((i) => !isTogether(i, i + 1));
  const nameAt = (i) => names.get(steps[i]?.beat);
  return last.filter((i, k) => (nameAt(i) === null ? isDrawn(steps[i]) : nameAt(i) !== nameAt(last[k + 1])));
}

/** Return the index of a step among the stops. */
const stopAt = (step) => Math.min(firstFrom(stops, step), stops.length - 1);

/** Return the keys of the cards and edges of a step; for a closed fold, all that enter and leave it. */
const inPlay = (step) => new Set(together(step).flatMap((one) => [...inPlayAt(one)]));

function inPlayAt(step) {
  const { pass, op, slot, inside } = steps[step];
  if (!op) return new Set(startsWith(pass, step).map((value) => home.get(value)?.key));
  const at = boxOf[op.index];
  if (inside) return new Set([at.key]);
  const keys = (edges) => edges.map((edge) => edge?.key);
  if (pass !== "backward") return new Set([at.key, ...keys(at.kind === "fold" ? at.ins : edgeAt[op.index])]);
  const edge = edgeAt[op.index][slot];
  const around = at.kind === "fold" && !edge ? keys([...at.ins, ...at.outs]) : [];
  return new Set([at.key, ...around, edge?.key, edge?.source.key, home.get(op.tensors[slot])?.key]);
}

/** Return the values whose gradient or tangent a pass starts from. */
function startsWith(pass, step) {
  const given = { forward: [], backward: gradientKnown, jvp: tangentKnown }[pass];
  return [...given].filter(([, at]) => at === step).map(([value]) => value);
}

function refoldAll(mode) {
  chosen = true;
  foldBy(mode);
  $("fold").value = mode;
  rebuild();
  fit(graph.size);
  go(stops[stopAt(state.step)]);
}

/** Change the picture; the box is in view and has the focus, and the middle of its top stays in its place if it can; go closer to one that opens. */
function inPlace(shown, change, closer = false) {
  chosen = true;
  const before = shown();
  const old = placesOnScreen();
  const [x, y] = [(before.x + before.w / 2) * camera.k + camera.x, (before.y + before.strip) * camera.k + camera.y];
  change();
  const after = shown();
  const room = Math.min((stage.clientWidth - 32) / after.w, (stage.clientHeight - 32) / after.h);
  const k = Math.min(closer ? Math.max(camera.k, 1) : camera.k, Math.max(room, READABLE)); // a large frame may get smaller type
  moveTo(x - (after.x + after.w / 2) * k, y - (after.y + after.strip) * k, k);
  go(stops[stopAt(state.step)], false);
  moveFrom(old);
  show(after);
  const card = graph.boxes.includes(after);
  state.selected = card ? after.key : null;
  card ? focusCard(after) : $(after.key)?.focus({ preventScroll: true });
}

/** Open or close a fold. */
function refold(node, open = false) {
  const shown = () => graph.frames.find((frame) => frame.fold === node) ?? boxOf[node.from];
  const change = () => ((node.open = open), rebuild(open ? null : `fold-${node.from}-${node.to}`));
  inPlace(shown, change, open);
}

const unfold = (box) => refold(box.fold, true);

function closeAround(box) {
  const frame = frameAt(document.activeElement);
  if (frame) return refold(frame.fold);
  const fold = box && foldAround(box.leaf ? (uses.get(box.out[0])?.[0]?.[0] ?? 0) : box.from);
  if (fold) refold(fold);
}

/** Return the box of an operation, and open the folds around it. */
function uncover(index) {
  if (boxOf[index].kind === "fold") {
    reveal(index);
    rebuild();
    go(stops[stopAt(state.step)]);
  }
  return boxOf[index];
}
