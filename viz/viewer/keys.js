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

/** Return what opens or closes the element in focus, if that is a frame, a closed module or a custom Function. */
function openerOf(target) {
  const [head, frame, box] = [headAt(target), frameAt(target), mounted.get(target.id)?.box];
  if (head) return () => toggleInside(head);
  if (frame) return () => refold(frame.fold);
  if (box?.fold) return () => unfold(box);
  return box && canOpen(box) ? () => toggleFunction(box) : null;
}

window.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const { target, key } = event;
  const press = [" ", "Enter"].includes(key);
  const typing = target.matches?.("input:not([type=range]), select, textarea");
  const pressing = press && target.matches?.("button, summary, a");
  const sliding = target.type === "range" && /^(Arrow|Home|End|Page)/.test(key);
  if (typing || pressing || sliding || numberKey(event)) return;
  const open = press && openerOf(target);
  const action = open || (key === "Enter" && current() ? () => enterBox(current()) : ACTIONS[key]);
  if (!action) return;
  event.preventDefault();
  action();
});
