"""Exercises about in-place operations: versions, views and copies, gradients of writes, mark_dirty."""

import random
from collections.abc import Callable
from typing import Any

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong

from . import Task, choice, code, combined, exercise, fence, number, numbers


@exercise(
    1,
    "A write counts if it changes the memory of x, through any tensor that shares it.",
    "Which of the lines make a copy first? A slice and a view share memory; a list as an index makes a copy.",
)
def version_of_a_tensor(r: random.Random) -> Task:
    """Count the writes to a tensor."""
    direct = r.sample(
        ["x.add_(1)", "x += 1", "x[0] = 5.0", "x.fill_(3.0)", "x.copy_(torch.ones(4))"], r.choice([1, 2, 3])
    )
    shared = r.sample(
        ["x[1:].mul_(2)", "x.view(2, 2).zero_()", "x.detach().sub_(1)", "x.unsqueeze(0).neg_()"], r.choice([1, 2])
    )
    copies = r.sample(["x.clone().mul_(2)", "x[[0, 1]].zero_()", "(x + 1).sqrt_()", "x.double().add_(1)"], 2)
    lines = [*direct, *shared, *copies, r.choice(["y = x + 1", "y = x.exp()", "y = 2 * x"])]
    program = "\n".join(["x = torch.zeros(4)", *r.sample(lines, len(lines))])
    return number(
        f"Find `x._version` after this program.{fence(program)}",
        len(direct) + len(shared),
        solution=f"{program}\nversion_of_a_tensor = x._version",
        why="The version counts writes to the memory, including writes through views. A copy has its own memory.",
        mistakes={
            len(direct): "a write through a view or a detached tensor changes x, too",
            len(direct) + len(shared) + 2: "two of the lines write to a copy",
            len(lines): "not every line writes to x",
        },
    )


@exercise(1, "A view describes the same memory with another shape. Any calculation allocates new memory.")
def shared_memory(r: random.Random) -> Task:
    """Tell views from copies."""
    views = ["x[0]", "x.T", "x.view(6)", "x[:, 1:]", "x.detach()", "x.unsqueeze(0)", "x.diagonal()", "x.reshape(6)"]
    copies = {
        "x[[0, 1]]": "a list as an index makes a copy",
        "x.clone()": "clone copies",
        "x * 1": "a calculation allocates new memory",
        "x.T.contiguous()": "contiguous copies the transposed elements into a new order",
        "x[x > 0]": "a mask makes a copy",
        "x.double()": "another dtype needs new memory",
        "x.T.reshape(6)": "the elements of x.T are not in this order in memory, so reshape copies",
        "x.flip(0)": "flip copies",
    }
    count = r.choice([2, 3])
    lines = dict(zip("abcde", r.sample(r.sample(views, count) + r.sample(list(copies), 5 - count), 5)))
    shown = "".join(f"\n- {letter}: `y = {made}`" for letter, made in lines.items())
    given = ", ".join(f'"{letter}": {made}' for letter, made in lines.items())
    return choice(
        "`x = torch.ones(2, 3)`. After which of these lines does a write to `y` also change `x`? Give a list of letters.\n"
        + shown,
        [letter for letter, made in lines.items() if made in views],
        solution=f"""
x = torch.ones(2, 3)
shared_memory = []
for letter, y in {{{given}}}.items():
    x.fill_(1.0)
    y.fill_(2.0)
    if (x == 2.0).any():
        shared_memory.append(letter)""",
        why="Indexing with numbers and slices, and operations that only change the shape, return views.",
        mistakes={letter: copies[made] for letter, made in lines.items() if made in copies},
    )


@exercise(1, "An element that a number overwrites no longer contributes to the sum.")
def gradient_of_overwritten(r: random.Random) -> Task:
    """Differentiate a program with an assignment."""
    a, b, values = r.randint(2, 5), r.randint(2, 5), r.sample(range(1, 10), 4)
    write, gone = r.choice([
        ("x[1] = 7.0", [1]),
        ("x[2:] = 0.0", [2, 3]),
        ("x[:2].zero_()", [0, 1]),
        ("x[::2] = 1.0", [0, 2]),
        ("x[-1] = 5.0", [3]),
        ("x[[0, 3]] = 2.0", [0, 3]),
    ])  # fmt: skip
    program = f"""
leaf = torch.tensor({[float(v) for v in values]}, requires_grad=True)
x = leaf * {a}
{write}
x.mul_({b})
x.sum().backward()"""
    return numbers(
        f"What are the four numbers in `leaf.grad` after this program?{fence(program)}",
        [0 if i in gone else a * b for i in range(4)],
        solution=f"{program}\ngradient_of_overwritten = leaf.grad",
        why="The sum does not depend on the overwritten elements, and the others are multiplied twice.",
        mistakes={
            (a * b,) * 4: "the overwritten elements do not contribute to the sum",
            tuple(0 if i in gone else a for i in range(4)): "the second write multiplies, too",
            tuple(b if i in gone else a * b for i in range(4)): "an overwritten element no longer depends on the leaf",
            tuple(a * b if i in gone else 0 for i in range(4)): "it is the other way round",
        },
    )


