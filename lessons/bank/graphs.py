"""Exercises about the graph: nodes, leaves, the order of backward, gradients that add up, and parts that are not recorded."""

import random

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong

from . import Task, choice, code, exercise, fence, number, numbers


@exercise(
    1,
    "A leaf has no grad_fn. A result has one if an input requires grad.",
    "A tensor that does not require grad is a leaf, even if it is the result of an operation.",
)
def leaf_tensors(r: random.Random) -> Task:
    """Find the leaves."""
    leaves = ["x * 2", "w.detach()", "w > 0", "torch.zeros(2)", "(w * x).detach()", "torch.stack([x, x])"]
    results = {
        "w * x": "it is computed from w, which requires grad",
        "w + 1": "it is computed from w, which requires grad",
        "w.clone()": "clone is an operation, and backward passes through it",
        "torch.exp(w)": "it is computed from w, which requires grad",
        "torch.stack([w, x])": "it is computed from w, which requires grad",
        "w.reshape(1)": "a view of w is the result of an operation",
    }
    known = [*r.sample(leaves, r.choice([2, 3])), *r.sample(list(results), 3)]
    lines = dict(zip("abcdef", r.sample(known, len(known))))
    program = "w = torch.tensor(2.0, requires_grad=True)\nx = torch.tensor(3.0)\n" + assigned(lines)
    return choice(
        f"Which of {names(lines)} are leaves? Give a list of names.{fence(program)}",
        [name for name, made in lines.items() if made in leaves],
        solution=f"{program}\nleaf_tensors = [name for name, t in {by_name(lines)}.items() if t.is_leaf]",
        why="A result with a grad_fn is not a leaf. All tensors that do not require grad are leaves.",
        mistakes={name: results[made] for name, made in lines.items() if made in results},
    )


@exercise(1, "Each backward adds to x.grad. Which of them come after the reset?")
def added_gradients(r: random.Random) -> Task:
    """Add up the gradients of several calls."""
    slopes = r.sample(range(2, 10), 4)
    reset = r.choice([1, 2])
    calls = [f"({slope} * x).backward()" for slope in slopes]
    program = "\n".join(["x = torch.tensor(1.0, requires_grad=True)", *calls[:reset], "x.grad = None", *calls[reset:]])
    return number(
        f"Compute `x.grad` after this program.{fence(program)}",
        sum(slopes[reset:]),
        solution=f"{program}\nadded_gradients = x.grad.item()",
        why="backward adds to .grad, and only the assignment of None empties it.",
        mistakes={
            sum(slopes): "the assignment of None drops the gradients before it",
            slopes[-1]: "backward adds its gradient to the one that is in x.grad",
            sum(slopes[:reset]): "those are the gradients that are dropped",
        },
    )


@exercise(1, "A detached tensor is a constant for backward. Its value still counts.")
def detached_factor(r: random.Random) -> Task:
    """Differentiate a product with a detached factor."""
    a, b, v = r.randint(2, 6), r.randint(2, 9), r.choice([2, 3])
    p, q = r.choice([(1, 1), (2, 1), (1, 2)])
    power, held = "x" if p == 1 else "x**2", "x.detach()" if q == 1 else "x.detach() ** 2"
    program = f"x = torch.tensor({v}.0, requires_grad=True)\ny = {a} * {power} * {held} + {b} * x\ny.backward()"
    slope = a * p * v ** (p - 1)
    return number(
        f"Compute `x.grad` after this program.{fence(program)}",
        slope * v**q + b,
        solution=f"{program}\ndetached_factor = x.grad.item()",
        why="detach cuts one of the two paths: its factor is a constant with the value of x.",
        mistakes={
            a * (p + q) * v ** (p + q - 1) + b: "no gradient passes through detach",
            slope + b: "the detached factor is still a factor",
            slope * v**q: "the last term has a gradient, too",
            a * q * v ** (p + q - 1) + b: "that is the path through detach, which is cut",
        },
    )


