"""The product of two matrices for generated code: one call of BLAS, into memory that is there already.

`np.dot` does the same, but Numba compiles a tenth of a second for each combination of layouts.  The function here emits the
call alone; it is the one that Numba's own uses, and finds BLAS in SciPy.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

CHAR, INT, WORD, POINTER = ir.IntType(8), ir.IntType(32), cgutils.intp_t, ir.IntType(8).as_pointer()
GEMM = [CHAR, CHAR, CHAR, WORD, WORD, WORD, POINTER, POINTER, WORD, POINTER, WORD, POINTER, POINTER, WORD]
KINDS = {types.float32: "s", types.float64: "d"}


@intrinsic
def product(typing: Any, x: Any, y: Any, out: Any) -> tuple | None:
    """out = x @ y for matrices of one dtype; x and y lie in memory in rows or in columns, out in rows."""
    given = (x, y, out)
    if not all(isinstance(t, types.Array) and t.ndim == 2 and t.dtype == out.dtype and t.aligned for t in given):
        return None
    if out.layout != "C" or not {x.layout, y.layout} <= {"C", "F"} or out.dtype not in KINDS:
        return None
    return types.void(*given), emit


def emit(context: Any, b: ir.IRBuilder, signature: Any, values: Any) -> Any:
    """The call.  BLAS counts in columns: what lies in rows it sees transposed, and y.T @ x.T is (x @ y).T."""
    x, y, out = [Matrix(context, b, t, v) for t, v in zip(signature.args, values)]
    function = cgutils.get_or_insert_function(b.module, ir.FunctionType(INT, GEMM), "numba_xxgemm")
    real = context.get_value_type(signature.args[2].dtype)
    one, zero = [b.bitcast(cgutils.alloca_once_value(b, ir.Constant(real, c)), POINTER) for c in (1.0, 0.0)]
    kind = ir.Constant(CHAR, ord(KINDS[signature.args[2].dtype]))
    sizes = y.columns, x.rows, x.columns
    b.call(function, [kind, y.turn, x.turn, *sizes, one, y.data, y.step, x.data, x.step, zero, out.data, out.step])
    return context.get_dummy_value()


class Matrix:
    """What BLAS is told of an array."""

    def __init__(self, context: Any, b: ir.IRBuilder, t: Any, value: Any):
        a = context.make_array(t)(context, b, value)
        self.rows, self.columns = cgutils.unpack_tuple(b, a.shape, 2)
        by_rows, least = t.layout == "C", ir.Constant(WORD, 1)
        step = self.columns if by_rows else self.rows
        self.step = b.select(b.icmp_signed(">", step, least), step, least)
        self.turn = ir.Constant(CHAR, ord("n" if by_rows else "t"))
        self.data = b.bitcast(a.data, POINTER)
