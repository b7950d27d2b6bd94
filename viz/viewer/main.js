// One state, one function that changes the step, one that changes the graph; everything else shows what they say.

const state = { step: 0, now: new Set(), found: null, paths: null, selected: null };
let graph = { boxes: [], edges: [], long: [], size: { start: 0, width: 0, height: 0, rows: [], tops: [] } };
let stops = []; // the steps to halt at: what happens inside a closed fold is one stop
let edgeAt = []; // by operation and slot, the edge
let home = new Map(); // by value, the box that shows it
let focused = null; // the card with the keyboard's focus
let hovered = null;
let playing = 0;
let speed = 3;
const SPEEDS = [0.25, 0.5, 1, 2, 4, 8, 16, 60]; // steps a second

// ---------------------------------------------------------------- the graph

/** Lay the graph out again, as it is folded now. */
function rebuild(keep) {
  unmount();
  graph = boxGraph();
  for (const one of graph.boxes) one.outs = [];
  for (const edge of graph.edges) edge.source.outs.push(edge);
  measure(graph.boxes);
  graph.size = layout(graph);
  graph.long = graph.edges.filter((edge) => edge.target.rank - edge.source.rank > 1);
  edgeAt = ops.map(() => []);
  home = new Map();
  for (const edge of graph.edges) {
    for (const [op, slot] of edge.uses) edgeAt[op][slot] = edge;
  }
  for (const one of graph.boxes) if (one.kind !== "copy") for (const value of one.out) if (!home.has(value)) home.set(value, one);
  focused = graph.boxes.find((one) => one.key === keep) ?? null;
  stops = halts();
  $("slider").max = stops.length - 1;
  placePaths();
  state.now = inPlay(state.step);
  drawMemory();
  drawPassBar();
}

/** The last step of each run of steps that all happen inside one closed fold. */
function halts() {
  const inner = ({ pass, op, slot }) => {
    if (!op || boxOf[op.index].kind !== "fold") return null;
    return slot !== null && edgeAt[op.index][slot] ? null : `${pass} ${boxOf[op.index].key}`;
  };
  const names = steps.map(inner);
  return steps.map((_, i) => i).filter((i) => names[i] === null || names[i] !== names[i + 1]);
}

