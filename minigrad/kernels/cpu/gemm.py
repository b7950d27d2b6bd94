"""The product of two matrices for generated code: one BLAS call that writes into existing memory.

`np.dot` does the same, but Numba takes 0.1 s to compile it for each combination of layouts. The function here emits just the
call, the same one that Numba uses, which finds BLAS in SciPy.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

CHAR, INT, WORD, POINTER = ir.IntType(8), ir.IntType(32), cgutils.intp_t, ir.IntType(8).as_pointer()
GEMM = [CHAR, CHAR, CHAR, WORD, WORD, WORD, POINTER, POINTER, WORD, POINTER, WORD, POINTER, POINTER, WORD]
GEMV = [CHAR, CHAR, WORD, WORD, POINTER, POINTER, WORD, POINTER, POINTER, POINTER]
KINDS = {types.float32: "s", types.float64: "d"}


@intrinsic
def product(typing: Any, x: Any, y: Any, out: Any) -> tuple | None:
    """Emit out = x @ y for matrices of one dtype; x and y are stored by rows or columns, possibly with gaps, out by rows."""
    given = (x, y, out)
    if not all(isinstance(t, types.Array) and t.ndim == 2 and t.dtype == out.dtype and t.aligned for t in given):
        return None
    if out.layout != "C" or out.dtype not in KINDS:
        return None
    return types.void(*given), emit


def emit(context: Any, b: ir.IRBuilder, signature: Any, values: Any) -> Any:
    """Emit the call. If an operand is a vector, call the matrix-vector function, which takes half the time."""
    x, y, out = [Matrix(context, b, t, v) for t, v in zip(signature.args, values)]
    dtype = signature.args[2].dtype
    one, zero = [b.bitcast(cgutils.alloca_once_value(b, context.get_constant(dtype, c)), POINTER) for c in (1.0, 0.0)]
    kind = ir.Constant(CHAR, ord(KINDS[dtype]))

    def call(name: str, types: list, *args: Any) -> None:
        b.call(cgutils.get_or_insert_function(b.module, ir.FunctionType(INT, types), name), [kind, *args])

    def times_vector(a: Matrix, turn: Any, vector: Any) -> None:
        call("numba_xxgemv", GEMV, turn, *a.sizes, one, a.data, a.step, vector, zero, out.data)

    def is_vector(a: Matrix, size: Any) -> Any:  # GEMV leaves the result untouched for sums of no terms
        some = b.icmp_signed(">", x.columns, ir.Constant(WORD, 0))
        return b.and_(b.and_(a.dense, some), b.icmp_signed("==", size, ir.Constant(WORD, 1)))

    with b.if_else(is_vector(y, y.columns)) as (then, otherwise):
        with then:
            times_vector(x, x.other_turn, y.data)
        with otherwise, b.if_else(is_vector(x, x.rows)) as (then, otherwise):
            with then:
                times_vector(y, y.turn, x.data)
            with otherwise:  # BLAS is column-major: it sees rows transposed, and y.T @ x.T is (x @ y).T
                sizes, operands = (y.columns, x.rows, x.columns), (y.data, y.step, x.data, x.step)
                call("numba_xxgemm", GEMM, y.turn, x.turn, *sizes, one, *operands, zero, out.data, out.step)
    return context.get_dummy_value()


class Matrix:
    """A matrix as BLAS sees it. If it is not `dense`, there are gaps between its rows or columns."""

    def __init__(self, context: Any, b: ir.IRBuilder, t: Any, value: Any):
        a = context.make_array(t)(context, b, value)
        self.rows, self.columns = cgutils.unpack_tuple(b, a.shape, 2)
        self.dense = cgutils.bool_t(t.layout in "CF")
        down, along = [b.sdiv(n, a.itemsize) for n in cgutils.unpack_tuple(b, a.strides, 2)]
        one = ir.Constant(WORD, 1)
        by_rows = cgutils.bool_t(t.layout == "C") if t.layout in "CF" else b.icmp_signed("==", along, one)
        self.sizes = b.select(by_rows, self.columns, self.rows), b.select(by_rows, self.rows, self.columns)
        step = self.sizes[0] if t.layout in "CF" else b.select(by_rows, down, along)
        self.step = b.select(b.icmp_signed(">", step, one), step, one)
        normal, turned = [ir.Constant(CHAR, ord(c)) for c in "nt"]
        self.turn, self.other_turn = b.select(by_rows, normal, turned), b.select(by_rows, turned, normal)
        self.data = b.bitcast(a.data, POINTER)
