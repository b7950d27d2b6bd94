// The three passes as one row of steps, and the step at which each value, gradient and tangent is known.
//
// A step is an operation (forward, jvp) or one edge into an operation (backward); the first step of each pass shows its
// starting values.  Before the step of a custom Function come those of the method that the pass runs; they have its number in
// the pass, and their number `inside` it.  A few tables by value determine the content of every card at every step, so the page
// can jump to any step, and a move updates only the cards that the steps in between name.

const steps = [];
const startOf = {}; // by pass, its first step
const known = new Int32Array(values.length); // by value, the step that makes it
const gradientKnown = new Map(); // by value, the step with its last contribution
const tangentKnown = new Map();
const arrivals = new Map(); // by value, [step, the value that arrived] of each contribution
const freedAt = new Map(); // by operation, the step that completes its backward
const stepFor = { forward: new Map(), backward: new Map(), jvp: new Map() }; // by operation, its first step in a pass

let beat = 0; // the current beat; steps that several processes take together share one
let entered = 0; // the number of steps inside custom Functions in this beat

function begin(pass) {
  startOf[pass] = steps.length;
  steps.push({ pass, op: null, slot: null, beat: ++beat, inside: 0 });
}

/** Begin a beat with the steps inside its custom Functions, unless the pass has been there. */
function beginBeat(pass, units) {
  beat++;
  entered = 0;
  for (const { op } of units) if (op.rooms?.[pass] && !stepFor[pass].has(op.index)) enterRoom(pass, op, op.rooms[pass]);
}

/** Add a step for each operation of a method; those of a Function that it applies come first. */
function enterRoom(pass, op, room, around = [], methods = []) {
  const within = [...methods, room.title];
  for (const box of room.boxes.filter((one) => one.made)) {
    if (box.room) enterRoom(pass, op, box.room, [...around, box], within);
    box.step = steps.length;
    steps.push({ pass, op, slot: null, beat, inside: ++entered, box, around, within });
  }
}

function enter(pass, op, slot = null) {
  if (!stepFor[pass].has(op.index)) stepFor[pass].set(op.index, steps.length);
  steps.push({ pass, op, slot, beat, inside: 0 });
}

/** Step through operations in the program's order; `note` is called for each result with its step. */
function goThrough(pass, some, note) {
  for (const units of beatsOf(some.map((op) => ({ op })), makersOf)) {
    beginBeat(pass, units);
    for (const { op } of units) {
      for (const value of op.out) note(value, steps.length);
      enter(pass, op);
    }
  }
}

begin("forward");
goThrough("forward", ops, (value, step) => (known[value] = step));

if (passes.includes("backward")) {
  begin("backward");
  for (const [value] of gradientOf) if (!flowsInto.has(value)) gradientKnown.set(value, startOf.backward);
  for (const units of beatsOf(unitsBack(), readersOf)) {
    beginBeat("backward", units);
    for (const { op, slots } of units) {
      for (const slot of slots) {
        const value = op.tensors[slot];
        listed(arrivals, value).push([steps.length, op.flows[slot].gives]);
        gradientKnown.set(value, steps.length);
        enter("backward", op, slot);
      }
      freedAt.set(op.index, steps.length - 1);
    }
  }
}

if (passes.includes("jvp")) {
  begin("jvp");
  for (const [value] of tangentOf) if (isLeaf(value)) tangentKnown.set(value, startOf.jvp);
  const moves = ops.filter((op) => op.out.some((value) => tangentOf.has(value)));
  goThrough("jvp", moves, (value, step) => tangentOf.has(value) && tangentKnown.set(value, step));
}

const lastOf = (pass) => {
  const next = passes.map((other) => startOf[other]).filter((start) => start > startOf[pass]);
  return (next.length ? Math.min(...next) : steps.length) - 1;
};

const isTogether = (one, other) => steps[one]?.beat === steps[other]?.beat && steps[one]?.inside === steps[other]?.inside;

/** Return the steps of a beat, given one of them; a step inside a Function is alone. */
function together(step) {
  const same = (other) => isTogether(other, step);
  let [from, to] = [step, step];
  while (same(from - 1)) from--;
  while (same(to + 1)) to++;
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}

/** Name a step by its pass and its number in the pass, counted from 1; inside a Function as in `backward 3.2`. */
const stepName = (step) => `${steps[step].pass} ${placeIn(step)}${steps[step].inside ? `.${steps[step].inside}` : ""}`;

/** Return the number of a step in its pass; if several processes step together, the number of its beat. */
const placeIn = (step) => steps[step].beat - steps[startOf[steps[step].pass]].beat;

/** Return the state of a value's gradient at a step, and the contributions so far. */
function gradientAt(value, step) {
  const done = gradientKnown.get(value);
  if (done === undefined || !gradientOf.has(value)) return { state: "none", terms: [] };
  const terms = (arrivals.get(value) ?? []).filter(([at]) => at <= step).map(([, gives]) => values[gives]);
  return { state: step >= done ? "known" : terms.length ? "part" : "todo", terms };
}

/** Return the gradient's text at a step: “–” before it is known, never 0. */
function gradientText(value, step) {
  const { state, terms } = gradientAt(value, step);
  const amounts = terms.map((term) => (term.impossible ? IMPOSSIBLE : whole(term, 1)));
  const short = amounts.every(Boolean) && (arrivals.get(value) ?? []).length <= 4 && addsUp(value);
  const signed = (amount) => (amount[0] === "\u2212" ? ` \u2212 ${amount.slice(1)}` : ` + ${amount}`);
  const sum = amounts.map((amount, i) => (i ? signed(amount) : amount)).join("");
  if (state === "part") return short ? `${sum} + …` : `– (${terms.length} of ${arrivals.get(value).length} arrived)`;
  if (state !== "known") return "–";
  const total = gist(values[gradientOf.get(value)]);
  if (total === IMPOSSIBLE || terms.length < 2 || !addsUp(value)) return total;
  return short ? `${sum} = ${total}` : `${total}  (sum of ${terms.length})`;
}

/** Return true if the contributions add up to the gradient; they do not if the program itself took derivatives. */
function addsUp(value) {
  const parts = (arrivals.get(value) ?? []).map(([, gives]) => [values[gives].all].flat(Infinity)[0]);
  const total = [values[gradientOf.get(value)].all].flat(Infinity)[0];
  const sum = parts.reduce((a, b) => a + b, 0);
  if (typeof total === "number" && !Number.isFinite(total)) return Object.is(Math.fround(sum), total);
  return !(Math.abs(sum - total) > 1e-3 * Math.max(...parts.map(Math.abs), Math.abs(total)));
}

const tangentText = (value, step) => (step >= tangentKnown.get(value) ? gist(values[tangentOf.get(value)]) : "–");
