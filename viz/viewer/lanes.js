// The layout of several processes: each has a lane, and what lanes do together is a bar across them (ranks/side_by_side.py).
//
// Rows run through all lanes.  What a lane does before it communicates lies above, what it does afterwards below; in its lane a
// bar has a pad, where the lane's edges come in and go out.

const TITLE = 40; // room for the title of a lane
const MARGIN = 18; // beside its cards
const BETWEEN = 24;

const spanOf = (box) => [Math.min(...box.lanes), Math.max(...box.lanes)];
const isBar = (box) => box.lanes.length > 1;

/** Gives boxes and edges their places, as `layout` does; bars get their widths. */
function laneLayout({ boxes, edges }) {
  const rank = rowsOfLanes(boxes);
  const many = Math.max(...rank) + 1;
  const columns = lanes.map((_, lane) => columnOf(lane, boxes, edges, rank, many));
  const heights = Array.from({ length: many }, () => 0);
  for (const box of boxes) heights[rank[box.index]] = Math.max(heights[rank[box.index]], box.h);
  const tops = [];
  heights.reduce((y, tall) => (tops.push(y), y + tall + ROW), TITLE);
  let left = 0;
  for (const column of columns) {
    column.left = left;
    left += column.width + BETWEEN;
  }
  for (const box of boxes) {
    const places = box.lanes.map((lane) => columns[lane].left + columns[lane].xOf(box));
    [box.rank, box.x] = [rank[box.index], places[0]];
    box.y = tops[box.rank] + heights[box.rank] - box.h; // boxes of a rank stand on one line
    if (!isBar(box)) continue;
    const [first, last] = spanOf(box).map((lane) => columns[lane]);
    box.x = first.left + MARGIN;
    box.w = last.left + last.width - MARGIN - box.x;
    box.columns = new Map(box.lanes.map((lane, i) => [lane, [places[i] - box.x, box.pads.get(lane)]]));
  }
  const bars = boxes.filter(isBar);
  for (const edge of edges) {
    const { source, target } = edge;
    const column = columns[laneOfEdge(edge)];
    const start = source.x + source.exitAt(edge.value);
    const points = [[start, source.y + source.h]];
    if (source.exits.length < source.outs.length) points.push([start, source.y + source.h + STUB]);
    for (const [x, row] of column.wayOf(edge))
      points.push([column.left + x, tops[row]], [column.left + x, tops[row] + heights[row]]);
    const end = target.x + target.entryAt(edge.slot);
    edge.points = [...points, [end, tops[target.rank]], [end, target.y + target.strip]];
    const crossed = ({ rank, lanes: [first, ...rest] }, row) =>
      rank === row && first <= column.lane && column.lane <= (rest.at(-1) ?? -1);
    edge.over = column.wayOf(edge).some(([, row]) => bars.some((bar) => crossed(bar, row)));
  }
  const height = tops.at(-1) + heights.at(-1) + MARGIN;
  const rows = Array.from({ length: many }, () => []);
  for (const box of boxes) rows[box.rank].push(box.index);
  const frames = columns.map(({ left, width }, lane) => ({ title: data.titles[lane], left, width, height }));
  return { start: boxes[0].x + boxes[0].w / 2, width: left - BETWEEN, height, rows, tops, frames };
}

/** The lane that an edge ends in: of a bar's, that of the value. */
const laneOfEdge = ({ target, value }) => (isBar(target) ? laneOf(value) : target.lanes[0]);

/** The row of each box: behind what feeds it, and behind what its lane has sent and received before. */
function rowsOfLanes(boxes) {
  const rank = new Array(boxes.length).fill(0);
  const floor = lanes.map(() => 0); // the first row that a lane has free below that
  const deepest = lanes.map(() => -1);
  const bars = []; // [row, first lane, last lane]
  for (const box of boxes) {
    const [first, last] = spanOf(box);
    const across = lanes.map((_, lane) => lane).filter((lane) => lane >= first && lane <= last);
    const least = box.kind === "transfer" || isBar(box) ? across.map((lane) => deepest[lane] + 1) : across.map((lane) => floor[lane]);
    const row = Math.max(...least, ...box.ins.map(({ source }) => rank[source.index] + 1));
    rank[box.index] = row;
    if (isBar(box)) bars.push([row, first, last]);
    for (const lane of across) {
      if (box.kind === "transfer" || isBar(box)) floor[lane] = row + 1;
      deepest[lane] = Math.max(deepest[lane], row);
    }
  }
  const taken = (row, lane) => bars.some(([at, first, last]) => at === row && first <= lane && lane <= last);
  for (const box of boxes.filter((one) => one.leaf && one.outs.length)) {
    let row = Math.min(...box.outs.map(({ target }) => rank[target.index])) - 1; // just above its first use
    while (row > rank[box.index] && taken(row, box.lanes[0])) row--;
    rank[box.index] = row;
  }
  return rank;
}

