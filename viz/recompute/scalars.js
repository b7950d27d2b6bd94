// Functions of single numbers that JavaScript does not have, in double precision; generated kernels call all of them as m.name.
const m = {
  __proto__: Math,
  isfinite: Number.isFinite,
  isnan: Number.isNaN,
  isinf: (x) => x === Infinity || x === -Infinity,
  copysign: (x, y) => (y < 0 || Object.is(y, -0) ? -Math.abs(x) : Math.abs(x)),
  round: halfToEven,
  exp2: (x) => 2 ** x,
  pow: (x, y) => (x === 1 || y === 0 ? 1 : x === -1 && Math.abs(y) === Infinity ? 1 : Math.pow(x, y)),
  rsqrt: (x) => 1 / Math.sqrt(x),
  sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  fmod: (x, y) => x % y,
  bit_and: (x, y) => Number(BigInt(x) & BigInt(y)),
  bit_or: (x, y) => Number(BigInt(x) | BigInt(y)),
  bit_xor: (x, y) => Number(BigInt(x) ^ BigInt(y)),
  bit_not: (x) => -x - 1,
};
m.hypot = (x, y) => (m.isinf(x) || m.isinf(y) ? Infinity : Math.hypot(x, y));

m.remainder = (x, y) => {
  const rest = x % y;
  return rest !== 0 && rest < 0 !== y < 0 ? rest + y : rest === 0 ? m.copysign(rest, y) : rest;
};

m.floor_divide = (x, y) => {
  if (y === 0) return x / y;
  const quotient = (x - m.remainder(x, y)) / y;
  const nearest = halfToEven(quotient);
  return nearest === 0 ? m.copysign(nearest, x / y) : nearest;
};

const ROOT_PI = Math.sqrt(Math.PI);

// exp(x * x) * erfc(x) for x >= 2: Lentz's continued fraction.
function scaledErfc(x) {
  let f = x;
  for (let k = 120; k > 0; k--) f = x + k / 2 / f;
  return 1 / (f * ROOT_PI);
}

// A series of positive terms below 2, else from the complement.
m.erf = (x) => {
  const a = Math.abs(x);
  if (a >= 2) return m.copysign(1 - Math.exp(-a * a) * scaledErfc(a), x);
  let term = x;
  let sum = x;
  for (let n = 1; n < 60; n++) sum += term *= (2 * x * x) / (2 * n + 1);
  return x === x ? (2 / ROOT_PI) * Math.exp(-x * x) * sum : x;
};
m.erfc = (x) => (x >= 2 ? Math.exp(-x * x) * scaledErfc(x) : 1 - m.erf(x));
m.erfcx = (x) => (x >= 2 ? scaledErfc(x) : Math.exp(x * x) * m.erfc(x));

m.log_ndtr = (x) =>
  x < -1 ? Math.log(m.erfcx(-x / Math.SQRT2) / 2) - (x * x) / 2 : Math.log1p(-m.erfc(x / Math.SQRT2) / 2);

// Newton's method from Winitzki's approximation.
m.erfinv = (y) => {
  if (!(Math.abs(y) < 1)) return Math.abs(y) === 1 ? y * Infinity : NaN;
  const tail = Math.log1p(-y * y);
  const middle = 2 / (Math.PI * 0.147) + tail / 2;
  let x = m.copysign(Math.sqrt(Math.sqrt(middle * middle - tail / 0.147) - middle), y);
  for (let k = 0; k < 4; k++) x -= ((m.erf(x) - y) * ROOT_PI * Math.exp(x * x)) / 2;
  return x;
};
m.ndtri = (p) => Math.SQRT2 * m.erfinv(2 * p - 1);