@exercise(1, "`x = x + 1` creates a new tensor and does not change y. `x += 1` writes to the tensor that y also names.")
def value_of_an_alias(r: random.Random) -> Task:
    """Follow two names of one tensor."""
    start, a, b = r.randint(1, 5), r.randint(2, 5), r.randint(2, 5)
    c, before, after = r.randint(6, 9), r.choice(["x += {}", "x.add_({})"]), r.choice(["x *= {}", "x.mul_({})"])
    new = r.choice(["x = x * {}", "x = x + {}"])
    lines = [before.format(a), new.format(b), after.format(c)]
    program = "\n".join([f"x = torch.tensor({start}.0)", "y = x", *lines])
    third = (start + a) * b if "*" in new else start + a + b
    return number(
        f"What is `y` after this program?{fence(program)}",
        start + a,
        solution=f"{program}\nvalue_of_an_alias = y.item()",
        why="y sees the writes to x until x becomes the name of a new tensor.",
        mistakes={
            start: "the first write changes the tensor that both names refer to",
            third * c: "that is x, which is a different tensor by then",
            third: "the assignment gives the name x to a new tensor",
            (start + a) * c: "the last write is to the new tensor",
        },
    )


@exercise(
    2,
    "After the write, one column of A is k * b. The elements that were there do not count.",
    "The square has the slope 2 A. For b, multiply it by the factor in the assignment.",
)
def gradient_of_a_copy(r: random.Random) -> Task:
    """Differentiate an assignment of a tensor."""
    a, b, k, column = r.sample(range(1, 6), 4), r.sample(range(1, 5), 2), r.randint(2, 3), r.choice([0, 1])
    program = f"""
a = torch.tensor({[[float(a[0]), float(a[1])], [float(a[2]), float(a[3])]]}, requires_grad=True)
b = torch.tensor({[float(v) for v in b]}, requires_grad=True)
A = a * 1
A[:, {column}] = b * {k}
(A * A).sum().backward()"""
    row = [0 if i == column else 2 * a[i] for i in range(2)]
    return numbers(
        f"Give a list of four numbers: `a.grad[0]` and `b.grad` after this program.{fence(program)}",
        [*row, *(2 * k * k * v for v in b)],
        solution=f"{program}\ngradient_of_a_copy = [*a.grad[0], *b.grad]",
        why="The write gives the gradient of the column to b, and none to the elements that it replaces.",
        mistakes={
            (
                2 * a[0],
                2 * a[1],
                *(2 * k * k * v for v in b),
            ): "the replaced element of a does not contribute to the sum",
            (*row, *(2 * k * v for v in b)): "the assignment multiplies b by a factor",
            (*row, 0, 0): "an assignment copies with a history: b gets a gradient",
            (*row, *(2 * v for v in b)): "A has the value k * b there, and b has the factor k: multiply by k twice",
        },
    )


@exercise(
    2,
    "v is a view: it has the values and the history from after the write.",
    "w is a copy from before the write. It keeps its values and its history.",
)
def gradient_through_a_view(r: random.Random) -> Task:
    """Read a view and a copy after a write."""
    a, b = r.sample(range(2, 6), 2)
    c, d, e = r.sample(range(2, 10), 3)
    program = f"""
leaf = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
x = leaf * {a}
v = x[0]
w = x[1].clone()
x.mul_({b})
({c} * v + {d} * w + {e} * x[2]).backward()"""
    return numbers(
        f"What are the three numbers in `leaf.grad` after this program?{fence(program)}",
        [c * a * b, d * a, e * a * b],
        solution=f"{program}\ngradient_through_a_view = leaf.grad",
        why="A write to the base changes the values and the history of its views. An earlier copy stays as it is.",
        mistakes={
            (c * a, d * a, e * a * b): "v is a view, so the write changes it, too",
            (c * a * b, d * a * b, e * a * b): "w is a copy from before the write",
            (c * a, d * a * b, e * a * b): "the view sees the write, not the copy",
            (c * b, d, e * b): "the first step, from leaf to x, multiplies, too",
        },
    )


