"""The text of a compiled program: one Numba module, written to be read.

Variables are called what the user calls them, each loop has the user's lines above it, and sizes come from the arrays'
shapes, so that the text does not change with the batch.  Where an operation has no rule, the entry is a plain Python
function that calls it between compiled parts.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import math
import os
import re
from typing import Any

import numpy as np

from .fuse import F4, F8, Count, Group, Lowering, Names, Op, V, loop_index, operand_index, over, schedule
from .reading import Number

ACCUMULATE = '''\
@njit(error_model="numpy", fastmath={"reassoc", "nsz"})
def plus(total, x):
    """One more term of a sum, in any order: a loop over it is vectorised."""
    return total + x
'''
LOOP = {"i", "k", "term", *[f"i{d}" for d in range(32)]}
TAKEN = {"np", "njit", "plus", "statics", "call", "range", *LOOP, *dir(builtins), *keyword.kwlist, *keyword.softkwlist}


class Program:
    """A generated module and how it is called."""

    def __init__(self, text: str, name: str, params: list, results: list, statics: tuple, direct: dict, groups: list):
        self.text, self.name, self.params, self.results = text, name, params, results
        self.statics, self.direct, self.groups = statics, direct, groups


class Writer:
    """Writes the module for one lowered program."""

    def __init__(self, low: Lowering, inputs: list[V], outputs: list[V], writes: list[tuple[V, V]], name: str):
        self.low, self.inputs, self.outputs, self.writes, self.entry = low, inputs, outputs, writes, name
        self.names: dict[V, str] = {}
        self.used: set[str] = set(TAKEN)
        self.needs: dict = {}
        self.numbers: dict[str, str] = {}  # arguments that are floats -> their variables
        self.statics: list = []
        self.sums = self.calls = False

    # ------------------------------------------------------------------ the module
    def write(self) -> Program:
        """The text, from the groups in their order."""
        low = self.low
        for op in low.ops:
            self.needs.update(op.data.get("needs", {}))
        self.used |= {k[1] if isinstance(k, tuple) else re.match(r"\W*(?:@.*\s+def )?(\w+)", k)[1] for k in self.needs}
        self.used |= {
            m for k in self.needs if isinstance(k, str) for m in re.findall(r"def (\w+)|^(\w+) =", k) for m in m
        }
        self.used.add(self.entry)
        for a in [a for op in low.ops for a in (*op.ins, *op.data.get("args", ())) if isinstance(a, Number)]:
            if a.name not in self.numbers:
                self.numbers[a.name] = self.free(a.name)
        for v in [*self.inputs, *low.constants]:
            self.name(v, v.name or "constant")
            v.dims = [f"{self.names[v]}.shape[{d}]" for d in range(len(v.shape))]
        self.groups = schedule(low, {*self.inputs, *low.constants})
        for op in low.ops:
            for o in op.outs:
                if o.name:
                    self.name(o, o.name)
        for op in low.ops:
            self.measure(op)
        self.stored = self.find_stored()
        self.direct = self.find_direct()
        blocks = [(g.kind == "call", self.group(g)) for g in self.groups]
        late = [(p, v) for p, v in self.writes if p not in self.direct and p.shape]
        if late:
            blocks.append((False, [f"{self.array(p)}[...] = {self.array(v)}" for p, v in late]))
        results = []
        for v in self.outputs:
            lines, text = self.whole(v)
            results.append(text)
            blocks += [(False, lines)] if lines else []
        body = self.assemble(blocks, results)
        head = self.head()
        text = f"{head}\n\n\n{body}"
        check(text)
        return Program(text, self.entry, self.parameters(), self.outputs, tuple(self.statics), self.direct, self.groups)

    def head(self) -> str:
        """The module's first lines: what it is, imports, constants, helpers."""
        imports: dict[str, list] = {}
        for module, name in sorted(k for k in self.needs if isinstance(k, tuple)):
            imports.setdefault(module, []).append(name)
        lines = [
            f'"""{self.entry}, compiled by minigrad: each loop below stands for the lines of the program above it."""',
            "",
        ]
        lines += ["import numpy as np", "from numba import njit"]
        lines += [
            f"from {module} import {', '.join(dict.fromkeys(names))}" for module, names in sorted(imports.items())
        ]
        if self.calls:
            lines.append("from minigrad.program.codegen import call")
        if any(isinstance(k, str) for k in self.needs):
            lines += [
                "",
                *[k.strip("\n") if k.startswith("\n\n@") is False else k for k in self.needs if isinstance(k, str)],
            ]
        if self.sums:
            lines += ["", "", ACCUMULATE.rstrip()]
        return "\n".join(lines)

    def parameters(self) -> list:
        """What the entry takes: (kind, which)."""
        made = [("input", i) for i, v in enumerate(self.inputs) if self.names[v] in self.entry_names]
        made += [("constant", v.content) for v in self.low.constants if self.names[v] in self.entry_names]
        return made + [("number", n) for n in self.numbers]

    def assemble(self, blocks: list, results: list) -> str:
        """The functions of the module: one, or parts with calls between them."""
        jit = '@njit(nogil=True, error_model="numpy")'
        scalars = [self.names[v] for v in [*self.inputs, *self.low.constants]]
        body = [line for _, lines in blocks for line in lines]
        returns = f"return {', '.join(results)}{',' if len(results) == 1 else ''}" if results else "return ()"
        known = [*scalars, *self.numbers.values()]
        self.entry_names = {*words("\n".join([*body, returns]))}
        if not self.calls:
            args = [n for n in known if n in self.entry_names or n in self.numbers.values()]
            return "\n".join([jit, f"def {self.entry}({', '.join(args)}):", *indent([*body, returns])]) + "\n"
        return self.in_parts(blocks, returns, known, jit)

    def in_parts(self, blocks: list, returns: str, known: list, jit: str) -> str:
        """Compiled parts, and a plain function that calls them and the operations without a rule in turn."""
        parts: list[tuple[bool, list]] = []
        for is_call, lines in blocks:
            if not lines:
                continue
            if parts and not is_call and not parts[-1][0]:
                parts[-1][1].extend(lines)
            else:
                parts.append((is_call, list(lines)))
        texts, driver, have = [], [], list(known)
        arrays = {n: v for v, n in self.names.items()}
        for k, (is_call, lines) in enumerate(parts):
            if is_call:
                driver += lines
                have += [n for n in assigned(lines) if n in arrays and n not in have]
                continue
            later = {w for _, rest in parts[k + 1 :] for w in words("\n".join(rest))} | set(words(returns))
            here = set(words("\n".join(lines)))
            takes = [n for n in have if n in here and n not in assigned(lines)]
            gives = [n for n in assigned(lines) if n in later and n in arrays]
            returned = ", ".join(gives) + ("," if len(gives) == 1 else "")
            body = [*indent(lines), f"    return {returned or '()'}"]
            texts.append("\n".join([jit, f"def part_{k}({', '.join(takes)}):", *body]))
            given = [f"{n}[()]" if n in arrays and not arrays[n].shape and n not in known else n for n in takes]
            driver.append(f"{returned + ' = ' if gives else ''}part_{k}({', '.join(given)})")
            driver += [f"{n} = np.asarray({n}, np.{arrays[n].dtype.name})" for n in gives if not arrays[n].shape]
            have += [n for n in gives if n not in have]
        args = [n for n in known if n in self.entry_names or n in self.numbers.values()]
        main = "\n".join([f"def {self.entry}({', '.join([*args, 'statics'])}):", *indent([*driver, returns])])
        return "\n\n\n".join([*texts, main]) + "\n"

    # ------------------------------------------------------------------ names and sizes
    def name(self, v: V, wish: str = "") -> str:
        """The variable that holds v."""
        if v not in self.names:
            self.names[v] = self.free(wish if v.name else f"{wish}_1")
        return self.names[v]

    def free(self, wish: str) -> str:
        """A variable that is not taken, called as wished if that can be."""
        wish = re.sub(r"\W", "_", wish)
        wish = wish if wish.isidentifier() and not wish.startswith("__") else "v_" + wish
        stem, start = (wish[:-2], 2) if wish.endswith("_1") else (wish, 2)
        found, k = wish, start
        while found in self.used or found + "_i" in self.used:
            found, k = f"{stem}_{k}", k + 1
        self.used |= {found, found + "_i", found + "_flat", found + "_sum"}
        return found

    def array(self, v: V) -> str:
        """Text for the whole of v: an array, or a number where it has no dimensions."""
        if v.kind == "uniform":
            return (
                f"np.full({self.shape(v)}, {self.literal(v.content, v.dtype)})"
                if v.shape
                else self.literal(v.content, v.dtype)
            )
        return self.name(v)

    def shape(self, v: V) -> str:
        """The shape of v as text."""
        return f"({', '.join(self.sizes(v))}{',' if len(v.shape) == 1 else ''})"

    def sizes(self, v: V) -> list:
        """The text of each size."""
        if len(v.dims) != len(v.shape):
            v.dims = [self.size(n) for n in v.shape]
        return ["1" if n == 1 else d for n, d in zip(v.shape, v.dims)]

    def size(self, n: int) -> str:
        """A number that is a size of some input, else the number itself."""
        if n > 1:
            for v in self.inputs:
                for d, m in enumerate(v.shape):
                    if m == n:
                        return f"{self.names[v]}.shape[{d}]"
            for v in self.inputs:
                if len(v.shape) > 1 and math.prod(v.shape) == n:
                    return f"{self.names[v]}.size"
            for v in self.inputs:
                for d in range(len(v.shape) - 1):
                    if v.shape[d] * v.shape[d + 1] == n:
                        return f"{self.names[v]}.shape[{d}] * {self.names[v]}.shape[{d + 1}]"
            for v in self.inputs:
                for d, m in enumerate(v.shape):
                    if m > 1 and n % m == 0:
                        return f"{self.names[v]}.shape[{d}] * {n // m}"
        return str(n)

    def measure(self, op: Op) -> None:
        """The text of the sizes of what an operation makes."""
        out, ins = op.outs[0], [v for v in op.ins if isinstance(v, V)]
        if op.kind == "alias":
            own = self.sizes(ins[0])
            out.dims = [self.size(n) if s is None else own[s] for n, s in zip(out.shape, op.data["dims"])]
        elif op.kind == "map":
            out.dims = []
            for d, n in enumerate(out.shape):
                back = d - len(out.shape)
                found = next(
                    (
                        self.sizes(v)[back]
                        for v in ins
                        if v.kind != "uniform" and len(v.shape) >= -back and v.shape[back] == n
                    ),
                    None,
                )
                out.dims.append(found or self.size(n))
        elif op.kind == "reduce":
            own = self.sizes(ins[0])
            out.dims = [own[d] for d in range(len(own)) if op.data["keepdim"] or d not in op.data["dims"]]
        elif op.kind == "dot":
            x, y = ins
            out.dims = [*self.sizes(x)[:-1], *(self.sizes(y)[1:] if len(y.shape) == 2 else [])]
        elif op.kind == "pick":
            out.dims = self.sizes(ins[0])[:1]
        elif op.kind == "scatter":
            out.dims = self.sizes(ins[0])
        elif op.kind == "reshape":
            out.dims = [self.size(n) for n in out.shape]
        else:
            for o in op.outs:
                o.dims = [f"{self.name(o, op.name)}.shape[{d}]" for d in range(len(o.shape))]

    def literal(self, a: Any, dtype: np.dtype, op: Op | None = None) -> str:
        """A number in a dtype."""
        if isinstance(a, Number):
            return self.cast(self.numbers[a.name], F8, dtype)
        if isinstance(a, Count):
            text = " * ".join([self.sizes(a.x)[d] for d in a.dims])
            return f"np.{dtype.name}({text})"
        if dtype.kind == "b":
            return str(bool(a))
        if dtype.kind == "i":
            return str(int(a))
        a = float(a)
        if op is not None and op.name in ("div", "mul") and a == int(a) if math.isfinite(a) else False:
            text = self.size(int(a)) if a > 1 and not said(op, a) else ""
            if ".s" in text:
                return f"np.{dtype.name}({text})"
        text = repr(a) if math.isfinite(a) else f"np.{'nan' if a != a else 'inf'}"
        text = "-np.inf" if a == -math.inf else text
        return text if dtype == F8 else f"np.{dtype.name}({text})"

    @staticmethod
    def cast(text: str, own: np.dtype, dtype: np.dtype) -> str:
        """A number of one dtype in another."""
        return text if own == dtype else f"np.{'bool_' if dtype.kind == 'b' else dtype.name}({text})"

    # ------------------------------------------------------------------ memory
    def find_stored(self) -> set:
        """What is read outside the loop that computes it."""
        made = {o: g for g in self.groups for op in g.ops for o in op.outs}
        stored = {self.low.base(v) for v in self.outputs} | {self.low.base(v) for _, v in self.writes}
        for g in self.groups:
            for op in g.ops:
                for v in op.ins:
                    if isinstance(v, V) and (base := self.low.base(v)) in made and made[base] is not g:
                        stored.add(base)
                if op.kind not in ("map",):
                    stored.update(op.outs)
        self.made = made
        return stored

    def find_direct(self) -> dict:
        """Inputs that are written to, whose new value can be computed right there: nothing reads the old one afterwards."""
        direct: dict[V, V] = {}
        place = {id(g): k for k, g in enumerate(self.groups)}
        raising = max([k for k, g in enumerate(self.groups) if g.kind in ("pick", "scatter", "call")], default=-1)
        outputs = {self.low.base(v) for v in self.outputs}
        for p, v in self.writes:
            g = self.made.get(v)
            if (
                g is None
                or g.kind != "loop"
                or over(g.ops[0]) != p.shape
                or v in outputs
                or p in outputs
                or not p.shape
            ):
                continue
            k, index = place[id(g)], loop_index(p.shape)
            if (
                k < raising
                or sum(w is v for _, w in self.writes) > 1
                or v.dtype != p.dtype
                or v not in [o.outs[0] for o in g.ops if o.kind == "map"]
            ):
                continue
            safe = True
            for later, other in enumerate(self.groups):
                for op in other.ops:
                    for a in op.ins:
                        if isinstance(a, V) and self.low.base(a) is p and later >= k:
                            safe = safe and later == k and self.low.resolve(a, operand_index(a, index))[1] == index
            safe = safe and not any(self.low.base(w) is p for _, w in self.writes)
            if safe:
                direct[p] = v
        targets = {v: p for p, v in direct.items()}
        for v, p in targets.items():
            self.names[v] = self.names[p]
        return direct

    # ------------------------------------------------------------------ groups
    def group(self, g: Group) -> list[str]:
        """The lines of one group."""
        comments = list(dict.fromkeys([comment(op) for op in g.ops if op.place is not None]))
        emit = {"loop": self.loop, "dot": self.dot, "reshape": self.reshape, "pick": self.pick,
                "scatter": self.scatter, "call": self.call}[g.kind]  # fmt: skip
        return ["", *comments, *(emit(g) if g.kind == "loop" else emit(g.ops[0]))]

    def whole(self, v: V) -> tuple[list, str]:
        """v as an array in memory: lines to run before, and its text."""
        base, lines = self.low.base(v), []
        if not v.shape:
            return lines, self.at(v, [])
        if base is v or v.kind == "uniform":
            return lines, self.array(v)
        if (
            v.shape == base.shape[::-1]
            and v.layout in ("C", "F")
            and len(v.shape) == 2
            and v.shape != base.shape
            or self.is_flip(v)
        ):
            return lines, f"{self.name(base)}.T"
        name = self.name(self.low.new(v.shape, v.dtype), "copy")
        index = loop_index(v.shape)
        at = self.low.resolve(v, index)[1]
        lines.append(f"{name} = np.empty({self.shape(v)}, np.{v.dtype.name})")
        self.nest(lines, v, index, [f"{name}[{', '.join(index)}] = {self.element(base, at)}"])
        return lines, name

    def is_flip(self, v: V) -> bool:
        """Whether v is a matrix transposed."""
        at = self.low.resolve(v, ["a", "b"])[1] if len(v.shape) == 2 else []
        return at == ["b", "a"]

    def nest(self, lines: list, like: V, index: list, body: list) -> None:
        """Loops over the shape of `like` around some lines."""
        pad = ""
        for d, i in enumerate(index):
            if i != "0":
                lines.append(f"{pad}for {i} in range({self.sizes(like)[d]}):")
                pad += "    "
        lines.extend(pad + line for line in body)

    def element(self, base: V, at: list) -> str:
        """One element of what is in memory."""
        if base.kind == "uniform":
            return self.literal(base.content, base.dtype)
        return f"{self.name(base)}[{', '.join(at)}]" if base.shape else self.name(base)

    def loop(self, g: Group) -> list[str]:
        """Maps and reductions over one shape."""
        shape, index = over(g.ops[0]), loop_index(over(g.ops[0]))
        flat = self.is_flat(g, index)
        like = next((op.outs[0] for op in g.ops if op.kind == "map"), g.ops[0].ins[0])
        live = [d for d, i in enumerate(index) if i != "0"]
        before: list[str] = []
        after: list[str] = []
        starts: dict[int, list] = {}
        ends: dict[int, list] = {}
        body: list[str] = []
        texts: dict[V, ast.expr] = {}
        uses = self.count_uses(g)
        flats: dict[str, str] = {}

        def access(name: str, at: list) -> str:
            if not flat:
                return f"{name}[{', '.join(at)}]"
            flats[name] = f"{name}_flat" if len(shape) > 1 else name
            return f"{flats[name]}[i]"

        def operand(a: Any, kind: np.dtype, op: Op) -> ast.expr:
            if not isinstance(a, V):
                return parse(self.literal(a, kind, op))
            base, at = self.low.resolve(a, operand_index(a, index))
            if base.kind == "uniform":
                return parse(self.literal(base.content, kind, op))
            if base in texts:
                made = texts[base]
                return made if base.dtype == kind else parse(self.cast(ast.unparse(made), base.dtype, kind))
            text = (
                access(self.name(base), at)
                if base.shape and any(n != 1 for n in base.shape)
                else self.element(base, at)
            )
            return parse(self.cast(text, base.dtype, kind))

        for op in g.ops:
            out = op.outs[0]
            if op.kind == "map":
                given = {p: operand(a, k, op) for p, a, k in zip(op.data["params"], op.ins, op.data["kinds"])}
                made = Names(given).visit(parse(ast.unparse(op.data["tree"])))
                text = self.cast(ast.unparse(made), op.data["natural"], out.dtype)
                simple_use = uses.get(out, 0) == 1 and not out.name and out not in self.stored
                if simple_use:
                    texts[out] = parse(text)
                    continue
                name = self.name(out, op.name)
                local = name if not shape else f"{name}_i"
                if uses.get(out, 0) or not shape:
                    body.append(f"{local} = {text}")
                    texts[out] = parse(local)
                    text = local
                if shape and out in self.stored:
                    if out not in self.direct.values():
                        before.append(f"{name} = np.empty({self.shape(out)}, np.{out.dtype.name})")
                    body.append(f"{access(name, index)} = {text}")
            else:
                self.reduce(
                    op, operand(op.ins[0], op.ins[0].dtype, op), index, live, flat, before, after, starts, ends, body
                )
        if not live:
            return [*before, *starts.get(0, []), *body, *ends.get(0, []), *after]
        lines = list(before)
        for name, short in flats.items():
            if short != name:
                lines.append(f"{short} = {name}.reshape({name}.size)")
        if flat:
            counted = next(iter(flats.values()))
            lines += [
                *starts.get(0, []),
                f"for i in range({counted}.size):",
                *["    " + b for b in body],
                *ends.get(0, []),
            ]
            return [*lines, *after]
        pad = ""
        closing = []
        for level, d in enumerate(live):
            lines += [pad + s for s in starts.get(level, [])]
            lines.append(f"{pad}for {index[d]} in range({self.sizes(like)[d]}):")
            closing.append([pad + e for e in ends.get(level, [])])
            pad += "    "
        lines += [pad + b for b in body]
        for closed in reversed(closing):
            lines += closed
        return [*lines, *after]

    def reduce(self, op: Op, term: ast.expr, index: list, live: list, flat: bool, before: list, after: list, starts: dict,
               ends: dict, body: list) -> None:  # fmt: skip
        """A sum or maximum: a running number where the last loops are reduced, else a running array."""
        x, out = op.ins[0], op.outs[0]
        dims = [d for d in live if d in op.data["dims"]]
        name, text = self.name(out, op.name), ast.unparse(term)
        wide = F8 if out.dtype == F4 and op.name == "sum" else out.dtype
        kept = [i for d, i in enumerate(index) if op.data["keepdim"] or d not in op.data["dims"]]
        kept = (
            ["0" if op.data["keepdim"] and d in op.data["dims"] else i for d, i in enumerate(index)]
            if op.data["keepdim"]
            else kept
        )
        zero = "-np.inf" if op.name == "max" else "0" if wide.kind == "i" else "0.0"
        if op.name == "sum" and wide.kind == "f":
            self.sums = True
            step = f"plus({{}}, {self.cast(text, x.dtype, wide)})"
        elif op.name == "sum":
            step = "{} + " + text
        else:
            step = None
        if not dims:  # only sizes of 1 are reduced
            term = self.cast(text, x.dtype, out.dtype)
            if not out.shape:
                body.append(f"{name} = {term}")
                return
            before.append(f"{name} = np.empty({self.shape(out)}, np.{out.dtype.name})")
            body.append(f"{name}[{', '.join(kept)}] = {term}")
            return
        if dims == live[len(live) - len(dims) :]:
            level = 0 if flat else len(live) - len(dims)
            running = f"{name}_sum" if out.shape or wide != out.dtype else name
            starts.setdefault(level, []).append(f"{running} = {self.cast(zero, F8, wide) if wide == F4 else zero}")
            if step is None:
                body += [f"term = {text}", f"{running} = term if term > {running} or term != term else {running}"]
            else:
                body.append(f"{running} = {step.format(running)}")
            if out.shape:
                before.append(f"{name} = np.empty({self.shape(out)}, np.{out.dtype.name})")
                ends.setdefault(level, []).append(f"{name}[{', '.join(kept)}] = {running}")
            elif running != name:
                ends.setdefault(level, []).append(f"{name} = {self.cast(running, wide, out.dtype)}")
            return
        running = f"{name}_sum" if wide != out.dtype else name
        at = f"{running}[{', '.join(kept)}]"
        start = self.cast(zero, F8, wide) if wide == F4 else zero
        zeros = op.name == "sum" and wide.kind == "f"
        made = f"np.zeros({self.shape(out)}, np.{wide.name})" if zeros else f"np.full({self.shape(out)}, {start})"
        before.append(f"{running} = {made}")
        if step is None:
            body += [f"term = {text}", f"{at} = term if term > {at} or term != term else {at}"]
        else:
            body.append(f"{at} += {self.cast(text, x.dtype, wide)}")
        if running != name:
            after.append(f"{name} = {running}.astype(np.{out.dtype.name})")

    def is_flat(self, g: Group, index: list) -> bool:
        """Whether all that a loop reads and writes lies in memory element by element in the loop's order."""
        shape, live = over(g.ops[0]), [i for i in index if i != "0"]
        if len(live) < 1:
            return False
        seen = False
        for op in g.ops:
            if op.kind == "reduce" and [d for d, i in enumerate(index) if i != "0" and d not in op.data["dims"]]:
                return False
            for a in op.ins:
                if isinstance(a, V):
                    base, at = self.low.resolve(a, operand_index(a, index))
                    if base.kind == "uniform" or not [n for n in base.shape if n != 1]:
                        continue
                    if at != index or base.shape != shape or base.layout != "C":
                        return False
                    seen = True
            if op.kind == "map" and op.outs[0] in self.stored:
                seen = True
            if any(v in op.outs and p.layout != "C" for p, v in self.direct.items()):
                return False
        return seen and (len(shape) > 1 or "0" not in index)

    def count_uses(self, g: Group) -> dict:
        """How often each map's result is read in its own loop; a formula that reads an operand twice counts twice."""
        uses: dict[V, int] = {}
        for op in g.ops:
            for k, a in enumerate(op.ins):
                if isinstance(a, V):
                    times = 1
                    if op.kind == "map":
                        p = op.data["params"][k]
                        times = sum(isinstance(n, ast.Name) and n.id == p for n in ast.walk(op.data["tree"]))
                    elif op.name == "max":
                        times = 1
                    base = self.low.base(a)
                    uses[base] = uses.get(base, 0) + times
        return uses

    # ------------------------------------------------------------------ other kinds
    def dot(self, op: Op) -> list[str]:
        """A product of matrices or vectors, by BLAS."""
        lines, texts = [], []
        for v in op.ins:
            more, text = self.whole(v)
            lines += more
            texts.append(text if self.low.base(v).layout in ("C", "F") or more else f"np.ascontiguousarray({text})")
        return [*lines, f"{self.name(op.outs[0], 'dot')} = np.dot({', '.join(texts)})"]

    def reshape(self, op: Op) -> list[str]:
        """The elements in order under another shape."""
        x = op.ins[0]
        lines, text = self.whole(x)
        if not lines and (self.low.base(x).layout != "C" or text.endswith(".T")) and x.kind != "uniform":
            text = f"{text}.copy()" if not text.endswith(".T") else f"np.ascontiguousarray({text})"
            if self.low.base(x).layout != "C" and not text.startswith("np."):
                text = f"np.ascontiguousarray({self.array(x)})"
        return [*lines, f"{self.name(op.outs[0], 'reshape')} = {text}.reshape({self.shape(op.outs[0])})"]

    def pick(self, op: Op) -> list[str]:
        """The negative of each row's element at its class."""
        x, target = op.ins
        lines, text = self.whole(x)
        name = self.name(op.outs[0], "loss")
        return [
            *lines,
            f"{name} = np.empty({self.shape(op.outs[0])}, np.{x.dtype.name})",
            f"for i0 in range({name}.size):",
            f"    k = {self.at(target, ['0' if target.shape[0] == 1 else 'i0'])}",
            f"    if k == {op.data['ignore']}:",
            f"        {name}[i0] = 0",
            f"    elif k < 0 or k >= {text}.shape[1]:",
            '        raise IndexError("class out of bounds")',
            "    else:",
            f"        {name}[i0] = -{text}[i0, k]",
        ]

    def at(self, v: V, index: list) -> str:
        """One element of any value."""
        return self.element(*self.low.resolve(v, index))

    def scatter(self, op: Op) -> list[str]:
        """x with numbers added at places of each row."""
        x, places, src = op.ins
        lines, text = self.whole(x)
        name, index = self.name(op.outs[0], "scatter"), loop_index(places.shape)
        lines.append(f"{name} = {text}" if x.kind == "uniform" else f"{name} = {text}.copy()")
        body = [
            f"k = {self.at(places, index)}",
            f"if k < 0 or k >= {name}.shape[1]:",
            '    raise IndexError("index out of bounds")',
            f"{name}[{index[0]}, k] += {self.at(src, index)}",
        ]
        self.nest(lines, places, index, body)
        return lines

    def call(self, op: Op) -> list[str]:
        """A call of the operation itself."""
        self.calls = True
        texts = []
        lines: list[str] = []
        for a in op.data["args"]:
            if isinstance(a, V) and a.kind != "uniform":
                base = self.low.base(a)
                text = self.name(base)
                if base is not a:
                    text = self.viewed(a)
                texts.append(text)
            elif isinstance(a, V):
                texts.append(f"statics[{len(self.statics)}]")
                self.statics.append(np.full(a.shape, a.content, a.dtype))
            elif isinstance(a, Number):
                texts.append(self.numbers[a.name])
            else:
                texts.append(f"statics[{len(self.statics)}]")
                self.statics.append(a)
        outs = [self.name(o, op.name) for o in op.outs]
        cls = f"statics[{len(self.statics)}]"
        self.statics.append((op.data["cls"], op.data["dtype"]))
        return [
            *lines,
            f"{', '.join(outs)}{',' if len(outs) == 1 else ''} = call({cls}, {', '.join(texts)})  # {op.name}",
        ]

    def viewed(self, a: V) -> str:
        """A view for a call: the index arithmetic of views by NumPy."""
        chain = []
        v = a
        while v in self.low.aliases:
            chain.append(v)
            v = self.low.aliases[v][0]
        text = self.name(v)
        for w in reversed(chain):
            text = self.view_of(text, w)
        return text

    def view_of(self, text: str, w: V) -> str:
        """One step of a chain of views, as NumPy's call."""
        x = self.low.aliases[w][0]
        index = [f"i{d}" for d in range(len(w.shape))]
        at = self.low.aliases[w][1](index)
        named = [i for i in at if i != "0"]
        if len(at) == len(index) and sorted(at) == sorted(index):
            return f"np.transpose({text}, {tuple(at.index(i) for i in index)!r})"
        if math.prod(x.shape) == math.prod(w.shape) and named == sorted(named):
            return f"np.reshape({text}, {self.shape(w)})"
        return f"np.broadcast_to({text}, {self.shape(w)})"