/** The boxes of one lane side by side in their rows, and the stand-ins of edges that pass rows. */
function columnOf(lane, boxes, edges, rank, many) {
  const here = boxes.filter((box) => box.lanes.includes(lane));
  const place = new Map(here.map((box, i) => [box, i]));
  const width = here.map((box) => (isBar(box) ? box.pads.get(lane) : box.w));
  const rows = Array.from({ length: many }, () => []);
  here.forEach((box, i) => rows[rank[box.index]].push(i));
  const [up, down] = [here.map(() => []), here.map(() => [])];
  const ways = new Map(); // by edge, its stand-ins and their rows
  for (const edge of edges.filter((one) => laneOfEdge(one) === lane)) {
    const { source, target } = edge;
    const path = place.has(source) ? [[place.get(source), exitIn(source, lane, edge.value)]] : [];
    const [top, low] = [rank[source.index], rank[target.index]];
    for (let row = top + 1; row < low && low - top <= FAR_RANKS; row++) {
      path.push([width.length, LANE / 2]);
      listed(ways, edge).push([width.length, row]);
      rows[row].push(width.length);
      (width.push(LANE), up.push([]), down.push([]));
    }
    path.push([place.get(target), entryIn(target, lane, edge.slot)]);
    const strong = source.leaf ? 1 : 5;
    for (let i = 1; i < path.length; i++) {
      const [[a, atA], [b, atB]] = [path[i - 1], path[i]];
      down[a].push([b, atA, atB, strong]);
      up[b].push([a, atB, atA, strong]);
    }
  }
  order(rows, width, [up, down]);
  const x = across(rows, width, [up, down]);
  const least = Math.min(0, ...x);
  const wide = Math.max(0, ...x.map((at, i) => at - least + width[i]));
  const whole = Math.max(wide + 2 * MARGIN, textWidth(data.titles[lane], "name") + 2 * MARGIN);
  const shift = (whole - wide) / 2 - least;
  return {
    lane,
    width: whole,
    xOf: (box) => x[place.get(box)] + shift,
    wayOf: (edge) => (ways.get(edge) ?? []).map(([i, row]) => [x[i] + shift + LANE / 2, row]),
  };
}

/** How far across the pad of a lane an edge comes in, and goes out. */
function entryIn(box, lane, slot) {
  if (!isBar(box)) return box.entryAt(slot);
  const own = box.ins.map((edge, i) => [i, laneOf(edge.value), box.slots[i]]).filter(([, of]) => of === lane);
  const before = own.filter(([i]) => i < slot).reduce((sum, [, , wide]) => sum + wide, 0);
  const all = own.reduce((sum, [, , wide]) => sum + wide, 0);
  return (box.pads.get(lane) - all) / 2 + before + box.slots[slot] / 2;
}

function exitIn(box, lane, value) {
  if (!isBar(box)) return box.exitAt(value);
  const own = box.exits.filter((one) => laneOf(one) === lane);
  return (box.pads.get(lane) * (2 * Math.max(0, own.indexOf(value)) + 1)) / (2 * Math.max(1, own.length));
}

/** A bar's measures: a pad for each lane, as wide as what it says of the lane and the labels of its edges. */
function measureBar(box, card) {
  const wide = new Map();
  for (const lane of box.lanes) {
    const rows = card.rows.filter((row) => row.lane === lane).map(rowWidth);
    const labels = box.ins.map((edge, i) => (laneOf(edge.value) === lane ? box.slots[i] : 0));
    wide.set(lane, Math.ceil(Math.max(64, ...rows.map((row) => row + 2 * SIDE), labels.reduce((a, b) => a + b, 0))));
  }
  const more = Math.max(0, card.width - [...wide.values()].reduce((a, b) => a + b, 0)) / box.lanes.length;
  box.pads = new Map([...wide].map(([lane, w]) => [lane, w + more]));
  box.columns = new Map();
  box.entryAt = (slot) => {
    const lane = laneOf(box.ins[slot].value);
    return (box.columns.get(lane)?.[0] ?? 0) + entryIn(box, lane, slot);
  };
  box.exitAt = (value) => (box.columns.get(laneOf(value))?.[0] ?? 0) + exitIn(box, laneOf(value), value);
}

/** The frames of the lanes, and their titles. */
function mountLanes() {
  layers.lanes.replaceChildren(
    ...(graph.size.frames ?? []).flatMap(({ title, left, width, height }) => [
      shape("rect", { class: "lane", x: left, y: 0, width, height, rx: 8 }),
      shape("text", { class: "name lane-name", x: left + width / 2, y: 22, "text-anchor": "middle" }, title),
    ]),
  );
}
