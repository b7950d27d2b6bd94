// Functions that change shapes, join and take tensors apart. A view is a copy here: tensors are never written.
const axis = (d, ndim) => {
  const found = d < 0 ? +d + Math.max(ndim, 1) : +d;
  return found >= 0 && found < Math.max(ndim, 1) ? found : fail(`dimension ${+d} of ${ndim}`);
};
const isEmptyAxes = (dims) => dims === null || dims === undefined || (Array.isArray(dims) && !dims.length);
const axes = (dims, ndim) =>
  isEmptyAxes(dims) ? Array.from({ length: ndim }, (_, d) => d) : few([dims].flat()).map((d) => axis(d, ndim));
const spread = (sizes) => few(sizes.length === 1 && Array.isArray(sizes[0]) ? sizes[0] : sizes).map(Number);
const range = (n) => Array.from(new Array(asked(n)).keys());
const replaced = (list, i, ...items) => [...list.slice(0, i), ...items, ...list.slice(i + 1)];
const places = (t) => make(t.shape, "int64", (i) => i); // the position of each element

function transposed(t, order) {
  const strides = stridesOf(t.shape);
  return strided(t, order.map((d) => t.shape[d]), order.map((d) => strides[d])); // prettier-ignore
}

function reshape(t, sizes) {
  const rest = sizes.reduce((n, m) => (m === -1 ? n : n * m), 1);
  const shape = sizes.map((n) => (n === -1 ? (rest ? t.data.length / rest : 0) : n));
  if (sizeOf(shape) !== t.data.length) fail(`(${t.shape}) cannot be reshaped to (${sizes})`);
  return new Tensor(shape, t.dtype, t.data);
}

function moved(t, source, destination) {
  if (!t.ndim) return t;
  const [from, to] = [axes(source, t.ndim), axes(destination, t.ndim)];
  const order = new Array(t.ndim);
  to.forEach((d, i) => (order[d] = from[i]));
  const rest = range(t.ndim).filter((d) => !from.includes(d));
  const whole = Array.from(order, (d) => d ?? rest.shift());
  return transposed(t, whole);
}

// Returns elements begin, begin + step, ... along a dimension.
function slice(t, d, begin, length, step = 1) {
  const end = begin + (length - 1) * step;
  const n = t.shape[d] ?? 1; // of a number
  if (length && !(Number.isInteger(begin) && begin >= 0 && Math.max(begin, end) < n))
    fail(`index ${begin} is out of ${n} elements`);
  const strides = stridesOf(t.shape);
  return strided(t, replaced(t.shape, d, length), replaced(strides, d, strides[d] * step), begin * strides[d]);
}

function cat(tensors, dim = 0) {
  const dtype = promoted(tensors);
  const vectors = tensors.every((t) => t.ndim === 1);
  const parts = tensors.filter((t) => vectors || t.ndim !== 1 || t.shape[0]); // an empty vector joins everything
  const d = axis(dim, parts[0].ndim);
  const inner = sizeOf(parts[0].shape.slice(d + 1));
  const shape = replaced(parts[0].shape, d, parts.reduce((n, t) => n + t.shape[d], 0)); // prettier-ignore
  const data = memory(DTYPES[dtype].Memory, shape);
  let begin = 0;
  for (const t of parts) {
    const [values, width] = [cast(t, dtype).data, t.shape[d] * inner];
    for (let i = 0; i < values.length; i++)
      data[begin + Math.floor(i / width) * shape[d] * inner + (i % width)] = values[i];
    begin += width;
  }
  return new Tensor(shape, dtype, data);
}

function unsqueeze(t, dim) {
  const d = dim < 0 ? +dim + t.ndim + 1 : +dim;
  return reshape(t, [...t.shape.slice(0, d), 1, ...t.shape.slice(d)]);
}

function squeeze(t, dim) {
  const dims = isEmptyAxes(dim) && !Array.isArray(dim) ? range(t.ndim) : [dim].flat().map((d) => axis(d, t.ndim));
  return reshape(t, t.shape.filter((n, d) => n !== 1 || !dims.includes(d))); // prettier-ignore
}

// Returns `t` with the elements at these positions replaced, or combined with the new ones.
function written(t, positions, values, combine = (old, value) => value) {
  const made = new Tensor(t.shape, t.dtype, memory(t.data.constructor, t.shape));
  made.data.set(t.data);
  const { round } = DTYPES[t.dtype];
  for (let i = 0; i < positions.length; i++)
    made.data[positions[i]] = round(combine(made.data[positions[i]], values[i], i));
  return made;
}

function parts(t, sizes, dim) {
  const d = axis(dim, t.ndim);
  let begin = 0;
  return sizes.map((length) => slice(t, d, (begin += +length) - length, length));
}

define({
  reshape: (t, sizes) => reshape(t, spread(sizes)),
  unsqueeze,
  squeeze,
  permute: (t, dims) => transposed(t, spread(dims).map((d) => axis(d, t.ndim))), // prettier-ignore
  movedim: moved,
  expand: (t, sizes) => expand(t, spread(sizes)),
  shape_of_all: (tensors) => tensors.reduce((all, t) => broadcastShapes(all, t.shape), []),
  cat,
  parts,
  narrow: (t, dim, start, length) => slice(t, axis(dim, t.ndim), start < 0 ? +start + t.shape[axis(dim, t.ndim)] : +start, +length),
  as_strided: (t, size, stride, begin) => strided(t, size.map(Number), stride.map(Number), +(begin ?? 0)),
  flip: (t, dims) => spread(dims).map((d) => axis(d, t.ndim)).reduce((u, d) => slice(u, d, u.shape[d] - 1, u.shape[d], -1), t),
  to: (t, args, dtype) => cast(t, dtype ?? args.find((a) => a in DTYPES) ?? t.dtype),
  numel: (t) => t.data.length,
  item: (t) => (isFloat(t.dtype) ? new Real(t.data[0]) : t.data[0]),
  full: (size, value, dtype) => full([size].flat().map(Number), isTensor(value) ? value.data[0] : value, dtype ?? asTensor(value).dtype),
  arange: (a, b, step, dtype) => {
    const [start, end] = b === null ? [0, a] : [a, b];
    const real = [start, end, step].some((x) => x instanceof Real);
    return make([Math.max(0, Math.ceil((end - start) / step))], dtype ?? (real ? "float32" : "int64"), (i) => start + i * step);
  },
  tensor: (data, dtype) => asTensor(data, dtype ?? undefined),
}); // prettier-ignore