def call(which: tuple, *args: Any) -> tuple:
    """Run an operation on arrays, as eager code does; a write gives what the memory holds afterwards."""
    cls, dtype = which
    arrays = [np.asarray(a) if isinstance(a, np.generic) else a for a in args]
    raw = cls.compute(*arrays)
    outs = raw if type(raw) is tuple else (raw,)
    if dtype is not None:
        return tuple([np.array(np.broadcast_to(o, arrays[0].shape), dtype) for o in outs])
    return tuple([o if isinstance(o, np.ndarray) and o.flags.c_contiguous else np.array(o, order="C") for o in outs])


def check(text: str) -> None:
    """Every name in a generated module is defined there: a slip of ours must not wait for the compiler."""
    module = ast.parse(text)
    known = {n.id for n in ast.walk(module) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    known |= {n.name for n in ast.walk(module) if isinstance(n, ast.FunctionDef)}
    known |= {
        a.asname or a.name for n in ast.walk(module) if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names
    }
    for f in (n for n in module.body if isinstance(n, ast.FunctionDef)):
        own = {a.arg for a in f.args.args}
        for n in ast.walk(f):
            if isinstance(n, ast.Name) and n.id not in known | own and not hasattr(builtins, n.id):
                raise NameError(f"{n.id} is not defined in the generated {f.name}")


def parse(text: str) -> ast.expr:
    """An expression as a tree."""
    return ast.parse(text, mode="eval").body


def words(text: str) -> list:
    """The names in a text, comments left out."""
    return re.findall(r"[A-Za-z_]\w*", re.sub(r"#.*", "", text))


def assigned(lines: list) -> list:
    """The variables that lines assign."""
    found = []
    for line in lines:
        if m := re.match(r"\s*([A-Za-z_][\w, ]*?),? = ", line):
            found += [n.strip() for n in m[1].split(",")]
    return list(dict.fromkeys(found))


def indent(lines: list) -> list:
    """Lines one level further in."""
    while lines and not lines[0]:
        lines = lines[1:]
    return ["    " + line if line else "" for line in lines]


def comment(op: Op) -> str:
    """The user's line."""
    code = op.place.code
    return f"# {os.path.basename(op.place.file)}:{op.place.line}  {code if len(code) <= 100 else code[:97] + '...'}".rstrip()


def said(op: Op, a: float) -> bool:
    """Whether the number stands in the user's line."""
    return (
        op.place is None
        or not op.place.code
        or re.search(rf"(?<![\w.]){int(a)}(\.0*)?(?![\w.])", op.place.code) is not None
    )
