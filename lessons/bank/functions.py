"""Exercises about custom Functions: their gradients, the ctx, several inputs and outputs, and outputs without a derivative."""

import random

import minigrad as torch
import minigrad.autograd.forward_ad as fwAD
from lessons import expect
from lessons.exercise import Wrong
from minigrad.autograd import Function

from . import Task, applied, code, combined, exercise, fence, number, numbers


@exercise(
    1,
    "The engine calls backward with the gradients of the outputs, and needs the gradients of the arguments.",
    "Numbers and strings are arguments, too. The ctx is not.",
)
def received_and_returned(r: random.Random) -> Task:
    """Count the gradients of a Function."""
    tensors = r.sample(["x", "weight", "bias", "scale"], r.randint(1, 3))
    others = r.sample(["power", "eps", "mode", "training"], r.randint(1, 2))
    outputs = r.sample(["y", "mean", "norm", "error"], r.randint(2, 3))
    arguments = r.sample(tensors + others, len(tensors) + len(others))
    received, returned = len(outputs), len(arguments)
    passed = ", ".join("torch.ones(2, requires_grad=True)" if name in tensors else "None" for name in arguments)
    return numbers(
        f"A Function has `forward(ctx, {', '.join(arguments)})`, which ends with `return {', '.join(outputs)}`. The outputs "
        f"are tensors; of the arguments, only {' and '.join(f'`{name}`' for name in tensors)} may be tensors. How many "
        "gradients does `backward` receive after its `ctx`, and how many values must it return? Give a list of two numbers.",
        (received, returned),
        solution=combined(
            "Counted",
            f"{', '.join(arguments)}",
            f"return {', '.join(f'{tensors[0]} * {i + 1}' for i in range(received))}",
            "*received",
            "counts.extend([len(received), len(ctx.needs_input_grad)])",
            "return (None,) * len(ctx.needs_input_grad)",
        )
        + f"\n\ncounts = []\nsum(Counted.apply({passed})).sum().backward()\nreceived_and_returned = counts",
        why="backward receives a gradient for each output, and returns one for each argument, in the order of forward.",
        mistakes={
            (returned, received): "the two numbers are swapped: backward goes from the outputs to the arguments",
            (received, returned + 1): "the ctx is not an argument of apply, so it has no gradient",
            (
                received,
                len(tensors),
            ): "an argument that is not a tensor has a place in the list, too: its gradient is None",
            (1, returned): "each output has a gradient, even if the loss does not use it",
        },
    )


@exercise(
    1,
    "A gradient is needed if it leads to a leaf that requires grad.",
    "The result of an operation on `w` requires grad. A detached tensor does not.",
)
def which_gradients_needed(r: random.Random) -> Task:
    """Predict `ctx.needs_input_grad`."""
    other = r.choice(["3", "None", '"mean"', "[2, 3]"])
    needed = {"w": True, f"w * {r.randint(2, 9)}": True, "w.detach()": False, "x": False, other: False}
    arguments = r.sample(list(needed), len(needed))

    tensors = tuple(one != other for one in arguments)
    call = f"F.apply({', '.join(arguments)})"
    return numbers(
        f"`w = torch.ones(2, requires_grad=True)`, `x = torch.ones(2)`, and a Function is called as `{call}`. Its "
        "`forward` reads `ctx.needs_input_grad`. Which list of True and False does it see?",
        tuple(needed[one] for one in arguments),
        solution="w, x = torch.ones(2, requires_grad=True), torch.ones(2)\nseen = []\n\n\n"
        + combined("F", "*arguments", "seen.extend(ctx.needs_input_grad)\nreturn torch.zeros(2)", "g")
        + f"\n\n{call}\nwhich_gradients_needed = seen",
        why="A gradient is needed for a leaf that requires grad and for each result computed from it.",
        mistakes={
            tuple(one == "w" for one in arguments): "a result of w is not a leaf, but its gradient leads to w",
            tuple(one[0] == "w" for one in arguments): "detach cuts the graph: no gradient passes through it",
            tensors: "not every tensor needs a gradient, only those that require grad",
        },
    )


