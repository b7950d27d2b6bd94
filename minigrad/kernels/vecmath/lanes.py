"""Lanes: functions written with Python's operators emit LLVM code when Numba compiles their callers.

A `Lane` stands for one number of a loop. `x * 2 + y` on Lanes emits a multiplication and an addition in the type of x (a
Python number takes the type of the Lane it meets, so nothing widens), and `where` emits a select: code without branches,
which LLVM turns into vector instructions. `@function` makes such a function callable from Numba's code.

Multiplications may be fused with additions, but nothing more: reassociation would undo compensated sums, and the other
fast-math flags would lose NaN, infinity, the sign of zero or quotients of denormals.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

BOOL, I32, I64, F32, F64 = ir.IntType(1), ir.IntType(32), ir.IntType(64), ir.FloatType(), ir.DoubleType()
INF, NAN = math.inf, math.nan
WIDTHS = (2, 4, 8, 16)  # numbers of lanes in the processors' vectors
CONTRACT = ("contract",)
# On Intel processors with 512-bit vectors, LLVM prefers 256 bits, because the first of them lowered their clock for the
# wider ones. Today those take 0.7 of the time for exp, erf, log, sigmoid, 0.4 for tanh (Emerald Rapids).
WIDEST = '"prefer-vector-width"="512"'


class Lane:
    """One number (or, inside `rarely`, a whole vector of them), and the builder that emits operations on it."""

    __slots__ = ("b", "v")

    def __init__(self, b: ir.IRBuilder, v: ir.Value):
        self.b, self.v = b, v

    @property
    def element(self) -> ir.Type:
        """Type of one number."""
        return self.v.type.element if isinstance(self.v.type, ir.VectorType) else self.v.type

    @property
    def real(self) -> bool:
        """True for a floating-point number."""
        return self.element in (F32, F64)

    def new(self, v: ir.Value) -> Lane:
        return Lane(self.b, v)

    def like(self, c: Any) -> Lane:
        """Return a Python number as a constant of this lane's type; a Lane as it is."""
        if isinstance(c, Lane):
            return c
        t = self.v.type
        return self.new(ir.Constant(t, [ir.Constant(t.element, c)] * t.count if isinstance(t, ir.VectorType) else c))

    def pick(self, single: Any, double: Any) -> Any:
        """Return the constant or table for this lane's precision."""
        return single if self.element in (F32, I32) else double

    def _operate(self, other: Any, real: str, whole: str, swap: bool = False) -> Lane:
        x, y = (self.like(other), self) if swap else (self, self.like(other))
        if self.real:
            return self.new(getattr(self.b, real)(x.v, y.v, flags=CONTRACT))
        return self.new(getattr(self.b, whole)(x.v, y.v))

    __add__ = __radd__ = lambda x, y: x._operate(y, "fadd", "add")
    __mul__ = __rmul__ = lambda x, y: x._operate(y, "fmul", "mul")
    __sub__ = lambda x, y: x._operate(y, "fsub", "sub")
    __rsub__ = lambda x, y: x._operate(y, "fsub", "sub", swap=True)
    __truediv__ = lambda x, y: x._operate(y, "fdiv", "sdiv")
    __rtruediv__ = lambda x, y: x._operate(y, "fdiv", "sdiv", swap=True)
    __neg__ = lambda x: x.new(x.b.fneg(x.v)) if x.real else 0 - x
    __and__ = lambda x, y: x.new(x.b.and_(x.v, x.like(y).v))
    __or__ = lambda x, y: x.new(x.b.or_(x.v, x.like(y).v))
    __xor__ = lambda x, y: x.new(x.b.xor(x.v, x.like(y).v))
    __lshift__ = lambda x, n: x.new(x.b.shl(x.v, x.like(n).v))
    # a logical shift: before AVX-512, vectors of int64 have no other
    __rshift__ = lambda x, n: x.new(x.b.lshr(x.v, x.like(n).v))
    __invert__ = lambda x: x.new(x.b.not_(x.v))

    def _compare(self, how: str, other: Any) -> Lane:
        y = self.like(other)
        if not self.real:
            return self.new(self.b.icmp_signed(how, self.v, y.v))
        return self.new((self.b.fcmp_unordered if how == "!=" else self.b.fcmp_ordered)(how, self.v, y.v))

    __lt__ = lambda x, y: x._compare("<", y)
    __le__ = lambda x, y: x._compare("<=", y)
    __gt__ = lambda x, y: x._compare(">", y)
    __ge__ = lambda x, y: x._compare(">=", y)
    __eq__ = lambda x, y: x._compare("==", y)  # type: ignore[assignment]
    __ne__ = lambda x, y: x._compare("!=", y)  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]
    __abs__ = lambda x: call("fabs", x)

    def to(self, t: ir.Type) -> Lane:
        """Return a real number in another precision."""
        if self.v.type == t:
            return self
        return self.new(self.b.fpext(self.v, t) if t == F64 else self.b.fptrunc(self.v, t))


