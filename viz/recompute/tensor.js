// Tensors: a shape, a dtype, and the elements, row by row, in a typed array. Tensors are never written after they are made.
//
// float32 results are rounded after each operation, as on the processor. int64 is kept in doubles, exact up to 2 ** 53.
// A Python float is a Real, so that 2.0 is no integer; integers and bools are JavaScript's.
const single = new Float32Array(1);
const bits = new Uint32Array(single.buffer);

class Real {
  constructor(value) {
    this.value = value;
  }
  valueOf() {
    return this.value;
  }
}

function toBfloat16(x) {
  single[0] = x;
  if (x !== x) return x;
  bits[0] = (bits[0] + 0x7fff + ((bits[0] >>> 16) & 1)) & 0xffff0000;
  return single[0];
}

// Rounds to 11 bits, or to multiples of 2 ** -24 where numbers are denormal.
function toFloat16(x) {
  const size = Math.abs(x);
  if (!(size > 0 && size < Infinity)) return x;
  const unit = 2 ** (Math.max(Math.floor(Math.log2(size)), -14) - 10);
  const rounded = halfToEven(x / unit) * unit;
  return Math.abs(rounded) > 65504 ? Math.sign(x) * Infinity : rounded;
}

function halfToEven(x) {
  const low = Math.floor(x);
  if (x - low !== 0.5) return Math.sign(x) === -1 || Object.is(x, -0) ? -Math.floor(-x + 0.5) : Math.floor(x + 0.5);
  return low % 2 === 0 ? (low === 0 && x < 0 ? -0 : low) : low + 1 === 0 ? -0 : low + 1;
}

const exact = (x) => x;
// dtype: its category in type promotion, its rank there, its memory, its rounding
const DTYPES = {
  bool: { category: 0, rank: 0, Memory: Uint8Array, round: (x) => (x ? 1 : 0) },
  uint8: { category: 1, rank: 1, Memory: Uint8Array, round: exact },
  int8: { category: 1, rank: 1, Memory: Int8Array, round: exact },
  int16: { category: 1, rank: 2, Memory: Int16Array, round: exact },
  int32: { category: 1, rank: 3, Memory: Int32Array, round: exact },
  int64: { category: 1, rank: 4, Memory: Float64Array, round: Math.trunc },
  bfloat16: { category: 2, rank: 5, Memory: Float32Array, round: toBfloat16 },
  float16: { category: 2, rank: 5, Memory: Float32Array, round: toFloat16 },
  float32: { category: 2, rank: 6, Memory: Float32Array, round: Math.fround },
  float64: { category: 2, rank: 7, Memory: Float64Array, round: exact },
};

class Tensor {
  constructor(shape, dtype, data) {
    spend(0, 1);
    this.shape = checkedShape(shape);
    this.dtype = dtype;
    this.data = data;
  }
  get ndim() {
    return this.shape.length;
  }
}

const isTensor = (a) => a instanceof Tensor;
const isFloat = (dtype) => DTYPES[dtype].category === 2;
const sizeOf = (shape) => shape.reduce((n, m) => n * m, 1);

// Returns the entry of a table with this name.
function entryOf(table, name) {
  return Object.hasOwn(table, name) ? table[name] : fail(`"${name}" is not one of ${Object.keys(table).join(", ")}`);
}

// Makes a tensor of the elements at(0), at(1), ...
function make(shape, dtype, at) {
  const { Memory, round } = entryOf(DTYPES, dtype);
  const data = memory(Memory, shape);
  for (let i = 0; i < data.length; i++) data[i] = round(at(i));
  return new Tensor(shape, dtype, data);
}

const WORDS_OF_JSON = new Map([["nan", NaN], ["inf", Infinity], ["-inf", -Infinity]]); // prettier-ignore
const full = (shape, value, dtype) => make(shape, dtype, () => numberOf(value));
const cast = (t, dtype) => (t.dtype === dtype ? t : make(t.shape, dtype, (i) => t.data[i]));
const vector = (numbers, dtype = "int64") => make([numbers.length], dtype, (i) => numbers[i]);

const isNumber = (a) => a instanceof Real || typeof a === "number" || typeof a === "boolean";

// Returns a number of Python as one of JavaScript.
function numberOf(a) {
  return isNumber(a) ? +a : fail("an operand is neither a tensor nor a number");
}

function dtypeOfNumber(a) {
  return a instanceof Real ? "float32" : typeof a === "boolean" ? "bool" : "int64";
}

// Makes a tensor of nested lists of numbers, or of strings such as "nan", as records have them; an empty one needs its shape.
function fromNested(nested, dtype, size) {
  const shape = size ?? [];
  for (let level = nested; !size && Array.isArray(level); level = level[0]) shape.push(level.length);
  const flat = [nested].flat(Infinity);
  if (flat.length !== sizeOf(shape)) fail(`lists of ${flat.length} numbers are no tensor of shape (${shape})`);
  const found = ["bool", "int64", "float32"].findLast((d) => flat.some((x) => dtypeOfNumber(x) === d)) ?? "float32";
  return make(shape, dtype ?? found, (i) => WORDS_OF_JSON.get(flat[i]) ?? numberOf(flat[i]));
}

function toNested(t) {
  const numbers = Array.from(t.data, (x) => (t.dtype === "bool" ? x === 1 : x));
  const steps = stridesOf(t.shape);
  const inner = (d, at) => Array.from({ length: t.shape[d] }, (_, i) => level(d + 1, at + i * steps[d]));
  const level = (d, at) => (d === t.ndim ? numbers[at] : inner(d, at));
  return level(0, 0);
}

