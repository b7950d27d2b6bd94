// The keyboard.  Keys work as soon as the page is open; text fields keep their own keys.

const KEYS = [
  ["→ ←", "next, previous step"],
  ["Space", "play, pause"],
  ["Home End", "first, last step"],
  ["f b j", "go to the forward, backward, jvp pass"],
  ["[ ]", "slower, faster"],
  ["↑ ↓", "move against the arrows, along the arrows"],
  ["Enter", "open or close a module or a custom Function; show the paths of a gradient"],
  ["c", "close the module around the card in focus"],
  ["/", "search; Enter goes to the next match"],
  ["+ − 0", "zoom in, zoom out, show all"],
  ["l", "copy a link to this step"],
  ["← → Enter", "on a number: change it, type it; with Shift in finer steps"],
  ["r", "back to the recorded numbers"],
  ["t", "switch light and dark"],
  ["Esc", "leave the paths, the search, or the card"],
  ["?", "show this help"],
];

const ACTIONS = {
  ArrowRight: () => player().forth(),
  ArrowLeft: () => player().back(),
  ArrowUp: () => walk(-1),
  ArrowDown: () => walk(1),
  Home: () => go(stops[0]),
  End: () => go(stops.at(-1)),
  " ": () => play(!playing),
  f: () => toPass("forward"),
  b: () => toPass("backward"),
  j: () => toPass("jvp"),
  "[": () => changeSpeed(-1),
  "]": () => changeSpeed(1),
  "/": () => (($("more").open = true), $("search").focus()),
  "+": () => zoomAt(1.25),
  "=": () => zoomAt(1.25),
  "-": () => zoomAt(0.8),
  0: () => fit(graph.size, true),
  c: () => closeAround(current()),
  l: () => copyLink(),
  r: () => isLive && resetLive(),
  t: () => toggleTheme(),
  "?": () => openHelp(),
  Escape: () => clearPaths() || leave(),
};

const keysOf = (keys) => keys.split(" ").map((key) => el("kbd", {}, key));
$("keys").append(...KEYS.map(([keys, meaning]) => namedRow(keysOf(keys), [meaning])));

// The texts of the legend, by kind of card; it shows the kinds in this record.
const SIGNS = {
  parameter: "leaf (requires grad)",
  input: "input",
  constant: "constant",
  computed: "value from before the record",
  op: "operation",
  function: "custom Function",
  copy: "leaf, drawn again",
  fold: "several operations, closed",
};

function drawLegend() {
  const kinds = new Set(graph.boxes.map((box) => box.kind));
  if (ops.some(heldParameters)) kinds.add("parameter");
  const size = { w: 44, h: 26, strip: 0, rows: [], out: [] };
  const sign = (kind) => shape("g", { class: `card k-${kind}` }, frame({ ...size, kind }, 14));
  const drawn = (kind) => shape("svg", { class: "legend", viewBox: "-6 -6 64 42", "aria-hidden": "true" }, sign(kind));
  const shown = Object.keys(SIGNS).filter((kind) => kinds.has(kind));
  $("legend").replaceChildren(...shown.map((kind) => el("span", {}, drawn(kind), SIGNS[kind])));
}

function openHelp() {
  drawLegend();
  $("help").showModal();
}

window.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const { target } = event;
  const typing = target.matches?.("input:not([type=range]), select, textarea");
  const pressing = target.matches?.("button, summary, a") && [" ", "Enter"].includes(event.key);
  const sliding = target.type === "range" && /^(Arrow|Home|End|Page)/.test(event.key);
  if (typing || pressing || sliding || numberKey(event)) return;
  const frame = frameAt(target);
  const fold = mounted.get(target.id)?.box.fold;
  const head = headAt(target);
  if ([" ", "Enter"].includes(event.key) && head) return (event.preventDefault(), toggleInside(head));
  if ([" ", "Enter"].includes(event.key) && (frame || fold))
    return (event.preventDefault(), frame ? refold(frame.fold) : refold(fold, true));
  const card = mounted.get(target.id)?.box;
  if ([" ", "Enter"].includes(event.key) && card && canOpen(card)) return (event.preventDefault(), toggleFunction(card));
  if (event.key === "Enter" && current()) return (event.preventDefault(), enterBox(current()));
  const action = ACTIONS[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});