@exercise(
    1,
    "Leaves that require grad and contribute to y get a gradient.",
    "Other tensors keep theirs only after retain_grad().",
)
def kept_gradients(r: random.Random) -> Task:
    """Find the tensors that keep a gradient."""
    first, second, third, product, total = order = r.sample("abcdefgh", 5)
    tracked, used, retained = r.random() < 0.5, r.random() < 0.5, r.choice([product, total])
    lost = total if retained == product else product
    mark = ", requires_grad=True"
    program = f"""
{first} = torch.tensor(2.0{mark})
{second} = torch.tensor(3.0{mark if tracked else ""})
{third} = torch.tensor(4.0{mark})
{product} = {first} * {second}
{total} = {product} + {third if used else 1}
{retained}.retain_grad()
y = {total} * {total}
y.backward()"""
    right = [first, retained, *([second] if tracked else []), *([third] if used else [])]
    return choice(
        f"Which of {names(order)} have a `.grad` that is not None after this program? Give a list of names.{fence(program)}",
        right,
        solution=f"""
{program}
tensors = {by_name(order)}
kept_gradients = [name for name, t in tensors.items() if (t.is_leaf or t.retains_grad) and t.grad is not None]""",
        why="backward adds to the leaves that require grad, and to the results with retain_grad.",
        mistakes={
            lost: "it is not a leaf, so its gradient is dropped after use",
            second: "it does not require grad",
            third: "y does not depend on it",
            "y": "y is not a leaf, and has no retain_grad",
        },
    )


@exercise(
    2,
    "Start at y, and mark the operations that lead to a tensor that requires grad. backward never visits the others.",
    "The last operation comes first. Every operation is older than the operations that use its result.",
)
def order_of_backward(r: random.Random) -> Task:
    """Give the order in which backward visits operations."""
    while True:
        lines, inputs = random_program(r)
        visited, wanted = [], ["y"]
        for name in reversed(lines):
            if name in wanted and needs_grad(name, inputs):
                visited.append(name)
                wanted += inputs[name]
        if 4 <= len(visited) < len(lines):
            break
    number_of = {name: i for i, name in enumerate(lines, 1)}
    commented = "\n".join(f"{name} = {made:<10} # {number_of[name]}" for name, made in lines.items())
    start = "x = torch.tensor(0.5, requires_grad=True)\nk = torch.tensor(2.0)\n"
    right = [number_of[name] for name in visited]
    return numbers(
        f"Which operations does `y.backward()` visit, and in which order? Give a list of numbers.{fence(start + commented)}",
        right,
        solution=f"""
{start}{assigned(lines)}
order_of_backward = []
for number, t in enumerate([{", ".join(lines)}], 1):
    if t.requires_grad:
        t.grad_fn.register_prehook(lambda grads, number=number: order_of_backward.append(number))
y.backward()""",
        why="backward goes from young to old, over the operations that connect y with a tensor that requires grad.",
        mistakes={
            tuple(right[::-1]): "that is the order of the forward pass",
            tuple(
                range(len(lines), 0, -1)
            ): "some of these operations do not connect y with a tensor that requires grad",
            tuple(range(1, len(lines) + 1)): "that is the order of the forward pass",
        },
    )


@exercise(
    2,
    "Compute the gradient of h for one call first.",
    "h.grad accumulates over calls, as x.grad does. Each call sends one gradient to h.",
)
def retained_gradient(r: random.Random) -> Task:
    """Add up the gradient of a result over several calls."""
    a, b, v, calls = r.randint(2, 5), r.randint(2, 9), r.choice([1, 2, 3]), r.choice([2, 3])
    again = "y.backward(retain_graph=True)\n" * (calls - 1)
    program = f"""
x = torch.tensor({v}.0, requires_grad=True)
h = {a} * x
h.retain_grad()
y = h * h + {b} * h
{again}y.backward()"""
    one = 2 * a * v + b
    return numbers(
        f"Compute `h.grad` and `x.grad` after this program. Give a list of two numbers.{fence(program)}",
        (calls * one, a * calls * one),
        solution=f"{program}\nretained_gradient = [h.grad.item(), x.grad.item()]",
        why="Each call computes the same gradients, and adds them to both .grad. The next call does not read h.grad.",
        mistakes={
            (one, a * one): f"there are {calls} calls, and .grad accumulates",
            (one, a * calls * one): "the retained gradient accumulates, too",
            (calls * one, calls * one): "x is multiplied by a factor on the way to h",
            (
                calls * one,
                a * one * calls * (calls + 1) / 2,
            ): "each call sends its own gradient on, not the sum in h.grad",
        },
    )


