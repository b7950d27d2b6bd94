// The functions that definitions.py and the kernels' table state, and the few words that they need besides.
const KINDS = { number: "int", boolean: "bool", string: "str" };
define({
  pointwise: (kernel, ...args) => pointwise(entryOf(kernels, kernel), args),
  sign_factorial: (n) => new Real((n % 2 ? 1 : -1) * range(+n).reduce((p, k) => p * (k + 1), 1)),
  largest: (t) => new Real({ float64: Number.MAX_VALUE, float16: 65504 }[t.dtype] ?? 3.4028234663852886e38),
  epsilon: (t) => new Real({ float64: 2 ** -52, float16: 2 ** -10, bfloat16: 2 ** -7 }[t.dtype] ?? 2 ** -23),
  mapped: (name, list, ...args) => list.map((t) => callFunction(name, [t, ...args], [])),
  folded: (name, list) => list.flat().reduce((a, b) => callFunction(name, [a, b], [])),
  detach: (t) => t,
  requires_grad: (t) => t,
  axis: (dim, ndim) => axis(dim, ndim),
  axes: (t, dims) => axes(dims, t.ndim),
  is_a: (x, ...kinds) => kinds.includes(isTensor(x) ? "Tensor" : Array.isArray(x) ? "list" : x instanceof Real ? "float" : KINDS[typeof x]),
  span: (a, b = null, step = 1) => (b === null ? range(+a) : range(Math.max(0, Math.ceil((b - a) / step))).map((i) => a + i * step)),
  numbered: (list) => list.map((x, i) => [i, x]),
  some: (list) => list.some(truth),
  truth,
  kind: (dtype) => (dtype === "uint8" ? "u" : "bif"[entryOf(DTYPES, dtype).category]),
  is_floating_point: (t) => isFloat(t.dtype),
  real: (x) => new Real(+x),
  int: (x) => Math.floor(+x),
  unknown: (mode) => fail(`mode="${mode}" is not live`),
  length: (list) => (isTensor(list) ? list.shape[0] : [list].flat().length),
}); // prettier-ignore

for (const [name, { parameters, text }] of Object.entries(definitions))
  functions.set(name, (...args) => {
    if (args.length < parameters.length) fail(`${name} needs the argument ${parameters[args.length]}`);
    return evaluated(text, new Map(parameters.map((p, i) => [p, args[i]])));
  });
for (const [name, kernel] of Object.entries(pointwiseFunctions))
  if (!functions.has(name) && Object.hasOwn(kernels, kernel))
    functions.set(name, (...args) => pointwise(kernels[kernel], args));
for (const [name, known] of Object.entries(aliases))
  if (functions.has(known)) functions.set(name, functions.get(known));
