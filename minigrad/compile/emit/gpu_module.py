"""The text of a compiled program for a GPU: kernels, and a plain function that launches them in turn.

What a program is, which of its values get memory and how they are called is as on the processor (module_text.py).  A loop
becomes a kernel (gpu_loops.py, gpu_rows.py); products, copies and calls of operations stand in the function as they would
in NumPy, for arrays on the device answer its functions.  Numbers that the program computes stay in the device's memory, as
arrays without dimensions, so that nothing waits for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels import formula
from ...kernels.cuda import flat
from ..buffers import stored, written_directly
from ..fuse import Group, loop_index, schedule
from ..ir import F8, Lowering, Op, V
from ..value_reads import Number
from .gpu_loops import Adds, Columns, Elements, Picks, block_function
from .gpu_rows import RowKernel
from .library_calls import call
from .module_text import Program, Writer, check, comment, indent, words
from .names import Spelling, cast, dtype_text
from .split_for_gpu import apart

KERNELS = {"elements": Elements, "rows": RowKernel, "columns": Columns, "pick": Picks, "scatter": Adds}
HELPERS = {f"block_{kind}_{dtype}": block_function(kind, dtype)
           for kind, dtype in [("sum", "float64"), ("sum", "int64"), ("max", "float32"), ("max", "float64")]}  # fmt: skip
LAUNCHING = ("Outside", "call", "empty", "full", "joined", "parts", "rows", "shares", "threads")
CONVERSIONS = ("of_bfloat16", "to_bfloat16")
RESERVED = {"cuda", "grid", "block", "count", "part", "row", "rest", "outside", "bfloat16", *flat.IMPORTS, *flat.LOCALS,
            *LAUNCHING, *CONVERSIONS, *HELPERS}  # fmt: skip


class DeviceSpelling(Spelling):
    """How values are written: arrays come from the device, and numbers lie there as arrays of one element."""

    def __init__(self, low: Lowering, inputs: list[V], reserved: set):
        super().__init__(low, inputs, reserved)
        self.places: list[str] = []  # of the operations whose kernels leave indices that they cannot follow

    def outside(self, op: Op) -> str:
        """The cell for an index that an operation cannot follow."""
        self.places.append(op.name if op.place is None else f"{op.name} at {comment(op)[2:]}")
        return f"outside[{len(self.places) - 1}]"

    def repeated(self, v: V) -> str:
        return f"full({self.shape(v)}, {self.literal(v.content, v.dtype)}, {dtype_text(v.dtype)})"

    def number(self, a: Number) -> str:
        return f"{self.numbers[a.name]}.item()"

    def empty(self, v: V) -> str:
        return f"empty({self.shape(v)}, {dtype_text(v.dtype)})"

    def copied(self, v: V) -> str:
        """A copy of v in memory of its own."""
        return self.repeated(v) if v.kind == "uniform" else f"{self.view(v)}.copy()"

    def element(self, base: V, at: list) -> str:
        return f"{self.name(base)}[0]" if base.kind != "uniform" and not base.shape else super().element(base, at)

    def literal(self, a: Any, dtype: np.dtype, op: Op | None = None) -> str:
        return cast(f"{self.numbers[a.name]}[0]", F8, dtype) if isinstance(a, Number) else super().literal(a, dtype, op)


class DeviceWriter(Writer):
    """Writes the module for one lowered program."""

    spelled, reserved = DeviceSpelling, RESERVED

    def __init__(self, low: Lowering, inputs: list[V], outputs: list[V], writes: list[tuple[V, V]], name: str):
        super().__init__(low, inputs, outputs, writes, name)
        self.kernels: list[str] = []

    def write(self) -> Program:
        """The text, from the groups in their order."""
        self.name_inputs()
        kept = {self.low.base(v) for v in [*self.outputs, *[w for _, w in self.writes]]}
        self.groups = apart(self.low, schedule(self.low, {*self.inputs, *self.low.constants}, kept), kept)
        self.name_results()
        self.stored = stored(self.low, self.groups, self.outputs, self.writes)
        whole = {o for g in self.groups if g.kind == "elements" for op in g.ops for o in op.outs}
        direct = written_directly(self.low, self.groups, self.outputs, self.writes)
        self.direct = {
            p: v for p, v in direct.items() if v in whole
        }  # rows are computed again and again from what they read
        for p, v in self.direct.items():
            self.spelling.names[v] = self.spelling.names[p]
        lines = [line for g in self.groups for line in self.group(g)]
        lines += [f"{self.spelling.name(p)}[...] = {self.spelling.view(v)}" for p, v in self.writes
                  if p not in self.direct and p.shape]  # fmt: skip
        returned = self.results()
        lines.append(f"return {', '.join(returned)}{',' if len(returned) == 1 else ''}" if returned else "return ()")
        self.read = set(words(lines))
        head = f"def {self.entry}({', '.join([*self.arguments(), *['statics'] * bool(self.spelling.statics)])}):"
        body = "\n\n\n".join([*self.kernels, "\n".join([head, *indent(lines)])])
        text = f"{self.head(body)}\n\n\n{body}\n"
        check(text)
        return Program(
            text, self.entry, self.parameters(), tuple(self.spelling.statics), self.groups, self.low.notes, True
        )

    def results(self) -> list[str]:
        """What the function returns: each value in memory of its own."""
        texts, given = [], set()
        for v in self.outputs:
            base, index = self.low.base(v), loop_index(v.shape)
            same = base is v or self.low.resolve(v, index) == (base, index) and v.shape == base.shape
            texts.append(self.spelling.view(base) if same and base not in given else self.spelling.copied(v))
            given.add(base)
        return texts

    # ------------------------------------------------------------------ lines
    def group(self, g: Group) -> list[str]:
        """The lines of one group; a kernel's text goes before the function."""
        comments = list(dict.fromkeys([comment(op) for op in g.ops if op.place is not None]))
        if g.kind not in KERNELS:
            return ["", *comments, *STATEMENTS[g.kind](self.spelling, g.ops[0])]
        name = self.spelling.free(f"{self.entry}_{len(self.kernels)}")
        kernel, lines = KERNELS[g.kind](self.spelling, g, self.stored, self.direct).write(name)
        head, _, body = kernel.partition("\n    ")
        self.kernels.append("\n    ".join([head, *comments, body]))
        return ["", *comments, *lines]

    def head(self, body: str) -> str:
        """The module's first lines: what it is, imports, constants, helpers."""
        named = set(words([body]))
        imports: dict[str, list] = {"numba": ["cuda"]}
        for module, name in sorted(k for k in self.needs if isinstance(k, tuple)):
            if name != "product":
                imports.setdefault(formula.CUDA.import_of(module), []).append(name)
        for together in (flat.IMPORTS, CONVERSIONS):
            if named.intersection(together):
                imports.setdefault(formula.CUDA.import_of("math"), []).extend(together)
        if "bfloat16" in named:
            imports["ml_dtypes"] = ["bfloat16"]
        helpers = [
            text for name, text in HELPERS.items() if name in named or name.replace("block_max", "higher") in named
        ]
        launching = [n for n in LAUNCHING if n in named or n == "Outside" and self.spelling.places]
        if launching:
            imports["minigrad.compile.emit.gpu_launches"] = launching
        title = f'"""{self.entry}, compiled by minigrad for a GPU: a kernel stands for the lines of the program above it."""'
        lines = [title, "", "import numpy as np"]
        lines += [f"from {module} import {', '.join(names)}" for module, names in sorted(imports.items())]
        outside = [f"outside = Outside({tuple(self.spelling.places)!r})"] * bool(self.spelling.places)
        definitions = outside + [
            k if k.startswith("\n\n@") else k.strip("\n") for k in self.needs if isinstance(k, str)
        ]
        lines += ["", *definitions] if definitions else []
        return "\n".join([*lines, *[f"\n\n{text.rstrip()}" for text in helpers]])


# ---------------------------------------------------------------------- what is no loop
def dot(s: DeviceSpelling, op: Op) -> list[str]:
    """A product of matrices or vectors."""
    x, y = [s.view(v) for v in op.ins]
    return [f"{s.name(op.outs[0], 'dot')} = np.matmul({x}, {y})"]


def reshape(s: DeviceSpelling, op: Op) -> list[str]:
    """The elements in order under another shape."""
    return [f"{s.name(op.outs[0], 'reshape')} = {s.view(op.ins[0])}.reshape({s.shape(op.outs[0])})"]


def fill(s: DeviceSpelling, op: Op) -> list[str]:
    """Zeros with parts of them filled in."""
    out, name = op.outs[0], s.name(op.outs[0], "unindex")
    lines = [f"{name} = full({s.shape(out)}, 0, {dtype_text(out.dtype)})"]
    # of fills that were joined to one, the places are still parts of what each of them made
    return [*lines, *[f"{s.view(place, name)}[...] = {s.view(x)}" for x, place in zip(op.ins, op.data["places"])]]


STATEMENTS = {"dot": dot, "reshape": reshape, "fill": fill, "call": call}