@exercise(
    2,
    "The first backward frees saved tensors. Which of the operations saves a tensor?",
    "An operation whose derivative does not depend on x, such as an addition, saves none.",
)
def second_backward(r: random.Random) -> Task:
    """Find the graphs that backward can walk only once."""
    saving = ["x.exp()", "x.sin()", "x * x", "x.tanh()", "x.sqrt()", "x.cos() + 1", "1 - x.log()", "-(x * x)"]
    plain = ["x + 1", "-x", "x.flip(0)", "x.cumsum(0)", "x + x", "1 - x", "x.reshape(2, 1)", "x.mean()", "x[0] + x[1]"]
    count = r.choice([2, 3])
    drawn = r.sample(saving, count) + r.sample(plain, 5 - count)
    lines = dict(zip("abcde", r.sample(drawn, 5)))
    shown = "".join(f"\n- {letter}: `h = {made}`" for letter, made in lines.items())
    return choice(
        "`x` is a vector of two positive numbers that requires grad. After `h.sum().backward()`, you call "
        f"`h.sum().backward()` again. For which `h` does it raise an error? Give a list of letters.\n{shown}",
        [letter for letter, made in lines.items() if made in saving],
        solution="second_backward = []\nprograms = {"
        + ", ".join(f'"{letter}": lambda x: {made}' for letter, made in lines.items())
        + """}
for letter, program in programs.items():
    h = program(torch.tensor([1.0, 2.0], requires_grad=True))
    h.sum().backward()
    try:
        h.sum().backward()
    except RuntimeError:
        second_backward.append(letter)""",
        why="Only a graph with saved tensors fails in the second walk, because the first walk frees them.",
        mistakes={letter: "its derivative needs no saved tensor" for letter, made in lines.items() if made in plain},
    )


@exercise(
    2,
    "b has no history. For backward it is a constant with a value.",
    "enable_grad records again: c has a history.",
)
def partly_recorded(r: random.Random) -> Task:
    """Differentiate a program that is partly recorded."""
    p, q, s, v = r.randint(2, 4), r.randint(2, 5), r.randint(2, 9), r.choice([1, 2, 3])
    program = f"""
x = torch.tensor({v}.0, requires_grad=True)
a = {p} * x
with torch.no_grad():
    b = {q} * a
    with torch.enable_grad():
        c = {s} * a
y = a * b + c
y.backward()"""
    constant = p * q * v
    return number(
        f"Compute `x.grad` after this program.{fence(program)}",
        p * constant + p * s,
        solution=f"{program}\npartly_recorded = x.grad.item()",
        why="a reaches y through the product and through c. b is a constant factor.",
        mistakes={
            2 * p * constant + p * s: "b is computed under no_grad, so no gradient passes through it",
            p * constant: "enable_grad records again, so c has a history",
            p * s: "b is a constant, but it still multiplies a",
            constant + s: "that is the gradient of a",
        },
    )