/** The place of a step among the stops. */
function stopAt(step) {
  let [low, high] = [0, stops.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (stops[middle] < step) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Keys of the cards and edges that a step is about. */
function inPlay(step) {
  const { pass, op, slot } = steps[step];
  if (!op) {
    const started = pass === "forward" ? [] : pass === "jvp" ? [...tangentKnown].filter(([, at]) => at === step) : [...gradientKnown].filter(([, at]) => at === step);
    return new Set(started.map(([value]) => home.get(value)?.key));
  }
  const at = boxOf[op.index];
  if (pass !== "backward") return new Set([at.key, ...(edgeAt[op.index] ?? []).map((edge) => edge?.key)]);
  const edge = edgeAt[op.index][slot];
  return new Set([at.key, edge?.key, edge?.source.key, home.get(op.tensors[slot])?.key]);
}

function refoldAll(mode) {
  foldBy(mode);
  $("fold").value = mode;
  rebuild();
  fit(graph.size);
  go(stops[stopAt(state.step)]);
}

/** Open or close a fold; the rest of the picture stays where it is as far as it can. */
function refold(node, open = false) {
  node.open = open;
  const before = boxOf[node.from];
  const [x, y] = [before.x * camera.k + camera.x, (before.y + before.strip) * camera.k + camera.y];
  const opened = open ? node.from : null;
  rebuild(open ? boxOf[node.from]?.key : `fold-${node.from}-${node.to}`);
  const after = boxOf[opened ?? node.from];
  state.selected = after.key;
  moveTo(x - after.x * camera.k, y - (after.y + after.strip) * camera.k);
  go(stops[stopAt(state.step)]);
  focusCard(after);
}

const unfold = (box) => refold(box.fold, true);

function closeAround(box) {
  const fold = box && foldAround(box.leaf ? uses.get(box.out[0])?.[0]?.[0] ?? 0 : box.from);
  if (fold) refold(fold);
}

/** The box of an operation, made visible if it stands in a fold. */
function uncover(index) {
  if (boxOf[index].kind === "fold") {
    reveal(index);
    rebuild();
    go(stops[stopAt(state.step)]);
  }
  return boxOf[index];
}

// ---------------------------------------------------------------- steps

function go(step, follow = true) {
  const before = state.step;
  state.step = Math.max(0, Math.min(steps.length - 1, step));
  const old = state.now;
  state.now = inPlay(state.step);
  const near = Math.abs(state.step - before) <= 1 && steps[before].pass === steps[state.step].pass;
  refresh(near ? new Set([...old, ...state.now]) : null);
  const { op, pass } = steps[state.step];
  if (follow && op) show(bounds(op, pass));
  else if (follow && state.step) show(graph.boxes.find((one) => state.now.has(one.key)) ?? graph.boxes[0] ?? { x: 0, y: 0, w: 1, h: 1 });
  drawFar();
  const i = stopAt(state.step);
  $("slider").value = i;
  $("slider").setAttribute("aria-valuetext", stepName(state.step));
  for (const button of $("passes").children) button.setAttribute("aria-pressed", button.dataset.pass === pass);
  document.body.dataset.pass = pass;
  $("back").disabled = i === 0;
  $("forth").disabled = i === stops.length - 1;
  showCaption(state.step);
  showMemory(state.step);
  showSource(op, current() && !current().leaf ? ops[current().from] : null);
  showDetails(current());
  keepPlace();
}

/** What has to be seen of a step: its card, and in backward the card that the gradient goes to, if both fit. */
function bounds(op, pass) {
  const at = boxOf[op.index];
  const edge = pass === "backward" && edgeAt[op.index][steps[state.step].slot];
  if (!edge || edge.target.y - edge.source.y > (stage.clientHeight / camera.k) * 0.8) return at;
  const [x, y] = [Math.min(at.x, edge.source.x), edge.source.y];
  const wide = Math.max(at.x + at.w, edge.source.x + edge.source.w) - x;
  return wide > (stage.clientWidth / camera.k) * 0.9 ? at : { x, y, w: wide, h: at.y + at.h - y };
}

const stepBy = (by) => go(stops[Math.max(0, Math.min(stops.length - 1, stopAt(state.step) + by))]);
const toPass = (pass) => passes.includes(pass) && go(startOf[pass]);

function play(on) {
  clearTimeout(playing);
  playing = 0;
  if (on && stopAt(state.step) === stops.length - 1) go(stops[0]);
  const tick = () => {
    stepBy(1);
    if (stopAt(state.step) === stops.length - 1) return play(false);
    playing = setTimeout(tick, 1000 / SPEEDS[speed]);
  };
  if (on) playing = setTimeout(tick, 0);
  $("play").textContent = on ? "Pause" : "Play";
  $("play").setAttribute("aria-pressed", String(on));
}

function changeSpeed(by) {
  speed = Math.max(0, Math.min(SPEEDS.length - 1, speed + by));
  $("speed").value = speed;
}

/** The step as a link; inside an iframe without an address of its own there is none to keep it in. */
function keepPlace() {
  if (!/^(file|https?):$/.test(location.protocol) || playing) return;
  history.replaceState(null, "", `#${stepName(state.step).replace(" ", "-")}`);
}

function stepInLink() {
  const [, pass, n] = /^#(forward|backward|jvp)-(\d+)$/.exec(location.hash) ?? [];
  return passes.includes(pass) ? Math.min(startOf[pass] + Number(n), lastOf(pass)) : 0;
}

// ---------------------------------------------------------------- looking

const current = () => hovered ?? graph.boxes.find((one) => one.key === state.selected) ?? null;

function look(box) {
  showDetails(box);
  showSource(steps[state.step].op, box && !box.leaf ? ops[box.from] : null);
}

function select(box, jump = false) {
  const old = state.selected;
  state.selected = box?.key ?? null;
  hovered = null;
  refresh([old, state.selected]);
  if (jump && box) show(box, true);
  drawFar();
  if (box) focusCard(box, !jump);
  look(box);
}

function focusCard(box, grab = true) {
  for (const one of [focused, box]) mounted.get(one?.key)?.g.setAttribute("tabindex", one === box ? "0" : "-1");
  focused = box;
  if (grab) mounted.get(box.key)?.g.focus({ preventScroll: true });
}

/** To the next card along the arrows, or against them; from card to card of the same inputs by turns. */
function walk(by) {
  const from = current() ?? graph.boxes.find((one) => state.now.has(one.key));
  if (!from) return select(by > 0 ? graph.boxes[0] : graph.boxes.at(-1), true);
  const next = by > 0 ? from.outs.map((edge) => edge.target) : from.ins.map((edge) => edge.source);
  const sorted = [...next].sort((a, b) => a.leaf - b.leaf || a.index - b.index);
  const target = sorted[0] ?? graph.boxes[from.index + by];
  if (target) show(target), select(target);
}

function enterBox(box) {
  if (box.kind === "fold") return unfold(box);
  const value = box.out.find((one) => gradientOf.has(one) && flowsInto.has(one));
  if (value !== undefined) showPaths(value);
}

function leave() {
  $("search").value = "";
  search("");
  select(null);
  document.activeElement?.blur();
}

const announce = (text) => setText($("said"), text);

// ---------------------------------------------------------------- wiring

/** Paint what is seen from far, or draw what is seen from near. */
let distant = false;
function drawFar() {
  if (distant) paintFar();
}

onCamera = () => {
  world.setAttribute("transform", `translate(${camera.x.toFixed(1)} ${camera.y.toFixed(1)}) scale(${camera.k.toFixed(4)})`);
  distant = paintFar();
  if (distant) unmount();
  else mount();
};

function boxUnder(event) {
  const card = event.target.closest?.(".card");
  if (card) return mounted.get(card.id)?.box ?? null;
  if (!distant) return null;
  const { left, top } = stage.getBoundingClientRect();
  const [x, y] = [(event.clientX - left - camera.x) / camera.k, (event.clientY - top - camera.y) / camera.k];
  return boxesIn({ left: x, right: x, top: y, bottom: y }).find((box) => y >= box.y && y <= box.y + box.h) ?? null;
}

stage.addEventListener("pointermove", (event) => {
  if (fingers.size) return;
  const box = boxUnder(event);
  if (box === hovered) return;
  hovered = box;
  look(current());
});
stage.addEventListener("pointerleave", () => ((hovered = null), look(current())));
stage.addEventListener("click", (event) => {
  if (stage.dataset.moved) return;
  const box = boxUnder(event);
  const gradient = event.target.closest?.("[data-gradient]");
  if (gradient) select(box), showPaths(Number(gradient.dataset.gradient));
  else if (!box) clearPaths() || select(null);
  else if (box.kind === "fold" && state.selected === box.key) unfold(box);
  else select(box, distant);
});
stage.addEventListener("dblclick", (event) => {
  const box = boxUnder(event);
  if (box && !box.leaf && box.kind !== "fold") go(stepFor.forward.get(box.from));
});
stage.addEventListener("focusin", (event) => {
  const card = mounted.get(event.target.id);
  if (!card || state.selected === event.target.id) return;
  const old = state.selected;
  state.selected = event.target.id;
  focused = card.box;
  refresh([old, state.selected]);
  look(card.box);
});

function drawPassBar() {
  const shares = passes.map((pass) => stops.filter((step) => steps[step].pass === pass).length);
  $("passes").replaceChildren(...passes.map((pass, i) => {
    const made = button(TITLES[pass], () => toPass(pass), { class: `p-${pass}`, "data-pass": pass, title: `${TITLES[pass]} pass (${pass[0]})` });
    made.style.flexGrow = shares[i];
    return made;
  }));
}

function toggleTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  readColours();
  onCamera();
}

for (const [id, action] of Object.entries({
  back: () => stepBy(-1),
  forth: () => stepBy(1),
  start: () => go(stops[0]),
  end: () => go(stops.at(-1)),
  play: () => play(!playing),
  larger: () => zoomAt(1.25),
  smaller: () => zoomAt(0.8),
  fit: () => fit(graph.size, true),
  theme: toggleTheme,
  ask: () => $("help").showModal(),
})) $(id).addEventListener("click", action);
$("slider").addEventListener("input", () => go(stops[Number($("slider").value)]));
$("speed").addEventListener("input", () => (speed = Number($("speed").value)));
$("fold").addEventListener("change", () => refoldAll($("fold").value));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => (readColours(), onCamera()));
window.addEventListener("hashchange", () => go(stepInLink()));
new ResizeObserver(() => graph.boxes.length && onCamera()).observe(stage);

