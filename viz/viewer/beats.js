// Several processes step together: in each beat every lane that is ready takes one unit; lanes share the unit of a
// collective.
//
// A unit is an operation (forward, jvp), or one edge back through it; a collective is one unit of all its lanes, with all its
// edges.  A record of one process has one unit in each beat.

const lanes = data.lanes ?? [];
const laneOf = (value) => data.laneOf?.[value] ?? 0;

/** Group units into beats: each lane keeps its order, and a unit comes after the operations that it `needs`. */
function beatsOf(units, needs) {
  if (lanes.length < 2) return units.map((unit) => [unit]);
  const queues = lanes.map(() => []);
  for (const unit of units) for (const lane of unit.op.lanes) queues[lane].push(unit);
  const left = new Map(); // by operation, the number of its units still to come
  for (const { op } of units) left.set(op, (left.get(op) ?? 0) + 1);
  const free = (unit) =>
    unit.op.lanes.every((lane) => queues[lane][0] === unit) && needs(unit.op).every((op) => op === unit.op || !left.get(op));
  const beats = [];
  for (let many = units.length; many > 0; many -= beats.at(-1).length) {
    const heads = [...new Set(queues.map((queue) => queue[0]).filter(Boolean))];
    const ready = heads.filter(free);
    const beat = ready.length ? ready : heads.slice(0, 1);
    for (const unit of beat) {
      left.set(unit.op, left.get(unit.op) - 1);
      for (const lane of unit.op.lanes) queues[lane].splice(queues[lane].indexOf(unit), 1);
    }
    beats.push(beat);
  }
  return beats;
}

/** Return the units of backward: one for each edge with a gradient, and one for all edges of a bar. */
function unitsBack() {
  const found = [];
  for (const op of data.backward.map((index) => ops[index])) {
    const slots = op.flows.map((flow, slot) => (flow ? slot : -1)).filter((slot) => slot >= 0);
    if (op.lanes?.length > 1) found.push({ op, slots });
    else for (const slot of slots) found.push({ op, slots: [slot] });
  }
  return found;
}

const makersOf = (op) => op.tensors.filter((value) => maker[value] >= 0).map((value) => ops[maker[value]]);
const goesBack = new Set(data.backward);
const readersOf = (op) =>
  op.out.flatMap((value) => (uses.get(value) ?? []).map(([index]) => index).filter((index) => goesBack.has(index)))
    .map((index) => ops[index]);