@exercise(
    3,
    "Start at y.grad_fn; node.next_functions has a pair for each input, with None for an input without a history.",
    "Keep a set of the nodes that you have seen, so that a node with several uses counts once.",
)
def count_operations(r: random.Random) -> Task:
    """Count the nodes of two operations."""
    f, g = r.sample(["exp", "sin", "tanh", "sigmoid", "abs", "cos"], 2)
    kinds = [f"{one.capitalize()}Backward0" for one in (f, g)]

    def judge(answer):
        x = torch.tensor(0.5, requires_grad=True)
        shared = once = getattr(x, f)()
        for _ in range(8):
            shared = getattr(shared, g)() - shared
        cases = {
            "one such node": (once, 1),
            "a node with two uses": (once * once, 1),
            "a leaf without a history": (getattr(x, g)() - torch.ones(1), 1),
            "none of these nodes": (x - 1, 0),
            "two branches": (getattr(once, g)() + getattr(x, f)(), 3),
            "a node that many paths lead to": (shared, 9),
        }
        for graph, (y, right) in cases.items():
            if (given := answer(y)) != right:
                raise Wrong(f"for a graph with {graph} it returns {given!r}, expected {right}")

    def source(end: str, count: str = f"(node.name() in {kinds})") -> str:
        return f"""
def count_operations(y):
    seen = set()

    def count(node):
        if {end}:
            return 0
        seen.add(node)
        return {count} + sum(count(following) for following, _ in node.next_functions)

    return count(y.grad_fn)"""

    return code(
        f"Write a function that counts the nodes with the names `{kinds[0]}` and `{kinds[1]}` in the graph of a result `y`. A "
        "node counts once, even if several paths lead to it.",
        "def count_operations(y): ...",
        source("node is None or node in seen"),
        judge,
        "A graph is not a tree: many paths can lead to a node, so the walk has to remember the nodes that it has seen.",
        (source("node is None"), "two uses"),
        (source("node in seen"), "NoneType"),
        (source("node is None or node in seen", "1"), "expected 1"),
    )