@exercise(
    2,
    "Write down the derivative of each function. Does it need the input, the result, or nothing?",
    "exp, sqrt, tanh and sigmoid save the result; sin, cos, log and the square save the input.",
)
def harmful_writes(r: random.Random) -> Task:
    """Find the writes that break backward."""
    bad = r.sample(HARMFUL, r.choice([2, 3]))
    programs = dict(zip("abcde", r.sample(bad + r.sample(list(HARMLESS), 5 - len(bad)), 5)))
    shown = "".join(f"\n- {letter}: `{program}`" for letter, program in programs.items())
    return choice(
        "`x` is the result of an operation, a vector of two positive numbers that requires grad. After which of these programs "
        f"does `y.sum().backward()` raise an error? Give a list of letters.\n{shown}",
        [letter for letter, program in programs.items() if program in bad],
        solution=f"""
harmful_writes = []
for letter, program in {programs}.items():
    scope = {{"x": torch.tensor([1.0, 2.0], requires_grad=True) * 1}}
    exec(program, scope)
    try:
        scope["y"].sum().backward()
    except RuntimeError:
        harmful_writes.append(letter)""",
        why="A write breaks backward if the derivative needs the tensor that the write changes.",
        mistakes={letter: HARMLESS[program] for letter, program in programs.items() if program in HARMLESS},
    )


@exercise(
    2,
    "A write to a leaf that requires grad raises an error at once. backward notices a changed saved tensor.",
    "Is x the leaf itself, a view of it, or a new tensor? And does backward need the tensor that line 4 writes to?",
)
def line_with_error(r: random.Random) -> Task:
    """Find the line that raises an error."""
    leaves, others = ["w", "w.view(2)", "w[:]"], ["w * 1", "w.clone()", "w + 1"]
    second, program = r.choice(leaves + others), r.choice([*HARMFUL, *HARMLESS])
    made, write = program.split("; ")
    lines = ["w = torch.tensor([1.0, 2.0], requires_grad=True)", f"x = {second}", made, write, "y.sum().backward()"]
    shown = "\n".join(f"{line:<{max(map(len, lines))}}  # {i}" for i, line in enumerate(lines, 1))
    right = 4 if second in leaves and write.startswith("x") else 5 if program in HARMFUL else 0
    return number(
        f"Which line of this program raises an error? Answer 0 if none does.{fence(shown)}",
        right,
        solution=f"""
line_with_error, scope = 0, {{"torch": torch}}
for i, line in enumerate({lines}, 1):
    try:
        exec(line, scope)
    except RuntimeError:
        line_with_error = i
        break""",
        why="A write to a leaf that requires grad raises an error at once; a write to a saved tensor raises it in backward.",
        mistakes={
            0: "x shares the memory of a leaf" if right == 4 else "the derivative needs the tensor that line 4 changes",
            4: "line 4 does not write to a leaf; backward notices a changed saved tensor later",
            5: "line 4 writes to a leaf"
            if right == 4
            else "the derivative does not need the tensor that line 4 changes",
            3: "the lines before the write are right",
        },
    )