@exercise(
    1,
    "Which outputs does the loss use? A marked output is a constant for the loss.",
    "By default, zeros with the shape of the output replace a missing gradient.",
)
def bytes_that_backward_receives(r: random.Random) -> Task:
    """Count the bytes of the incoming gradients."""
    n, filled, used = r.randint(20, 90) * 10, r.random() < 0.5, r.choice(["total", "square"])
    factor = r.randint(2, 9)
    sizes = {"total": 4, "square": 4 * n}
    whole, part = 8 * n + 4, sizes[used]
    source = combined(
        "Three",
        "x",
        f"ctx.set_materialize_grads({filled})\nmask = (x > 0).float()\n"
        "ctx.mark_non_differentiable(mask)\nreturn x.sum(), x * x, mask",
        "*gradients",
        "received.extend(g.nbytes for g in gradients if g is not None)",
        "return None",
    )
    loss = f"total, square, mask = Three.apply(x)\n({factor} * {used} * mask).sum().backward()"
    program = f"{source}\n\nreceived = []\nx = torch.ones({n}, requires_grad=True)\n{loss}"
    right = whole if filled else part
    return number(
        f"{fence(program)}A float32 element has 4 bytes. What is `sum(received)`?",
        right,
        solution=f"{program}\nbytes_that_backward_receives = sum(received)",
        why="Zeros replace the gradients of unused and marked outputs, unless forward asks for None; None needs no memory.",
        mistakes={
            whole: "with set_materialize_grads(False), an output without a gradient gets None instead of zeros",
            part: "by default, an output without a gradient gets zeros of its size",
            part + 4 * n: "the mask is marked, so no gradient passes through it",
            right // 4: "that counts the elements, and each has 4 bytes",
        },
    )


@exercise(
    1,
    "Each call of apply creates one node. How many calls are there?",
    "A node waits for all contributions, adds them and calls backward once.",
)
def calls_of_backward(r: random.Random) -> Task:
    """Count the calls of `backward`."""
    deep, wide = r.randint(2, 6), r.randint(2, 6)
    source = combined("F", "x", "return 2 * x", "g", 'calls.append("call")', "return 2 * g")
    program = (
        f"{source}\n\ncalls = []\nx = h = torch.ones(3, requires_grad=True)\n"
        f"for _ in range({deep}):\n    h = F.apply(h)\n"
        f"parts = [F.apply(h) for _ in range({wide})]\nsum(parts).sum().backward()"
    )
    return number(
        f"{fence(program)}What is `len(calls)`?",
        deep + wide,
        solution=f"{program}\ncalls_of_backward = len(calls)",
        why="The engine calls backward once for each node, with the sum of all incoming gradients.",
        mistakes={
            (deep + 1)
            * wide: "that counts each path, but the engine adds the contributions to h before it calls the node",
            deep + 1: "the parts are separate calls of apply, so each has a node",
            3 * (deep + wide): "the engine calls backward for a tensor, not for each of its elements",
            deep * wide: "add the nodes in the loop and the nodes of the parts",
        },
    )


@exercise(
    2,
    "`backward` decides: it turns the two incoming gradients into the gradient of `x`. `forward` does not matter for that.",
    "The gradient of `first` is the other factor, `second`, times the constant.",
)
def gradient_by_two_outputs(r: random.Random) -> Task:
    """Follow the gradients of two outputs."""
    (a, b), k, x = r.sample(range(2, 6), 2), r.randint(2, 4), r.randint(3, 5)
    shift = r.randint(1, 3)
    first, second = x + shift, x * x
    source = combined("Pair", "x", f"return x + {shift}, x * x", "g1, g2", f"return {a} * g1 - {b} * g2")
    program = (
        f"{source}\n\nx = torch.tensor({x}.0, requires_grad=True)\nfirst, second = Pair.apply(x)\n"
        f"({k} * first * second).backward()"
    )
    return number(
        f"{fence(program)}Compute `x.grad`.",
        k * (a * second - b * first),
        solution=f"{program}\ngradient_by_two_outputs = x.grad",
        why="The gradient of each output is the other factor times the constant, and backward combines the two as written.",
        mistakes={
            k
            * (
                second + 2 * x * first
            ): "that is the derivative, but backward returns something else, and nothing checks it",
            k * (a * first - b * second): "the gradient of a factor is the other factor",
            a - b: "the incoming gradients are not 1: the loss multiplies the outputs",
            a * second - b * first: "the constant factor of the loss is in both incoming gradients",
        },
    )


