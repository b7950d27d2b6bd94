// The budget of a computation, as a record may come from anywhere: a link of 2 kB must neither hang a page nor fill its memory.
//
// Everything that computes asks here before it does: `asked` for the elements of a tensor or a list, `spend` for other work and
// for calls. `within` begins and ends a computation. Its cost is the same on every machine, apart from the time.
const limits = {
  elements: 2 ** 24, // of a tensor, or of a list with those in it
  dimensions: 64, // of a tensor; also the most arguments of a call
  work: 2 ** 30, // elements that a computation makes; of those that it only reads, 8 count as one
  calls: 2 ** 24, // and tensors that are made
  depth: 250, // of calls inside each other: well before the stack ends, as a browser may crash there
  time: Infinity, // milliseconds
};
const OF_A_LINK = { elements: 2 ** 17, work: 2 ** 24, calls: 2 ** 18, time: 1000 };
// of the computation that is running, or of the last one; `reason` is the limit that it has passed
const spent = { running: false, work: 0, calls: 0, depth: 0, until: Infinity, reason: undefined };

class LiveError extends Error {}

function fail(message) {
  throw new LiveError(message.length > 200 ? `${message.slice(0, 120)}…${message.slice(-79)}` : message);
}

const grouped = (n) => (n < 1e15 ? n.toLocaleString("en") : String(n));

// Returns what `f` gives, within the budget of the computation that is running, or else of a new one.
function within(f) {
  if (spent.running) return f();
  const until = performance.now() + limits.time;
  Object.assign(spent, { running: true, work: 0, calls: 0, depth: 0, until, reason: undefined });
  try {
    return f();
  } finally {
    spent.running = false;
  }
}

function spend(work, calls = 0) {
  if (!spent.running) return;
  spent.work += work;
  spent.calls += calls;
  if (spent.work > limits.work) spent.reason ??= `the computation makes more than ${grouped(limits.work)} elements`;
  if (spent.calls > limits.calls) spent.reason ??= `the computation makes more than ${grouped(limits.calls)} calls`;
  if (performance.now() > spent.until) spent.reason ??= `the computation takes more than ${grouped(limits.time)} ms`;
  if (spent.reason) fail(spent.reason);
}

// Returns a number of elements that are about to be made; `what` names them.
function asked(n, what = () => "a list") {
  if (!(Number.isInteger(n) && n >= 0)) fail(`${what()} has no size`);
  if (n > limits.elements) fail(`${what()} has ${grouped(n)} elements, and ${grouped(limits.elements)} are allowed`);
  spend(n);
  return n;
}

// Returns the number of elements of a new tensor.
function checkedSize(shape) {
  checkedShape(shape);
  return asked(sizeOf(shape), () => `a tensor of shape (${shape})`);
}

function checkedShape(shape) {
  for (const n of few(shape)) if (!(Number.isInteger(n) && n >= 0)) fail(`a tensor of shape (${shape}) has no size`);
  return shape;
}

// Returns the sizes of dimensions, the dimensions themselves or the arguments of a call, if they are not too many.
function few(list, what = "dimensions") {
  const [n, most] = [list.length, limits.dimensions];
  return n <= most ? list : fail(`${grouped(n)} ${what}, and ${most} are allowed`);
}

// Returns memory for the elements of a shape: nothing else makes any.
const memory = (Memory, shape) => new Memory(checkedSize(shape));

// Returns the number of elements of a list and of those in it; `before` were counted already.
function counted(list, before = 0) {
  let n = before + list.length;
  for (const one of list) if (Array.isArray(one)) n = counted(one, n);
  if (n > limits.elements) fail(`a list has more than the ${grouped(limits.elements)} elements that are allowed`);
  return n;
}

// Returns a list that was just made; its elements count twice, as they take longer than those of tensors.
function listed(list) {
  spend(2 * counted(list));
  return list;
}

// Returns the elements of several lists in one.
function joined(lists) {
  asked(lists.reduce((n, list) => n + list.length, 0));
  return listed(lists.flat());
}

// Returns what `f` gives, as one call more inside the others; errors that are no sentences become one.
function inside(f, words) {
  try {
    if (++spent.depth > limits.depth) fail(`more than ${limits.depth} calls are inside each other`);
    return f();
  } catch (error) {
    throw error instanceof LiveError ? error : new LiveError(words, { cause: error });
  } finally {
    spent.depth--;
  }
}
