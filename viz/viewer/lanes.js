// The layout of several processes: each has a lane, and a box shared by several lanes is a bar across them, as in
// ranks/side_by_side.py.
//
// Rows run through all lanes.  In its lane, the boxes before a transfer are above it and the boxes after it below; on a bar
// each lane has a pad, where its edges enter and leave.

const TITLE = 40; // room for the title of a lane
const MARGIN = 18; // space beside its cards
const BETWEEN = 24;

const spanOf = (box) => [Math.min(...box.lanes), Math.max(...box.lanes)];
const isBar = (box) => box.lanes.length > 1;
const liesAcross = (box, lane) => spanOf(box)[0] <= lane && lane <= spanOf(box)[1];

/** Place boxes and edges, as `layout` does, and give bars their widths. */
function laneLayout({ boxes, edges }) {
  const rank = rowsOfLanes(boxes);
  const many = Math.max(...rank) + 1;
  const columns = lanes.map((_, lane) => columnOf(lane, boxes, edges, rank));
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
    box.y = tops[box.rank] + heights[box.rank] - box.h; // boxes of a rank share their bottom line
    if (!isBar(box)) continue;
    const [first, last] = spanOf(box).map((lane) => columns[lane]);
    box.x = first.left + MARGIN;
    box.w = last.left + last.width - MARGIN - box.x;
    box.columns = new Map(box.lanes.map((lane, i) => [lane, [places[i] - box.x, box.pads.get(lane)]]));
  }
  const bars = boxes.filter(isBar);
  for (const edge of edges) {
    const column = columns[laneOfEdge(edge)];
    edge.points = pointsOf(edge, column, tops, heights);
    edge.over = column.wayOf(edge).some(([, row]) => bars.some((bar) => bar.rank === row && liesAcross(bar, column.lane)));
  }
  const height = tops.at(-1) + heights.at(-1) + MARGIN;
  const titled = columns.map(({ left, width }, lane) => ({ title: data.titles[lane], left, width, height }));
  return { start: boxes[0].x + boxes[0].w / 2, width: left - BETWEEN, height, titled };
}

/** Return the points of an edge, from its source past the rows in between to its target. */
function pointsOf(edge, column, tops, heights) {
  const { source, target } = edge;
  const start = source.x + source.exitAt(edge.value);
  const points = [[start, source.y + source.h]];
  if (source.exits.length < source.outs.length) points.push([start, source.y + source.h + STUB]);
  for (const [x, row] of column.wayOf(edge))
    points.push([column.left + x, tops[row]], [column.left + x, tops[row] + heights[row]]);
  const end = target.x + target.entryAt(edge.slot);
  return [...points, [end, tops[target.rank]], [end, target.y + target.strip]];
}

/** Return the lane that an edge ends in; on a bar, the lane of its value. */
const laneOfEdge = ({ target, value }) => (isBar(target) ? laneOf(value) : target.lanes[0]);

/** Return the row of each box: below its inputs, and below the earlier transfers of its lane. */
function rowsOfLanes(boxes) {
  const rank = new Array(boxes.length).fill(0);
  const floor = lanes.map(() => 0); // the first free row of a lane below them
  const deepest = lanes.map(() => -1);
  for (const box of boxes) {
    const across = [...lanes.keys()].filter((lane) => liesAcross(box, lane));
    const transfers = box.kind === "transfer" || isBar(box);
    const least = across.map((lane) => (transfers ? deepest[lane] + 1 : floor[lane]));
    const row = Math.max(...least, ...box.ins.map(({ source }) => rank[source.index] + 1));
    rank[box.index] = row;
    for (const lane of across) {
      if (transfers) floor[lane] = row + 1;
      deepest[lane] = Math.max(deepest[lane], row);
    }
  }
  const bars = boxes.filter(isBar);
  const taken = (row, lane) => bars.some((bar) => rank[bar.index] === row && liesAcross(bar, lane));
  for (const box of boxes.filter((one) => one.leaf && one.outs.length)) {
    let row = Math.min(...box.outs.map(({ target }) => rank[target.index])) - 1; // just above its first use
    while (row > rank[box.index] && taken(row, box.lanes[0])) row--;
    rank[box.index] = row;
  }
  return rank;
}