# ---------------------------------------------------------------------- building blocks of formulas
def where(c: Lane, x: Any, y: Any) -> Lane:
    """Return x where c holds, else y; both are computed."""
    x = y.like(x) if isinstance(y, Lane) else x
    return x.new(x.b.select(c.v, x.v, x.like(y).v))


def call(name: str, x: Lane, *more: Any) -> Lane:
    """Return the result of an LLVM function that is a single instruction, such as sqrt."""
    args = [x.v, *[x.like(a).v for a in more]]
    return x.new(x.b.call(declared(x.b.module, f"llvm.{name}.{suffix(x.v.type)}", *[a.type for a in args]), args))


def declared(module: ir.Module, name: str, *types: ir.Type) -> ir.Function:
    """Return the declaration of a compiled function whose result has the type of its first argument."""
    return module.globals.get(name) or ir.Function(module, ir.FunctionType(types[0], types), name)


def suffix(t: ir.Type) -> str:
    """Return the suffix that LLVM gives its functions for a type."""
    if isinstance(t, ir.VectorType):
        return f"v{t.count}{suffix(t.element)}"
    return {F32: "f32", F64: "f64", I32: "i32"}[t]


def bits(x: Lane) -> Lane:
    """Return a real number's bits as an integer."""
    return x.new(x.b.bitcast(x.v, x.pick(I32, I64)))


def from_bits(i: Lane) -> Lane:
    """Return the real number with these bits."""
    return i.new(i.b.bitcast(i.v, i.pick(F32, F64)))


MANTISSA, BIAS = (23, 52), (127, 1023)
MAGIC = (1.5 * 2.0**23, 1.5 * 2.0**52)  # adding it rounds to an integer, which is then in the lowest bits
MAGIC_BITS = (0x4B400000, 0x4338000000000000)


def nearest(x: Lane, factor: float) -> tuple[Lane, Lane]:
    """Return x * factor rounded to an integer, as a real number and as an integer; |x * factor| < 2**21."""
    shifted = x * factor + x.pick(*MAGIC)
    return shifted - x.pick(*MAGIC), bits(shifted) - x.pick(*MAGIC_BITS)


def to_real(i: Lane) -> Lane:
    """Return an integer below 2**21 as a real number: before AVX-512, no vector instruction converts int64."""
    return from_bits(i + i.pick(*MAGIC_BITS)) - i.pick(*MAGIC)


def pow2(i: Lane) -> Lane:
    """Return 2**i as a real number, for an integer i in the range of normal exponents."""
    return from_bits((i + i.pick(*BIAS)) << i.pick(*MANTISSA))


def scale(x: Lane, i: Lane) -> Lane:
    """Return x * 2**i, also for extreme i: denormals are rounded once, overflow becomes infinity.

    AVX-512 has an instruction for it; others take two multiplications.
    """
    if has("avx512vl"):
        return ldexp(x, i)
    big = i.pick(1 << 20, 1 << 20)
    half = ((i + big) >> 1) - big // 2
    return x * pow2(half) * pow2(i - half)


