// Products of matrices, sums over indices, convolutions and pooling. Sums are made in double precision and rounded once.

function matmul(a, b) {
  if (!a.ndim || !b.ndim) fail("matmul needs at least one dimension");
  const left = a.ndim === 1 ? unsqueeze(a, 0) : a;
  const right = b.ndim === 1 ? unsqueeze(b, 1) : b;
  const [rows, n, columns] = [left.shape.at(-2), left.shape.at(-1), right.shape.at(-1)];
  if (n !== right.shape.at(-2)) fail(`(${a.shape}) and (${b.shape}) cannot be multiplied`);
  const batch = broadcastShapes(left.shape.slice(0, -2), right.shape.slice(0, -2));
  const x = expand(left, [...batch, rows, n]).data;
  const y = expand(right, [...batch, n, columns]).data;
  const product = full([...batch, rows, columns], 0, promoted([a, b]));
  const sums = memory(Float64Array, [columns]);
  spend((product.data.length * n) / 8);
  const { round } = DTYPES[product.dtype];
  for (let row = 0; row < product.data.length / columns; row++) {
    sums.fill(0);
    const begin = Math.floor(row / rows) * n * columns;
    for (let k = 0; k < n; k++) {
      const factor = x[row * n + k];
      for (let j = 0, at = begin + k * columns; j < columns; j++) sums[j] += factor * y[at + j];
    }
    for (let j = 0; j < columns; j++) product.data[row * columns + j] = round(sums[j]);
  }
  const without = b.ndim === 1 ? squeeze(product, -1) : product;
  return a.ndim === 1 ? squeeze(without, b.ndim === 1 ? -1 : -2) : without;
}

// Sums products over the letters that are not in the result; "..." stands for further letters.
function einsum(equation, operands) {
  const [inputs, result] = equation.replaceAll(" ", "").split("->");
  const extra = (term, t) => t.ndim - term.replace("...", "").length;
  const terms = inputs.split(",");
  if (terms.length !== operands.length) fail(`einsum has ${terms.length} terms for ${operands.length} operands`);
  const most = terms.reduce((n, term, i) => (term.includes("...") ? Math.max(n, extra(term, operands[i])) : n), 0);
  const letters = (n) => range(n).map((i) => `.${most - n + i}`);
  const listed = (term, n) => term.split("...").flatMap((part, i) => [...(i ? letters(n) : []), ...part]);
  const indices = terms.map((term, i) => listed(term, term.includes("...") ? extra(term, operands[i]) : 0));
  const sizes = {};
  indices.forEach((names, i) => {
    if (names.length !== operands[i].ndim) fail(`einsum: "${terms[i]}" for ${operands[i].ndim} dimensions`);
    names.forEach((name, d) => (sizes[name] = broadcastShapes([sizes[name] ?? 1], [operands[i].shape[d]])[0]));
  });
  const times = new Map();
  for (const name of indices.flat()) times.set(name, (times.get(name) ?? 0) + 1);
  const once = [...times.keys()].filter((name) => times.get(name) === 1 && name[0] !== ".").sort();
  const out = result === undefined ? [...letters(most), ...once] : listed(result, most);
  const all = [...out, ...Object.keys(sizes).filter((name) => !out.includes(name))];
  const shape = all.map((name) => sizes[name]);
  const read = operands.map((t, i) => {
    const strides = stridesOf(t.shape);
    const step = (name) => indices[i].reduce((n, x, d) => (x === name && t.shape[d] > 1 ? n + strides[d] : n), 0);
    return positionsOf(shape, all.map(step));
  });
  const inner = sizeOf(shape.slice(out.length));
  return make(shape.slice(0, out.length), promoted(operands), (i) => {
    let sum = 0;
    for (let k = i * inner; k < (i + 1) * inner; k++) sum += operands.reduce((p, t, j) => p * t.data[read[j][k]], 1);
    return sum;
  });
}

function each(value, n) {
  const given = [value].flat().map(Number);
  return given.length === n ? given : new Array(n).fill(given[0]);
}