@exercise(
    3,
    "The gradient of a sum is the sum of the gradients, so you may call backward once for each batch.",
    "A large batch counts for more than a small one: divide the sum of its losses by the number of all examples.",
)
def mean_over_batches(r: random.Random) -> Task:
    """Accumulate the gradient of a mean."""
    c, power = r.randint(2, 9), r.choice([2, 4])

    def losses(w: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return (x @ w - c) ** power

    def judge(answer):
        for sizes in ([3], [2, 2], [1, 4], [2, 1, 5]):
            batches = [torch.arange(3 * n).reshape(n, 3) * 0.1 - 0.2 * i for i, n in enumerate(sizes)]
            w, calls = torch.tensor([0.5, -1.0, 2.0], requires_grad=True), []
            w.register_hook(calls.append)
            answer(w, batches)
            if w.grad is None:
                raise Wrong("w.grad is None after the call: is there a backward?")
            (right,) = torch.autograd.grad(losses(w, torch.cat(batches)).mean(), w)
            expect.tensor(w.grad, right, f"w.grad for batches of {sizes} examples")
            if len(calls) != len(sizes) + 1:  # the gradient above is one more
                raise Wrong(f"for {len(sizes)} batches you call backward {len(calls) - 1} times: call it once for each")

    def source(*body: str) -> str:
        return "def mean_over_batches(w, batches):" + "".join(f"\n    {line}" for line in body)

    loop, loss, count = "for x in batches:", f"(x @ w - {c}) ** {power}", "n = sum(len(x) for x in batches)"
    return code(
        f"`batches` is a list of matrices with an example in each row. An example `x` has the loss `(x @ w - {c}) ** {power}`. "
        "Write a function that adds to `w.grad` the gradient of the mean loss over all examples of all batches. All batches "
        "together do not fit into memory, so call `backward` once for each batch. Batches can have different sizes.",
        "def mean_over_batches(w, batches): ...",
        source(count, loop, f"    ({loss}).sum().div(n).backward()"),
        judge,
        "Each example has the same weight, so a batch contributes the sum of its losses divided by the number of examples.",
        (source(loop, f"    ({loss}).mean().div(len(batches)).backward()"), "[1, 4]"),
        (source(loop, f"    ({loss}).mean().backward()"), "[2, 2]"),
        (source("x = torch.cat(batches)", f"({loss}).mean().backward()"), "once for each"),
    )


@exercise(
    3,
    "Write x as the sum of a part with a history and a part without one. The first part decides the slope.",
    "k * x has the right gradient. Which constant corrects the value?",
)
def scaled_gradient(r: random.Random) -> Task:
    """Change the gradient and keep the value."""
    k = r.choice([-3, -2, -1, -0.5, 0.1, 0.2, 0.25, 0.5, 1.5, 2, 3, 5, 10])

    def judge(answer):
        calls = [torch.tensor(v, requires_grad=True) for v in (2.0, [1.0, -3.0, 0.5])]
        expect.computes(answer, lambda x: k * x + ((1 - k) * x).detach(), *[(x,) for x in calls])

    def source(body: str) -> str:
        return f"def scaled_gradient(x):\n    return {body}"

    return code(
        f"Write a function that returns the values of `x`, but whose backward multiplies the incoming gradient by {k}. Use "
        "`detach`, but no custom Function and no hook.",
        "def scaled_gradient(x): ...",
        source(f"{k} * x + ((1 - {k}) * x).detach()"),
        judge,
        "The recorded part gives the gradient, and the detached part corrects the value.",
        (source(f"{k} * x"), "the result"),
        (source(f"x.detach() * {k} + ((1 - {k}) * x).detach()"), "does not require grad"),
        (source(f"x + ({k} * x - x).detach()"), "the result"),
        (source("x * 1"), "the gradient"),
    )


@exercise(
    3,
    "Detach h once, before the steps that count.",
    "Count the steps from 0: the last n steps begin at step len(xs) - n.",
)
def truncated_gradient(r: random.Random) -> Task:
    """Stop the gradient a few steps back."""
    last, f = r.choice([2, 3, 4, 5]), r.choice(["tanh", "sin", "cos", "sigmoid", "square"])

    def expected(w: torch.Tensor, xs: torch.Tensor) -> torch.Tensor:
        h = torch.tensor(0.0)
        for i, x in enumerate(xs):
            h = h.detach() if i == len(xs) - last else h
            h = getattr(w * h + x, f)()
        return h

    def judge(answer):
        w, xs = torch.tensor(1.5, requires_grad=True), torch.tensor([0.3, -0.2, 0.5, 0.4, -0.6, 0.1, 0.2])
        expect.computes(answer, expected, *[(w, xs[:n]) for n in (1, last, last + 1, last + 3)])

    def source(*before: str) -> str:
        lines = [*before, f"h = (w * h + x).{f}()"]
        body = "".join(f"\n        {line}" for line in lines)
        return f"def truncated_gradient(w, xs):\n    h = torch.tensor(0.0)\n    for i, x in enumerate(xs):{body}\n    return h"

    return code(
        f"Change this function: it should return the same number, but backward should pass only through its last {last} steps, "
        f"or through all steps if there are fewer. Then `w` gets contributions only from these steps.{fence(source())}",
        source("if ...:\n            h = h.detach()"),
        source(f"if i == len(xs) - {last}:", "    h = h.detach()"),
        judge,
        "detach keeps the value of h but drops its history, so w's earlier uses contribute nothing.",
        (source(), "the gradient"),
        (source("h = h.detach()"), "the gradient"),
        (source(f"if i == {last}:", "    h = h.detach()"), "the gradient"),
        (source(f"if i == len(xs) - {last} - 1:", "    h = h.detach()"), "the gradient"),
    )


def assigned(lines: dict[str, str]) -> str:
    """Return a program that assigns expressions to names."""
    return "\n".join(f"{name} = {made}" for name, made in lines.items())


def names(variables) -> str:
    """Return the names of variables as Markdown."""
    *first, last = [f"`{name}`" for name in variables]
    return f"{', '.join(first)} and {last}"


def by_name(variables) -> str:
    """Return the source of a dict of variables by name."""
    return "{" + ", ".join(f'"{name}": {name}' for name in variables) + "}"


def random_program(r: random.Random) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return six lines that compute `y` from `x` and `k`, and the inputs of each line."""
    lines: dict[str, str] = {}
    inputs: dict[str, list[str]] = {}
    for name in "abcdey":
        known = ["x", "k", *lines]
        if name == "y" or r.random() < 0.6:
            inputs[name] = r.sample(known[-3:] if name == "y" else known, 2)
            lines[name] = r.choice([" + ", " * "]).join(inputs[name])
        else:
            inputs[name] = [r.choice(known)]
            lines[name] = f"{inputs[name][0]}.{r.choice(['sin', 'cos', 'tanh'])}()"
    return lines, inputs


def needs_grad(name: str, inputs: dict[str, list[str]]) -> bool:
    """Return True if a tensor of a random program requires grad."""
    return name == "x" or any(needs_grad(one, inputs) for one in inputs.get(name, []))
