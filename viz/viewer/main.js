// The start of the page, and its reactions to pointer, buttons and printer.

const PRINTED = 1000; // boxes: with more, a printed page is unreadable
let screen = null; // the camera's position before printing
let distant = false; // true if the graph is painted, as seen from afar

function drawFar() {
  if (distant) paintFar();
}

onCamera = () => {
  if (screen) return; // the page is being printed
  const { x, y, k } = camera;
  world.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${k.toFixed(4)})`);
  shadeEdges(graph.size);
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
  if (fingers.size || dragging) return;
  const box = boxUnder(event);
  if (box === hovered) return;
  hovered = box;
  look(current());
});
stage.addEventListener("pointerleave", () => ((hovered = null), look(current())));
stage.addEventListener("click", (event) => {
  if (stage.dataset.moved) return;
  const frame = frameAt(event.target);
  if (frame) return refold(frame.fold);
  const head = headAt(event.target);
  if (head) return toggleInside(head);
  const box = boxUnder(event);
  const gradient = event.target.closest?.("[data-gradient]");
  if (gradient) (select(box), showPaths(Number(gradient.dataset.gradient)));
  else if (!box) clearPaths() || select(null);
  else if (box.kind === "fold" && !distant) return unfold(box);
  else if (canOpen(box) && event.target.closest(".band")) return toggleFunction(box);
  else select(box, distant);
  if (box) (openPane("details"), show(box));
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
  card.g.setAttribute("aria-label", [spoken(card.box), ...card.rows.map(({ line }) => line.textContent)].join(", "));
  refresh([old, state.selected]);
  look(card.box);
});

function drawPassBar() {
  const tab = (pass) =>
    button("", () => toPass(pass), { class: `p-${pass}`, "data-pass": pass, title: `${TITLES[pass]} pass (${pass[0]})` });
  const words = (pass) => [el("strong", {}, TITLES[pass]), " ", el("span", {}, COLOURS[pass])];
  for (const pass of passes) $("passes").append(fill(tab(pass), {}, words(pass)));
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  readColours();
  onCamera();
}

function toggleTheme() {
  const { theme } = document.documentElement.dataset;
  const dark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  setTheme(dark ? "light" : "dark");
}

// a surrounding page may announce its theme
window.addEventListener("message", ({ source, data }) => {
  if (source === window.parent && ["light", "dark"].includes(data?.theme)) setTheme(data.theme);
});

for (const [id, action] of Object.entries({
  back: () => player().back(),
  forth: () => player().forth(),
  step: () => (openExperiment(null), stepBy(1)),
  share: copyLink,
  play: () => play(!playing),
  larger: () => zoomAt(1.25),
  smaller: () => zoomAt(0.8),
  fit: () => fit(graph.size, true),
  theme: toggleTheme,
  ask: openHelp,
}))
  $(id).addEventListener("click", action);
for (const one of $("panes").children) {
  const name = () => (one.getAttribute("aria-expanded") === "true" ? "" : one.getAttribute("aria-controls"));
  one.addEventListener("click", () => openPane(name()));
}
document.addEventListener("pointerdown", ({ target }) => $("more").contains(target) || ($("more").open = false));
$("more").addEventListener("keydown", ({ key }) => key === "Escape" && (($("more").open = false), $("more").firstElementChild.focus()));
$("slider").addEventListener("input", () => go(stops[Number($("slider").value)]));
$("speed").addEventListener("input", () => (speed = Number($("speed").value)));
$("fold").addEventListener("change", () => refoldAll($("fold").value));
$("colour").addEventListener("change", () => colourCards($("colour").value));
$("short").addEventListener("change", () => shortCards($("short").checked));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => (readColours(), onCamera()));
window.addEventListener("hashchange", () => reach(stepInLink()));
new ResizeObserver(() => {
  if (!graph.boxes.length) return;
  refit();
  if (paneMoved) current() ? show(current()) : followStep();
  paneMoved = false;
}).observe(stage);

// In print the whole graph is on one page, with all its text.
window.addEventListener("beforeprint", () => {
  if (graph.boxes.length > PRINTED) return;
  screen = { ...camera };
  far.hidden = true;
  drawWhole();
  world.setAttribute("transform", "");
  $("graph").setAttribute("viewBox", `-12 -12 ${graph.size.width + 24} ${graph.size.height + 40}`);
});
window.addEventListener("afterprint", () => {
  if (!screen) return;
  const { x, y, k } = screen;
  screen = null;
  $("graph").removeAttribute("viewBox");
  moveTo(x, y, k);
});

const WORDS = { module: "modules", function: "functions", line: "lines", round: "iterations of loops" };

/** Switch between cards of one line and cards with all rows. */
function shortCards(on) {
  chosen = true;
  short = on;
  cards.clear();
  rebuild(state.selected);
  fit(graph.size);
  go(state.step);
}

const foldable = foldModes();
const opensDeep = data.depth !== null && foldable.find((mode) => ["module", "function"].includes(mode));
const openFunctions = ops.filter((op) => op.open);
const LOOKS = [[false, true], [true, true], ...(data.opened ? [] : [[false, false], [true, false]])]; // short cards, open Functions: the best first

/** Return the rules by which the page may open folded, the best first. */
function openingModes() {
  if (opensDeep || foldable.includes("module")) return [opensDeep || "module"];
  if (data.opened) return ["none"];
  return ops.length > MANY ? [...foldable, "stretch"] : ["none", ...foldable];
}

/** Take a rule of folding and a look of the cards; return the size of the graph. */
function tryLook(mode, [brief, inside]) {
  short = brief;
  for (const op of openFunctions) op.open = inside || (steps[state.step].inside > 0 && op === steps[state.step].op);
  cards.clear();
  foldBy(mode, opensDeep ? data.depth : null);
  return laidOut().size;
}

/** Draw the whole graph so that it fits: with all rows, else with short cards, with closed Functions, or folded. */
function openView(whole = false) {
  const tries = openingModes().flatMap((mode) => LOOKS.map((one) => [mode, one]));
  const legible = tries.find((one) => isLegible(tryLook(...one)));
  if (!legible) tryLook(...tries.map((one) => [wholeScale(tryLook(...one)), one]).reduce((a, b) => (b[0] > a[0] ? b : a))[1]);
  $("short").checked = short;
  $("fold").value = (legible ?? tries[0])[0];
  rebuild(state.selected);
  go(stops[stopAt(state.step)], false);
  fit(graph.size, whole);
}

function start() {
  describePage();
  const options = (words) => Object.entries(words).map(([value, text]) => el("option", { value }, text));
  const folds = Object.fromEntries(foldable.map((mode) => [mode, WORDS[mode]]));
  const stretch = ops.length > CROWD ? { stretch: "parts of equal size" } : {};
  $("fold").replaceChildren(...options({ none: "every operation", ...folds, ...stretch }));
  $("fold").parentElement.hidden = !foldable.length && ops.length <= MANY;
  const sizes = colourings();
  const named = Object.fromEntries(sizes.map((size) => [size, { grad: "gradient" }[size] ?? size]));
  $("colour").replaceChildren(...options({ "": "kind", ...named }));
  $("colour").parentElement.hidden = !sizes.length;
  colourBy = sizes.includes(data.color) ? data.color : "";
  $("colour").value = colourBy;
  openPane("");
  drawPassBar();
  readColours();
  if (isLive) startExperiments();
  state.step = opened(stepInLink());
  openView();
  if (isLive) takeChoices(data.choices);
  if (linkParts().at) followStep();
  document.documentElement.dataset.ready = Math.round(performance.now());
}

start();
