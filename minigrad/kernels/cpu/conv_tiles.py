"""The innermost loops of convolutions, as LLVM code with the sums in vector registers.

Loops in Python that Numba compiles keep their sums in memory and spend their time on loading them. These two functions hold
a whole tile of sums in registers: as many as the processor has, less a few for the operands. Both read the windows in place
through a list of offsets, so no window is copied (Dukhan, "The indirect convolution algorithm", 2019). conv_cpu.py shows how
they are used.
"""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic

I64 = ir.IntType(64)
CONTRACT = ("contract",)


@functools.cache
def registers() -> tuple:
    """Return the number of vector registers of the processor that Numba compiles for, and the bytes in each."""
    triple, _, features = cpu_target.target_context.codegen().magic_tuple()
    if triple.startswith(("aarch64", "arm64")):
        return 32, 16
    known = features.split(",")
    return (32, 64) if "+avx512f" in known else (16, 32) if "+avx" in known else (16, 16)


def lanes(itemsize: int) -> int:
    """Return the number of elements in a register."""
    return registers()[1] // itemsize


class TileCode:
    """Building blocks of both functions: addresses, vectors, and a loop that carries sums."""

    def __init__(self, context: Any, builder: ir.IRBuilder, signature: Any, args: tuple):
        self.b, self.element = builder, context.get_value_type(signature.args[0].dtype)
        self.size = signature.args[0].dtype.bitwidth // 8
        self.width = lanes(self.size)
        self.vector = ir.VectorType(self.element, self.width)
        self.args = [
            context.make_array(t)(context, builder, a).data if isinstance(t, types.Array) else a
            for t, a in zip(signature.args, args)
        ]

    def number(self, pointer: ir.Value, i: ir.Value) -> ir.Value:
        """Return the number at an index."""
        return self.b.load(self.b.gep(pointer, [i]))

    def place(self, pointer: ir.Value, i: ir.Value) -> ir.Value:
        """Return the address of the vector that begins at an index."""
        return self.b.bitcast(self.b.gep(pointer, [i]), self.vector.as_pointer())

    def load(self, pointer: ir.Value, i: ir.Value) -> ir.Value:
        return self.b.load(self.place(pointer, i), align=self.size)

    def store(self, value: ir.Value, pointer: ir.Value, i: ir.Value) -> None:
        self.b.store(value, self.place(pointer, i), align=self.size)

    def repeated(self, number: ir.Value) -> ir.Value:
        """Return a vector filled with a number."""
        one = self.b.insert_element(ir.Constant(self.vector, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
        return self.b.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), self.width), None))

    def added(self, total: ir.Value, x: ir.Value, y: ir.Value) -> ir.Value:
        """Return total + x * y, fused if the processor can."""
        return self.b.fadd(total, self.b.fmul(x, y, flags=CONTRACT), flags=CONTRACT)

    def loop(self, stop: ir.Value, step: int, sums: list, body: Any) -> list:
        """Return the vectors `sums` after sums = body(i, sums) for i = 0, step, ... below stop."""
        b, before = self.b, self.b.block
        head, inside, after = (b.append_basic_block(n) for n in ("tile", "tile.body", "tile.end"))
        b.branch(head)
        b.position_at_end(head)
        i = b.phi(I64)
        i.add_incoming(I64(0), before)
        carried = [b.phi(self.vector) for _ in sums]
        for c, begin in zip(carried, sums):
            c.add_incoming(begin, before)
        b.cbranch(b.icmp_signed("<", i, stop), inside, after)
        b.position_at_end(inside)
        for c, new in zip(carried, body(i, carried)):
            c.add_incoming(new, b.block)
        i.add_incoming(b.add(i, I64(step)), b.block)
        b.branch(head)
        b.position_at_end(after)
        return carried


@intrinsic
def copy(typing: Any, x: Any, at: Any, y: Any, to: Any, size: Any) -> tuple:
    """Emit y[to + i] = x[at + i] for i in range(size): slicing arrays costs more than copying a short row."""

    def generate(context: Any, builder: Any, signature: Any, args: tuple) -> Any:
        code = TileCode(context, builder, signature, args)
        x, at, y, to, size = code.args
        cgutils.raw_memcpy(builder, builder.gep(y, [to]), builder.gep(x, [at]), size, code.size)
        return context.get_dummy_value()

    return types.void(x, types.int64, y, types.int64, types.int64), generate


