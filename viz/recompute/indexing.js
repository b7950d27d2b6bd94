// Indices: x[...] in all its forms, gather and scatter, and what follows from them.

// Returns the places of the elements that are not 0, as one vector for each dimension.
function indices(t) {
  const found = range(t.data.length).filter((i) => t.data[i]);
  const strides = stridesOf(t.shape);
  return t.shape.map((n, d) => vector(found.map((i) => Math.floor(i / strides[d]) % n)));
}

// Returns the elements of an index as integers, slices, null and integer tensors, one for each dimension.
function normalized(index, ndim) {
  const parts = index.flatMap((part) => {
    const t = Array.isArray(part) ? fromNested(part, part.flat(Infinity).length ? undefined : "int64") : part;
    if (!isTensor(t)) return [typeof t === "boolean" ? fail("a bool as an index") : t];
    if (isFloat(t.dtype)) fail("an index is no integer");
    return t.dtype === "bool" || t.dtype === "uint8" ? indices(t) : [t];
  });
  const used = parts.filter((p) => p !== null && p !== ELLIPSIS).length;
  if (used > ndim) fail(`${used} indices for ${ndim} dimensions`);
  const rest = new Array(ndim - used).fill(new Slice(null, null, null));
  const at = parts.indexOf(ELLIPSIS);
  return at < 0 ? [...parts, ...rest] : [...parts.slice(0, at), ...rest, ...parts.slice(at + 1)];
}

function bounds({ start, stop, step }, n) {
  const by = +(step ?? 1);
  if (!(by > 0)) fail("a slice needs a positive step");
  const within = (i, otherwise) => (i === null ? otherwise : Math.min(n, Math.max(0, i < 0 ? +i + n : +i)));
  const begin = within(start, 0);
  return [begin, Math.max(0, Math.ceil((within(stop, n) - begin) / by)), by];
}

function getItem(object, index, several = false) {
  spend(1, 1);
  if (Array.isArray(object)) return ofList(object, index);
  if (!isTensor(object)) return fail("only tensors and lists have elements");
  const parts = normalized(several ? index : [index], object.ndim);
  // integers, slices and new dimensions first; then the tensors
  let t = object;
  let d = 0;
  const tensors = [];
  for (const part of parts) {
    if (part === null) t = unsqueeze(t, d++);
    else if (part instanceof Slice) t = slice(t, d, ...bounds(part, t.shape[d++]));
    else if (isTensor(part)) tensors.push([d++, part]);
    else t = squeeze(slice(t, d, part < 0 ? +part + t.shape[d] : +part, 1), d);
  }
  return tensors.length ? byTensors(t, tensors) : t;
}

function ofList(list, index) {
  const at = index < 0 ? +index + list.length : +index;
  if (!(index instanceof Slice))
    return at in list ? list[at] : fail(`index ${+index} is out of ${list.length} elements`);
  const [begin, length, step] = bounds(index, list.length);
  const part = list.slice(begin, begin + length * step);
  return listed(step === 1 ? part : part.filter((_, i) => i % step === 0));
}

function byTensors(t, tensors) {
  const dims = tensors.map(([d]) => d);
  const together = dims.every((d, i) => d === dims[0] + i);
  const shape = broadcastShapes(...tensors.map(([, index]) => index.shape));
  const indices = tensors.map(([, index]) => expand(index, shape).data);
  const front = moved(t, dims, range(dims.length));
  const inner = sizeOf(front.shape.slice(dims.length));
  const steps = stridesOf(front.shape);
  const positions = memory(Int32Array, [sizeOf(shape) * inner]);
  for (let i = 0; i < positions.length; i++) {
    let at = i % inner;
    const which = Math.floor(i / inner);
    indices.forEach((index, k) => {
      const n = front.shape[k];
      if (index[which] < -n || index[which] >= n) fail(`index ${index[which]} is out of ${n} elements`);
      at += (index[which] < 0 ? index[which] + n : index[which]) * steps[k];
    });
    positions[i] = at;
  }
  const found = picked(front, [...shape, ...front.shape.slice(dims.length)], positions);
  return together ? moved(found, range(shape.length), range(shape.length).map((i) => i + dims[0])) : found; // prettier-ignore
}

// Returns the position in `shape` that each element of an index means along a dimension.
function gathered(shape, dim, index) {
  const d = axis(dim, shape.length);
  if (isFloat(index.dtype)) fail("an index is no integer");
  const [steps, own] = [stridesOf(shape.length ? shape : [1]), stridesOf(index.ndim ? index.shape : [1])];
  const sizes = index.ndim ? index.shape : [1];
  return memory(Int32Array, [index.data.length]).map((_, i) => {
    const chosen = index.data[i];
    const n = shape[d] ?? 1;
    if (chosen < -n || chosen >= n) fail(`index ${chosen} is out of ${n} elements`);
    return sizes.reduce((at, size, k) => {
      const here = k === d ? (chosen < 0 ? chosen + n : chosen) : Math.floor(i / own[k]) % size;
      return at + here * steps[k];
    }, 0);
  });
}

const gather = (t, dim, index) => picked(t, index.shape, gathered(t.shape, dim, index));

// How elements that meet in one place are combined, and the first value of each if the old one does not count.
const COMBINED = {
  add: (x, y) => x + y,
  multiply: (x, y) => x * y,
  amax: (x, y) => (y > x || y !== y ? y : x),
  amin: (x, y) => (y < x || y !== y ? y : x),
};
Object.assign(COMBINED, { sum: COMBINED.add, mean: COMBINED.add, prod: COMBINED.multiply });

function scatter(t, dim, index, source, how, includeSelf = true) {
  const positions = gathered(t.shape, dim, index);
  const values = isTensor(source)
    ? sliceTo(cast(source, t.dtype), index.shape).data
    : memory(Float64Array, [positions.length]).fill(+source);
  if (!how) return written(t, positions, values);
  const counts = memory(Float64Array, [t.data.length]).fill(includeSelf ? 1 : 0);
  const doubles = memory(Float64Array, t.shape).map((_, i) => t.data[i]);
  const wide = new Tensor(t.shape, isFloat(t.dtype) ? "float64" : t.dtype, doubles);
  const combined = (old, value, i) => (counts[positions[i]]++ ? entryOf(COMBINED, how)(old, value) : value);
  const made = written(wide, positions, values, combined);
  if (how !== "mean") return cast(made, t.dtype);
  const ratio = (i) => made.data[i] / Math.max(1, counts[i]);
  return make(t.shape, t.dtype, isFloat(t.dtype) ? ratio : (i) => Math.floor(ratio(i)));
}

const sliceTo = (t, shape) => shape.reduce((u, n, d) => (u.shape[d] === n ? u : slice(u, d, 0, n)), t);

// Returns `t` with the elements at these positions replaced by those of `source`, or the sums of both.
function placed(t, positions, source, accumulate) {
  const given = expand(asTensor(source, t.dtype), positions.shape).data;
  return written(t, positions.data, given, accumulate ? COMBINED.add : undefined);
}

define({
  gather,
  placed,
  indices,
  positions: places,
  elements: (t, indices) => getItem(t, indices, true),
  scatter: (t, dim, index, source, value, how) => scatter(t, dim, index, source ?? value, how),
  scatter_add: (t, dim, index, source) => scatter(t, dim, index, source, "add"),
  scatter_reduce: (t, dim, index, source, how, includeSelf) => scatter(t, dim, index, source, how, includeSelf),
}); // prettier-ignore
