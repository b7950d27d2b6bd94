"""Generate the code of a call: for one specialisation, the checks of its arguments and the call itself, as Python source.

Once the program is known, so are its checks and conversions: the number of tensors, their dtypes, sizes, layouts and nesting.
Generated code takes a third of the time of general code, which would look all of this up at each call. If a check fails
(another kind of argument, a guard that does not hold), the function returns MISS, and api.py tries another one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from ..arrays import dtypes
from ..arrays.kinds import KINDS
from ..core.frames import OFF, ON, current
from ..core.graph import Leaf, history
from ..core.saved import INFERENCE, memory
from ..core.tensor import Tensor, wrap
from ..func.tree import flatten, keys_of
from ..places import PACKAGE
from .allowed import is_plain
from .differentiation import track
from .effects import Part, places
from .guards import GONE, MISS, equal
from .symbols import EXACT, LEAF, in_leaves, is_symbolic

if TYPE_CHECKING:
    from .loaded import Loaded
    from .specialization import Specialisation


def fast_path(program: Specialisation, args: tuple, kwargs: dict) -> Callable:
    """Return a function of (owner, args, kwargs) that runs the program, or returns MISS."""
    text, scope = CallWriter(program).write(args, kwargs)
    exec(compile(text, f"{PACKAGE}<fast path of {program.owner.name}>", "exec"), scope)
    return scope["fast_path"]


class CallWriter:
    """The source of the call function of one specialisation."""

    def __init__(self, program: Specialisation):
        self.program, self.given_leaves = program, program.leaves
        self.tensors = program.inputs
        self.lines: list[str] = []
        self.leaves: list[str] = []  # variables that hold the leaves of the arguments
        self.arrays: list[str] = []
        self.scope: dict[str, Any] = {
            "current": current, "frame": ON if program.grad else OFF, "dtypes": dtypes, "kind": dtypes.default(), "MISS": MISS,
            "Tensor": Tensor, "Leaf": Leaf, "history": history, "finite": math.isfinite, "INFERENCE": INFERENCE, "math": math,
            "memory": memory, "wrap": wrap, "array": np.ndarray, "asarray": np.asarray, "track": track, "equal": equal,
            "flatten": flatten, "keys_of": keys_of, "ref": ref, "last": [], "overlapping": overlapping, "program": program,
            "entry": program.entry and program.entry.entry}  # fmt: skip

    def constant(self, a: Any) -> str:
        """Add an object to the scope and return its variable."""
        name = f"c{len(self.scope)}"
        self.scope[name] = a
        return name

    def need(self, *conditions: str) -> None:
        """Return MISS unless these conditions hold."""
        self.lines += [f"if not ({c}): return MISS" for c in conditions]

    def write(self, args: tuple, kwargs: dict) -> tuple[str, dict]:
        """Return the source, and the scope that it refers to."""
        self.need("current() is frame", "dtypes._default is kind")
        self.take_apart(args, kwargs)
        for i, (name, a) in enumerate(zip(self.leaves, self.given_leaves)):
            self.leaf(i, name, a)
        if self.program.reason is not None:
            self.lines.append("return None  # the caller runs the function")
        else:
            self.guarded()
        body = "\n".join(["    " + line for line in self.lines])
        return f"def fast_path(owner, args, kwargs):\n{body}\n", self.scope

    def guarded(self) -> None:
        """Check what the function reads from outside, and run the program."""
        first = len(self.lines)
        self.leaves += [f"v{i}" for i in range(len(self.leaves), len(self.given_leaves))]
        conditions = self.program.guards.conditions()
        self.scope |= self.program.guards.scope
        self.lines += [in_leaves(line, self.leaves) for line in conditions]
        self.look_up("outside", str)
        self.hidden()
        if lines := self.lines[first:]:
            self.lines[first:] = ["try:", *["    " + line for line in lines], f"except {GONE}: return MISS"]
        if self.program.entry is None:
            self.lines.append("return owner.again(program, args, kwargs)")
        else:
            self.look_up("input", lambda k: f"{self.arrays[k]}.item()")
            self.distinct()
            self.numbers()
            self.call()

    # ------------------------------------------------------------------ checks
    def take_apart(self, args: tuple, kwargs: dict) -> None:
        """Check the structure of the arguments and name their leaves: tuples and lists inline, other structures by optree."""
        before, found = len(self.lines), []
        self.need("not kwargs")
        self.structure("args", args, found)
        given = self.given_leaves[: self.program.n_leaves]
        if kwargs or len(found) != len(given) or any(a is not b for a, b in zip(found, given)):
            del self.lines[before:]
            self.leaves = [f"leaf_{i}" for i in range(len(given))]
            self.lines.append("leaves, structure = flatten((args, kwargs))")
            self.need(f"structure == {self.constant(self.program.tree)}")
            self.need(f"keys_of((args, kwargs)) == {self.constant(keys_of((args, kwargs)))}")
            self.lines += [f"{', '.join(self.leaves)}, = leaves"] if self.leaves else []

    def structure(self, name: str, a: Any, found: list) -> None:
        """Check a nested tuple or list, and append its leaves to `found`."""
        if type(a) not in (tuple, list):
            self.leaves.append(name)
            found.append(a)
            return
        kind = "" if name == "args" else f"type({name}) is {type(a).__name__} and "
        self.need(f"{kind}len({name}) == {len(a)}")
        parts = [f"{name}_{i}" for i in range(len(a))]
        self.lines += [f"{', '.join(parts)}, = {name}"] if parts else []
        for part, x in zip(parts, a):
            self.structure(part, x, found)

    def leaf(self, i: int, name: str, a: Any) -> None:
        """Check one leaf of the arguments."""
        if isinstance(a, Tensor):
            self.tensor(name, a)
        elif type(a) is float and i in self.program.numbers:
            self.need(f"type({name}) is float and {name} and finite({name})")
        elif type(a) is int and i in self.program.numbers:
            self.need(f"type({name}) is int and -{EXACT} < {name} < {EXACT}")
        elif is_plain(a):
            known = self.constant(a)
            self.need(f"{name} is {known} or equal({name}, {known})")
        elif type(a) is np.ndarray:  # a call with an array runs eagerly, whatever the array
            self.need(f"type({name}) is array")
        else:
            self.need(f"{name} is {self.constant(a)}")

    def tensor(self, name: str, t: Tensor, outlives: bool = False) -> None:
        """Check the properties of a tensor that `kind` reads (specialization.py).

        The array of one that outlives the call is usually the array of the last call, and was checked then.
        """
        x, tracked = t._a, self.program.grad and history(t) is not None
        kind = "Tensor" if type(t) is Tensor else self.constant(type(t))
        self.need(f"type({name}) is {kind}")
        a = f"a{len(self.arrays)}"
        self.arrays.append(a)
        self.lines.append(f"{a} = {name}._a")
        layout = f"{a}.flags.c_contiguous"
        layout = layout if x.flags.c_contiguous else f"{a}.strides == {x.strides} and not {layout}"
        # arrays of functions that Numba loaded from a file have an equal dtype, but not the same object
        dtype = self.constant(x.dtype)
        checks = [
            f"type({a}) is {self.constant(type(x))} and ({a}.dtype is {dtype} or {a}.dtype == {dtype})",
            f"{a}.shape == {x.shape} and {layout}",
        ]
        if outlives and type(x) is np.ndarray:
            last = f"last[{len(self.scope['last'])}]"
            self.scope["last"].append(lambda: None)
            checked = [f"if not ({c}): return MISS" for c in checks]
            self.lines += [f"if {last}() is not {a}:", *["    " + line for line in (*checked, f"{last} = ref({a})")]]
        else:
            self.need(*checks)
        if self.program.grad:
            self.lines.append(f"e_{name} = {name}._edge if {name}._view is None else history({name})")
            # a backward inside the program goes no further than the leaves, and calls no hook
            has = (
                f"type(e_{name}) is Leaf and e_{name}._hooks is" if self.program.differentiates else f"e_{name} is not"
            )
            self.need(f"{has} None" if tracked else f"e_{name} is None")

    def look_up(self, what: str, expression: Callable[[Any], str]) -> None:
        """Look up the numbers from one kind of source, and check them like those among the arguments."""
        for i, where in self.program.numbers_from(what):
            self.lines.append(f"{self.leaves[i]} = {expression(where)}")
            self.leaf(i, self.leaves[i], self.given_leaves[i])

    def results(self) -> None:
        """Read the numbers that the program has computed, and evaluate the expressions that use them."""
        for i, (kind, k) in self.program.numbers_from("computed"):
            self.lines.append(f"{self.leaves[i]} = {self.places[k] if kind == 'input' else f'r{k}'}._a.item()")
        self.lines += [f"{n} = {in_leaves(x, self.leaves)}" for x, n in self.computed.items() if self.of_results(x)]

    def of_results(self, x: str) -> bool:
        """Return True if an expression uses a number that the program computes."""
        return any(f"leaves[{i}]" in x for i, _ in self.program.numbers_from("computed"))

    def hidden(self) -> None:
        """Look up and check the tensors that the function reads from outside."""
        program = self.program
        for k, source in enumerate(program.sources):
            self.lines.append(f"h{k} = {in_leaves(source, self.leaves)}")
            self.tensor(f"h{k}", self.tensors[program.n_args + k], outlives=True)
        for source, k in program.sources_of_same:
            self.need(f"{in_leaves(source, self.leaves)} is h{k}")

    def distinct(self) -> None:
        """Run eagerly if memory is passed twice and the program writes, or if a differentiated tensor is passed twice."""
        program = self.program
        places = [self.leaves[i] for i in program.arg_places] + [f"h{k}" for k in range(len(program.sources))]
        self.places = places
        fine = [f"{self.arrays[k]}.flags.writeable and {places[k]}._ver is not INFERENCE" for k in program.written]
        if program.written and len(places) > 1:
            fine.append(" is ".join([f"{a}.base" for a in self.arrays] + ["None"]))
            fine.append(f"len({{{', '.join([f'id({a})' for a in self.arrays])}}}) == {len(places)}")
        elif len(tracked := [p for p, n in zip(places, program.needs_grad) if n]) > 1:
            fine.append(f"len({{{', '.join([f'id({p})' for p in tracked])}}}) == {len(tracked)}")
        if fine:  # `fine` is cheap and settles most calls; `overlapping` settles the rest
            asked = f"overlapping([{', '.join(places)}], program.written, program.needs_grad)"
            self.lines.append(f"if not ({' and '.join(fine)}) and {asked}: return owner.function(*args, **kwargs)")

    # ------------------------------------------------------------------ the call
    def call(self) -> None:
        """Run the entry, box its results, count the writes."""
        program, generators = self.program, self.program.generators and self.program.grad
        states = f"[g.get_state() for g in {self.constant(program.generators)}]" if generators else "()"
        tracked = program.grad and any(program.out_tracked)
        self.lines += [f"states = {states}"] if tracked else []
        given = [self.given(k, x) for k, x in program.entry.plan]
        tensors, leaves = f"[{', '.join(self.places)}]", f"[{', '.join(self.leaves)}]"
        raw = [f"r{k}" for k in range(len(program.out_dtypes) + len(program.zero_writes))]
        self.lines += [
            f"try: {', '.join(raw)}{',' if raw else '_'} = entry({', '.join(given)})".replace(",,", ","),
            "except Exception as e:",
            "    return program.failed(owner, e, args, kwargs)",
        ]
        made = [f"r{k}" for k in range(len(program.out_dtypes))]
        n = len(program.out_tracked)
        outs, rest = made[:n], f"[{', '.join(made[n:])}]"  # after the results come the values for the backward program
        for r, dtype in zip(made, program.out_dtypes):
            array = r if program.on_device else f"{r} if type({r}) is array else asarray({r}, {self.constant(dtype)})"
            self.lines.append(f"{r} = wrap({array})" if r in outs else f"{r} = {array}")
        for j, k in enumerate(program.zero_writes):
            self.lines.append(f"{self.arrays[k]}[...] = r{len(made) + j}")
        for k, content in program.counts:
            self.lines.append(f"{self.arrays[k]}[...] = {self.word(content)}")
        for k, place in zip(program.written, program.write_places):
            self.lines.append(f"memory({self.places[k]}).bump(owner.name, {self.constant(place)})")
        self.results()
        self.effects()
        if tracked:
            edges = "".join([f"e_{n}, " if k in program.by else "None, " for k, n in enumerate(self.places)])
            given = f"{tensors}, ({edges}), [{', '.join(outs)}], {rest}, {leaves}"
            self.lines.append(f"track(program, {given}).states = states")
        self.lines.append(f"return {self.result()}")

    def effects(self) -> None:
        """Repeat the side effects of the function."""
        for what, holder, key, part in self.program.effects:
            if what == "grad":
                self.lines.append(f"{self.places[holder]}._grad = {self.part(part)}")
            elif part is None:
                self.lines.append(f"del {holder}[{self.constant(key)}]")
            else:
                self.lines.append(f"{holder}[{self.constant(key)}] = {self.part(part)}")

    def part(self, part: Part) -> str:
        """Return the expression that builds one object."""
        kind, x = part
        if kind is dict:
            return "{" + ", ".join([f"{self.constant(key)}: {self.part(one)}" for key, one in x]) + "}"
        if kind in (list, tuple):
            joined = ", ".join(map(self.part, x))
            return f"[{joined}]" if kind is list else f"({joined}{',' if len(x) == 1 else ''})"
        if kind == "count":
            return f"wrap(asarray({self.word(x.content)}, {self.constant(x.dtype)}))"
        made = {"out": lambda x: f"r{x}", "input": lambda x: self.places[x], "number": self.word, "known": str}
        return made.get(kind, self.constant)(x)

    def given(self, kind: str, x: Any) -> str:
        """Return one argument of the entry."""
        if kind == "input":
            return self.arrays[x] if self.tensors[x]._a.ndim or self.program.on_device else f"{self.arrays[x]}[()]"
        return self.number(x) if kind == "number" else self.constant(x)

    def numbers(self) -> None:
        """Check in order every decision that depended on a number, then compute the numbers for the entry."""
        program, self.computed = self.program, {}
        wanted = [x for k, x in program.entry.plan if k == "number"]
        left = [one for effect in program.effects if effect.part is not None for one in places(effect.part)]
        kept = [x.content if k == "count" else x for k, x in [*program.results, *left]]
        wanted += [x.name for x in [*kept, *[x for _, x in program.counts]] if is_symbolic(x)]
        for x in [x for x in dict.fromkeys(wanted) if not LEAF.fullmatch(x)]:
            self.computed[x] = f"n{len(self.computed)}"
        lines = [f"if {in_leaves(x, self.leaves)} != {known!r}: return MISS" for x, known in program.decided.items()]
        given = {x: n for x, n in self.computed.items() if not self.of_results(x)}
        lines += [f"{n} = {in_leaves(x, self.leaves)}" for x, n in given.items()]
        for x, n in given.items():  # the type can change: a complex root, a float for 2 ** -1
            kind = program.types[x]
            fits = f"type({n}) is {kind.__name__}" + f" and -{EXACT} < {n} < {EXACT}" * (kind is int)
            lines.append(f"if not ({fits}): return owner.function(*args, **kwargs)")
        if lines:  # eager code raises the error, if there is one
            failed = "except (ArithmeticError, ValueError, TypeError): return owner.function(*args, **kwargs)"
            self.lines += ["try:", *["    " + line for line in lines], failed]

    def word(self, content: Any) -> str:
        """Return a number as an expression."""
        return self.number(content.name) if is_symbolic(content) else repr(content)

    def number(self, x: str) -> str:
        """Return the variable of a number: an argument, or a computed one."""
        return self.computed.get(x) or in_leaves(x, self.leaves)

    def result(self) -> str:
        """Return the expression of the result: a tensor, a flat tuple or list, or another structure through its tree."""
        tree, results = self.program.result_tree, self.program.results
        if tree is None:
            return self.part(results[0])
        if tree.type in (tuple, list) and tree.num_nodes == len(results) + 1:
            return self.part((tree.type, results))
        return f"{self.constant(tree)}.unflatten({self.part((list, results))})"


# ---------------------------------------------------------------------- backward
def backward_function(
    program: Specialisation, pull: Loaded, by: list, shapes: list, present: tuple, partly: Callable
) -> Callable:
    """Return a function of (node, gradient) that runs a backward program on arrays and returns (edge, gradient) pairs.

    It returns None if gradients have to flow as tensors, because a saved tensor was modified. If an output that should
    be `present` has no gradient, it calls `partly`. `by` lists the inputs that get gradients; `shapes` are the shapes of the
    program's inputs: saved values, then gradients.
    """
    seeds = ["g"] if len(present) == 1 else [f"g{i}" for i in range(len(present))]
    lines = [] if len(present) == 1 else [f"{', '.join(seeds)} = g"]
    seeds = [s for s, there in zip(seeds, present) if there]
    lines += [] if len(present) == 1 else [f"if {' is None or '.join(seeds)} is None: return partly(node, g)"]
    read, twins, made = [], count(), count()
    for j, (what, k, _) in enumerate(program.saved_order):
        if what == "made":
            read.append(f"node.made[{next(made)}]")
        elif what == "input":
            lines += [f"t{j} = node.tensors[{k}]", unwritten(f"t{j}", f"node.versions[{k}]")]
            read.append(f"t{j}._a")
        else:
            lines += [f"s{j} = node.twins[{next(twins)}]", f"t{j} = s{j}.tensor", unwritten(f"t{j}", f"s{j}.version")]
            read.append(f"t{j}._a")
    lines += [f"if not {g}.flags.c_contiguous: {g} = {g}.copy()" for g in seeds]
    values = [x if shape or program.on_device else f"{x}[()]" for x, shape in zip([*read, *seeds], shapes)]
    scope: dict[str, Any] = {"entry": pull.entry, "math": math, "KINDS": KINDS, "partly": partly}
    given = []
    for kind, x in pull.plan:
        if kind not in ("input", "number"):
            scope[f"c{len(given)}"] = x
        given.append(values[x] if kind == "input" else x if kind == "number" else f"c{len(given)}")
    text = "\n    ".join([
        "def back(node, g):",
        *lines,
        "leaves, edges = node.leaves, node._edges",
        f"{', '.join([f'r{k}' for k in by])}{',' if by else '_'} = entry({', '.join(given)})",
        *[f"if type(r{k}) not in KINDS: r{k} = edges[{k}]._dtype.type(r{k})" for k in by],
        f"return [{', '.join([f'(edges[{k}], r{k})' for k in by])}]\n",
    ])  # fmt: skip
    exec(compile(text, f"{PACKAGE}<way back of {program.owner.name}>", "exec"), scope)
    return scope["back"]


def unwritten(t: str, version: str) -> str:
    """Return a line that leaves the fast backward if a tensor was modified since the call."""
    return f"if {t}._ver is not None and {t}._ver.n != {version}: return None"


# ---------------------------------------------------------------------- memory passed twice
def overlapping(tensors: list, written: list, needs_grad: list) -> bool:
    """Return True if a write would raise or change another input, or if a tensor that requires grad is passed twice."""
    arrays = [t._a for t in tensors]
    owners = [owner(a) for a in arrays]
    apart = None not in owners and len(set(owners)) == len(owners)
    for k in written:
        a = arrays[k]
        if not a.flags.writeable or tensors[k].is_inference():
            return True
        for j, b in enumerate(() if apart else arrays):
            if j != k and (a is b or (a.base is not None or b.base is not None) and np.may_share_memory(a, b)):
                return True
    tracked = [id(t) for t, n in zip(tensors, needs_grad) if n]
    return len(set(tracked)) != len(tracked)


def owner(a: Any) -> int | None:
    """Return an id for the owner of an array's memory (NumPy or Numba); None if unknown."""
    while type(a.base) is np.ndarray:
        a = a.base
    return id(a) if a.base is None else a.base.data if type(a.base).__name__ == "_MemInfo" else None
