// A layered layout (Sugiyama): ranks by the longest path, order within a rank by barycentres, x by least squares under that
// order.  The same steps as viz/layered.py, on numbers instead of names; ten thousand boxes take a fraction of a second.

const GAP = 26; // between boxes
const LANE = 12; // room for an edge that passes a rank
const ROW = 42; // between ranks
const FAR_RANKS = 40; // an edge across more ranks is drawn straight
const SWEEPS = 4;
const STUB = 22; // edges of one value leave it together, at the plus where contributions add up

/** Give boxes x and y, and edges their routes: points that a curve passes vertically. */
function layout({ boxes, edges }) {
  if (!boxes.length) return { start: 0, width: 0, height: 0, rows: [], tops: [] };
  const rank = ranks(boxes);
  const width = boxes.map((box) => box.w);
  const up = boxes.map(() => []);
  const down = boxes.map(() => []);
  const lanes = edges.map((edge) => {
    const path = [[edge.source.index, edge.source.exitAt(edge.value)]];
    const [top, low] = [rank[edge.source.index], rank[edge.target.index]];
    for (let level = top + 1; level < low && low - top <= FAR_RANKS; level++) {
      path.push([width.length, LANE / 2]);
      (rank.push(level), width.push(LANE), up.push([]), down.push([]));
    }
    path.push([edge.target.index, edge.target.entryAt(edge.slot)]);
    const strong = edge.source.leaf ? 1 : 5; // keeps the main line straight, with leaves beside it
    for (let i = 1; i < path.length; i++) {
      const [[a, atA], [b, atB]] = [path[i - 1], path[i]];
      down[a].push([b, atA, atB, strong]);
      up[b].push([a, atB, atA, strong]);
    }
    return path.slice(1, -1).map(([lane]) => lane);
  });
  const rows = Array.from({ length: Math.max(...new Set(rank)) + 1 }, () => []);
  rank.forEach((level, i) => rows[level].push(i));
  order(rows, width, [up, down]);
  const x = across(rows, width, [up, down]);
  const left = x.reduce((a, b) => Math.min(a, b), Infinity);
  const heights = rows.map((row) => row.reduce((tall, i) => Math.max(tall, boxes[i]?.h ?? 0), 0));
  const tops = [];
  heights.reduce((y, tall) => (tops.push(y), y + tall + ROW), 0);
  for (const box of boxes) {
    box.rank = rank[box.index];
    box.x = x[box.index] - left;
    box.y = tops[box.rank] + heights[box.rank] - box.h; // boxes of a rank share their bottom line
  }
  edges.forEach((edge, i) => {
    const { source, target } = edge;
    const start = source.x + source.exitAt(edge.value);
    const points = [[start, source.y + source.h]];
    if (source.exits.length < edge.source.outs.length) points.push([start, source.y + source.h + STUB]);
    for (const lane of lanes[i]) {
      const at = x[lane] - left + LANE / 2;
      points.push([at, tops[rank[lane]]], [at, tops[rank[lane]] + heights[rank[lane]]]);
    }
    const end = target.x + target.entryAt(edge.slot);
    edge.points = [...points, [end, tops[target.rank]], [end, target.y + target.strip]];
  });
  const right = x.reduce((most, at, i) => Math.max(most, at - left + width[i]), 0);
  const start = boxes[0].x + boxes[0].w / 2;
  return {
    start,
    width: right,
    height: tops.at(-1) + heights.at(-1),
    rows: rows.map((row) => row.filter((i) => i < boxes.length)),
    tops,
  };
}

/** Rank boxes by their longest path; a leaf, or a value computed from parameters alone, is just above its first use. */
function ranks(boxes) {
  const rank = new Array(boxes.length).fill(0);
  const loose = new Array(boxes.length).fill(false);
  for (const box of boxes) {
    for (const { source } of box.ins) rank[box.index] = Math.max(rank[box.index], rank[source.index] + 1);
    loose[box.index] = box.leaf ? box.kind !== "input" : box.ins.every(({ source }) => loose[source.index]);
  }
  for (const box of [...boxes].reverse()) {
    if (!loose[box.index] && !box.leaf) continue;
    const first = box.outs.reduce((least, { target }) => Math.min(least, rank[target.index]), Infinity);
    if (first < Infinity) rank[box.index] = first - 1;
  }
  return rank;
}

/** Sort each rank by the mean position of its neighbours' ports, downwards and upwards in turn. */
function order(rows, width, joined) {
  const place = new Float64Array(width.length);
  rows.forEach((row) => row.forEach((i, at) => (place[i] = at + 0.5)));
  const wish = new Float64Array(width.length);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const near = joined[sweep % 2];
    for (const row of sweep % 2 ? [...rows].reverse() : rows) {
      for (const i of row) {
        const ties = near[i];
        wish[i] = ties.length
          ? ties.reduce((sum, [n, , at]) => sum + place[n] + at / width[n] - 0.5, 0) / ties.length
          : place[i];
      }
      row.sort((a, b) => wish[a] - wish[b]);
      row.forEach((i, at) => (place[i] = at + 0.5));
    }
  }
}

/** Return the left side of each box, as near to its neighbours as the order allows. */
function across(rows, width, joined) {
  const x = new Array(width.length).fill(0);
  for (const row of rows) row.reduce((side, i) => ((x[i] = side), side + width[i] + GAP), 0);
  for (let sweep = 0; sweep < 2 * SWEEPS; sweep++) {
    const near = joined[sweep % 2];
    for (const row of sweep % 2 ? [...rows].reverse() : rows) {
      const weights = row.map((i) => near[i].reduce((sum, tie) => sum + tie[3], 0));
      const wishes = row.map((i, k) =>
        weights[k]
          ? near[i].reduce((sum, [n, own, at, strong]) => sum + strong * (x[n] + at - own), 0) / weights[k]
          : x[i],
      );
      apart(
        wishes,
        row.map((i) => width[i] + GAP),
        weights.map((weight) => weight || 0.1),
      ).forEach((at, k) => (x[row[k]] = at));
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
  let path = `M${points[0][0].toFixed(1)} ${points[0][1].toFixed(1)}`;
  for (let i = 1; i < points.length; i++) {
    const [[x0, y0], [x1, y1]] = [points[i - 1], points[i]];
    const middle = ((y0 + y1) / 2).toFixed(1);
    path +=
      x0 === x1
        ? `V${y1.toFixed(1)}`
        : `C${x0.toFixed(1)} ${middle} ${x1.toFixed(1)} ${middle} ${x1.toFixed(1)} ${y1.toFixed(1)}`;
  }
  return path;
}
