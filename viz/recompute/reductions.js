// Along dimensions: reductions, scans, orders. Sums are made in double precision and rounded once.

// Returns a reduction of the lines along some dimensions; `f` gets the elements of one line, and its number.
function reduce(t, dims, keepdim, dtype, f) {
  const over = axes(dims, t.ndim).filter((d) => d < t.ndim);
  const rest = range(t.ndim).filter((d) => !over.includes(d));
  const order = [...rest, ...over];
  const lines = order.every((d, i) => d === i) ? t : transposed(t, order);
  const length = sizeOf(over.map((d) => t.shape[d]));
  const shape = keepdim ? t.shape.map((n, d) => (over.includes(d) ? 1 : n)) : rest.map((d) => t.shape[d]);
  return make(shape, dtype, (i) => f(lines.data.subarray(i * length, (i + 1) * length), i));
}

// Returns a tensor of the lines that `f` makes of those along a dimension.
function onLines(t, dim, dtype, f) {
  if (!t.ndim) return reshape(onLines(reshape(t, [1]), 0, dtype, f), []);
  const last = moved(t, dim, -1);
  const n = last.shape.at(-1);
  const made = range(n ? t.data.length / n : 0).flatMap((i) => Array.from(f(last.data.subarray(i * n, (i + 1) * n))));
  const result = make(last.shape, dtype, (i) => made[i]);
  return moved(result, -1, dim);
}

function total(line) {
  let sum = 0;
  for (let i = 0; i < line.length; i++) sum += line[i];
  return sum;
}
const average = (line) => total(line) / line.length;
const summed = (t, dtype) => dtype ?? (isFloat(t.dtype) ? t.dtype : "int64");
const floating = (t, dtype) => dtype ?? (isFloat(t.dtype) ? t.dtype : "float32");
const sum = (t, dim, keepdim, dtype) => reduce(dtype ? cast(t, dtype) : t, dim, keepdim, summed(t, dtype), total);
const mean = (t, dim, keepdim, dtype) => reduce(t, dim, keepdim, floating(t, dtype), average);

// Returns the place of the first extreme element; a NaN is more extreme than every number.
const extreme = (better) => (line) => {
  let at = 0;
  for (let i = 1; i < line.length; i++)
    if (line[at] === line[at] && (better(line[i], line[at]) || line[i] !== line[i])) at = i;
  return at;
};
const largest = extreme((x, y) => x > y);
const smallest = extreme((x, y) => x < y);

// Returns the order of a line's elements, stable, NaN last (first if descending).
function order(line, descending = false) {
  const sign = descending ? -1 : 1;
  const key = (i) => (line[i] !== line[i] ? Infinity : line[i]);
  spend(line.length * Math.log2(line.length + 1));
  const isNaN = (i) => (line[i] !== line[i] ? 1 : 0);
  return range(line.length).sort((i, j) => sign * (key(i) < key(j) ? -1 : key(i) > key(j) ? 1 : isNaN(i) - isNaN(j)));
}

function sort(t, dim, descending) {
  const places = onLines(t, dim, "int64", (line) => order(line, descending));
  return [t.ndim ? gather(t, dim, places) : t, places];
}

// Returns the running results of `combine`.
const scan = (t, dim, dtype, combine) =>
  onLines(t, dim, dtype, (line) => {
    let held;
    return Array.from(line, (x, i) => (held = i ? combine(held, x) : x));
  });

const runningExtreme = (better) => (t, dim) => {
  const places = onLines(t, dim, "int64", (line) => {
    let at = 0;
    return Array.from(line, (x, i) => (at = x !== x || (line[at] === line[at] && better(x, line[at])) ? i : at));
  });
  return [t.ndim ? gather(t, dim, places) : t, places];
};

define({
  sum,
  mean,
  prod: (t, dim, keepdim, dtype) => reduce(t, dim === null ? null : [dim], keepdim, summed(t, dtype), (line) => line.reduce((a, b) => a * b, 1)),
  amax: (t, dim, keepdim) => reduce(t, dim, keepdim, t.dtype, (line) => line[largest(line)]),
  amin: (t, dim, keepdim) => reduce(t, dim, keepdim, t.dtype, (line) => line[smallest(line)]),
  argmax: (t, dim, keepdim) => reduce(t, dim === null ? null : [dim], keepdim, "int64", largest),
  argmin: (t, dim, keepdim) => reduce(t, dim === null ? null : [dim], keepdim, "int64", smallest),
  sort,
  cumsum: (t, dim, dtype) => scan(t, dim, summed(t, dtype), (a, b) => a + b),
  cumprod: (t, dim, dtype) => scan(t, dim, summed(t, dtype), (a, b) => a * b),
  logcumsumexp: (t, dim) => scan(t, dim, t.dtype, (x, y) => kernels.Logaddexp.compute(exact, x, y)),
  cummax: runningExtreme((x, y) => x >= y),
  cummin: runningExtreme((x, y) => x <= y),
}); // prettier-ignore
