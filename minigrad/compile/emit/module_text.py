"""The source of a compiled program: one Numba module, written to be read.

Variables keep the user's names, each loop has the user's lines above it, and sizes come from the shapes of arrays, so that the
source does not depend on the batch size. If an operation has no rule, the entry is a plain Python function that calls it
between compiled parts. This file assembles the module; cpu_loops.py writes the lines of loops, library_calls.py all other
lines, and subfunctions.py splits them into functions.
"""

import re
from typing import Any

import numpy as np

from ...arrays.dtypes import HALVES
from ...arrays.kinds import as_array
from ...kernels.formula import CUDA
from ..buffers import reusable_arrays, stored, written_directly
from ..fuse import FusedGroup, by_rows, schedule
from ..ir import Lowering, Op, Value
from ..postponing import postpone
from ..symbols import is_symbolic
from .cpu_loops import FusedLoop
from .cpu_rows import ROW_SUM, RowLoops
from .library_calls import STATEMENTS, whole
from .names import Spelling
from .subfunctions import (
    JIT,
    LineBlock,
    connect,
    freed,
    identifiers,
    indent,
    merge_repeated,
    merged,
    shared,
    shared_loops,
)

LOOPS = {"loop": FusedLoop, **dict.fromkeys(("rows", "pick", "scatter"), RowLoops)}
LONGEST = 24  # maximum length of a number's variable


class GeneratedProgram:
    """A generated module and its parameters."""

    def __init__(self, text: str, name: str, params: list, statics: tuple, groups: list, notes: list, on_device: bool):
        self.text, self.name, self.params, self.statics = text, name, params, statics
        self.groups, self.notes, self.on_device = groups, notes, on_device


