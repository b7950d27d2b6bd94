"""An explanation as on a blackboard: each step with its line, its local partial and its numbers.

Numbers have four significant digits, and both sides of an equals sign are the same number.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from ..formulas.expression import coefficient
from ..formulas.named_parts import in_parts
from ..places import Place
from ..record.labels import ShownNames
from ..record.summary import statistics
from . import inside_methods
from .steps import Part, Step, Sum

if TYPE_CHECKING:
    from .explanation import Explanation

MOST = 40  # maximum number of steps: of more, the first and the last ones are shown
RULES = {"gradient": "backward", "tangent": "jvp"}
WIDE, NEXT = 90, "\n          "  # characters of a line, and the start of a continuation line
PLAIN = 40  # definitions up to this length follow their formula on the same line
SMALL = 6  # maximum number of elements that are written out
LARGEST = 5  # maximum number of paths that are listed


def text(e: Explanation) -> str:
    """Return the whole text."""
    return "\n".join([*head(e), "", *Board(e).lines(), *paths(e)])


def head(e: Explanation) -> Iterator[str]:
    """Yield the headline: the number, and how many paths and steps lead to it."""
    element = "" if e.whole else at(e.elements[0])
    found = array(e.numbers, e.shape) if e.whole else number(e.numbers[0])
    steps = sum(isinstance(step, Step) for step in e.steps)
    yield f"{e.label or e.derivative(e.of)}{element} = {found}: {plural(e.count, 'path')}, {plural(steps, 'step')}"
    for note in [*e.notes, *e.special]:
        yield f"  ({note})"


def labelled(e: Explanation) -> dict:
    """Return an explanation's record for a picture: each edge has its equations under the key `equations`."""
    board, equations = Board(e), defaultdict(list)
    for step in reversed(e.steps):
        if isinstance(step, Step) and e.kind == "gradient" and math.prod(board.shape(step.value)) > SMALL:
            equations[step.op, step.value].append([f"{at(part.index)} {board.sum(part)}" for part in step.parts])
    ops = []
    for op in e.record["ops"]:
        edges = [dict(edge) for edge in op["edges"]]
        for edge in edges:
            if waiting := equations[op["id"], edge["input"]]:
                edge["equations"] = waiting.pop(0)
        ops.append({**op, "edges": edges})
    title = (e.label or e.derivative(e.of)) + ("" if e.whole else at(e.elements[0]))
    return {**e.record, "ops": ops, "program": {**e.record["program"], "name": title}}


