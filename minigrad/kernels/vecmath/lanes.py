"""Numbers in the making: functions written with Python's operators that emit LLVM code when Numba compiles their callers.

A `Lane` stands for one number of a loop.  `x * 2 + y` on Lanes emits a multiplication and an addition in the type of x
(a Python number takes the type of what it meets, so nothing widens), and `where` emits a select: code without branches,
which LLVM turns into vector instructions.  `@function` makes of such a function one that Numba's code can call.

Multiplications may be contracted with additions into fused ones, nothing else: reassociation would undo compensated
sums, and the other fast-math flags would lose NaN, infinity, the sign of zero or quotients of denormals.
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
WIDTHS = (2, 4, 8, 16)  # how many lanes the processors' vectors have
CONTRACT = ("contract",)
# Where there are vectors of 512 bits LLVM prefers those of 256 on Intel's processors, since the first to have them ran at
# a lower clock then.  The wider ones take 0.7 of the time for exp, erf, log, sigmoid, 0.4 for tanh (Emerald Rapids).
WIDEST = '"prefer-vector-width"="512"'


class Lane:
    """One number (or, inside `rarely`, a whole vector of them), and the builder that emits what is done with it."""

    __slots__ = ("b", "v")

    def __init__(self, b: ir.IRBuilder, v: ir.Value):
        self.b, self.v = b, v

    @property
    def element(self) -> ir.Type:
        """The type of one number."""
        return self.v.type.element if isinstance(self.v.type, ir.VectorType) else self.v.type

    @property
    def real(self) -> bool:
        """Whether it is a floating-point number."""
        return self.element in (F32, F64)

    def new(self, v: ir.Value) -> Lane:
        return Lane(self.b, v)

    def like(self, c: Any) -> Lane:
        """A Python number as a constant of this lane's type; Lanes as they are."""
        if isinstance(c, Lane):
            return c
        t = self.v.type
        return self.new(ir.Constant(t, [ir.Constant(t.element, c)] * t.count if isinstance(t, ir.VectorType) else c))

    def pick(self, single: Any, double: Any) -> Any:
        """The one of two constants or tables that is meant for this lane's precision."""
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
    # logical: vectors of int64 have no other before AVX-512
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
        """A real number in another precision."""
        if self.v.type == t:
            return self
        return self.new(self.b.fpext(self.v, t) if t == F64 else self.b.fptrunc(self.v, t))


# ---------------------------------------------------------------------- the words that formulas are made of
def where(c: Lane, x: Any, y: Any) -> Lane:
    """x where c holds, else y; both have been computed."""
    x = y.like(x) if isinstance(y, Lane) else x
    return x.new(x.b.select(c.v, x.v, x.like(y).v))


def call(name: str, x: Lane, *more: Any) -> Lane:
    """One of LLVM's own functions that is a single instruction, such as sqrt."""
    args = [x.v, *[x.like(a).v for a in more]]
    return x.new(x.b.call(declared(x.b.module, f"llvm.{name}.{suffix(x.v.type)}", *[a.type for a in args]), args))


def declared(module: ir.Module, name: str, *types: ir.Type) -> ir.Function:
    """The declaration of a function that is compiled already, which gives what its first argument is."""
    return module.globals.get(name) or ir.Function(module, ir.FunctionType(types[0], types), name)


def suffix(t: ir.Type) -> str:
    """What LLVM appends to the names of its functions for a type."""
    if isinstance(t, ir.VectorType):
        return f"v{t.count}{suffix(t.element)}"
    return {F32: "f32", F64: "f64", I32: "i32"}[t]


def bits(x: Lane) -> Lane:
    """A real number's bits as an integer."""
    return x.new(x.b.bitcast(x.v, x.pick(I32, I64)))


def from_bits(i: Lane) -> Lane:
    """The real number with these bits."""
    return i.new(i.b.bitcast(i.v, i.pick(F32, F64)))


MANTISSA, BIAS = (23, 52), (127, 1023)
MAGIC = (1.5 * 2.0**23, 1.5 * 2.0**52)  # adding it rounds to integers, which then stand in the lowest bits
MAGIC_BITS = (0x4B400000, 0x4338000000000000)


def nearest(x: Lane, factor: float) -> tuple[Lane, Lane]:
    """x * factor rounded to an integer, as a real number and as an integer; |x * factor| < 2**21."""
    shifted = x * factor + x.pick(*MAGIC)
    return shifted - x.pick(*MAGIC), bits(shifted) - x.pick(*MAGIC_BITS)


def to_real(i: Lane) -> Lane:
    """An integer below 2**21 as a real number: there is no vector instruction for int64 before AVX-512."""
    return from_bits(i + i.pick(*MAGIC_BITS)) - i.pick(*MAGIC)