def ldexp(x: Lane, i: Lane) -> Lane:
    """Return x * 2**i from LLVM's own function."""
    t = ir.VectorType(I32, x.v.type.count) if isinstance(x.v.type, ir.VectorType) else I32
    f = declared(x.b.module, f"llvm.ldexp.{suffix(x.v.type)}.{suffix(t)}", x.v.type, t)
    return x.new(x.b.call(f, [x.v, i.v if i.v.type == t else x.b.trunc(i.v, t)]))


def polynomial(x: Lane, coefficients: tuple) -> Lane:
    """Return c[0] + c[1] * x + c[2] * x**2 + ..., by Horner's rule."""
    *rest, total = coefficients
    for c in reversed(rest):
        total = x * total + c
    return x.like(total)


def sign_of(x: Lane, y: Lane) -> Lane:
    """Return x with the sign of y, even of a zero."""
    return call("copysign", x, y)


# ---------------------------------------------------------------------- sums and products without rounding errors
def fast_two_sum(x: Any, y: Any) -> tuple[Lane, Lane]:
    """Return x + y rounded, and the rounding error, if |x| >= |y|. Source: Dekker (1971)."""
    x = x if isinstance(x, Lane) else y.like(x)
    s = plain(x, "fadd", y)
    return s, plain(x.like(y), "fsub", plain(s, "fsub", x))


def two_sum(x: Any, y: Any) -> tuple[Lane, Lane]:
    """Return x + y rounded, and the rounding error. Source: Knuth, The Art of Computer Programming 2, 4.2.2."""
    x = x if isinstance(x, Lane) else y.like(x)
    s = plain(x, "fadd", y)
    part = plain(s, "fsub", x)
    return s, plain(plain(x, "fsub", plain(s, "fsub", part)), "fadd", plain(x.like(y), "fsub", part))


def two_product(x: Lane, y: Any) -> tuple[Lane, Lane]:
    """Return x * y rounded, and the rounding error, from a fused multiplication or from half mantissas (Dekker 1971)."""
    y = x.like(y)
    p = plain(x, "fmul", y)
    if has("fma"):
        return p, fused(x, y, -p)
    (xh, xl), (yh, yl) = halves(x), halves(y)
    lost = plain(plain(xh, "fmul", yh), "fsub", p)
    for a, c in ((xh, yl), (xl, yh), (xl, yl)):
        lost = plain(lost, "fadd", plain(a, "fmul", c))
    return p, lost


def fused(x: Lane, y: Any, z: Lane) -> Lane:
    """Return x * y + z, rounded once, if the processor can (see `has`)."""
    return x.new(x.b.fma(x.v, x.like(y).v, z.v))


def quotient(x: Lane, y: Lane) -> tuple[Lane, Lane, Lane]:
    """Return q = x * (1 / y), the remainder x - q * y, and 1 / y; the correction of q is the remainder times 1 / y."""
    inverse = 1 / y
    q = x * inverse
    p, lost = two_product(q, y)
    return q, (x - p) - lost, inverse


def halves(x: Lane) -> tuple[Lane, Lane]:
    """Return x as a sum of two numbers with half as many digits."""
    high = from_bits(bits(x) & x.pick(-(1 << 12), -(1 << 27)))
    return high, plain(x, "fsub", high)


def plain(x: Lane, how: str, y: Any) -> Lane:
    """Return the result of one operation, rounded on its own: it is never fused with another."""
    return x.new(getattr(x.b, how)(x.v, x.like(y).v))


@functools.cache
def has(feature: str) -> bool:
    """Return True if the target processor has instructions such as "fma"; without them, they would be slow calls."""
    from numba.core.registry import cpu_target

    triple, _, features = cpu_target.target_context.codegen().magic_tuple()
    return f"+{feature}" in features.split(",") or feature == "fma" and triple.startswith(("aarch64", "arm64"))


# ---------------------------------------------------------------------- functions for Numba
def function(f: Callable) -> Any:
    """Return a Numba function made from one on Lanes: float32 for float32 arguments, else float64."""

    def typed(typing: Any, *args: Any) -> tuple:
        t = types.float32 if all(a == types.float32 for a in args) else types.float64

        def emit(context: Any, builder: ir.IRBuilder, signature: Any, values: list) -> ir.Value:
            attribute(builder.function, WIDEST, "alignstack(64)")
            return f(*[Lane(builder, v) for v in values]).v

        return t(*[t] * len(args)), emit

    # Numba binds arguments to named parameters
    one, two = lambda typing, x: typed(typing, x), lambda typing, x, y: typed(typing, x, y)
    shell = one if f.__code__.co_argcount == 1 else two
    shell.__name__, shell.__doc__, shell.__module__ = f.__name__, f.__doc__, f.__module__
    return intrinsic(shell)