@exercise(
    3,
    "The step saves out[i - 1] for backward, and the next write to out changes its version.",
    "Collect the states in a list, and use torch.stack at the end.",
)
def repaired_recurrence(r: random.Random) -> Task:
    """Repair a loop that fills a tensor."""
    f, k = r.choice(["tanh", "sin", "cos", "sigmoid", "exp"]), r.randint(2, 9)
    step = f"torch.{f}({{}} * x[i] * {k})"

    def expected(x: torch.Tensor) -> torch.Tensor:
        states = [x[0]]
        for one in x[1:]:
            states.append(getattr(torch, f)(states[-1] * one * k))
        return torch.stack(states)

    def judge(answer):
        calls = [
            torch.tensor(values, requires_grad=True) for values in ([0.5], [0.1, -0.2], [0.1, 0.2, -0.1, 0.3, 0.2])
        ]
        expect.computes(answer, expected, *[(x,) for x in calls])

    def source(before: str, end: str = "return out") -> str:
        return f"""
def repaired_recurrence(x):
    out = torch.zeros(len(x))
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = {step.format(before)}
    {end}"""

    return code(
        f"This function returns the right values, but its backward raises an error. Repair it.{fence(source('out[i - 1]'))}",
        "def repaired_recurrence(x): ...",
        f"""
def repaired_recurrence(x):
    states = [x[0]]
    for i in range(1, len(x)):
        states.append({step.format("states[-1]")})
    return torch.stack(states)""",
        judge,
        "Each state is a tensor that no later step writes to, so the saved tensors stay unchanged.",
        (source("out[i - 1]"), "RuntimeError"),
        (source("out[i - 1].detach().clone()"), "the gradient"),
        (source("out[i - 1]", "return out.clone()"), "RuntimeError"),
    )


@exercise(
    3,
    "Read both lines before you write to one of them. x[i] is a view, so it changes with the write.",
    "x[i].clone() keeps the old values. An index with a list, as in x[[i, j]], makes a copy, too.",
)
def exchanged_lines(r: random.Random) -> Task:
    """Swap two lines of a matrix in place."""
    k, rows = r.choice([2, 3, 4, 5, 6, 8, 10, -1, -2]), r.random() < 0.5
    lines, at = ("rows", "x[{}]") if rows else ("columns", "x[:, {}]")
    i, j = at.format("i"), at.format("j")

    def expected(x: torch.Tensor, i: int, j: int) -> torch.Tensor:
        parts = list(x.unbind(0 if rows else 1))
        parts[i], parts[j] = k * parts[j], parts[i]
        return torch.stack(parts, 0 if rows else 1)

    def judge(answer):
        calls = [
            (torch.arange(float(m * n)).reshape(m, n).requires_grad_(), 0, last)
            for m, n, last in ((2, 3, 1), (4, 3, 2))
        ]
        expect.computes(writing(answer), expected, *calls)

    def source(*body: str) -> str:
        return "def exchanged_lines(x, i, j):" + "".join(f"\n    {line}" for line in (*body, "return x"))

    return code(
        f"Write a function that swaps the {lines} `i` and `j` of a matrix in place, multiplies the new `{i}` by {k}, and "
        "returns `x`. The gradient should be right, too.",
        "def exchanged_lines(x, i, j): ...",
        source(f"old = {i}.clone()", f"{i} = {k} * {j}", f"{j} = old"),
        judge,
        "A view is not a copy: copy the old line before the first write.",
        (source(f"{i}, {j} = {k} * {j}, {i}"), "expected"),
        (source(f"old = {i}", f"{i} = {k} * {j}", f"{j} = old"), "expected"),
        (source("x = x.clone()", f"old = {i}.clone()", f"{i} = {k} * {j}", f"{j} = old"), "not the tensor"),
    )


@exercise(
    3,
    "ctx.mark_dirty(x) names the input that forward writes to, and forward returns this input.",
    "The write is linear in x and y: each gradient is g times a number.",
)
def MixedInPlace(r: random.Random) -> Task:
    """Write a Function that adds in place."""
    a, k = r.sample([2, 3, 4, 5, 6, 0.25, 0.5, 1.5], 2)

    def judge(answer):
        x, y = torch.tensor([1.0, -2.0, 0.5], requires_grad=True), torch.tensor([3.0, 0.5, -1.0], requires_grad=True)
        expect.computes(
            writing(apply_of(answer)), lambda x, y: a * x + k * y, (x, y), (x.detach() * 1, y), (x, y.detach())
        )

    def source(forward: str, back: str) -> str:
        return combined("MixedInPlace", "x, y", forward, "g", f"return {back}")

    write, right = f"x.mul_({a}).add_({k} * y)", f"{a} * g, {k} * g"
    marked = f"{write}\nctx.mark_dirty(x)\nreturn x"
    return code(
        f"Write a Function that replaces `x` with `{a} * x + {k} * y`, in place, and returns it. `y` has the shape of `x`.",
        source("...", "..."),
        source(marked, right),
        judge,
        "mark_dirty gives x its new history, and each gradient is g times the factor of its tensor.",
        (source(f"return {write}", right), "mark_dirty"),
        (source(marked, f"g, {k} * g"), "the gradient"),
        (source(marked, f"{k} * g, {a} * g"), "the gradient"),
        (source(f"return {a} * x + {k} * y", right), "not the tensor"),
    )