@exercise(
    2,
    "Two paths lead from the loss to `x`. Which of them goes through `Cut`?",
    "`None` means that this path contributes nothing. The other path is not affected.",
)
def none_on_one_path(r: random.Random) -> Task:
    """Predict the effect of a gradient that is None."""
    a, b, c, x = r.randint(2, 5), r.randint(2, 5), r.randint(2, 5), r.randint(2, 6)
    source = combined("Cut", "x", "return x * x", "g", "return None")
    program = (
        f"{source}\n\nx = torch.tensor({x}.0, requires_grad=True)\n({b} * Cut.apply({a} * x) + {c} * x * x).backward()"
    )
    return number(
        f"{fence(program)}Compute `x.grad`.",
        2 * c * x,
        solution=f"{program}\nnone_on_one_path = x.grad",
        why="None counts as zero on its path. The sum over the paths contains only the other term.",
        mistakes={
            2 * c * x + 2 * a * a * b * x: "that is the derivative, but backward of Cut returns None for its part",
            0: "None stops only one path: the other one does not lead through Cut",
            2 * c * x + a * b: "None is not a slope of 1: the gradient stops there",
            c * x: "x is in the product twice",
        },
    )


@exercise(
    2,
    "When does `backward` read `Square.last`? By then, both calls of `forward` are over.",
    "A class has one attribute for all calls; each call of `apply` has its own `ctx`.",
)
def stored_on_the_class(r: random.Random) -> Task:
    """Find the gradient of a Function that forgets the ctx."""
    a, b = r.sample(range(2, 10), 2)
    p, q = r.sample(range(2, 6), 2)
    source = combined("Square", "x", "Square.last = x\nreturn x * x", "g", "return 2 * Square.last * g")
    program = (
        f"a = torch.tensor({a}.0, requires_grad=True)\nb = torch.tensor({b}.0, requires_grad=True)\n"
        f"({p} * Square.apply(a) + {q} * Square.apply(b)).backward()"
    )
    whole, indented = f"{source}\n\n{program}", "\n".join(f"    {line}" for line in program.splitlines())
    return number(
        f"This Function stores its input on the class, not on the `ctx`.{fence(whole)}Compute `a.grad`.",
        2 * p * b,
        solution=f"import warnings\n\n\n{source}\n\nwith warnings.catch_warnings(action='ignore'):\n"
        f"{indented}\nstored_on_the_class = a.grad",
        why="The second call overwrites the attribute, so both backward calls read b. Each call has its own ctx.",
        mistakes={
            2 * p * a: "that is the derivative, but the second call overwrites Square.last",
            2 * q * b: "that is b.grad",
            2 * (p * a + q * b): "a and b are two leaves, and each one gets the gradient of one term",
        },
    )


@exercise(
    2,
    "For the loss, a marked output is a constant with the number that forward computes.",
    "Only the gradient of `square` is not zero: it is a constant times the size. backward multiplies it by 2x.",
)
def marked_output_as_factor(r: random.Random) -> Task:
    """Differentiate a product with a marked output."""
    a, c, x = r.randint(2, 5), r.randint(2, 5), r.randint(2, 5)
    source = combined(
        "SquareAndSize",
        "x",
        f"size = {a} * x\nctx.mark_non_differentiable(size)\nctx.save_for_backward(x)\nreturn x * x, size",
        "grad_square, grad_size",
        "(x,) = ctx.saved_tensors",
        f"return 2 * x * grad_square + {a} * grad_size",
    )
    program = (
        f"{source}\n\nx = torch.tensor({x}.0, requires_grad=True)\nsquare, size = SquareAndSize.apply(x)\n"
        f"({c} * square * size).backward()"
    )
    return number(
        f"{fence(program)}Compute `x.grad`.",
        2 * a * c * x * x,
        solution=f"{program}\nmarked_output_as_factor = x.grad",
        why="The size is a constant factor for the loss, and backward receives zero as its gradient.",
        mistakes={
            3 * a * c * x * x: "that is the derivative of the whole product; the mark makes the size a constant",
            a * c * x * x: "that is the part of the size, which is marked",
            0: "the mark affects only the size: the square keeps its gradient",
            2 * c * x: "the size is a constant, but not 1: it stays a factor",
        },
    )