def rarely(name: str, odd: Callable, exact: Callable, usual: Lane, *args: Lane) -> Lane:
    """Return `usual`, but the slow `exact(*args)` in the rare lanes where `odd(*args)` holds.

    The emitted call is to a function with variants for whole vectors, under the names that LLVM's vectoriser looks up. They
    test whether any lane is odd, so the common case costs one test and the loop stays vectorised.
    Source: LLVM's Language Reference, "vector-function-abi-variant".
    """
    module, t = usual.b.module, usual.v.type
    name = f"minigrad.{name}.{usual.pick('f32', 'f64')}"
    scalar = module.globals.get(name)
    if scalar is None:
        scalar = ir.Function(module, ir.FunctionType(t, [t] * (len(args) + 1)), name)
        scalar.linkage = "linkonce_odr"
        attribute(scalar, "noinline", "nounwind", "willreturn", "memory(none)")
        b = ir.IRBuilder(scalar.append_basic_block())
        *given, result = (Lane(b, a) for a in scalar.args)
        b.ret(where(odd(*given), exact(*given), result).v)
        keep(module, [vector_variant(scalar, n, odd) for n in WIDTHS])
    made = usual.b.call(scalar, [*[x.v for x in args], usual.v])
    variants = ",".join(f"_ZGV_LLVM_N{n}{'v' * len(scalar.args)}_{name}({name}.v{n})" for n in WIDTHS)
    attribute(made, f'"vector-function-abi-variant"="{variants}"')
    return usual.new(made)


def libm(name: str) -> Callable:
    """Return the C library's function of that name."""
    return lambda x: call(name, x)


def vector_variant(scalar: ir.Function, n: int, odd: Callable) -> ir.Function:
    """Return the function for n lanes at once, which calls the scalar one for each lane only if one of them is odd."""
    t = ir.VectorType(scalar.args[0].type, n)
    f = ir.Function(scalar.module, ir.FunctionType(t, [t] * len(scalar.args)), f"{scalar.name}.v{n}")
    f.linkage = "linkonce_odr"
    attribute(f, "alwaysinline", "nounwind")
    start, careful, done = (f.append_basic_block(s) for s in ("start", "careful", "done"))
    b = ir.IRBuilder(start)
    *given, usual = f.args
    some = b.bitcast(odd(*[Lane(b, a) for a in given]).v, ir.IntType(n))
    b.cbranch(b.icmp_unsigned("!=", some, ir.Constant(ir.IntType(n), 0)), careful, done)
    b.position_at_end(careful)
    result = usual
    for i in range(n):
        at = ir.Constant(I32, i)
        lane = b.call(scalar, [b.extract_element(a, at) for a in f.args])
        result = b.insert_element(result, lane, at)
    b.branch(done)
    b.position_at_end(done)
    phi = b.phi(t)
    phi.add_incoming(usual, start)
    phi.add_incoming(result, careful)
    b.ret(phi)
    return f


def attribute(x: Any, *names: str) -> None:
    """Set attributes that llvmlite does not know."""
    for name in names:
        set.add(x.attributes, name)


def keep(module: ir.Module, functions: list) -> None:
    """Keep functions that nothing calls until the vectoriser does."""
    pointer = ir.PointerType(ir.IntType(8))
    used = module.globals.get("llvm.compiler.used")
    entries = [*(used.initializer.constant if used else []), *[f.bitcast(pointer) for f in functions]]
    t = ir.ArrayType(pointer, len(entries))
    if used is None:
        used = ir.GlobalVariable(module, t, "llvm.compiler.used")
        used.linkage, used.section = "appending", "llvm.metadata"
    used.value_type, used.type, used.initializer = t, ir.PointerType(t), ir.Constant(t, entries)
