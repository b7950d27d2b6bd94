// A layered layout (Sugiyama): ranks by the longest path, order within a rank by barycentres, x by least squares under that
// order.  The same steps as viz/layout/layered.py, on numbers instead of names; ten thousand boxes take a fraction of a second.

const GAP = 26; // between boxes
const LANE = 12; // room for an edge that passes a rank
const ROW = 30; // between ranks
const SHORT_ROW = 24; // between ranks of short cards
const FAR_RANKS = 40; // an edge across more ranks is drawn straight
const UNCROSSED = 600; // boxes for which it looks for an order of lines in which fewer cross
const SWEEPS = 4;
const STUB = 22; // edges of one value leave it together, at the plus where contributions add up

/** Give boxes and frames x and y, and edges their routes: points that a curve passes vertically. */
function layout({ boxes, edges, frames }) {
  if (!boxes.length) return { start: 0, width: 0, height: 0 };
  const root = containers(boxes, frames);
  for (const edge of edges) edge.legs = legsOf(edge, root);
  place(root);
  settle(root, 0, 0);
  for (const edge of edges) edge.points = edge.legs.flatMap((link) => link.points);
  return { start: boxes[0].x + boxes[0].w / 2, width: root.w, height: root.h };
}

/** Give each frame, and the whole, the boxes and frames in it. */
function containers(boxes, frames) {
  const root = { frame: null };
  for (const one of [root, ...frames])
    Object.assign(one, { items: [], links: new Map(), ports: new Map(), strip: 0 });
  for (const item of [...boxes, ...frames]) (item.frame ??= root).items.push(item);
  return root;
}

const framesAround = (item) => (item.frame ? [item.frame, ...framesAround(item.frame)] : []);

/** Return the parts of an edge, one in each frame that it passes; they meet at ports in the frames' borders. */
function legsOf(edge, root) {
  const { source, target, value, slot } = edge;
  const [out, into] = [framesAround(source), framesAround(target)];
  const shared = out.find((one) => into.includes(one)) ?? root;
  const legs = [];
  let [item, at] = [source, () => source.exitAt(value)];
  const leadTo = (container, next, nextAt, mark) => {
    const key = `${item.key} ${next.key} ${value} ${mark}`;
    const link = { source: item, target: next, from: at, to: nextAt, slot: mark };
    if (!container.links.has(key)) container.links.set(key, link);
    legs.push(container.links.get(key));
  };
  for (const frame of out.slice(0, out.indexOf(shared))) {
    const port = portOf(frame, "exit", value);
    leadTo(frame, port, middle, "");
    [item, at] = [frame, () => port.x + LANE / 2 + FRAME_SIDE];
  }
  let container = shared;
  for (const frame of into.slice(0, into.indexOf(shared)).reverse()) {
    const port = portOf(frame, "entry", value);
    leadTo(container, frame, () => port.x + LANE / 2 + FRAME_SIDE, "");
    [item, at, container] = [port, middle, frame];
  }
  leadTo(container, target, () => target.entryAt(slot), slot);
  return legs;
}

const middle = () => LANE / 2;

function portOf({ ports }, port, value) {
  const key = `${port}-${value}`;
  if (!ports.has(key)) ports.set(key, { key, port, w: LANE, h: 0, strip: 0 });
  return ports.get(key);
}

/** Lay out the frames in a container, and then the container itself. */
function place(container) {
  for (const item of container.items) if (item.items) place(item);
  const began = (item) => (item.leaf ? -1 : item.from);
  const ports = [...container.ports.values()];
  const inside = [...container.items].sort((a, b) => began(a) - began(b));
  const items = [...ports.filter(({ port }) => port === "entry"), ...inside, ...ports.filter(({ port }) => port === "exit")];
  const [width, height] = arrange(items, [...container.links.values()]);
  container.w = container.frame ? Math.max(width + 2 * FRAME_SIDE, frameTitleWidth(container)) : width;
  container.h = container.frame ? height + FRAME_HEAD + FRAME_SIDE : height;
}

/** Move everything in a container from its place in the container to its place in the graph. */
function settle(container, dx, dy) {
  const moved = ([x, y]) => [x + dx, y + dy];
  for (const link of container.links.values()) link.points = link.points.map(moved);
  for (const item of container.items) {
    [item.x, item.y] = moved([item.x, item.y]);
    if (item.items) settle(item, item.x + FRAME_SIDE, item.y + FRAME_HEAD);
  }
}