FORMULAS = {  # the result, then the partial derivatives with respect to x and y
    "k * x**2 * y + {a} * y": ("2 * k * x * y", "(k * x**2 + {a})"),
    "{a} * x * y**2 - k * x": ("({a} * y**2 - k)", "2 * {a} * x * y"),
    "k * (x - {a} * y) ** 2": ("2 * k * (x - {a} * y)", "-{a} * 2 * k * (x - {a} * y)"),
}


@exercise(
    3,
    "Save the tensors with `ctx.save_for_backward(x, y)`, and the number as `ctx.k = k`.",
    "Each gradient is the incoming one times the partial derivative.",
    "Return three values in the order of the arguments of forward, with None for the number.",
)
def TwoTensorsAndNumber(r: random.Random) -> Task:
    """Write a Function of two tensors and a number."""
    template, a = r.choice(list(FORMULAS)), r.randint(2, 9)
    formula, by_x, by_y = (part.format(a=a) for part in (template, *FORMULAS[template]))
    order = r.sample(["x", "y", "k"], 3)
    names = ", ".join(order)
    expected = eval(f"lambda {names}: {formula}")

    def judge(answer):
        for k, x, y in (
            (3, _leaf(2.0), _leaf(-1.0)),
            (0.5, _leaf([1.0, -2.0]), _leaf([0.5, 3.0])),
            (2, _leaf([[1.0, 2.0, 0.5]]), _leaf([[3.0, -1.0, 4.0]]).detach()),
            (-1, _leaf([1.5]).detach(), _leaf([2.5])),
        ):
            args = [{"x": x, "y": y, "k": k}[name] for name in order]
            expect.function(answer, applied(expected), tuple(args))
        args = [{"x": _leaf([1.0, 2.0]), "y": _leaf([3.0, 0.5]), "k": 2}[name] for name in order]
        expect.keeps(answer.apply(*args), _leaf([1.0, 2.0]), _leaf([3.0, 0.5]), what="the two inputs")

    def source(x: str, y: str, number: str = ", None", sign: str = "g * ") -> str:
        gradients = [{"x": f"{sign}{x}", "y": f"{sign}{y}", "k": "None"}[name] for name in order]
        kept = [one for one in gradients if number or one != "None"]
        return combined(
            "TwoTensorsAndNumber",
            f"{names}",
            f"ctx.save_for_backward(x, y)\nctx.k = k\nreturn {formula}",
            "g",
            "x, y = ctx.saved_tensors",
            "k = ctx.k",
            f"return {', '.join(kept)}",
        )

    return code(
        f"Write a Function whose `apply({names})` returns `{formula}` for tensors `x` and `y` and a number `k`. Save the "
        "two tensors with `save_for_backward`, and keep the number as an attribute of the `ctx`.",
        combined("TwoTensorsAndNumber", f"{names}", "...", "g", "..."),
        source(by_x, by_y),
        judge,
        "Each tensor gets the incoming gradient times its partial derivative, and the number gets None.",
        (source(by_y, by_x), "expected"),
        (source(by_x, by_y, number=""), "2 gradients for the 3 arguments"),
        (source(by_x, by_y, sign=""), "expected"),
    )


