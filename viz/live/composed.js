// The functions that definitions.py and the kernels' table state, and the few words that they need besides.
define({
  pointwise: (kernel, ...args) => pointwise(entryOf(kernels, kernel), args),
  sign_factorial: (n) => new Real((n % 2 ? 1 : -1) * range(+n).reduce((p, k) => p * (k + 1), 1)),
  largest: (t) => new Real({ float64: Number.MAX_VALUE, float16: 65504 }[t.dtype] ?? 3.4028234663852886e38),
  epsilon: (t) => new Real({ float64: 2 ** -52, float16: 2 ** -10, bfloat16: 2 ** -7 }[t.dtype] ?? 2 ** -23),
  mapped: (name, list, ...args) => list.map((t) => callFunction(name, [t, ...args], [])),
  folded: (name, list) => list.flat().reduce((a, b) => callFunction(name, [a, b], [])),
  as_given: (name, tensors) => {
    const made = tensors.flat().map((t) => callFunction(name, [t], []));
    return tensors.length === 1 && isTensor(tensors[0]) ? made[0] : made;
  },
  given: (list) => list.filter((t) => t !== null),
  detach: (t) => t,
  requires_grad: (t) => t,
  is_list: Array.isArray,
  is_tensor: isTensor,
  int: (x) => Math.floor(+x),
  unknown: (mode) => fail(`mode="${mode}" is not live`),
  length: (list) => [list].flat().length,
  first: (list) => range([list].flat().length),
  last: (shape) => [shape].flat().map((_, i, all) => i - all.length),
  spatial: (t) => range(t.ndim).slice(2),
  others: (t, dim) => range(t.ndim).filter((d) => d !== axis(dim, t.ndim)),
});

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
