// Linear algebra on the last two dimensions, in double precision: factorizations, solutions, what follows from them.
//
// The functions on one matrix take and return lists of rows. Singular values and eigenvalues are not here: their vectors have
// the signs that a library chooses, which no other program repeats.

// Runs `f` on each matrix of tensors with the same leading dimensions; it returns numbers, lists or lists of rows, of these
// shapes.
function onMatrices(tensors, shapes, f, ...dtypes) {
  const batch = broadcastShapes(...tensors.map((t) => t.shape.slice(0, -2)));
  const wide = tensors.map((t) => expand(t, [...batch, ...t.shape.slice(-2)]));
  const rowsOf = (t, k) => {
    const [rows, width] = t.shape.slice(-2);
    return range(rows).map((i) => Array.from(t.data.subarray((k * rows + i) * width, (k * rows + i + 1) * width)));
  };
  for (const shape of shapes) checkedSize([...batch, ...shape]);
  const needed = shapes.some((shape) => sizeOf(shape)) ? sizeOf(batch) : 0;
  const results = range(needed).map((k) => f(...wide.map((t) => rowsOf(t, k))));
  return shapes.map((shape, j) => {
    const numbers = sizeOf(shape) ? results.flatMap((result) => [result[j]].flat(2)) : [];
    return make([...batch, ...shape], dtypes[j] ?? tensors[0].dtype, (i) => numbers[i]);
  });
}

// Gaussian elimination with partial pivoting, as LAPACK's getrf: the upper factor, the factors of the steps below it, the right
// side `columns` that belongs to it, and the rows exchanged at each step, from 1.
function eliminated(matrix, columns) {
  const rows = matrix.map((row, i) => [...row, ...(columns?.[i] ?? [])]);
  const pivots = [];
  spend((rows.length ** 2 * (rows[0]?.length ?? 0)) / 8);
  for (let k = 0; k < Math.min(rows.length, matrix[0]?.length ?? 0); k++) {
    let best = k;
    for (let i = k + 1; i < rows.length; i++) if (Math.abs(rows[i][k]) > Math.abs(rows[best][k])) best = i;
    pivots.push(best + 1);
    [rows[k], rows[best]] = [rows[best], rows[k]];
    if (rows[k][k] === 0) continue;
    for (let i = k + 1; i < rows.length; i++) {
      rows[i][k] /= rows[k][k];
      for (let j = k + 1; j < rows[i].length; j++) rows[i][j] -= rows[i][k] * rows[k][j];
    }
  }
  return [rows, pivots];
}

function solveOf(a, b) {
  const [rows] = eliminated(a, b);
  const x = rows.map((row) => row.slice(a.length));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = 0; j < x[i].length; j++) {
      for (let k = i + 1; k < a.length; k++) x[i][j] -= rows[i][k] * x[k][j];
      x[i][j] /= rows[i][i];
    }
  return x;
}

// Solves with columns: a vector, or a batch of vectors, is one column.
function solve(a, b) {
  const isVector = b.ndim === 1 || (a.ndim - 1 === b.ndim && b.shape.every((n, d) => n === a.shape[d]));
  const columns = isVector ? unsqueeze(b, -1) : b;
  const found = onMatrices([a, columns], [columns.shape.slice(-2)], (x, y) => [solveOf(x, y)])[0];
  return isVector ? squeeze(found, -1) : found;
}

function luFactor(t) {
  return onMatrices([t], [t.shape.slice(-2), [Math.min(...t.shape.slice(-2))]], (x) => eliminated(x), t.dtype, "int32");
}

// Returns the matrices that exchange rows back.
function permutation(pivots, n) {
  return onMatrices([unsqueeze(pivots, -1)], [[n, n]], (steps) => {
    const order = range(n);
    if (steps.some(([p]) => !(p >= 1 && p <= n))) fail(`a pivot is none of ${n} rows`);
    steps.forEach(([p], k) => ([order[k], order[p - 1]] = [order[p - 1], order[k]]));
    return [range(n).map((i) => order.map((row) => (row === i ? 1 : 0)))];
  })[0];
}

define({
  "linalg.lu_factor": luFactor,
  permutation: (pivots, n, dtype) => cast(permutation(pivots, n), dtype),
  solve,
});