@exercise(
    3,
    "Each input influences both outputs, so each gradient is a sum of two terms.",
    "The forward pass multiplies by a matrix of four numbers; backward multiplies by its transpose.",
)
def TwoSums(r: random.Random) -> Task:
    """Write a Function with two inputs and two outputs."""
    a, b, c, d = r.sample(range(2, 10), 4)
    first, second = f"{a} * x + {b} * y", f"{c} * x - {d} * y"
    expected = lambda x, y: (a * x + b * y, c * x - d * y)

    def judge(answer):
        calls = [(_leaf(v), _leaf(w)) for v, w in ((1.0, 2.0), ([0.5, -1.0, 3.0], [2.0, 4.0, -1.0]))]
        expect.function(answer, applied(expected), *calls)
        for i in range(2):  # a loss that uses one output
            expect.computes(lambda x, y: answer.apply(x, y)[i], lambda x, y: expected(x, y)[i], *calls)
        expect.saves(answer.apply, calls[1], most=0)

    def source(*backward: str, save: str = "") -> str:
        return combined("TwoSums", "x, y", f"{save}return {first}, {second}", "g1, g2", *backward)

    right = f"return {a} * g1 + {c} * g2, {b} * g1 - {d} * g2"
    return code(
        f"Write a Function whose `apply(x, y)` returns two tensors, `{first}` and `{second}`. Its `backward` needs no saved "
        "tensor, so save none.",
        combined("TwoSums", "x, y", "...", "g1, g2", "..."),
        source(right),
        judge,
        "The columns of the matrix give the gradients: each input adds the gradients from both outputs.",
        (source(f"return {a} * g1 + {b} * g2, {c} * g1 - {d} * g2"), "expected"),
        (source(f"return {a} * g1, -{d} * g2"), "expected"),
        (source(right, save="ctx.save_for_backward(x, y)\n"), "bytes are saved for backward; 0 are enough"),
    )


