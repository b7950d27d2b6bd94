"""The functions of a compiled program: repeated code becomes a function, and long code is split into several.

A block of lines is described by the variables it takes from earlier blocks and gives to later ones. Two blocks do the same if
their lines differ only in variables and in numbers inside indices, as the steps of a recurrent network do. Such a block is
compiled once and called.
"""

import re
from collections.abc import Callable, Iterable

JIT = '@njit(nogil=True, error_model="numpy")'
LONG = 1000  # lines in one function: compiling twice as many takes four times as long
OFTEN = 3
SAVED = 15  # lines that a function must save: it takes about 0.1 s to compile, as long as 10 lines among others

NAME = re.compile(r"(?<![.\w])[A-Za-z_]\w*")  # a name after a dot is not a variable
NUMBER = re.compile(r"(?<![.\w])\d+(?![.\w])")
INDEX = re.compile(r"(?<![.\w])(\w+\[)([^\[\]]*)\]")  # of an array; the index of `x.shape[0]` must be a constant


class LineBlock:
    """Consecutive lines, with their inputs and outputs; `is_call` if Python has to run them."""

    def __init__(self, lines: list[str], is_call: bool = False, takes: Iterable[str] = (), gives: Iterable[str] = ()):
        self.lines, self.is_call, self.takes, self.gives = lines, is_call, list(takes), list(gives)

    def call(self, name: str, more: Iterable[str] = ()) -> str:
        """Return the line that calls the block's function."""
        results = f"{', '.join(self.gives)} = " if self.gives else ""
        return f"{results}{name}({', '.join([*self.takes, *more])})"

    def function(self, name: str, more: Iterable[str] = ()) -> str:
        """Return the source of the block's function."""
        head = [JIT, f"def {name}({', '.join([*self.takes, *more])}):"]
        return "\n".join([*head, *indent(self.lines), *[f"    return {', '.join(self.gives)}"] * bool(self.gives)])


def connect(blocks: list[LineBlock], have: Iterable[str], arrays: Iterable[str], returns: str) -> list[LineBlock]:
    """Determine which earlier variables each block takes, and which arrays it gives to later blocks."""
    there, later = list(have), set(identifiers([returns]))
    for block in reversed(blocks):
        block.gives = [n for n in assigned(block.lines) if n in arrays and (block.is_call or n in later)]
        later.update(identifiers(block.lines))
    for block in blocks:
        here, made = set(identifiers(block.lines)), assigned(block.lines)
        block.takes = [n for n in there if n in here and n not in made]
        there += [n for n in block.gives if n not in there]
    return blocks


def merged(blocks: list[LineBlock]) -> list[LineBlock]:
    """Return the blocks with compiled neighbours merged, up to LONG lines each."""
    parts: list[LineBlock] = []
    count = 0
    for block in blocks:
        if not parts or block.is_call or parts[-1].is_call or count >= LONG:
            parts.append(LineBlock([], block.is_call))
            count = 0
        parts[-1].lines += block.lines
        count += sum(not is_comment(line) for line in block.lines)
    return parts


# ---------------------------------------------------------------------- repeated code
class Form:
    """The code of a block with placeholders for variables and for numbers in indices."""

    def __init__(self, block: LineBlock):
        self.block = block
        self.code = [line for line in block.lines if not is_comment(line)]
        self.comments = list(dict.fromkeys([line for line in block.lines if is_comment(line)]))
        self.numbers = [n for line in self.code for index in INDEX.findall(line) for n in NUMBER.findall(index[1])]
        self.variables: dict[str, str] = {}  # variable -> placeholder
        mine = {*block.takes, *assigned(block.lines)}
        text = "\n".join(with_numbers(self.code, ["#"] * len(self.numbers)))
        self.text = NAME.sub(lambda m: self.stand_in(m[0]) if m[0] in mine else m[0], text)

    def stand_in(self, name: str) -> str:
        """Return the placeholder of a variable."""
        return self.variables.setdefault(name, f"${len(self.variables)}")


class Repeated:
    """Blocks of one form, which become calls of one function."""

    def __init__(self, forms: list[Form], free: Callable[[str], str]):
        self.forms, self.first, self.name = forms, forms[0], free("repeated_1")
        self.takes = [self.first.variables[n] for n in self.first.block.takes]
        self.gives = list(dict.fromkeys([f.variables[n] for f in forms for n in f.block.gives]))
        self.open = {k: free("at_1") for k, found in enumerate(zip(*[f.numbers for f in forms])) if len(set(found)) > 1}

    def function(self) -> str:
        """Return the source of the function, with the names of the first block."""
        numbers = [self.open.get(k, n) for k, n in enumerate(self.first.numbers)]
        block = self.like(self.first, with_numbers(self.first.block.lines, numbers))
        return block.function(self.name, self.open.values())

    def call(self, form: Form) -> LineBlock:
        """Return a block that calls the function instead of another block."""
        # with literal numbers, Numba would compile a version for each of them
        numbers = [f"np.int64({form.numbers[k]})" for k in self.open]
        return self.like(form, [*form.comments, self.like(form, []).call(self.name, numbers)])

    def like(self, form: Form, lines: list[str]) -> LineBlock:
        """Return a block with the function's inputs and outputs, named after one of the blocks."""
        names = {stands: name for name, stands in form.variables.items()}
        return LineBlock(lines, False, [names[n] for n in self.takes], [names[n] for n in self.gives])