/** Place items in ranks and draw the links between them; return the width and the height. */
function arrange(items, links, gap = short ? SHORT_ROW : ROW) {
  const number = new Map(items.map((item, i) => [item, i]));
  const rank = ranks(items, links, number);
  const width = items.map((item) => item.w);
  const at = (item) => number.get(item);
  const lanes = links.map(({ source, target }) => dummies(rank[at(source)], rank[at(target)], width, rank));
  const through = lanes.map((some) => some.map((lane) => [lane, LANE / 2]));
  const path = (into) => (link, i) => [[at(link.source), link.from()], ...through[i], [at(link.target), into(link)]];
  const tied = (into) => ties(width, links.map(path(into)), (i) => items[i]?.leaf);
  let joined = tied((link) => link.to());
  let rows = order(rank, width, joined);
  const crossed = items.length <= UNCROSSED && crossings(rows, width, joined);
  if (crossed) {
    const near = ({ target, to }) => target.w / 2 + (to() - target.w / 2) / 100; // the order of arguments decides only ties
    const others = order(rank, width, tied(near));
    arrive(links, others, (i) => lanes[i].at(-1) ?? at(links[i].source));
    const moved = tied((link) => link.to());
    if (crossings(others, width, moved) < crossed) [rows, joined] = [others, moved];
    else for (const { target } of links) target.order?.sort((a, b) => a - b);
  }
  const x = across(rows, width, joined);
  const left = x.reduce((a, b) => Math.min(a, b), Infinity);
  const heights = rows.map((row) => row.reduce((tall, i) => Math.max(tall, items[i]?.h ?? 0), 0));
  const tops = [];
  const below = (tall, i) => (i === rows.length - 1 ? 0 : tall ? gap : 6); // a row of ports alone is the frame's border
  const height = heights.reduce((y, tall, i) => (tops.push(y), y + tall + below(tall, i)), 0);
  items.forEach((item, i) => {
    item.x = x[i] - left;
    item.y = tops[rank[i]] + heights[rank[i]] - item.h; // those of a rank share their bottom line
  });
  links.forEach((link, i) => {
    const [source, target] = [number.get(link.source), number.get(link.target)];
    const start = link.source.x + link.from();
    const points = [[start, link.source.port ? 0 : link.source.y + link.source.h]];
    if (link.source.exits?.length < link.source.outs?.length) points.push([start, points[0][1] + (short ? 12 : STUB)]);
    if (link.source.port) points.push([start, heights[rank[source]]]); // past the leaves beside it
    for (const lane of lanes[i]) {
      const at = x[lane] - left + LANE / 2;
      points.push([at, tops[rank[lane]]], [at, tops[rank[lane]] + heights[rank[lane]]]);
    }
    const end = link.target.x + link.to();
    link.points = [...points, [end, tops[rank[target]]], [end, link.target.port ? height : link.target.y + link.target.strip]];
  });
  return [x.reduce((most, at, i) => Math.max(most, at - left + width[i]), 0), height];
}

/** Add dummy nodes for a line to the ranks that it passes, and return their indices. */
function dummies(top, low, width, rank) {
  const many = low - top <= FAR_RANKS ? Math.max(0, low - top - 1) : 0;
  return Array.from({ length: many }, (_, i) => (rank.push(top + 1 + i), width.push(LANE) - 1));
}