/** Place the boxes of one lane side by side in their rows, and dummy nodes for the edges that pass rows. */
function columnOf(lane, boxes, edges, rank) {
  const here = boxes.filter((box) => box.lanes.includes(lane));
  const place = new Map(here.map((box, i) => [box, i]));
  const width = here.map((box) => (isBar(box) ? box.pads.get(lane) : box.w));
  const levels = here.map((box) => rank[box.index]);
  const ways = new Map(); // by edge, its dummy nodes
  const paths = edges.filter((one) => laneOfEdge(one) === lane).map((edge) => {
    const { source, target } = edge;
    const between = dummies(rank[source.index], rank[target.index], width, levels);
    ways.set(edge, between);
    const start = place.has(source) ? [[place.get(source), exitIn(source, lane, edge.value)]] : [];
    return [...start, ...between.map((i) => [i, LANE / 2]), [place.get(target), entryIn(target, lane, edge.slot)]];
  }); // prettier-ignore
  const joined = ties(width, paths, (i) => here[i]?.leaf);
  const rows = order(levels, width, joined);
  const x = across(rows, width, joined);
  const least = Math.min(0, ...x);
  const wide = Math.max(0, ...x.map((at, i) => at - least + width[i]));
  const whole = Math.max(wide + 2 * MARGIN, textWidth(data.titles[lane], "name") + 2 * MARGIN);
  const shift = (whole - wide) / 2 - least;
  return {
    lane,
    width: whole,
    xOf: (box) => x[place.get(box)] + shift,
    wayOf: (edge) => (ways.get(edge) ?? []).map((i) => [x[i] + shift + LANE / 2, levels[i]]),
  };
}

/** Return the position of an incoming edge across the pad of a lane. */
function entryIn(box, lane, slot) {
  if (!isBar(box)) return box.entryAt(slot);
  const own = box.ins.map((edge, i) => [i, laneOf(edge.value), box.slots[i]]).filter(([, of]) => of === lane);
  const wide = (some) => sum(some.map(([, , size]) => size));
  return (box.pads.get(lane) - wide(own)) / 2 + wide(own.filter(([i]) => i < slot)) + box.slots[slot] / 2;
}

/** Return the position of an outgoing edge across the pad of a lane. */
function exitIn(box, lane, value) {
  if (!isBar(box)) return box.exitAt(value);
  const own = box.exits.filter((one) => laneOf(one) === lane);
  return (box.pads.get(lane) * (2 * Math.max(0, own.indexOf(value)) + 1)) / (2 * Math.max(1, own.length));
}

/** Measure a bar: the pad of each lane is as wide as its texts and the labels of its edges. */
function measureBar(box, card) {
  const wide = new Map();
  for (const lane of box.lanes) {
    const rows = card.rows.filter((row) => row.lane === lane).map(rowWidth);
    const labels = box.ins.map((edge, i) => (laneOf(edge.value) === lane ? box.slots[i] : 0));
    wide.set(lane, Math.ceil(Math.max(64, ...rows.map((row) => row + 2 * SIDE), sum(labels))));
  }
  const more = Math.max(0, card.width - sum([...wide.values()])) / box.lanes.length;
  box.pads = new Map([...wide].map(([lane, w]) => [lane, w + more]));
  box.columns = new Map();
  box.entryAt = (slot) => {
    const lane = laneOf(box.ins[slot].value);
    return (box.columns.get(lane)?.[0] ?? 0) + entryIn(box, lane, slot);
  };
  box.exitAt = (value) => (box.columns.get(laneOf(value))?.[0] ?? 0) + exitIn(box, laneOf(value), value);
}

/** Draw the frames of the lanes, and their titles. */
function mountLanes() {
  const drawn = ({ title, left, width, height }) => [
    shape("rect", { class: "lane", x: left, y: 0, width, height, rx: 8 }),
    shape("text", { class: "name lane-name", x: left + width / 2, y: 22, "text-anchor": "middle" }, title),
  ];
  layers.lanes.replaceChildren(...(graph.size.titled ?? []).flatMap(drawn));
}