// Returns a tensor, made of a number if need be.
function asTensor(a, dtype) {
  if (isTensor(a)) return dtype ? cast(a, dtype) : a;
  if (Array.isArray(a)) return fromNested(a, dtype);
  return full([], a, dtype ?? dtypeOfNumber(a));
}

function wider(a, b) {
  if (a === b || b === null) return a;
  if (a === null) return b;
  const [x, y] = [DTYPES[a], DTYPES[b]];
  if (x.category !== y.category) return x.category > y.category ? a : b;
  if (x.rank !== y.rank) return x.rank > y.rank ? a : b;
  return isFloat(a) ? "float32" : "int16";
}

// PyTorch's promotion: tensors with dimensions decide, 0-d tensors and numbers only if they are of a higher category.
function promoted(operands) {
  const groups = [null, null, null];
  for (const a of operands) {
    const priority = isTensor(a) ? (a.ndim ? 0 : 1) : 2;
    groups[priority] = wider(groups[priority], isTensor(a) ? a.dtype : dtypeOfNumber(a));
  }
  return groups.reduce((a, b) => {
    if (a === null || b === null) return a ?? b;
    return DTYPES[b].category > DTYPES[a].category ? b : a;
  });
}

function sameShape(a, b) {
  return a.length === b.length && a.every((n, d) => n === b[d]);
}

function broadcastShapes(...shapes) {
  const longest = shapes.reduce((a, b) => (b.length > a.length ? b : a), []);
  if (shapes.every((shape) => shape.length === 0 || sameShape(shape, longest))) return longest;
  return longest.map((_, d) =>
    shapes.reduce((size, shape) => {
      const n = shape[shape.length - longest.length + d] ?? 1;
      if (n !== 1 && size !== 1 && n !== size) fail(`shapes (${shapes.join("), (")}) do not broadcast`);
      return n === 1 ? size : n;
    }, 1),
  );
}

function stridesOf(shape) {
  const strides = new Array(shape.length);
  for (let d = shape.length - 1, step = 1; d >= 0; step *= shape[d--]) strides[d] = step;
  return strides;
}

// Returns the position in memory of each element of an array with these strides, row by row.
function positionsOf(shape, strides, begin = 0) {
  const found = memory(Int32Array, shape);
  const last = shape.length - 1;
  const [width, step] = last < 0 ? [1, 0] : [shape[last], strides[last]];
  const index = new Array(shape.length).fill(0);
  for (let i = 0, at = begin; i < found.length;) {
    for (let k = 0; k < width; k++) found[i++] = at + k * step;
    for (let d = last - 1; d >= 0; d--) {
      at += strides[d];
      if (++index[d] < shape[d]) break;
      at -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
  return found;
}

// Returns the tensor of the elements at these positions of another.
function picked(t, shape, positions) {
  const data = memory(t.data.constructor, [positions.length]);
  for (let i = 0; i < data.length; i++) data[i] = t.data[positions[i]];
  return new Tensor(shape, t.dtype, data);
}

function strided(t, shape, strides, begin = 0) {
  return picked(t, shape, positionsOf(shape, strides, begin));
}

function expand(t, shape) {
  const lead = shape.length - t.ndim;
  if (lead < 0) fail(`(${t.shape}) cannot be expanded to (${shape})`);
  const sizes = shape.map((n, d) => (n === -1 ? t.shape[d - lead] : n));
  if (sameShape(sizes, t.shape)) return t;
  const steps = stridesOf(t.shape);
  const strides = sizes.map((n, d) => {
    const given = t.shape[d - lead] ?? 1;
    if (given !== 1 && given !== n) fail(`(${t.shape}) cannot be expanded to (${shape})`);
    return given === 1 ? 0 : steps[d - lead];
  });
  if (t.data.length === 1) return new Tensor(sizes, t.dtype, memory(t.data.constructor, sizes).fill(t.data[0]));
  return strided(t, sizes, strides);
}

// Computes kernel(round, x[i], y[i], ..., settings) for all elements, with broadcasting and type promotion.
function pointwise({ compute, kind, conditions = 0, settings = 0 }, args) {
  const n = args.length - settings;
  const operands = args.slice(conditions, n);
  let dtype = promoted(operands);
  if (kind === "float" && !isFloat(dtype)) dtype = "float32";
  const shape = broadcastShapes(...args.slice(0, n).map((a) => (isTensor(a) ? a.shape : [])));
  const round = dtype === "float64" || !isFloat(dtype) ? exact : Math.fround; // half precision is computed in float32
  // an operand of one element stays one: its step is 0
  const read = args.slice(0, n).map((a, i) => {
    const t = i < conditions ? asTensor(a) : cast(asTensor(a, isTensor(a) ? a.dtype : dtype), dtype);
    return t.data.length === 1 ? t.data : expand(t, shape).data;
  });
  const [x, y, z] = read;
  const [s, u, v] = read.map((values) => (values.length === 1 ? 0 : 1));
  const [a, b, c] = args.slice(n).map((setting) => (setting instanceof Object ? +setting : setting));
  const result = kind === "bool" ? "bool" : dtype;
  const { Memory, round: rounded } = DTYPES[result];
  const data = memory(Memory, shape);
  // no kernel has more operands and settings; spreading them would cost more than the kernel
  if (n === 1) for (let i = 0; i < data.length; i++) data[i] = rounded(compute(round, x[i * s], a, b, c));
  else if (n === 2)
    for (let i = 0; i < data.length; i++) data[i] = rounded(compute(round, x[i * s], y[i * u], a, b, c));
  else for (let i = 0; i < data.length; i++) data[i] = rounded(compute(round, x[i * s], y[i * u], z[i * v], a, b, c));
  return new Tensor(shape, result, data);
}
