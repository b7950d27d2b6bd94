// The reader's attention: the card under the pointer, the selected card, the card with the keyboard focus.

let focused = null; // the card with the keyboard focus
let hovered = null;

const current = () => hovered ?? graph.boxes.find((one) => one.key === state.selected) ?? null;

function look(box) {
  showDetails(box);
  showSource(ranAt(state.step), box && !box.leaf ? ops[box.from] : null);
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
  for (const one of [focused ?? graph.boxes[0], box])
    mounted.get(one?.key)?.g.setAttribute("tabindex", one === box ? "0" : "-1");
  const old = focused;
  focused = box;
  if (isLive) refresh([old?.key, box.key]); // the keyboard reaches the numbers of the card in focus
  if (grab) mounted.get(box.key)?.g.focus({ preventScroll: true });
}

/** Move to the next card along the arrows, or against them; at the end of a path, to the next in the program. */
function walk(by) {
  const from = current() ?? graph.boxes.find((one) => state.now.has(one.key));
  if (!from) return select(by > 0 ? graph.boxes[0] : graph.boxes.at(-1), true);
  const next = by > 0 ? from.outs.map((edge) => edge.target) : from.ins.map((edge) => edge.source);
  const sorted = [...next].sort((a, b) => a.leaf - b.leaf || a.index - b.index);
  const target = sorted[0] ?? graph.boxes[from.index + by];
  if (target) (show(target), select(target));
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

let paneMoved = false; // a pane has opened or closed, so the stage is about to change its height

/** Open or close one of the panes that share a phone's screen. */
function openPane(name) {
  const aside = document.querySelector("aside");
  paneMoved = (aside.dataset.pane ?? name) !== name;
  aside.dataset.pane = name;
  for (const button of $("panes").children)
    button.setAttribute("aria-expanded", String(button.getAttribute("aria-controls") === name));
}

const announce = (text) => setText($("status"), text);
