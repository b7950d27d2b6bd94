"""The names in an operation's generated source: its operands, the values that backward reads, and their readers."""

import linecache
import os
import re
from typing import Any

from ..ops.base.families import Pointwise, Reduce


class Plan:
    """Plan of an operation, read from its declaration; for a parameter `*xs`, for a number of arguments: xs0, xs1 and so on.

    By name: `operands` are the parameters that can have a gradient, `integers` those that take tensors of indices, `plain`
    the others, including settings; `outs` the results.  `read` are the values among these that formulas read, and so are
    saved; `shapes` are the operands of which a formula reads only the shape.  The operand at `number` is a plain number;
    `half` plans the source for half precision.
    """

    def __init__(self, cls: Any, n_arguments: int = 0, number: int | None = None, half: bool = False):
        self.pointwise, self.reduction, self.half = (pointwise := is_pointwise(cls)), issubclass(cls, Reduce), half
        self.number = number
        self.cls, self.names, self.starred = cls, cls.names, ()
        if cls.variadic is not None:
            self.starred = tuple([f"{cls.names[-1]}{i}" for i in range(n_arguments - cls.variadic)])
            self.names = (*cls.names[:-1], *self.starred)
        parameters = {k: cls.parameter(i) for i, k in enumerate(self.names)}
        self.formulas = {k: cls.formulas[p] for k, p in parameters.items() if p in cls.formulas and p != number}
        n = len(cls.names) - cls.n_settings if pointwise else 0
        self.operands = [k for i, k in enumerate(self.names) if i < n or k in self.formulas] or [cls.names[0]]
        self.integers = [k for k, p in parameters.items() if cls.names[p] in cls.integers]
        self.plain = [k for k in self.names if k not in self.operands and k not in self.integers]
        self.reads = {k: self.spelled(cls.reads[parameters[k]]) for k in self.formulas}
        self.outs = outputs([n for names in self.reads.values() for n in names])
        self.gs = [f"g{i}" for i in range(len(self.outs))] if len(self.outs) > 1 else ["g"]
        known = [*self.operands, *self.integers, *self.outs]
        found = {n for names in self.reads.values() for n in names if n in known}
        self.read = sorted(found, key=known.index)
        whole = self.reduction or bool(self.starred)  # a drawing of cat shows unread operands too
        self.shapes = [k for k in self.operands if whole or "shape" in self.reads.get(k, ())]
        self.number_operand = cls.names[cls.number_operand] if pointwise and cls.number_operand is not None else None
        self.numeric = (
            self.operands[cls.n_conditions :] if pointwise else self.operands
        )  # operands that are no conditions
        # those that may be numbers: both of two, all but the first of more
        n = len(self.numeric) if pointwise else 0
        self.numbers = self.numeric[n > 2 :] if n > 1 else []

    def spelled(self, names: tuple) -> tuple:
        """Return the names that a formula reads, with `*xs` expanded."""
        return tuple([k for n in names for k in (self.starred if self.starred and n == self.cls.names[-1] else (n,))])

    def given(self, k: str) -> list:
        """Return the arguments of operand k's formula, as source."""
        known = {"shape": f"node.s{k}"}
        if k in self.starred:
            known["index"] = str(self.starred.index(k))
        if self.starred:
            known[self.cls.names[-1]] = f"({', '.join(self.starred)},)"
        return [known.get(n, n) for n in self.cls.reads[self.cls.parameter(self.names.index(k))]]

    def users(self, name: str) -> list:
        """Return the operands whose formula reads this value."""
        return [k for k, names in self.reads.items() if name in names]

    def shared(self, name: str) -> bool:
        """Return True if all formulas read the value, so that it is needed whichever operand is tracked."""
        return len(self.users(name)) == len(self.operands)

    def needed(self, name: str) -> str:
        """Return the condition for saving the value: one of its readers is tracked."""
        return " or ".join(f"n{k} is not None" for k in self.users(name))

    def edges(self) -> str:
        """Return the local names of the edges."""
        return ", ".join("n" + k for k in self.operands)

    def keep(self) -> list:
        """Return lines that save the values that backward reads."""
        lines = []
        for k in self.read:
            value = f"twin({k})" if k in self.outs else f"{k} if {k}._ver is None else save({k})"
            lines.append(f"node.{k} = " + (value if self.shared(k) else f"({value}) if {self.needed(k)} else None"))
            if k in self.cls.views:
                lines.append(f"node.m{k} = {k}._a")
        return lines

    def restore(self, value: str, view: str = "{k} if node.m{k} is None else node.m{k}") -> list:
        """Return lines that read them back; `value` is the template for reading the slot's value `s`.

        `view` is the template for an operand of which PyTorch saves a view: the array of then, or the tensor on it.
        """
        lines = []
        for k in self.read:
            text = value.format(k=k, index=self.outs.index(k) if k in self.outs else None)
            if k == self.number_operand:
                text = f"kept if (kept := node._number) and type(kept) is not tuple else ({text})"
            lines.append(f"{k} = " + (text if self.shared(k) else f"({text}) if {self.needed(k)} else None"))
            if k in self.cls.views:
                lines.append(f"{k} = None if {k} is None else " + view.format(k=k))  # None: made under a transform
        return lines

    def forget(self) -> str:
        """Return lines that free them."""
        if not self.read:
            return ""
        some = (
            "" if all(map(self.shared, self.read)) else f" and ({' or '.join(f'{k} is not None' for k in self.read)})"
        )
        gone = [f"node.{k} = None" for k in self.read] + [f"node.m{k} = None" for k in self.cls.views]
        return "\n    ".join([f"if free is not None{some}:", *gone, "node._freed = free"])


def fill(template: str, **parts: Any) -> str:
    """Return a template with its parts; one that is alone on its line keeps its indentation, and is left out if empty.

    >>> print(fill("if {x}:\\n    {lines}\\n    {more}", x="a", lines="b = 1\\nc = 2", more=""))
    if a:
        b = 1
        c = 2
    """
    lines = []
    for line in template.split("\n"):
        if (alone := re.fullmatch(r"( *)\{(\w+)\}", line)) is None:
            lines.append(line.format(**parts))
        elif part := parts[alone[2]]:
            lines += [alone[1] + more for more in part.split("\n")]
    return "\n".join(lines)


def outputs(names: list) -> list:
    """Return the formulas' names of the results: out, or out0, out1 and so on if they name several."""
    places = [int(found[1]) for n in names if (found := re.fullmatch(r"(?:out|g)(\d+)", n))]
    return [f"out{i}" for i in range(max(places) + 1)] if max(places, default=0) else ["out"]


def is_pointwise(cls: Any) -> bool:
    """Return True if the operation is a scalar kernel."""
    return issubclass(cls, Pointwise)


# names that the generated source uses itself
LOCALS = (
    "layout frame result out node memory next_number save history wrap array tensor sent spread g s impl other new fresh "
    "free previous found kept made"
).split()


def execute(title: str, source: str, scope: dict) -> None:
    """Execute generated source under a unique file name, so that tracebacks show its lines."""
    file = os.path.join(os.path.dirname(__file__), f"<{title}>")
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    exec(compile(source, file, "exec"), scope)
