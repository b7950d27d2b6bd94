"""The steps inside a custom Function: the lines of its backward or jvp, each operation with its numbers.

They come from the record, which has the calls of the methods if it was made with `inside=True` (record/inner_calls.py).
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby

from ..places import Place
from ..record.labels import WORD, ShownNames

RULES = {"gradient": ("backward", "vjp"), "tangent": ("jvp",)}
MOST = 30  # maximum number of lines: of more, the first ones are shown


def lines(op: dict, kind: str, amount: Callable[[dict], str], names: Mapping[int, str]) -> list[str]:
    """Return the lines of the method that gave an operation's gradients or tangents; none if it was not recorded.

    `amount` tells the numbers of a value, and `names` are those of the values outside.
    """
    runs = [ran for ran in op.get("inside", ()) if ran["method"] in RULES[kind]]
    if not runs or not runs[-1]["ops"]:
        return []
    found = list(Method(runs[-1], {**names, **names_in_forward(op)}, amount).lines())
    return found if len(found) <= MOST else [*found[:MOST], f"... {len(found) - MOST} more lines ..."]


def names_in_forward(op: dict) -> dict[int, str]:
    """Return the names that forward has for values outside."""
    runs = [ran for ran in op["inside"] if ran["method"] == "forward"]
    named = [(ran["same"].get(str(value["id"])), value["name"]) for ran in runs for value in ran["values"]]
    return {outer: name for outer, name in named if outer is not None and name}


class Method:
    """One call of a method; values without a name there have that from outside, if no other value has it."""

    def __init__(self, ran: dict, names: Mapping[int, str], amount: Callable[[dict], str]):
        self.ran, self.amount = ran, amount
        self.values = {value["id"]: value for value in ran["values"]}
        self.outside = {int(i): outer for i, outer in ran["same"].items()}
        shown = ShownNames(ran["values"])
        self.names, self.words = shown.names, shown.words
        self.instead: dict[str, str] = {}  # label -> name
        for i, value in self.values.items():
            name = value["name"] or names.get(self.outside.get(i, -1), "")
            if name.isidentifier() and name not in self.names.values():
                self.instead[value["label"]] = self.names[i] = name

    def lines(self) -> Iterator[str]:
        """Yield what the method begins with, its lines of code, and below each what its operations compute."""
        yield from self.given()
        for (file, line, code), ops in groupby(self.ran["ops"], key=place):
            first, *others = code.splitlines() or [""]
            yield f"{Place(file, line).short if line else ''}  {first}".strip()
            yield from (f"  {other}" for other in others)
            for op in ops:
                yield from (f"  {one}" for one in self.computed(op))

    def given(self) -> Iterator[str]:
        """Yield the method's arguments, then the tensors that it reads besides."""
        made = {value for op in self.ran["ops"] for value in op["outputs"]}
        reads = [i for op in self.ran["ops"] for i in op["inputs"] if isinstance(i, int) and i not in made]
        arguments = [i for i in self.ran.get("inputs", ()) if i is not None]
        for i in dict.fromkeys([*arguments, *reads]):
            saved = i not in arguments and i in self.outside
            yield f"{self.names[i]} = {self.amount(self.values[i])}" + "   (saved)" * saved

    def computed(self, op: dict) -> Iterator[str]:
        """Yield the results of an operation, and the steps inside it if it is a custom Function itself."""
        called = self.words(WORD.sub(lambda m: self.instead.get(m[0], m[0]), op["call"]))
        for out in op["outputs"]:
            by = f"{called} = " if called and len(op["outputs"]) == 1 else ""
            yield f"{self.names[out]} = {by}{self.amount(self.values[out])}"
        for ran in op.get("inside", ()):
            if ran["method"] == "forward":
                yield from (f"  {line}" for line in Method(ran, self.names, self.amount).lines())


def place(op: dict) -> tuple[str, int, str]:
    """Return an operation's place in the program."""
    return op["where"]["file"], op["where"]["line"], op["where"]["code"].strip()