/** On paper the whole graph stands on one page, with all its text. */
const PRINTED = 1000;
let screen = null;
window.addEventListener("beforeprint", () => {
  if (graph.boxes.length > PRINTED) return;
  screen = { ...camera };
  far.hidden = true;
  world.classList.remove("hidden");
  world.setAttribute("transform", "");
  mount(true);
  $("graph").setAttribute("viewBox", `-12 -12 ${graph.size.width + 24} ${graph.size.height + 40}`);
});
window.addEventListener("afterprint", () => {
  $("graph").removeAttribute("viewBox");
  if (screen) moveTo(screen.x, screen.y, screen.k);
});

function start() {
  const { name, file } = data.program;
  $("name").textContent = name || file || "program";
  $("counts").textContent = [file, count(ops.length, "operation"), peak ? `${bytes(peak)} kept for backward` : ""].filter(Boolean).join(" · ");
  const modes = foldModes();
  const large = ops.length > MANY;
  $("fold").replaceChildren(el("option", { value: "none" }, "nothing"), ...modes.map((mode) => el("option", { value: mode }, mode)), ...(ops.length > CROWD ? [el("option", { value: "stretch" }, "stretch")] : []));
  $("fold").parentElement.hidden = !modes.length && !large;
  readColours();
  const mode = large ? (modes[0] ?? "stretch") : "none";
  foldBy(mode);
  $("fold").value = mode;
  rebuild();
  go(stepInLink(), false); // its words take their room before the graph is fitted into what is left
  fit(graph.size);
  if (state.step) go(state.step);
  document.documentElement.dataset.ready = Math.round(performance.now());
}

start();