class ModuleWriter:
    """Writes the module for one lowered program."""

    spelled: type[Spelling] = Spelling  # writes values
    reserved: set[str] = set()  # other names used in the module
    title = "{}, compiled by minigrad: each loop implements the program lines above it."
    decorator, helpers = "njit", (ROW_SUM,)
    offered = [  # possible imports of the source
        ("minigrad.compile.emit.module_text", "call"),
        *[("minigrad.kernels.cpu.new_arrays", n) for n in ("empty", "flat", "zeros")],
        *[("minigrad.kernels.vecmath", n) for n in ("higher", "peak", "plus")],
    ]

    def __init__(
        self, low: Lowering, inputs: list[Value], outputs: list[Value], writes: list[tuple[Value, Value]], name: str
    ):
        self.low, self.inputs, self.outputs, self.writes = low, inputs, outputs, writes
        self.needs: dict = {}  # requirements of formulas: (module, name) to import, or the source of a definition
        for op in low.ops:
            self.needs.update(op.data.get("needs", {}))
        self.spelling = self.spelled(low, inputs, {*self.reserved, *defined(self.needs)})
        self.entry = self.spelling.free(name)  # renamed if, for example, the program is called exp and computes exp

    def write(self) -> GeneratedProgram:
        """Return the program, written group by group."""
        self.name_inputs()
        kept = {self.low.base(v) for v in [*self.outputs, *[w for _, w in self.writes]]}
        self.groups = self.grouped(kept)
        self.name_results()
        self.stored = stored(self.low, self.groups, self.outputs, self.writes)
        self.direct = written_directly(self.low, self.groups, self.outputs, self.writes)
        self.place_results(kept)
        for p, v in self.direct.items():
            self.spelling.names[v] = self.spelling.names[p]
        for op in [op for op in self.low.ops if op.data.get("inside") and op.ins[0] in self.direct.values()]:
            self.spelling.names[op.outs[0]] = self.spelling.names[op.ins[0]]
        body = self.functions()
        text = f"{self.head(body)}\n\n\n{body}\n"
        statics, on_device = tuple(self.spelling.statics), self.low.target is CUDA
        return GeneratedProgram(text, self.entry, self.parameters(), statics, self.groups, self.low.notes, on_device)

    def grouped(self, kept: set) -> list[FusedGroup]:
        """Return the groups that are written together, in order."""
        groups = schedule(self.low, {*self.inputs, *self.low.constants}, kept)
        return by_rows(self.low, postpone(self.low, groups, kept))

    def place_results(self, kept: set) -> None:
        """Decide which other results reuse existing memory."""
        self.spelling.taken = reusable_arrays(self.low, self.groups, self.stored, kept, self.direct)

    # ------------------------------------------------------------------ names
    def name_inputs(self) -> None:
        """Choose the variables of the arguments, and their sizes."""
        s = self.spelling
        self.computed: list[str] = []  # comments that explain computed numbers
        for a in [a for op in self.low.ops for a in (*op.ins, *op.data.get("args", ())) if is_symbolic(a)]:
            if a.name not in s.numbers:
                s.numbers[a.name] = s.free(re.sub(r"\W+", "_", a.expression).strip("_")[:LONGEST])
                if not a.expression.isidentifier():
                    self.computed.append(f"# {s.numbers[a.name]} is {a.expression}")
        for v in [*self.inputs, *self.low.constants]:
            s.name(v, v.name or "constant")
            v.dims = [f"{s.names[v]}.shape[{d}]" for d in range(len(v.shape))]
        self.known = [s.names[v] for v in [*self.inputs, *self.low.constants]] + [*s.numbers.values()]

    def name_results(self) -> None:
        """Assign the user's variable names, and the sizes of all computed values."""
        for v in [o for op in self.low.ops for o in op.outs if o.name]:
            self.spelling.name(v, v.name)
        for op in self.low.ops:
            self.spelling.measure(op)
            if op.data.get("inside"):
                self.spelling.names[op.ins[0]] = self.spelling.name(op.outs[0], "scatter")

    def parameters(self) -> list:
        """Return the entry's parameters as pairs: kind, and which one."""
        names = self.spelling.names
        made = [("input", i) for i, v in enumerate(self.inputs) if names[v] in self.read]
        made += [("constant", v.content) for v in self.low.constants if names[v] in self.read]
        return made + [("number", n) for n in self.spelling.numbers]

    def arguments(self) -> list:
        """Return the variables of the parameters; unused arrays are left out."""
        return [n for n in self.known if n in self.read or n in self.spelling.numbers.values()]

    # ------------------------------------------------------------------ lines
    def group(self, g: FusedGroup) -> list[str]:
        """Return the lines of one group."""
        lines = comments(g)
        if g.kind in LOOPS:
            return [*lines, *LOOPS[g.kind](self.spelling, g, self.stored, self.direct).lines()]
        return [*lines, *STATEMENTS[g.kind](self.spelling, g.ops[0])]

    def blocks(self, g: FusedGroup) -> list[list[str]]:
        """Return the lines of one group, in blocks: those that fill parts of an array one by one may be repeated."""
        lines = self.group(g)
        starts = [k for k, line in enumerate(lines) if line.startswith("for ") and g.kind == "fill"]
        return [lines[a:b] for a, b in zip([0, *starts], [*starts, len(lines)])]

    def head(self, body: str) -> str:
        """Return the first lines of the module: docstring, imports, constants, helpers."""
        definitions = [*self.constants(), *[k if k.startswith("\n\n@") else k.strip("\n") for k in self.needs
                                            if isinstance(k, str)]]  # fmt: skip
        named = set(identifiers([body, *definitions]))
        helpers = [text for text in self.helpers if named & functions_in(text)]
        named |= set(re.findall(r"(\w+)\(", "\n".join(helpers)))
        needed = [(self.low.target.import_of(k[0]), k[1]) for k in self.needs if isinstance(k, tuple)]
        imports: dict[str, list] = {"numba": [self.decorator]}
        for module, name in sorted({*needed, *self.offered}):
            if name in named:
                imports.setdefault(module, []).append(name)
        lines = [f'"""{self.title.format(self.entry)}"""', "", "import numpy as np"]
        lines += [f"from {module} import {', '.join(names)}" for module, names in sorted(imports.items())]
        lines += ["", *definitions] if definitions else []
        return "\n".join([*lines, *[f"\n\n{text.rstrip()}" for text in helpers]])

    def constants(self) -> list[str]:
        """Return lines that define names of the module other than functions."""
        return []

    # ------------------------------------------------------------------ functions
    def functions(self) -> str:
        """Return the functions of the module: repeated code, the parts of long code, and the entry."""
        blocks = [LineBlock(lines, g.kind == "call") for g in self.groups for lines in self.blocks(g)]
        for p, v in [(p, v) for p, v in self.writes if p not in self.direct and p.shape]:
            lines, text = whole(self.spelling, v)
            blocks.append(LineBlock([*lines, f"{self.spelling.name(p)}[...] = {text}"]))
        results = []
        for i, v in enumerate(self.outputs):
            lines, text = whole(self.spelling, v)
            given = {self.low.base(w) for w in self.outputs[:i]}
            results.append(f"{text}.copy()" if self.low.base(v) in given and v.shape and not lines else text)
            blocks.append(LineBlock(lines))
        returns = f"return {tupled(results)}"
        self.read = set(identifiers([*[line for b in blocks for line in b.lines], returns]))
        blocks = self.connected([block for block in blocks if block.lines], returns)
        arrays = {n for v, name in self.spelling.names.items() if v.shape for n in (name, f"{name}_flat")}
        known = {*arrays, *self.spelling.names.values(), *self.known}
        loops = shared_loops(blocks, arrays, known, self.spelling.free)
        steps = merge_repeated(self.connected(blocks, returns))
        repeated, blocks = shared(self.connected(steps, returns), self.spelling.free)
        return "\n\n\n".join([*loops, *repeated, *self.entry_of(merged(blocks), returns)])

    def connected(self, blocks: list[LineBlock], returns: str) -> list[LineBlock]:
        """Return the blocks with their inputs and outputs."""
        return connect(blocks, self.known, set(self.spelling.names.values()), returns)

    def entry_of(self, parts: list[LineBlock], returns: str) -> list[str]:
        """Return the entry, preceded by the parts that it calls if a single function is not enough."""
        halves = [v for v in self.inputs if v.dtype in HALVES and self.spelling.name(v) in self.read]
        if halves or any(part.is_call for part in parts):
            return self.in_parts(self.connected(parts, returns), returns)
        if len(parts) < 2:
            return [self.function([*[line for part in parts for line in part.lines], returns], JIT)]
        parts, names = self.connected(parts, returns), [f"part_{k}" for k in range(len(parts))]
        calls = [part.call(name) for part, name in zip(parts, names)]
        return [*[part.function(name) for part, name in zip(parts, names)], self.function([*calls, returns], JIT)]

    def function(self, lines: list[str], *decorators: str) -> str:
        """Return the source of the entry."""
        given = [*self.arguments(), *["statics"] * bool(self.spelling.statics), *self.spelling.range]
        return "\n".join([*decorators, f"def {self.entry}({', '.join(given)}):", *indent([*self.computed, *lines])])

    def in_parts(self, parts: list[LineBlock], returns: str) -> list[str]:
        """Return compiled parts, and a plain function that calls them and the operations without a rule in turn."""
        texts, driver = [], []
        arrays = {n: v for v, n in self.spelling.names.items()}
        for k, part in enumerate(parts):
            if part.is_call:
                driver += part.lines
                continue
            texts.append(part.function(f"part_{k}"))
            given = [self.given(n, arrays[n]) if n in arrays else n for n in part.takes]
            driver.append(LineBlock([], False, given, part.gives).call(f"part_{k}"))
            driver += [f"{n} = np.asarray({n}, np.{arrays[n].dtype.name})" for n in part.gives if not arrays[n].shape]
        return [*texts, self.function([*freed(driver, returns), returns])]

    def given(self, n: str, v: Value) -> str:
        """Return a compiled part's argument for an array; of halves, which Numba does not support, it reads only sizes."""
        if v.dtype in HALVES:
            return f"{n}.view(np.uint16)"
        return n if v.shape or n in self.known else f"{n}[()]"