@intrinsic
def stride(typing: Any, x: Any, at: Any, each: Any, y: Any, to: Any, every: Any, size: Any) -> tuple:
    """Emit y[to + i * every] = x[at + i * each] for i in range(size)."""

    def generate(context: Any, builder: Any, signature: Any, args: tuple) -> Any:
        x, at, each, y, to, every, size = TileCode(context, builder, signature, args).args
        with cgutils.for_range(builder, size) as loop:
            place = builder.gep(y, [builder.add(to, builder.mul(loop.index, every))])
            builder.store(builder.load(builder.gep(x, [builder.add(at, builder.mul(loop.index, each))])), place)
        return context.get_dummy_value()

    i = types.int64
    return types.void(x, i, i, y, i, i, i), generate


def slide(rows: int, vectors: int = 3) -> Any:
    """Return the function slide(x, at, offsets, depth, w, bias, more, y, to, pitch): for r < rows and i < vectors * lanes

    y[to + r * pitch + i] = bias[r] + sum over k < depth of w[k * rows + r] * x[at + offsets[k] + i]; added to y if `more`
    """

    @intrinsic
    def emitted(typing, x, at, offsets, depth, w, bias, more, y, to, pitch):
        def generate(context: Any, builder: Any, signature: Any, args: tuple) -> Any:
            code = TileCode(context, builder, signature, args)
            x, at, offsets, depth, w, bias, more, y, to, pitch = code.args
            b = builder
            start = b.gep(x, [at])
            begin = [code.repeated(code.number(bias, I64(r))) for r in range(rows) for _ in range(vectors)]

            def body(k: Any, sums: list) -> list:
                here = code.number(offsets, k)
                xs = [code.load(start, b.add(here, I64(v * code.width))) for v in range(vectors)]
                first, found = b.mul(k, I64(rows)), []
                for r in range(rows):
                    factor = code.repeated(code.number(w, b.add(first, I64(r))))
                    found += [code.added(sums[r * vectors + v], factor, xs[v]) for v in range(vectors)]
                return found

            sums = code.loop(depth, 1, begin, body)
            rows_at = [b.add(to, b.mul(pitch, I64(r))) for r in range(rows)]
            places = [b.add(row, I64(v * code.width)) for row in rows_at for v in range(vectors)]
            with b.if_else(more) as (then, otherwise):
                with then:
                    for total, place in zip(sums, places):
                        code.store(b.fadd(total, code.load(y, place)), y, place)
                with otherwise:
                    for total, place in zip(sums, places):
                        code.store(total, y, place)
            return context.get_dummy_value()

        i = types.int64
        return types.void(x, i, offsets, i, w, bias, types.boolean, y, i, i), generate

    return emitted


def correlate(rows: int, columns: int) -> Any:
    """Return the function correlate(g, pitch, x, offsets, size, out, width): for r in range(rows) and k in range(columns)

    out[r * width + k] += sum over i < size, a multiple of the lanes, of g[r * pitch + i] * x[offsets[k] + i]
    """

    @intrinsic
    def emitted(typing, g, pitch, x, offsets, size, out, width):
        def generate(context: Any, builder: Any, signature: Any, args: tuple) -> Any:
            code = TileCode(context, builder, signature, args)
            g, pitch, x, offsets, size, out, width = code.args
            b = builder
            lines = [b.gep(x, [code.number(offsets, I64(k))]) for k in range(columns)]
            starts = [b.gep(g, [b.mul(pitch, I64(r))]) for r in range(rows)]

            def body(i: Any, sums: list) -> list:
                xs, gs = [code.load(p, i) for p in lines], [code.load(p, i) for p in starts]
                return [code.added(sums[r * columns + k], gs[r], xs[k]) for r in range(rows) for k in range(columns)]

            sums = code.loop(size, code.width, [ir.Constant(code.vector, None)] * (rows * columns), body)
            name = f"llvm.vector.reduce.fadd.v{code.width}f{8 * code.size}"
            kind = ir.FunctionType(code.element, [code.element, code.vector])
            total = cgutils.get_or_insert_function(b.module, kind, name)
            for r in range(rows):
                for k in range(columns):
                    place = b.gep(out, [b.add(b.mul(width, I64(r)), I64(k))])
                    found = b.call(total, [code.element(0), sums[r * columns + k]], fastmath=("reassoc",))
                    b.store(b.fadd(b.load(place), found), place)
            return context.get_dummy_value()

        return types.void(g, types.int64, x, offsets, types.int64, out, types.int64), generate

    return emitted
