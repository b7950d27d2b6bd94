// The part of the graph in the window: only this is drawn, and a step updates only its changes.

const world = $("world");
const FEW = 300; // cards: up to this many stay drawn, so that the browser's search and screen readers find all

/** Draw cards and edges that have entered the window, and drop those that have left it. */
function mount(everything = graph.boxes.length <= FEW) {
  if (everything && mounted.size === graph.boxes.length) return;
  const view = everything ? { left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity } : windowOnGraph(160);
  const [boxes, edges] = [boxesIn(view), edgesIn(view)];
  for (const box of boxes) if (!mounted.has(box.key)) mountCard(box);
  for (const edge of edges) if (!mountedEdges.has(edge.key)) mountEdge(edge);
  const wanted = new Set([...boxes, ...edges].map(({ key }) => key));
  for (const [key, card] of mounted)
    if (!wanted.has(key) && card.box !== focused) (removeCard(card), mounted.delete(key));
  for (const [key, { g, label }] of mountedEdges)
    if (!wanted.has(key)) (g.remove(), label?.remove(), mountedEdges.delete(key));
}

/** Draw the whole graph, also what is outside of the window. */
function drawWhole() {
  world.classList.remove("hidden");
  drawOnly(null);
  mount(true);
  refresh();
}

function removeCard({ g, sum, rooms }) {
  g.remove();
  sum?.remove();
  for (const { heads } of rooms ?? []) heads.remove();
}

function unmount() {
  for (const card of mounted.values()) removeCard(card);
  for (const { g, label } of mountedEdges.values()) (g.remove(), label?.remove());
  mounted.clear();
  mountedEdges.clear();
}

const BAND = 240; // boxes are listed by the band of this height in which they begin, so that a view finds its boxes fast

function inBands(boxes) {
  const bands = [];
  for (const box of boxes) (bands[Math.floor(box.y / BAND)] ??= []).push(box);
  return { bands, tallest: boxes.reduce((most, { h }) => Math.max(most, h), 0) };
}

function boxesIn(view) {
  const { bands, tallest } = graph.placed;
  const last = Math.min(bands.length - 1, Math.floor(view.bottom / BAND));
  const found = [];
  for (let i = Math.max(0, Math.floor((view.top - tallest) / BAND)); i <= last; i++)
    for (const box of bands[i] ?? [])
      if (box.x < view.right && box.x + box.w > view.left && box.y < view.bottom && box.y + box.h > view.top) found.push(box);
  return found;
}

/** Return the edges that pass through a view: those of the boxes beside it, too, and the few longer ones. */
function edgesIn(view) {
  const found = new Set();
  for (const { ins, outs } of boxesIn({ ...view, left: -Infinity, right: Infinity })) {
    for (const edge of ins) found.add(edge);
    for (const edge of outs) found.add(edge);
  }
  for (const edge of graph.long) if (edge.source.y < view.top && edge.target.y + edge.target.h > view.bottom) found.add(edge);
  return found;
}

/** Return true if an edge may pass through a view without a box of its ends in it. */
const isLong = ({ source, target }) => target.y - source.y - source.h > BAND / 2;

/** Update the cards and edges with these keys; without keys, all that are drawn. */
function refresh(keys) {
  for (const key of keys ?? mounted.keys()) if (mounted.has(key)) updateCard(mounted.get(key));
  for (const key of keys ?? mountedEdges.keys()) if (mountedEdges.has(key)) updateEdge(mountedEdges.get(key));
}