class Board:
    """The steps of an explanation as lines of text."""

    def __init__(self, e: Explanation):
        self.e = e
        self.values = {value["id"]: value for value in e.record["values"]}
        self.words = ShownNames(e.record["values"]).words
        self.op, self.place = None, 0  # of the last heading
        self.summed = {step.value for step in e.steps if isinstance(step, Sum)}

    def lines(self) -> Iterator[str]:
        """Yield the start of the derivation, then the lines of each step."""
        for value, seed in self.e.seeds.items():
            yield f"    {self.derivative(value)} = {self.summed_up(value, seed)}   ({self.beginning(value)})"
        blocks = [list(block) for _, block in groupby(self.e.steps, key=self.block)]
        for k, block in enumerate(blocks):
            if len(blocks) > MOST and MOST // 2 <= k < len(blocks) - MOST // 2:
                if k == MOST // 2:
                    yield f"    ... {len(blocks) - MOST} more steps ..."
                self.count(block[0])
                continue
            yield from self.sums(block) if isinstance(block[0], Sum) else self.step(block[0])

    def summed_up(self, value: int, summary: dict) -> str:
        """Return a few numbers in full, or the extremes of many."""
        return amount({"shape": self.shape(value), "summary": summary})

    def beginning(self, value: int) -> str:
        """Return the remark on a derivative that comes from no step."""
        reason = "no step computes this: a hook set it, or a backward started here"
        return reason if value in self.summed else "the derivation starts here"

    def block(self, step: Step | Sum) -> Any:
        """Return a key that groups the sums at one value; each step is a group of one."""
        return ("sum", step.value) if isinstance(step, Sum) else id(step)

    def derivative(self, value: int, index: tuple | None = None) -> str:
        """Return the notation for a value's derivative, or for one of its elements."""
        return self.e.derivative(value) + at(index or ())

    def count(self, step: Step | Sum) -> bool:
        """Go on to a step; return True if it belongs to another operation than the last one."""
        if isinstance(step, Sum) or step.op == self.op:
            return False
        self.op, self.place = step.op, self.place + 1
        return True

    def step(self, step: Step) -> Iterator[str]:
        """Yield the lines of one operation: its call, its local partial, its numbers."""
        begins = self.count(step)
        if begins:
            yield self.heading(step)
        if rule := self.rule(step):
            yield f"      {rule}"
        if begins:
            yield from (f"      {line}" for line in self.cuts(step))
        if begins and step.function:
            op = next(op for op in self.e.record["ops"] if op["id"] == step.op)
            yield from (f"        {line}" for line in inside_methods.lines(op, self.e.kind, amount, self.e.names))
        shape = self.shape(step.value)
        if len(step.parts) > 1 and len(step.parts) == math.prod(shape):
            if all(part.known and len(part.terms) == 1 and not part.others for part in step.parts):
                yield f"    {self.left_side(step)} {self.product(step.parts, shape)}"
                return
            if not any(part.terms or part.known for part in step.parts):
                yield f"    {self.left_side(step)} {self.opaque(step)} = {array([p.gives for p in step.parts], shape)}"
                return
        for part in step.parts:
            yield f"    {self.left_side(step, part.index)} {self.terms(step, part)}"

    def cuts(self, step: Step) -> Iterator[str]:
        """Yield a line for each operand of an operation behind which no derivative goes on."""
        made = {o: op for op in self.e.record["ops"] for o in op["outputs"]}
        read = next((op["inputs"] for op in self.e.record["ops"] if op["id"] == step.op), ())
        for i in dict.fromkeys(i for i in read if isinstance(i, int)):
            op = made.get(i, {})
            if op.get("cut") and not (self.e.kind == "tangent" and op["tangents"]):
                call, here = self.words(op["call"]), Place(op["where"]["file"], op["where"]["line"]).short
                name = call if self.e.names[i] == call else f"{self.e.names[i]} = {call}"
                why = f" ({op['cut']})" * (op["cut"] != op["name"])
                yield f"{name}: no {self.e.kind} beyond here{why}{', ' * bool(op['where']['line'])}{here}"

    def heading(self, step: Step) -> str:
        """Return the operation as a numbered line of the program, with its place."""
        here = Place(step.where["file"], step.where["line"]).short if step.where["line"] else ""
        line = f"{self.result(step)} = {self.words(step.call) or f'{step.name} that are not kept'}"
        return f"{self.place:3} {line if len(line) <= WIDE else line[: WIDE - 1] + '…':<60} {here}".rstrip()

    def result(self, step: Step) -> str:
        """Return the names of an operation's results."""
        outs = dict.fromkeys(step.sources) if self.e.kind == "gradient" else [step.value]
        return ", ".join(self.e.names[out] for out in outs)

    def rule(self, step: Step) -> str:
        """Return the local partial if the formula is g times it; else the formula, and the meaning of g."""
        if step.function:
            stands = f", {Place(*step.backward_at).short}" if step.backward_at else ""
            return f"{step.function}.{RULES[self.e.kind]}{stands}"
        if not step.formula:
            return ""
        formula, parts = in_parts(step.formula)
        where = [f"{name} = {self.words(part)}" for name, part in parts.items()]
        if self.e.kind == "tangent":
            return with_definitions(f"{self.derivative(step.value)} = {self.words(formula)}", where)
        outputs = next((op["outputs"] for op in self.e.record["ops"] if op["id"] == step.op), step.sources)
        if len(outputs) == 1 and (partial := coefficient(formula, "g")):
            return with_definitions(
                f"∂{self.e.names[outputs[0]]}/∂{self.e.names[step.value]} = {self.words(partial)}", where
            )
        names = [f"g[{k}]" for k in range(len(outputs))] if len(outputs) > 1 else ["g"]
        arrived = [f"{g} = {self.derivative(o)}" for g, o in zip(names, outputs) if g in step.formula]
        return with_definitions(f"{self.derivative(step.value)}: {self.words(formula)}", [*arrived, *where])

    def left_side(self, step: Step, index: tuple | None = None) -> str:
        """Return the left side of an equation; `gets` means that other steps contribute as well."""
        return f"{self.derivative(step.value, index)} {'gets' if step.value in self.summed else '='}"

    def shape(self, value: int) -> tuple:
        return tuple(self.values[value]["shape"])

    def product(self, parts: list[Part], shape: tuple) -> str:
        """Return incoming derivative times local partials, as arrays; a factor shared by all elements as one number."""
        terms = [part.terms[0] for part in parts]
        one = len({(term.value, term.index) for term in terms}) == 1
        arrived = bracketed(terms[0].arrived) if one else array([term.arrived for term in terms], shape)
        return f"{arrived} × {array([t.partial for t in terms], shape)} = {array([p.gives for p in parts], shape)}"

    def terms(self, step: Step, part: Part) -> str:
        """Return one element as a sum of products, and the origin of its terms."""
        if not part.terms and part.known:
            return f"{number(part.gives)}   (all local partials are 0)"
        if not part.terms:
            return f"{self.opaque(step)}{at(part.index)} = {number(part.gives)}"
        places = [self.derivative(term.value, term.index) for term in part.terms]
        plain = len(places) == 1 and part.terms[0].index in (part.index, ())
        origin = "" if plain else f"(from {', '.join(places)})"
        quotient = "" if part.known else "   (the partial is the quotient of the other two numbers)"
        line = f"{self.sum(part)}{quotient}"
        return f"{line}{'   ' if len(line) + len(origin) < WIDE else NEXT}{origin}".rstrip()

    def sum(self, part: Part) -> str:
        """Return the products and their sum."""
        products = [f"{bracketed(term.arrived)} × {bracketed(term.partial)}" for term in part.terms]
        if part.others:
            products.append(f"{bracketed(part.rest)} ({plural(part.others, 'smaller term')})")
        return " = ".join(filter(None, [" + ".join(products), number(part.gives)]))

    def opaque(self, step: Step) -> str:
        """Return the call of a rule whose partials are unknown."""
        arguments = ", ".join(self.held(s) for s in dict.fromkeys(step.sources))
        return f"{step.name}.{RULES[self.e.kind]}({arguments})"

    def held(self, value: int) -> str:
        """Return a value's derivative if the record contains it, else its shape."""
        if self.e.kind == "gradient":
            found = self.e.record["gradients"].get(str(value))
        else:
            tangents = [op["tangents"] for op in self.e.record["ops"] if str(value) in op["tangents"]]
            found = tangents[0][str(value)] if tangents else None
        if found is None:
            return f"shape {self.shape(value)}"
        return self.summed_up(value, self.values[found]["summary"])

    def sums(self, block: list[Sum]) -> Iterator[str]:
        """Yield the contributions that add up at a value."""
        shape = self.shape(block[0].value)
        rows = [[*s.terms, *([s.seed] if any(one.seed for one in block) else [])] for s in block]
        if len(block) > 1 and len(block) == np.prod(shape):
            sides = [array(terms, shape) for terms in zip(*rows)]
            yield f"  + {self.derivative(block[0].value)} = {' + '.join(sides)} = {array([s.total for s in block], shape)}"
            return
        for s, row in zip(block, rows):
            yield f"  + {self.derivative(s.value, s.index)} = {' + '.join(map(bracketed, row))} = {number(s.total)}"