def call(which: tuple, *args: Any) -> tuple:
    """Run an operation on arrays, as eager code does; for a write, return the new content of the memory."""
    cls, dtype = which
    arrays = [np.asarray(a) if isinstance(a, np.generic) else a for a in args]
    raw = cls.compute(*arrays)
    outs = [as_array(o) for o in (raw if type(raw) is tuple else (raw,))]
    if dtype is not None:
        return tuple([np.broadcast_to(o, arrays[0].shape).astype(dtype, order="C") for o in outs])
    return tuple([o if o.flags.c_contiguous else o.copy() for o in outs])


def defined(needs: dict) -> set:
    """Return the names that the requirements of formulas define in the module."""
    texts = "\n".join([k for k in needs if isinstance(k, str)])
    imported = {k[1] for k in needs if isinstance(k, tuple)}
    return imported | functions_in(texts) | set(re.findall(r"^(\w+) =", texts, re.M))


def tupled(names: list) -> str:
    """Return the source of a tuple."""
    return f"{', '.join(names)}{',' * (len(names) == 1)}" if names else "()"


def functions_in(text: str) -> set:
    """Return the names of the functions that a source defines."""
    return set(re.findall(r"^def (\w+)", text, re.M))


def comments(g: FusedGroup) -> list[str]:
    """Return the user's lines of a group as comments, after an empty line."""
    return ["", *dict.fromkeys([comment(op) for op in g.ops if op.place is not None])]


def comment(op: Op) -> str:
    """Return the user's line as a comment."""
    code = op.place.code
    return f"# {op.place.short}  {code if len(code) <= 100 else code[:97] + '...'}".rstrip()