// Windows of the last dimensions: the sizes of input and output, and the place in the input of each element of each window, -1
// for padding; `places` has a row for each element of a window, and a column for each window. `coordinate(d, o, k)` is that of
// element k of window o.
function windows(size, output, area, coordinate) {
  const [outer, inner, steps] = [output, area, size].map(stridesOf);
  const count = sizeOf(output);
  const places = memory(Int32Array, [...area, count]).map((_, i) =>
    size.reduce((at, s, d) => {
      const [k, window] = [Math.floor(i / count), i % count];
      const here = coordinate(d, Math.floor(window / outer[d]) % output[d], Math.floor(k / inner[d]) % area[d]);
      return at < 0 || here < 0 || here >= s ? -1 : at + here * steps[d];
    }, 0),
  );
  return { size, output, places, area: sizeOf(area), count };
}

// Returns windows of one size at regular steps; `given` is the number of them, if it does not follow.
function windowsOf(size, kernel, stride, padding, dilation, ceil = false, given = null) {
  const [area, step, around, gap] = [kernel, stride, padding, dilation].map((v) => each(v, size.length));
  const fitting = size.map((s, d) => {
    const room = s + 2 * around[d] - gap[d] * (area[d] - 1) - 1;
    const found = Math.floor((room + (ceil ? step[d] - 1 : 0)) / step[d]) + 1;
    return ceil && (found - 1) * step[d] >= s + around[d] ? found - 1 : found;
  });
  return windows(size, given ?? fitting, area, (d, o, k) => o * step[d] - around[d] + k * gap[d]);
}

// Returns windows that divide the input into equal parts, as far as that is possible.
function partsOf(size, parts) {
  const output = each(parts, size.length).map((n, d) => n || size[d]);
  const begin = (d, o) => Math.floor((o * size[d]) / output[d]);
  const end = (d, o) => Math.ceil(((o + 1) * size[d]) / output[d]);
  const area = output.map((n, d) => range(n).reduce((most, o) => Math.max(most, end(d, o) - begin(d, o)), 0));
  return windows(size, output, area, (d, o, k) => (begin(d, o) + k < end(d, o) ? begin(d, o) + k : -1));
}

// Returns the elements of all windows, (..., area, count); `fill` is the padding.
function toColumns(t, { size, places, area, count }, fill = 0) {
  const [plane, width] = [sizeOf(size), area * count];
  const lead = t.shape.slice(0, t.ndim - size.length);
  const element = (i) => (places[i % width] < 0 ? fill : t.data[Math.floor(i / width) * plane + places[i % width]]);
  return make([...lead, area, count], t.dtype, element);
}

// The transpose of toColumns: adds up the elements that belong to one place.
function fromColumns(t, { size, places, area, count }) {
  const [plane, width] = [sizeOf(size), area * count];
  const lead = t.shape.slice(0, -2);
  const sums = memory(Float64Array, [sizeOf(lead) * plane]);
  t.data.forEach((x, i) => {
    if (places[i % width] >= 0) sums[Math.floor(i / width) * plane + places[i % width]] += x;
  });
  return make([...lead, ...size], t.dtype, (i) => sums[i]);
}

define({
  matmul,
  einsum: ([equation, ...operands]) =>
    typeof equation === "string" ? einsum(equation, operands.flat()) : fail("einsum with lists of indices is not live"),
  elements_of: (t, n, kernel, stride, padding, dilation, ceil, fill, given) =>
    toColumns(t, windowsOf(t.shape.slice(-n), kernel, stride, padding, dilation, ceil, given), +(fill ?? 0)),
  window_sizes: (t, n, kernel, stride, padding, dilation, ceil) =>
    windowsOf(t.shape.slice(-n), kernel, stride, padding, dilation, ceil).output,
  from_elements: (t, size, kernel, stride, padding, dilation, given) =>
    fromColumns(t, windowsOf(size.map(Number), kernel, stride, padding, dilation, false, given)),
  part_elements: (t, n, parts, fill) => toColumns(t, partsOf(t.shape.slice(-n), parts), +fill),
  part_sizes: (t, n, parts) => partsOf(t.shape.slice(-n), parts).output,
});