@exercise(
    3,
    "Only the new values exist after the write. Express the derivative with them.",
    "Use y = f(x) to replace the part of the derivative that contains x, and do not forget the factor.",
    "Mark x as dirty, save it with save_for_backward after the write, and return it.",
)
def CurvedInPlace(r: random.Random) -> Task:
    """Compute a curve in place and save only the result."""
    k = r.choice([2, 3, 4, 5, 10])
    name, write, slope, unscaled = r.choice([
        ("torch.tanh(x)", "x.tanh_()", f"({k} - y * y / {k})", "(1 - y * y)"),
        ("torch.sigmoid(x)", "x.sigmoid_()", f"y * (1 - y / {k})", "y * (1 - y)"),
        ("torch.sqrt(x)", "x.sqrt_()", f"{k * k} / (2 * y)", "1 / (2 * y)"),
        ("torch.reciprocal(x)", "x.reciprocal_()", f"-y * y / {k}", "-y * y"),
    ])  # fmt: skip
    f = getattr(torch, name[6:-3])

    def judge(answer):
        calls = [torch.tensor(values, requires_grad=True) for values in ([0.5, 2.0, 1.5], [[0.25, 1.0]])]
        expect.computes(writing(apply_of(answer)), lambda x: k * f(x), *[(x,) for x in calls])
        expect.keeps(writing(answer.apply)(calls[0] * 1), k * f(calls[0]), what="the result")

    def source(saved: str, back: str, first: str = "") -> str:
        forward = f"{first}{write}.mul_({k})\nctx.mark_dirty(x)\nctx.save_for_backward({saved})\nreturn x"
        return combined("CurvedInPlace", "x", forward, "g", "y = ctx.saved_tensors[0]", f"return g * {back}")

    return code(
        f"Write a Function that replaces `x` with `y = {k} * {name}`, in place, and returns it. Save only the result.",
        combined("CurvedInPlace", "x", "...", "g", "..."),
        source("x", slope),
        judge,
        "backward computes the derivative from the result, so it does not need the old values.",
        (source("x", unscaled), "the gradient"),
        (source("x", f"{k} * {unscaled}"), "the gradient"),
        (source("x, old", slope, "old = x.clone()\n"), "2 tensors are saved"),
    )


HARMFUL = [
    "y = x.sin(); x.mul_(2)",
    "y = x.exp(); y.mul_(2)",
    "y = x * x; x.zero_()",
    "y = x.sqrt(); y.add_(1)",
    "y = x.tanh(); y[0] = 0.0",
    "y = x.cos(); x[0] = 0.0",
    "y = x.sigmoid(); y += 1",
    "y = x.log(); x += 1",
]
HARMLESS = {
    "y = x.sin(); y.mul_(2)": "sin saves its input, and the write changes the result",
    "y = x.exp(); x.mul_(2)": "exp saves its result, and the write changes the input",
    "y = x * x; y.add_(1)": "the square saves its input, and the write changes the result",
    "y = x.sqrt(); x[0] = 0.0": "sqrt saves its result, and the write changes the input",
    "y = x.tanh(); x.zero_()": "tanh saves its result, and the write changes the input",
    "y = x.cos(); y += 1": "cos saves its input, and the write changes the result",
    "y = x * 3; x.zero_()": "the derivative is 3 for any x",
    "y = x + 1; x.mul_(2)": "the derivative of a sum needs no tensor",
    "y = -x; y[0] = 0.0": "the derivative of a negation needs no tensor",
}


def apply_of(answer: Any) -> Callable:
    """Return the apply of a custom Function; raise Wrong for another answer."""
    if not (isinstance(answer, type) and issubclass(answer, torch.autograd.Function)):
        raise Wrong(f"expected a subclass of autograd.Function, got {answer!r}")
    return answer.apply


def writing(f: Callable) -> Callable:
    """Return a function that calls `f` with a copy of its first argument, and checks that `f` writes to it and returns it."""

    def called(x: torch.Tensor, *args: Any) -> torch.Tensor:
        own = x * 1
        before = own._version
        result = f(own, *args)
        if result is not own:
            raise Wrong("the result is not the tensor that was passed in: write to x, and return it")
        if own._version == before:
            raise Wrong("x is returned without a write")
        return result

    return called
