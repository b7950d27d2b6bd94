// The part of the graph in the window: only this is drawn, and a step updates only its changes.

const world = $("world");
const FEW = 300; // cards: up to this many stay drawn, so that the browser's search and screen readers find all

/** Draw cards and edges that have entered the window, and drop those that have left it. */
function mount(everything = graph.boxes.length <= FEW) {
  if (everything && mounted.size === graph.boxes.length) return;
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
  for (const [key, { box, g, sum }] of mounted)
    if (!wanted.has(key) && box !== focused) (g.remove(), sum?.remove(), mounted.delete(key));
  for (const [key, { g, label }] of mountedEdges)
    if (!links.has(key)) (g.remove(), label?.remove(), mountedEdges.delete(key));
}

function unmount() {
  for (const { g, sum } of mounted.values()) (g.remove(), sum?.remove());
  for (const { g, label } of mountedEdges.values()) (g.remove(), label?.remove());
  mounted.clear();
  mountedEdges.clear();
}

/** Return the ranks that a view shows, as indices of graph.rows. */
function ranksIn({ top, bottom }) {
  const { tops } = graph.size;
  return [Math.max(0, firstFrom(tops, top) - 1), firstFrom(tops, bottom)];
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

/** Return the edges that pass through a view: those that enter or leave one of its ranks, and the few longer ones. */
function edgesIn(view) {
  const [from, to] = ranksIn(view);
  const found = new Set();
  for (let rank = from; rank < to; rank++)
    for (const i of graph.size.rows[rank]) {
      for (const edge of graph.boxes[i].ins) found.add(edge);
      for (const edge of graph.boxes[i].outs) found.add(edge);
    }
  for (const edge of graph.long) if (edge.source.rank < from && edge.target.rank >= to) found.add(edge);
  return found;
}

/** Update the cards and edges with these keys; without keys, all that are drawn. */
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