def paths(e: Explanation) -> Iterator[str]:
    """Yield the paths, the largest first, with the contribution of each."""
    if e.count < 2:
        return
    yield ""
    shown = e.paths[:LARGEST]
    for path in shown:
        steps = [f"{name} ({n}×)" if (n := len(list(same))) > 1 else name for name, same in groupby(path.names)]
        steps = steps if len(steps) <= 12 else [*steps[:8], "...", *steps[-4:]]
        way = " → ".join([e.names[path.begins] if path.begins is not None else "...", *steps])
        more = f"   ({path.count} paths)" if path.count > 1 else ""
        yield f"    {listed(path.gives):>12}   along {way}{more}"
    if len(e.paths) > len(shown):
        sums = [sum(each) for each in zip(*[path.gives for path in shown])]
        yield f"    {plural(e.count, 'path')}; the {len(shown)} largest contribute {listed(sums)} of {listed(e.numbers)}"
    else:
        yield f"    {listed(e.numbers):>12}   in all"


def amount(value: dict) -> str:
    """Return the few numbers of a record's value in full, or the extremes of many."""
    shape, summary = tuple(value["shape"]), value["summary"]
    if math.prod(shape) <= SMALL and "values" in summary:
        return array(np.ravel(summary["values"]), shape)
    if "values" in summary:
        summary = statistics(np.ravel(summary["values"]).astype(float))
    low, high, negative = summary.get("min"), summary.get("max"), summary.get("-inf") or 0
    odd = {"nan": summary.get("nan") or 0, "inf": (summary.get("inf") or 0) - negative, "-inf": negative}
    special = [f"{many} {word}" for word, many in odd.items() if many]
    equal = "all " * (not special) + number(low) if low is not None and low == high else ""
    parts = [] if low is None else [equal or f"{number(low)} to {number(high)}"]
    return ", ".join([f"shape {shape}", *parts, *special])


def with_definitions(formula: str, where: list[str]) -> str:
    """Return a formula with the definitions of its names, on separate lines if they are long."""
    short = ", ".join(where)
    return (
        formula + f", where {short}" * bool(where)
        if len(short) < PLAIN
        else f"{NEXT}".join([f"{formula}, where", *where])
    )


def plural(count: int, what: str) -> str:
    """Return a count with its noun in the singular or plural."""
    return f"{count} {what}" + "s" * (count != 1)


def at(index: tuple) -> str:
    """Return an element's index in brackets, or an empty string."""
    return f"[{', '.join(map(str, index))}]" if index else ""


def number(x: float) -> str:
    """Return a number with four significant digits."""
    return f"{x + 0:.4g}"  # -0.0 + 0 is 0.0


def bracketed(x: float) -> str:
    """Return a number as a factor or term, in parentheses if it is negative."""
    return f"({number(x)})" if number(x).startswith("-") else number(x)


def listed(numbers: Sequence[float]) -> str:
    """Return one number, or several as a list."""
    return array(numbers, (len(numbers),) if len(numbers) > 1 else ())


def array(elements: Any, shape: tuple) -> str:
    """Return elements as nested lists of numbers."""

    def nested(part: Any) -> str:
        return "[" + ", ".join(map(nested, part)) + "]" if isinstance(part, list) else number(part)

    return nested(np.reshape(np.asarray(elements, float), shape).tolist())