/** Give cards the order in which their lines come from the row above. */
function arrive(links, rows, before) {
  const place = new Map(rows.flatMap((row) => row.map((i, at) => [i, at])));
  const from = links.map((link, i) => [place.get(before(i)), link.from(), link]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  for (const [, , { target, slot }] of from) if (target.order) target.order.push(...target.order.splice(target.order.indexOf(slot), 1));
}

/** Return how often lines between neighbouring rows cross. */
function crossings(rows, width, [, down]) {
  const place = new Map(rows.flatMap((row) => row.map((i, at) => [i, at])));
  return sum(rows.map((row) => {
    const lines = row.flatMap((i) => down[i].map(([n, own, into]) => [place.get(i) + own / width[i], place.get(n) + into / width[n]]));
    return sum(lines.map(([a, b]) => lines.filter(([c, d]) => a < c && d < b).length));
  })); // prettier-ignore
}

/** Tie the nodes of lines, given with the places of their ends on them, to their neighbours above and below. */
function ties(width, paths, isLeaf) {
  const [up, down] = [width.map(() => []), width.map(() => [])];
  for (const path of paths) {
    const strong = isLeaf(path[0][0]) ? 1 : 5; // keeps the main line straight, with leaves beside it
    path.slice(1).forEach(([b, atB], i) => {
      const [a, atA] = path[i];
      down[a].push([b, atA, atB, strong]);
      up[b].push([a, atB, atA, strong]);
    });
  }
  return [up, down];
}

/** Rank items by their longest path; a leaf, or a value computed from parameters alone, is just above its first use. */
function ranks(items, links, number) {
  const [ins, outs] = [items.map(() => []), items.map(() => [])];
  for (const { source, target } of links) {
    ins[number.get(target)].push(number.get(source));
    outs[number.get(source)].push(number.get(target));
  }
  const entered = items[0].port === "entry";
  const rank = items.map((item) => (entered && item.port !== "entry" ? 1 : 0));
  const loose = items.map(() => false);
  items.forEach((item, i) => {
    for (const from of ins[i]) rank[i] = Math.max(rank[i], rank[from] + 1);
    loose[i] = item.leaf ? item.kind !== "input" : !item.port && ins[i].every((from) => loose[from]);
  });
  for (let i = items.length - 1; i >= 0; i--) {
    if (!loose[i] && !items[i].leaf) continue;
    const first = outs[i].reduce((least, to) => Math.min(least, rank[to]), Infinity);
    if (first < Infinity) rank[i] = first - 1;
  }
  const last = Math.max(...new Set(rank));
  return items.map((item, i) => (item.port === "exit" ? last : rank[i]));
}

/** Return the rows of ranks, each sorted by the mean position of its neighbours' ports, downwards and upwards in turn. */
function order(rank, width, joined) {
  const rows = Array.from({ length: Math.max(...new Set(rank)) + 1 }, () => []);
  rank.forEach((level, i) => rows[level].push(i));
  const place = new Float64Array(width.length);
  rows.forEach((row) => row.forEach((i, at) => (place[i] = at + 0.5)));
  const wish = new Float64Array(width.length);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const near = joined[sweep % 2];
    for (const row of sweep % 2 ? [...rows].reverse() : rows) {
      for (const i of row) {
        const total = near[i].reduce((sum, [n, , at]) => sum + place[n] + at / width[n] - 0.5, 0);
        wish[i] = near[i].length ? total / near[i].length : place[i];
      }
      row.sort((a, b) => wish[a] - wish[b]);
      row.forEach((i, at) => (place[i] = at + 0.5));
    }
  }
  return rows;
}

/** Return the left side of each box, as near to its neighbours as the order allows. */
function across(rows, width, joined) {
  const x = new Array(width.length).fill(0);
  for (const row of rows) row.reduce((side, i) => ((x[i] = side), side + width[i] + GAP), 0);
  for (let sweep = 0; sweep < 2 * SWEEPS; sweep++) {
    const near = joined[sweep % 2];
    for (const row of sweep % 2 ? [...rows].reverse() : rows) {
      const weights = row.map((i) => near[i].reduce((sum, tie) => sum + tie[3], 0));
      const pull = (i) => near[i].reduce((sum, [n, own, at, strong]) => sum + strong * (x[n] + at - own), 0);
      const wishes = row.map((i, k) => (weights[k] ? pull(i) / weights[k] : x[i]));
      const wide = row.map((i) => width[i] + GAP);
      apart(wishes, wide, weights.map((weight) => weight || 0.1)).forEach((at, k) => (x[row[k]] = at));
    }
  }
  return x;
}

/** Return the positions nearest to the wishes (least squares) that keep order and distance: pool adjacent violators. */
function apart(wishes, widths, weights) {
  const pools = []; // [sum of weighted wishes, weight, number of boxes]
  const starts = [];
  let start = 0;
  wishes.forEach((wish, k) => {
    starts.push(start);
    pools.push([weights[k] * (wish - start), weights[k], 1]);
    start += widths[k];
    while (pools.length > 1 && pools.at(-2)[0] / pools.at(-2)[1] >= pools.at(-1)[0] / pools.at(-1)[1]) {
      const [total, heavy, many] = pools.pop();
      const last = pools.at(-1);
      ((last[0] += total), (last[1] += heavy), (last[2] += many));
    }
  });
  let k = 0;
  return pools.flatMap(([total, heavy, many]) => Array.from({ length: many }, () => total / heavy + starts[k++]));
}

/** Return a smooth line through points, vertical at each. */
function curve(points) {
  const [x, y] = [0, 1].map((side) => points.map((point) => point[side].toFixed(1)));
  return points.slice(1).reduce((path, point, i) => {
    if (points[i][0] === point[0]) return `${path}V${y[i + 1]}`;
    const middle = ((points[i][1] + point[1]) / 2).toFixed(1);
    return `${path}C${x[i]} ${middle} ${x[i + 1]} ${middle} ${x[i + 1]} ${y[i + 1]}`;
  }, `M${x[0]} ${y[0]}`);
}