def group_by_form(forms: Iterable[Form]) -> list[list[Form]]:
    """Return groups of equal forms that are large enough."""
    found: dict[str, list[Form]] = {}
    for form in forms:
        found.setdefault(form.text, []).append(form)
    saved = lambda same: (len(same) - 1) * len(same[0].code)
    return [same for same in found.values() if len(same) >= OFTEN and saved(same) >= SAVED and len(same[0].code) > 1]


def shared(blocks: list[LineBlock], free: Callable[[str], str]) -> tuple[list[str], list[LineBlock]]:
    """Return functions for code that is repeated often, and the blocks with calls of them."""
    often = [Repeated(same, free) for same in group_by_form([Form(block) for block in blocks if not block.is_call])]
    calls = {form.block: r.call(form) for r in often for form in r.forms}
    return [r.function() for r in often], [calls.get(block, block) for block in blocks]


def shared_loops(blocks: list[LineBlock], arrays: set[str], known: set[str], free: Callable[[str], str]) -> list[str]:
    """Return functions for loops that are repeated often, and call them in the blocks.

    The lines before a loop prepare its arrays, so loops over arrays of different shapes can be equal.
    """
    found = [(block, loop) for block in blocks if (loop := loop_of(block, arrays, known)) is not None]
    functions, after = shared([loop for _, loop in found], free)
    for (block, loop), new in zip(found, after):
        block.lines = [*block.lines[: -len(loop.lines)], *new.lines]
    return functions


def loop_of(block: LineBlock, arrays: set[str], known: set[str]) -> LineBlock | None:
    """Return a block's lines without those that prepare arrays; None if later blocks take other results of theirs."""
    prepares = lambda line: is_comment(line) or bool(made := assigned([line])) and arrays.issuperset(made)
    start = next((k for k, line in enumerate(block.lines) if not prepares(line)), len(block.lines))
    lines = block.lines[start:]
    made = assigned(lines)
    if block.is_call or not lines or {*made} & {*block.gives}:
        return None
    return LineBlock(lines, takes=[n for n in dict.fromkeys(identifiers(lines)) if n in known and n not in made])


def merge_repeated(blocks: list[LineBlock]) -> list[LineBlock]:
    """Return the blocks with repeated sequences merged: the steps of a loop."""
    texts = [f"call {k}" if block.is_call else Form(block).text for k, block in enumerate(blocks)]
    found: list[LineBlock] = []
    start = 0
    while start < len(blocks):
        length, count = longest_run(texts, start)
        parts = [blocks[k : k + length] for k in range(start, start + length * count, length)]
        steps = [merge_blocks(part) for part in parts]
        same = [form.block for forms in group_by_form([Form(step) for step in steps]) for form in forms]
        for part, step in zip(parts, steps):
            found += [step] if step in same else part
        start += length * count
    return found


def longest_run(texts: list[str], start: int) -> tuple[int, int]:
    """Return the number of blocks in a step and the number of steps in a row from here, chosen to cover most blocks."""
    best = 1, 1
    for length in range(1, (len(texts) - start) // OFTEN + 1):
        step, count = texts[start : start + length], 1
        while texts[start + count * length : start + (count + 1) * length] == step:
            count += 1
        if count >= OFTEN and count * length > best[0] * best[1]:
            best = length, count
    return best


def merge_blocks(blocks: list[LineBlock]) -> LineBlock:
    """Return some blocks as one, with all of their inputs."""
    lines = [line for block in blocks for line in block.lines]
    made = assigned(lines)
    takes = dict.fromkeys([n for block in blocks for n in block.takes if n not in made])
    return LineBlock(lines, blocks[0].is_call, takes)


# ---------------------------------------------------------------------- lines
def with_numbers(lines: list[str], numbers: Iterable[str]) -> list[str]:
    """Return lines with these numbers in their indices."""
    given = iter(numbers)
    put = lambda index: f"{index[1]}{NUMBER.sub(lambda _: next(given), index[2])}]"
    return [line if is_comment(line) else INDEX.sub(put, line) for line in lines]


def is_comment(line: str) -> bool:
    """Return True if a line is empty or a comment."""
    return not line or line.startswith("#")


def identifiers(lines: list[str]) -> list[str]:
    """Return the names in some lines, without comments."""
    return re.findall(r"[A-Za-z_]\w*", re.sub(r"#.*", "", "\n".join(lines)))


def assigned(lines: list[str]) -> list[str]:
    """Return the variables that lines assign."""
    found = []
    for line in lines:
        if m := re.match(r"\s*([A-Za-z_][\w, ]*?),? = ", line):
            found += [n.strip() for n in m[1].split(",")]
    return list(dict.fromkeys(found))


def freed(lines: list[str], returns: str) -> list[str]:
    """Return statements with a `del` after the last use of each variable, because Python keeps variables to the end."""
    last = {n: k for k, line in enumerate(lines) for n in identifiers([line])}
    mine = [n for n in assigned(lines) if n not in identifiers([returns])]
    found = []
    for k, line in enumerate(lines):
        over = [n for n in mine if last[n] == k]
        found += [line, *[f"del {', '.join(over)}"] * bool(over)]
    return found


def indent(lines: list[str]) -> list[str]:
    """Return lines indented one level, without leading empty lines."""
    while lines and not lines[0]:
        lines = lines[1:]
    return ["    " + line if line else "" for line in lines]