@exercise(
    3,
    "`forward` compares and returns floats: `(x > t).float()`. Save x for `backward`.",
    "The true derivative is 0 nearly everywhere. Return the incoming gradient times the given slope instead.",
)
def SurrogateSpike(r: random.Random) -> Task:
    """Give a step a useful gradient."""
    t, k = r.choice([-0.5, 0.25, 0.5, 1.0]), r.choice([2, 3, 5, 10])
    slope = f"1 / (1 + {k} * (x - {t}).abs()) ** 2"

    class Expected(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return (x > t).float()

        @staticmethod
        def backward(ctx, *grad_outputs):
            (x,) = ctx.saved_tensors
            return grad_outputs[0] / (1 + k * (x - t).abs()) ** 2

    def judge(answer):
        expect.function(answer, Expected, (_leaf([0.3, -1.0, 2.0, t]),), (_leaf([[1.5], [-0.25]]),), (_leaf(0.75),))

    def source(gradient: str, forward: str = f"(x > {t}).float()") -> str:
        return combined(
            "SurrogateSpike",
            "x",
            f"ctx.save_for_backward(x)\nreturn {forward}",
            "g",
            "(x,) = ctx.saved_tensors",
            f"return {gradient}",
        )

    return code(
        f"A spiking neuron fires if its input is above {t}. The derivative of this step is 0, so the neuron would not learn. "
        f"Write a Function that returns 1.0 where `x > {t}` and 0.0 elsewhere, and whose gradient uses the slope `{slope}` "
        "instead.",
        combined("SurrogateSpike", "x", "...", "g", "..."),
        source(f"g * ({slope})"),
        judge,
        "The result has the values of the step, but backward multiplies the incoming gradient by a slope that you choose.",
        (source(f"{slope}"), "expected"),
        (source(f"g * (x > {t})"), "expected"),
        (source(f"g * ({slope})", forward=f"{slope}"), "the result"),
    )


@exercise(
    3,
    "All tensors in one call: `ctx.save_for_forward(x, w)`. None may be among them.",
    "`backward` receives a gradient for each output, and None for the name. It returns one for each argument.",
    "`jvp` receives zeros for a tensor without a tangent, and None for what is no tensor. It returns a tangent and None.",
)
def NamedProduct(r: random.Random) -> Task:
    """Repair a Function with arguments that are no tensors."""
    a, order = r.randint(2, 9), r.sample(["x", "w", "name"], 3)
    names, moving = ", ".join(order), ", ".join(f"{name}_t" for name in order)

    def judge(answer):
        def product(x, w):
            result, name = answer.apply(*[{"x": x, "w": w, "name": "first"}[one] for one in order])
            if name != "first":
                raise Wrong(f"the second output is {name!r}, expected the name that was passed, 'first'")
            return result

        if not (isinstance(answer, type) and issubclass(answer, Function)):
            raise Wrong(f"expected a subclass of autograd.Function, got {answer!r}")
        expected = lambda x, w: a * x if w is None else a * x * w
        for x, w in (
            (_leaf([1.0, -2.0]), _leaf([3.0, 0.5])),
            (_leaf([4.0, 1.5]), None),
            (_leaf(2.0).detach(), _leaf(5.0)),
        ):
            expect.computes(product, expected, (x, w))
        x, by, x_move, w_move = map(torch.tensor, ([1.0, -2.0], [3.0, 0.5], [0.7, 1.9], [-1.1, 0.3]))
        for w, x_t, w_t, wanted in (
            (by, x_move, w_move, a * (x_move * by + x * w_move)),
            (by, x_move, None, a * x_move * by),
            (by, None, w_move, a * x * w_move),
            (None, x_move, None, a * x_move),
        ):
            with fwAD.dual_level():
                duals = [
                    t if t is None or move is None else fwAD.make_dual(t, move) for t, move in ((x, x_t), (w, w_t))
                ]
                tangent = fwAD.unpack_dual(product(*duals)).tangent
            given = " and ".join(f"{t} = {None if v is None else v.tolist()}" for t, v in (("x_t", x_t), ("w_t", w_t)))
            at = f"at x = {x.tolist()} and w = {None if w is None else w.tolist()}, with {given},"
            if tangent is None:
                raise Wrong(f"the tangent {at} is None")
            expect.tensor(tangent, wanted, f"the tangent {at}")

    def source(backward: str, jvp: str, save: str = "ctx.save_for_forward(x, w)", incoming: str = "g, _") -> str:
        head = "x, w = ctx.saved_tensors\n        " * (backward != "...")
        return f"""\
class NamedProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx, {names}):
        ctx.save_for_backward(x, w)
        {save}
        return ({a} * x if w is None else {a} * x * w), name

    @staticmethod
    def backward(ctx, {incoming}):
        {head}{backward}

    @staticmethod
    def jvp(ctx, {moving}):
        {head}{jvp}
"""

    def returned(x: str, w: str) -> str:
        return f"return {', '.join({'x': x, 'w': w, 'name': 'None'}[one] for one in order)}"

    twice = "ctx.save_for_forward(x)\n        ctx.save_for_forward(w)"
    by_x, by_w = f"{a} * g if w is None else {a} * g * w", f"None if w is None else {a} * g * x"
    backward = returned(by_x, by_w)
    jvp = f"return ({a} * x_t if w is None else {a} * (x_t * w + x * w_t)), None"
    return code(
        f"`apply({names})` returns two outputs: `{a} * x * w`, or `{a} * x` if `w` is None, and the name, a text, as it is. "
        "`forward` has a mistake where it saves for `jvp`: repair it, and write `backward` and `jvp`.",
        source("...", "...", twice, "*gradients"),
        source(backward, jvp),
        judge,
        "Tensors and None are saved in one call, and what is no tensor has None for its gradient and its tangent.",
        (source(backward, jvp, twice), "calls save_for_forward a second time"),
        (source(backward, jvp, incoming="g"), "argument"),
        (source(f"return {by_x}, {by_w}", jvp), "2 gradients"),
        (source(returned(by_w, by_x), jvp), "gradient"),
        (source(returned(f"{a} * g * w", by_w), jvp), "raises"),
        (source(backward, jvp.removesuffix(", None")), "tangent"),
        (source(backward, f"return {a} * (x_t * w + x * w_t), None"), "raises"),
        (source(backward, f"return ({a} * x_t if w is None else {a} * x_t * w), None"), "expected"),
    )


@exercise(
    2,
    "A Function tracks only its direct arguments, so a dict of tensors cannot be one of them.",
    "Take the dict apart: pass its tensors to apply, one by one.",
)
def damped_tree(r: random.Random) -> Task:
    """Pass a pytree to a Function."""
    a, k = r.randint(2, 9), r.randint(2, 9)
    outer, (one, other) = r.choice(["size", "box", "layer"]), r.sample(["width", "height", "depth", "weight"], 2)
    nested, flat = f'tree["{outer}"]["{one}"]', f'tree["{other}"][1]'
    first, second = r.sample([nested, flat], 2)

    def judge(answer):
        for x, y in ((3.0, -2.0), ([1.0, 2.0], [0.5, -4.0])):
            tree = {outer: {one: torch.tensor(x)}, other: ("second", torch.tensor(y))}
            expect.tensor(answer(tree), (a * torch.tensor(x) * torch.tensor(y)).sum(), f"the result for {tree}")
            found = torch.func.grad(lambda tree: 0.7 * answer(tree | {other: ("second", tree[other])}))(
                tree | {other: torch.tensor(y)}
            )
            for given, place, factor in ((found[outer][one], nested, y), (found[other], flat, x)):
                slope = 0.7 * a * torch.tensor(factor) / (k if place == first else 1)
                expect.tensor(given, slope, f"the gradient of 0.7 * damped_tree(tree) for {place}, with {tree},")

    def source(body: str) -> str:
        return f"""\
class Damped(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return {a} * x * y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return {a} * g * y / {k}, {a} * g * x


def damped_tree(tree):{body}
"""

    call = f"Damped.apply({first}, {second}).sum()"
    return code(
        f"`Damped` divides the gradient of its first argument by {k}. JAX's `custom_vjp` would accept a dict of tensors as an "
        "argument, a *pytree*; a Function does not. So write an ordinary function around it: it takes "
        f'`{{"{outer}": {{"{one}": a tensor}}, "{other}": (a text, a tensor)}}`, and returns the sum of the elements of '
        f"`Damped.apply({first}, {second})`, so that `torch.func.grad` of it is right for both tensors.",
        source(" ..."),
        source(f"\n    return {call}"),
        judge,
        "The function takes the structure apart, and each tensor is an argument of apply, with its gradient.",
        (source(f"\n    return {a} * ({first} * {second}).sum()"), "expected"),
        (source(f"\n    return Damped.apply({second}, {first}).sum()"), "expected"),
        (source(f'\n    return Damped.apply(tree["{outer}"], {flat}).sum()'), "raises"),
        (source(f"\n    return Damped.apply({first}.detach(), {second}).sum()"), "expected"),
    )


@exercise(
    3,
    "The slope is the same for all elements, so `backward` needs only the shape: `ctx.shape = x.shape`.",
    "Put the dimension back with `g.unsqueeze(dim)`, and repeat it with `expand(ctx.shape)`.",
)
def ReducedRows(r: random.Random) -> Task:
    """Write a reduction that saves no tensor."""
    dim, kind, k = r.randint(0, 1), r.choice(["sum", "mean"]), r.randint(2, 9)
    divided = f" / ctx.shape[{dim}]" if kind == "mean" else ""

    def judge(answer):
        calls = [(_leaf([[float(3 * i + j) for j in range(columns)] for i in range(2)]),) for columns in (3, 4)]
        expect.function(answer, applied(lambda x: k * getattr(x, kind)(dim)), *calls)
        expect.saves(answer.apply, calls[0], most=0)

    def source(gradient: str, save: str = "ctx.shape = x.shape", read: tuple[str, ...] = ()) -> str:
        forward = f"{save}\nreturn {k} * x.{kind}({dim})"
        return combined("ReducedRows", "x", forward, "g", *read, f"return {gradient}")

    right = f"{k} * g.unsqueeze({dim}).expand(ctx.shape)"
    rest = f" / x.shape[{dim}]" if kind == "mean" else ""
    scaled = f"{right} * ctx.shape[{dim}]" if kind == "sum" else right
    return code(
        f"Write a Function whose `apply(x)` returns `{k} * x.{kind}({dim})` for a matrix `x`. Its `backward` does not need the "
        "values of `x`, so save no tensor.",
        combined("ReducedRows", "x", "...", "g", "..."),
        source(right + divided),
        judge,
        "The gradient of a reduction repeats the incoming gradient along the dimension; the shape is enough for that.",
        (source(scaled), "expected"),
        (source(f"{k} * g{divided}"), "shape"),
        (
            source(
                f"{k} * g.unsqueeze({dim}).expand(x.shape){rest}",
                "ctx.save_for_backward(x)",
                ("(x,) = ctx.saved_tensors",),
            ),
            "bytes are saved for backward; 0 are enough",
        ),
    )


def _leaf(values) -> torch.Tensor:
    return torch.tensor(values, requires_grad=True)
