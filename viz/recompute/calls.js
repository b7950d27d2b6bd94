// Calls of functions, methods, operators and attributes by their names in Python.
//
// `signatures`, `kernels` and `pointwiseFunctions` are generated (kernels.py). Each function gets its arguments in order.
const functions = new Map();
const OPERATORS = { "+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floor_divide", "%": "remainder", "**": "pow",
  "@": "matmul", "&": "bitwise_and", "|": "bitwise_or", "^": "bitwise_xor", "<<": "bitwise_left_shift",
  ">>": "bitwise_right_shift", "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge" }; // prettier-ignore
const ON_NUMBERS = { "+": (x, y) => x + y, "-": (x, y) => x - y, "*": (x, y) => x * y, "/": (x, y) => x / y,
  "//": (x, y) => Math.floor(x / y), "%": (x, y) => m.remainder(x, y), "**": (x, y) => x ** y, "==": (x, y) => x === y,
  "!=": (x, y) => x !== y, "<": (x, y) => x < y, "<=": (x, y) => x <= y, ">": (x, y) => x > y,
  ">=": (x, y) => x >= y }; // prettier-ignore
const ATTRIBUTES = {
  T: (t) => transposed(t, t.shape.map((_, d) => t.ndim - 1 - d)),
  mT: (t) => run("transpose", t, -2, -1),
  shape: (t) => t.shape,
  ndim: (t) => t.ndim,
  dtype: (t) => t.dtype,
  data: (t) => t,
}; // prettier-ignore
const RESULTS = { values: 0, indices: 1 };

function define(implementations) {
  for (const [name, f] of Object.entries(implementations)) functions.set(name, f);
}

function truth(a) {
  if (isTensor(a)) return a.data[0] !== 0;
  return Array.isArray(a) || typeof a === "string" ? a.length > 0 : +(a ?? 0) !== 0;
}

const same = (a, b) => a === b || (Array.isArray(a) && Array.isArray(b) && JSON.stringify(a) === JSON.stringify(b));
const listOf = (a) => (Array.isArray(a) ? a : fail("* is for lists"));

function operate(operator, a, b) {
  if (isTensor(a) || isTensor(b)) return run(OPERATORS[operator], a, b);
  if (operator === "in") return listOf(b).some((x) => same(a, x));
  if (operator === "==" && !(isNumber(a) && isNumber(b))) return same(a, b);
  if (operator === "!=" && !(isNumber(a) && isNumber(b))) return !same(a, b);
  if (operator === "+" && Array.isArray(a) && Array.isArray(b)) return joined([a, b]);
  if (operator === "*" && Array.isArray(b)) return operate("*", b, a);
  if (operator === "*" && Array.isArray(a)) return joined(range(Math.max(0, numberOf(b))).fill(a));
  const f = ON_NUMBERS[operator] ?? fail(`${operator} is for tensors`);
  const found = f(numberOf(a), numberOf(b));
  const real = a instanceof Real || b instanceof Real || operator === "/" || (operator === "**" && b < 0);
  return real && typeof found === "number" ? new Real(found) : found;
}

function operateOnOne(operator, a) {
  if (isTensor(a)) return operator === "+" ? a : run(operator === "-" ? "neg" : "bitwise_not", a);
  numberOf(a);
  if (operator === "~") return m.bit_not(a);
  return operator === "+" ? a : a instanceof Real ? new Real(-a) : -a;
}

// Runs a function on arguments in the order of its signature; missing ones have their defaults.
function run(name, ...args) {
  return call(name, Object.hasOwn(signatures, name) ? [...args, ...defaultsOf(name).slice(args.length)] : args);
}

// Calls a function within the budget: all calls come through here, those of definitions and of `mapped`, too.
function call(name, args) {
  const f = functions.get(name) ?? fail(`${name} is not live`);
  few(args, `arguments of ${name}`);
  const elements = (a) => (isTensor(a) ? a.data.length : Array.isArray(a) ? counted(a) : 1);
  spend(args.reduce((n, a) => n + elements(a) / 8, 0), 1);
  const found = inside(() => f(...args), `${name} cannot compute with these arguments`);
  return Array.isArray(found) ? listed(found) : found === undefined ? fail(`${name} needs an argument`) : found;
}

const callFunction = (name, args, keywords) => call(name, bound(name, args, keywords));

function callMethod(name, object, args, keywords) {
  if (!isTensor(object)) fail(`.${name}() is for tensors`);
  const known = functions.has(`Tensor.${name}`) ? `Tensor.${name}` : name;
  if (name.endsWith("_") && !functions.has(known)) return callMethod(name.slice(0, -1), object, args, keywords);
  return callFunction(known, [object, ...args], keywords);
}

function bound(name, args, keywords) {
  const signature = Object.hasOwn(signatures, name) ? signatures[name] : undefined;
  if (!signature) return keywords.length ? fail(`${name} takes no keywords`) : args;
  const result = [...defaultsOf(name)];
  let given = 0;
  signature.forEach(({ several, only }, k) => {
    if (several) result[k] = args.slice(given);
    else if (given < args.length && !only) result[k] = args[given++];
    if (several) given = args.length;
  });
  for (const [word, v] of keywords) {
    const at = signature.findIndex((p) => p.parameter === word);
    if (at < 0) fail(`${name} has no argument ${word}`);
    result[at] = v;
  }
  if (given < args.length) fail(`${name} takes at most ${given} arguments`);
  signature.forEach(({ parameter }, k) => result[k] === undefined && fail(`${name} needs the argument ${parameter}`));
  return result;
}

// Floats of defaults are {"float": text}, so that 1.0 is one.
const pythonDefaults = new Map();
function defaultsOf(name) {
  const real = (value) => (value?.float === undefined ? value : new Real(Number(value.float)));
  if (!pythonDefaults.has(name)) pythonDefaults.set(name, signatures[name].map(({ value }) => real(value))); // prettier-ignore
  return pythonDefaults.get(name);
}

function attributeOf(object, name) {
  if (Array.isArray(object) && Object.hasOwn(RESULTS, name)) return object[RESULTS[name]];
  if (!isTensor(object) || !Object.hasOwn(ATTRIBUTES, name)) fail(`.${name} is not live`);
  return ATTRIBUTES[name](object);
}