def pow2(i: Lane) -> Lane:
    """2**i as a real number, for an integer i in the range of normal exponents."""
    return from_bits((i + i.pick(*BIAS)) << i.pick(*MANTISSA))


def scale(x: Lane, i: Lane) -> Lane:
    """x * 2**i, for i far out: denormals are rounded once, too large ones are infinite.

    AVX-512 has an instruction for it, all others take two multiplications.
    """
    if has("avx512vl"):
        return ldexp(x, i)
    big = i.pick(1 << 20, 1 << 20)
    half = ((i + big) >> 1) - big // 2
    return x * pow2(half) * pow2(i - half)


def ldexp(x: Lane, i: Lane) -> Lane:
    """x * 2**i by LLVM's own function."""
    t = ir.VectorType(I32, x.v.type.count) if isinstance(x.v.type, ir.VectorType) else I32
    f = declared(x.b.module, f"llvm.ldexp.{suffix(x.v.type)}.{suffix(t)}", x.v.type, t)
    return x.new(x.b.call(f, [x.v, i.v if i.v.type == t else x.b.trunc(i.v, t)]))


def polynomial(x: Lane, coefficients: tuple) -> Lane:
    """c[0] + c[1] * x + c[2] * x**2 + ..., by Horner's rule."""
    *rest, total = coefficients
    for c in reversed(rest):
        total = x * total + c
    return x.like(total)


def sign_of(x: Lane, y: Lane) -> Lane:
    """x with the sign of y, be it that of a zero."""
    return call("copysign", x, y)


# ---------------------------------------------------------------------- sums and products without rounding errors
def fast_two_sum(x: Any, y: Any) -> tuple[Lane, Lane]:
    """x + y rounded, and what rounding lost, where |x| >= |y|.  Source: Dekker (1971)."""
    x = x if isinstance(x, Lane) else y.like(x)
    s = plain(x, "fadd", y)
    return s, plain(x.like(y), "fsub", plain(s, "fsub", x))


def two_sum(x: Any, y: Any) -> tuple[Lane, Lane]:
    """x + y rounded, and what rounding lost.  Source: Knuth, The Art of Computer Programming 2, 4.2.2."""
    x = x if isinstance(x, Lane) else y.like(x)
    s = plain(x, "fadd", y)
    part = plain(s, "fsub", x)
    return s, plain(plain(x, "fsub", plain(s, "fsub", part)), "fadd", plain(x.like(y), "fsub", part))


def two_product(x: Lane, y: Any) -> tuple[Lane, Lane]:
    """x * y rounded, and what rounding lost: by a fused multiplication, or halves of the mantissas (Dekker 1971)."""
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
    """x * y + z, rounded once; only where the processor has that (`has`)."""
    return x.new(x.b.fma(x.v, x.like(y).v, z.v))


def quotient(x: Lane, y: Lane) -> tuple[Lane, Lane, Lane]:
    """x / y as x * (1 / y), what that leaves of x, and 1 / y: a correction is what is left, times 1 / y."""
    inverse = 1 / y
    q = x * inverse
    p, lost = two_product(q, y)
    return q, (x - p) - lost, inverse


def halves(x: Lane) -> tuple[Lane, Lane]:
    """x as a sum of two numbers of half as many digits."""
    high = from_bits(bits(x) & x.pick(-(1 << 12), -(1 << 27)))
    return high, plain(x, "fsub", high)


def plain(x: Lane, how: str, y: Any) -> Lane:
    """One operation, rounded as it stands: without leave to contract it with another."""
    return x.new(getattr(x.b, how)(x.v, x.like(y).v))


@functools.cache
def has(feature: str) -> bool:
    """Whether the processor that Numba compiles for has some instructions, such as "fma"; without, they would be slow calls."""
    from numba.core.registry import cpu_target

    triple, _, features = cpu_target.target_context.codegen().magic_tuple()
    return f"+{feature}" in features.split(",") or feature == "fma" and triple.startswith(("aarch64", "arm64"))


# ---------------------------------------------------------------------- functions for Numba
def function(f: Callable) -> Any:
    """A Numba function out of one on Lanes: float32 for float32 arguments, else float64."""

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
    """`usual`, but the slow `exact(*args)` in the rare lanes for which `odd(*args)` holds.

    The call is to a function of which there are variants for whole vectors, under the names that LLVM's vectoriser looks
    for.  They ask whether any lane is odd, so that the common case costs one test and the loop stays vectorised.
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
    """The C library's function of that name."""
    return lambda x: call(name, x)


def vector_variant(scalar: ir.Function, n: int, odd: Callable) -> ir.Function:
    """The same function for n lanes at once, which calls it lane by lane only if one of them is odd."""
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
    """Set attributes that llvmlite has no list of."""
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
