"""Exercises about transforms: grad, vjp, jvp, vmap and Jacobians, alone and nested."""

import math
import random

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong

from . import Task, code, exercise, fence, number, numbers


@exercise(
    1,
    "For one example, the Jacobian has the shape (results, inputs). Where does the batch dimension go?",
    "`vmap(jacrev(f))` has one batch dimension, in front. `jacrev(vmap(f))` differentiates a function of the whole batch.",
)
def per_sample_jacobian_shape(r: random.Random) -> Task:
    """Find the shape of Jacobians of a batch."""
    b, n = r.sample([4, 5, 6, 7, 8], 2)
    way, inside = r.choice(["jacrev", "jacfwd"]), r.random() < 0.5
    call = f"torch.vmap(torch.func.{way}(f))(xs)" if inside else f"torch.func.{way}(torch.vmap(f))(xs)"
    program = f"f = lambda x: torch.stack([x.sum(), x.prod(), x.max()])\nxs = torch.ones({b}, {n})\njacobians = {call}"
    return numbers(
        f"{fence(program)}What is the shape of `jacobians`?",
        (b, 3, n) if inside else (b, 3, b, n),
        solution=f"{program}\nper_sample_jacobian_shape = jacobians.shape",
        why="`vmap` computes a separate Jacobian for each example, so the examples do not mix."
        if inside
        else "The Jacobian has all results of the batch and all its inputs. Most of it is 0, because examples do not mix.",
        mistakes={
            (b, 3, b, n): "that is the Jacobian of the whole batch, but here each example has its own",
            (b, 3, n): "that is a Jacobian for each example, but here the function takes the whole batch",
            (3, n): "that is the Jacobian of one example",
            (b, n, 3): "the dimensions of the result come before the dimensions of the input",
        },
    )


@exercise(
    1,
    "`argnums` counts the arguments from 0.",
    "The derivative of the square is 2 times the bracket, times the derivative of the bracket.",
)
def gradient_by_argnums(r: random.Random) -> Task:
    """Differentiate with respect to one of three arguments."""
    names, k = r.sample(["w", "x", "b"], 3), r.randint(0, 2)
    values = dict(zip(names, r.sample([2, 3, 4, 5, 7], 3)))
    w, x, b = (values[name] for name in ("w", "x", "b"))
    slopes = {"w": 2 * (w * x + b) * x, "x": 2 * (w * x + b) * w, "b": 2 * (w * x + b)}
    program = (
        f"def loss({', '.join(names)}):\n    return (w * x + b) ** 2\n\n\n"
        f"arguments = {', '.join(f'torch.tensor({values[name]}.0)' for name in names)}\n"
        f"result = torch.func.grad(loss, argnums={k})(*arguments)"
    )
    return number(
        f"{fence(program)}What is `result`?",
        slopes[names[k]],
        solution=f"{program}\ngradient_by_argnums = result.item()",
        why=f"Argument {k} is `{names[k]}`; for `grad`, all other arguments are constants.",
        mistakes={
            **{
                slopes[name]: f"that is the derivative with respect to {name}, which is argument {names.index(name)}"
                for name in names
            },
            slopes[names[k]] / 2: "the square has a derivative with a factor 2",
        },
    )


@exercise(
    1,
    "The second result of `jvp` is the speed of each result if `x` moves at the speed `u`.",
    "It is the Jacobian times u. The rows are $[a x_1, a x_0]$ and $[0, 2 b x_1]$.",
)
def jvp_of_a_pair(r: random.Random) -> Task:
    """Follow a direction through a function."""
    (a, b), x = r.sample([2, 3, 4, 5], 2), r.sample([1, 2, 3], 2)
    u = r.choice([[1, -1], [2, -1], [-1, 2], [1, 2], [-2, 1]])
    rows = (a * x[1], a * x[0]), (0, 2 * b * x[1])
    program = (
        f"f = lambda x: torch.stack([{a} * x[0] * x[1], {b} * x[1] ** 2])\n"
        f"x, u = torch.tensor({[float(i) for i in x]}), torch.tensor({[float(i) for i in u]})\n"
        "value, result = torch.func.jvp(f, (x,), (u,))"
    )
    return numbers(
        f"{fence(program)}What are the two numbers in `result`?",
        [row[0] * u[0] + row[1] * u[1] for row in rows],
        solution=f"{program}\njvp_of_a_pair = result.tolist()",
        why="For each result, the Jacobian times u adds up the slopes for both inputs times the speeds of the inputs.",
        mistakes={
            tuple(rows[0][i] * u[0] + rows[1][i] * u[1] for i in (0, 1)): "that is u times the Jacobian: a vjp",
            (sum(rows[0]), sum(rows[1])): "that is the result for the direction [1, 1]",
            (a * x[0] * x[1], b * x[1] ** 2): "that is the value",
            (
                a * u[0] * u[1],
                b * u[1] ** 2,
            ): "that is f(u), but a derivative multiplies by u instead of applying f to it",
        },
    )


@exercise(
    1,
    "`vmap` runs the function once for all examples, or once for each chunk of them.",
    "`pull` uses the graph of a finished run. Each call of `jvp` or `grad` runs the function again.",
)
def calls_of_body(r: random.Random) -> Task:
    """Count the calls of a transformed function."""
    n, m = r.sample([3, 4, 5, 6, 7], 2)
    batch, chunk = r.choice([(10, 4), (11, 3), (13, 5), (17, 5), (20, 6), (23, 4)])
    again = "each round of the loop runs f again"
    options: list[tuple[str, int, dict[float, str]]] = [
        (
            f"torch.vmap(f, chunk_size={chunk})(torch.ones({batch}, {n}))",
            -(-batch // chunk),
            {
                batch: "one call computes a whole chunk",
                1: "chunk_size limits the number of examples in a call",
                batch // chunk: "the rest is a chunk, too",
            },
        ),
        (
            f"value, pull = torch.func.vjp(f, x)\nrows = [pull(e) for e in torch.eye({m})]",
            1,
            {m: "pull does not run f", m + 1: "pull does not run f: it uses the graph of the first run"},
        ),
        (
            f"columns = [torch.func.jvp(f, (x,), (e,)) for e in torch.eye({n})]",
            n,
            {
                1: again,
                m: "there is a round for each input, not for each result",
                n + 1: "the loop needs no call before it",
            },
        ),
        (
            f"rows = [torch.func.grad(lambda x: f(x)[i])(x) for i in range({m})]",
            m,
            {1: again, n: "there is a round for each result, not for each input", 2 * m: "backward does not run f"},
        ),
        (
            "torch.func.jacfwd(f)(x)",
            1,
            {n: "jacfwd sends all directions through one call, with vmap", m: "that is the number of results"},
        ),
    ]
    line, right, mistakes = r.choice(options)
    program = (
        "calls = []\n\n\ndef f(x):\n    calls.append('call')\n"
        f"    return torch.stack([k * x.sum() for k in range({m})])\n\n\nx = torch.ones({n})\n{line}"
    )
    return number(
        f"{fence(program)}How many elements does `calls` have?",
        right,
        solution=f"{program}\ncalls_of_body = len(calls)",
        why="Transforms call the function with tensors that stand for many numbers, so a single call can serve all of them.",
        mistakes=mistakes,
    )


@exercise(
    2,
    "Start inside: the inner `grad` differentiates only with respect to `y`. Its result still depends on `x`.",
    "The inner derivative is $ax + 2by$ at the given $y$. Multiply it by $x$, and differentiate the product with respect to "
    "$x$.",
)
def grad_in_grad(r: random.Random) -> Task:
    """Differentiate a function that contains a derivative."""
    a, b, y, x = r.randint(2, 6), r.randint(2, 6), r.randint(2, 5), r.randint(6, 9)
    program = (
        f"def outer(x):\n    inner = lambda y: {a} * x * y + {b} * y**2\n"
        f"    return x * torch.func.grad(inner)(torch.tensor({y}.0))\n\n\n"
        f"result = torch.func.grad(outer)(torch.tensor({x}.0))"
    )
    return number(
        f"{fence(program)}What is `result`?",
        2 * a * x + 2 * b * y,
        solution=f"{program}\ngrad_in_grad = result.item()",
        why="`outer` is $x (ax + 2by)$. Each `grad` follows only its own variable, and the outer one sees all uses of `x`.",
        mistakes={
            a * x + 2 * b * y: "the inner derivative depends on x, too: use the product rule",
            x * (a * x + 2 * b * y): "that is the value of outer",
            2 * a * x + b * y: "the inner square has a derivative with a factor 2",
            2 * a * x: "the second term of the inner derivative is multiplied by x, too",
        },
    )


@exercise(
    2,
    "`has_aux=True` differentiates the first result of `f` and passes the second one through, always at the end.",
    "`grad_and_value` returns the gradient before the value.",
)
def aux_in_order(r: random.Random) -> Task:
    """Order the results of a transform with has_aux."""
    a, b, x, u = r.randint(2, 6), r.randint(7, 9), r.choice([3, 4, 5]), r.choice([2, 3])
    value, slope, extra = a * x * x, 2 * a * x, b * x
    call, right = r.choice(
        [
            ("torch.func.grad(f, has_aux=True)(x)", (slope, extra)),
            ("torch.func.grad_and_value(f, has_aux=True)(x)", (slope, value, extra)),
            (f"torch.func.jvp(f, (x,), (torch.tensor({u}.0),), has_aux=True)", (value, u * slope, extra)),
        ]
    )
    program = f"f = lambda x: ({a} * x**2, {b} * x)\nx = torch.tensor({x}.0)\nresult = {call}"
    return numbers(
        f"{fence(program)}Which numbers are in `result`, and in which order? Write nested tuples as one list.",
        right,
        solution=f"{program}\nflat = lambda one: [n for part in one for n in flat(part)] if isinstance(one, tuple) else "
        "[one.item()]\naux_in_order = flat(result)",
        why="The transform differentiates only the first result of `f`. The second one comes last, unchanged.",
        mistakes={
            (value, slope, extra): "here the gradient comes before the value"
            if len(right) == 3
            else "grad gives no value",
            (slope, value, extra): "that is the order of grad_and_value",
            (slope, value): "the second result of f passes through, too",
            (value, u * slope, u * b): "the second result of f passes through unchanged",
            (slope, b): "the second result of f passes through unchanged",
        },
    )


@exercise(
    2,
    "The outer `vmap` removes its dimension first. `in_dims` of the inner one counts the dimensions that are left.",
    "Then go outwards: each `out_dims` inserts its batch dimension into the result of the function that its vmap receives.",
)
def nested_vmap_shape(r: random.Random) -> Task:
    """Find the shape after two nested vmaps."""
    shape = r.sample([2, 3, 4, 5, 6, 7], 3)
    first, second, inner, outer = r.randint(0, 2), r.randint(0, 1), r.randint(0, 1), r.randint(1, 2)

    def result(double: int, inner: int, outer: int) -> tuple:
        left = [*shape]
        batches = left.pop(first), left.pop(second)
        left[0] *= double
        left.insert(inner, batches[1])
        left.insert(outer, batches[0])
        return tuple(left)

    program = (
        f"f = lambda v: torch.cat([v, v])\nA = torch.ones{tuple(shape)}\n"
        f"inner = torch.vmap(f, in_dims={second}, out_dims={inner})\n"
        f"result = torch.vmap(inner, in_dims={first}, out_dims={outer})(A)"
    )
    right = result(2, inner, outer)
    return numbers(
        f"{fence(program)}What is the shape of `result`?",
        right,
        solution=f"{program}\nnested_vmap_shape = result.shape",
        why="Each vmap removes a dimension, the outer one first. On the way out, the inner one puts its dimension back first.",
        mistakes={
            result(1, inner, outer): "f doubles the vector that it gets",
            result(2, 0, 0): "that is the shape without out_dims",
            result(2, 1 - inner, outer): "look at out_dims of the inner vmap again",
            tuple(shape): "f doubles the vector, and out_dims moves dimensions",
        },
    )


@exercise(
    2,
    "`in_dims` says along which dimension vmap cuts each argument; with `None`, each example gets all of it.",
    "Write down the two arguments of the first example, and then its sum.",
)
def cut_or_shared(r: random.Random) -> Task:
    """Predict which parts of the arguments belong together."""
    w, (p, q, s, t) = r.sample([2, 3, 4, 5], 2), r.sample([1, 2, 3, 4, 5, 6], 4)
    results = {
        (0, 0): (w[0] * (p + q), w[1] * (s + t)),
        (0, 1): (w[0] * (p + s), w[1] * (q + t)),
        (None, 0): (w[0] * p + w[1] * q, w[0] * s + w[1] * t),
        (None, 1): (w[0] * p + w[1] * s, w[0] * q + w[1] * t),
    }
    dims = r.choice([(0, 0), *results])
    says = {
        (0, 0): "in_dims=(0, 0), where each example gets one number of w and a row",
        (0, 1): "in_dims=(0, 1), where each example gets one number of w and a column",
        (None, 0): "in_dims=(None, 0), where each example gets all of w and a row",
        (None, 1): "in_dims=(None, 1), where each example gets all of w and a column",
    }
    given = "" if dims == (0, 0) else f", in_dims={dims}"
    program = (
        f"f = lambda w, x: (w * x).sum()\nw, xs = torch.tensor({[float(i) for i in w]}), "
        f"torch.tensor({[[float(p), float(q)], [float(s), float(t)]]})\nresult = torch.vmap(f{given})(w, xs)"
    )
    return numbers(
        f"{fence(program)}What are the two numbers in `result`?",
        results[dims],
        solution=f"{program}\ncut_or_shared = result.tolist()",
        why=f"This is {says[dims]}. A wrong dimension of the right size raises no error.",
        mistakes={value: f"that is the result of {says[other]}" for other, value in results.items() if other != dims},
    )


@exercise(
    3,
    "`torch.func.grad(loss)` gives a dict of gradients, and `vmap` with in_dims=(None, 0, 0) gives one such dict for all "
    "examples.",
    "Each gradient has the batch dimension in front, so `g.flatten(1)` has a row for each example. Join these with torch.cat.",
)
def per_sample_norms(r: random.Random) -> Task:
    """Measure the gradient of each example."""
    p = r.choice([1, 2, 3, 4, 5, math.inf])
    words = "largest absolute value" if p == math.inf else f"{p}-norm, $(\\sum_i |g_i|^{p})^{{1/{p}}}$,"

    def loss(params: dict, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        calls.append("call")
        if x.ndim != 1:
            raise Wrong(f"loss receives x of shape {list(x.shape)}, but it takes one example: map it with vmap")
        return ((params["W"] @ x + params["b"] - y) ** 2).sum()

    def expected(params: dict, xs: torch.Tensor, ys: torch.Tensor) -> list[float]:
        norms = []
        for x, y in zip(xs, ys):
            error = 2 * (params["W"] @ x + params["b"] - y)
            both = [abs(n) for n in (*torch.outer(error, x).flatten().tolist(), *error.tolist())]
            norms.append(max(both) if p == math.inf else sum(n**p for n in both) ** (1 / p))
        return norms

    def judge(answer):
        params = {"W": torch.tensor([[1.0, -2.0, 0.5], [0.0, 1.0, 3.0]]), "b": torch.tensor([0.5, -1.0])}
        for n in (4, 7):
            xs, ys = torch.linspace(-1.0, 2.0, 3 * n).reshape(n, 3), torch.linspace(1.0, -2.0, 2 * n).reshape(n, 2)
            calls.clear()
            expect.tensor(
                answer(loss, params, xs, ys), expected(params, xs, ys), f"the result for {n} examples", rtol=1e-3
            )
            if len(calls) > 1:
                raise Wrong(f"the numbers are right, but loss is called {len(calls)} times: vmap needs one call")

    calls: list = []
    each = "torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(params, xs, ys)"
    power = "float('inf')" if p == math.inf else p

    def source(grads: str, norm: str) -> str:
        return f"def per_sample_norms(loss, params, xs, ys):\n    grads = {grads}\n    return {norm}"

    norm = f"torch.cat([g.flatten(1) for g in grads.values()], dim=1).norm({power}, dim=1)"
    loop = "{k: torch.stack([torch.func.grad(loss)(params, x, y)[k] for x, y in zip(xs, ys)]) for k in params}"
    return code(
        "`loss(params, x, y)` takes one example; `params` is a dict of tensors. Examples with large gradients may have wrong "
        f"labels. Return a vector with the {words} of the gradient of each row of `xs` and `ys`, over all elements of all "
        "parameters. Call `loss` once.",
        "def per_sample_norms(loss, params, xs, ys): ...",
        source(each, norm),
        judge,
        "vmap of grad keeps the gradients of the examples apart, while a sum over the batch would mix them.",
        (source(loop, norm), "vmap needs one call"),
        (source(each, norm.replace(f"norm({power}", f"norm({2 if p == 1 else 1}")), "expected"),
        (source(each, f"grads['W'].flatten(1).norm({power}, dim=1)"), "expected"),
        (source("torch.func.grad(loss)(params, xs, ys)", norm), "takes one example"),
    )


@exercise(
    3,
    "Read the product from the right: first compute J v, then multiply it by the transposed Jacobian.",
    "`jvp` computes J v, and `pull` of `vjp` multiplies by the transposed Jacobian.",
)
def gauss_newton_product(r: random.Random) -> Task:
    """Multiply by a Jacobian and its transpose."""
    c = r.choice([0.1, 0.2, 0.5, 1.5, 2.0, 2.5, 3.0, 4.0])

    def judge(answer):
        w = torch.tensor([[1.0, -2.0, 0.5], [0.0, 1.0, 3.0]])
        x, v = torch.tensor([0.3, -0.1, 0.2]), torch.tensor([1.0, 2.0, -1.0])
        jacobian = (1 - (w @ x).tanh() ** 2)[:, None] * w
        expect.tensor(
            answer(lambda x: (w @ x).tanh(), x, v), jacobian.T @ (jacobian @ v) + c * v, "the result for 2 results"
        )
        n = 100
        x, double = torch.linspace(0.0, 1.0, n), lambda x: torch.cat([3 * x, x * x])
        expect.tensor(answer(double, x, x + 1), (9 + 4 * x * x + c) * (x + 1), "the result for a long vector")
        values = torch.record(lambda: answer(double, x, x + 1), passes="forward").to_dict()["values"]
        if sum(value["bytes"] for value in values) >= 4 * n * n:
            raise Wrong(f"the numbers are right, but it computes a Jacobian of {2 * n} x {n}")

    def source(*lines: str) -> str:
        return "\n    ".join(["def gauss_newton_product(f, x, v):", *lines])

    forward, back = "_, change = torch.func.jvp(f, (x,), (v,))", "_, pull = torch.func.vjp(f, x)"
    return code(
        "The Gauss-Newton method uses $J^\\top J$ instead of a Hessian, where $J$ is the Jacobian of `f`. Return $J^\\top J v "
        f"+ {c} v$ at `x`. `f` takes and returns a vector. Never build $J$: it may be too large.",
        "def gauss_newton_product(f, x, v): ...",
        source(forward, back, f"return pull(change)[0] + {c} * v"),
        judge,
        "jvp multiplies by J, and vjp by its transpose. One run of each is enough.",
        (source("J = torch.func.jacrev(f)(x)", f"return J.T @ (J @ v) + {c} * v"), "a Jacobian of"),
        (source(forward, back, "return pull(change)[0]"), "expected"),
        (source("y, pull = torch.func.vjp(f, x)", f"return pull(torch.ones_like(y))[0] * v + {c} * v"), "expected"),
        (source(back, f"return pull(v)[0] + {c} * v"), "raises"),
    )


@exercise(
    3,
    "`torch.func.grad` of `torch.func.grad(f)` is the second derivative, and so on.",
    "Write a function of one number that stacks all derivatives with torch.stack, and pass this function to `torch.vmap`.",
    "`out_dims` of vmap says where the batch dimension goes in the result.",
)
def derivative_table(r: random.Random) -> Task:
    """Tabulate the derivatives of a function of one number."""
    n, series, rows = r.choice([2, 3, 4]), r.random() < 0.5, r.random() < 0.5
    factors = [1 / math.factorial(i) if series else 1.0 for i in range(n + 1)]

    def single(x: torch.Tensor) -> None:
        if x.ndim:
            raise Wrong(f"f receives a tensor of shape {list(x.shape)}, but it takes one number: map it with vmap")

    def judge(answer):
        cases = (
            (lambda x: single(x) or (2 * x).exp(), lambda x, i: 2**i * (2 * x).exp()),
            (lambda x: single(x) or x**5, lambda x, i: math.perm(5, i) * x ** (5 - i)),
        )
        for f, derivative in cases:
            for xs in (torch.tensor([0.5, -1.0, 0.25, 2.0, 1.0, 1.5]), torch.tensor([0.75])):
                wanted = torch.stack([factors[i] * derivative(xs, i) for i in range(n + 1)], dim=1 if rows else 0)
                expect.tensor(answer(f, xs), wanted, f"the table for {len(xs)} numbers", rtol=1e-3)

    def source(dims: int, weight: str, first: str = "[f(x)]") -> str:
        return f"""import math


def derivative_table(f, xs):
    def one(x):
        values, g = {first}, f
        for i in range(1, {n + 1}):
            g = torch.func.grad(g)
            values.append(g(x){weight})
        return torch.stack(values)

    return torch.vmap(one, out_dims={dims})(xs)"""

    divided = " / math.factorial(i)"
    weight, other = (divided, "") if series else ("", divided)
    entries = "the Taylor coefficient $f^{(i)}(x) / i!$" if series else "the derivative $f^{(i)}(x)$"
    shape = f"a row for each number and {n + 1} columns" if rows else f"{n + 1} rows and a column for each number"
    return code(
        f"`f` takes a single number and returns one. Return a matrix with {shape}: {entries} for i = 0 to {n}, for each "
        "element of the vector `xs`. The entry for i = 0 is the value.",
        "def derivative_table(f, xs): ...",
        source(0 if rows else 1, weight),
        judge,
        "You can repeat grad, and vmap maps the whole chain over the numbers.",
        (source(1 if rows else 0, weight), "shape"),
        (source(0 if rows else 1, other), "expected"),
        (
            f"def derivative_table(f, xs):\n    return torch.stack([f(xs)] * {n + 1}, dim={int(rows)})",
            "it takes one number",
        ),
        (source(0 if rows else 1, weight, "[]"), "shape"),
    )


@exercise(
    3,
    "Write the step of one model as a function of `params` and `rate`. Let `vmap` map over both, but not over the data.",
    "in_dims takes one entry for each argument; 0 for a dict means dimension 0 of all its tensors.",
)
def ensemble_step(r: random.Random) -> Task:
    """Train several models at once."""
    c = r.choice([0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5])

    def loss(params: dict, xs: torch.Tensor, ys: torch.Tensor) -> torch.Tensor:
        calls.append("call")
        if params["w"].ndim != 1 or params["b"].ndim:
            raise Wrong("loss receives the parameters of several models, but it takes one model's: map it with vmap")
        return ((xs @ params["w"] + params["b"] - ys) ** 2).mean()

    def expected(params: dict, rates: torch.Tensor, xs: torch.Tensor, ys: torch.Tensor) -> dict:
        errors = 2 * (params["w"] @ xs.T + params["b"][:, None] - ys) / len(ys)  # a row for each model
        by_w, by_b = errors @ xs, errors.sum(1)
        w, b = params["w"], params["b"]
        return {"w": w - rates[:, None] * (by_w + c * w), "b": b - rates * (by_b + c * b)}

    def judge(answer):
        xs, ys = torch.tensor([[1.0, 0.5], [-1.0, 2.0], [0.0, 1.0], [2.0, -0.5]]), torch.tensor([1.0, 0.0, -1.0, 2.0])
        for k in (3, 2):  # the second time, as many models as weights
            params = {"w": torch.linspace(-1.0, 2.0, 2 * k).reshape(k, 2), "b": torch.linspace(0.5, -1.0, k)}
            rates = torch.linspace(0.1, 0.4, k)
            calls.clear()
            given, wanted = answer(loss, dict(params), rates, xs, ys), expected(params, rates, xs, ys)
            if not isinstance(given, dict) or given.keys() != wanted.keys():
                raise Wrong(f"expected a dict with the keys w and b, got {type(given).__name__}")
            for name, value in wanted.items():
                expect.tensor(given[name], value, f"the new {name} of {k} models")
            if len(calls) > 1:
                raise Wrong(f"the numbers are right, but loss is called {len(calls)} times: vmap needs one call")

    calls: list = []

    def source(new: str, result: str = "torch.vmap(step, in_dims=(0, 0))(params, rates)") -> str:
        return (
            "def ensemble_step(loss, params, rates, xs, ys):\n    def step(params, rate):\n"
            "        grads = torch.func.grad(loss)(params, xs, ys)\n"
            f"        return {{name: {new} for name, p in params.items()}}\n\n    return {result}"
        )

    new = f"p - rate * (grads[name] + {c} * p)"
    loop = "[step({name: p[i] for name, p in params.items()}, rate) for i, rate in enumerate(rates)]"
    return code(
        "You train several copies of a model on the same data, each at its own rate. In each tensor of the dict `params`, "
        "dimension 0 counts the models; `rates` has a number for each model. `loss(params, xs, ys)` takes the parameters of "
        f"one model. Return the dict after a step with weight decay: each parameter `p` becomes `p - rate * (gradient + {c} * "
        "p)`. "
        "Call `loss` once.",
        "def ensemble_step(loss, params, rates, xs, ys): ...",
        source(new),
        judge,
        "Each model sees its own slice of the parameters and its own rate, and all models see the same data.",
        (source("p - rate * grads[name]"), "expected"),
        (source(new, "step(params, rates)"), "it takes one model's"),
        (source(new, f"(lambda all: {{k: torch.stack([one[k] for one in all]) for k in params}})({loop})"), "one call"),
        (source(new, "torch.vmap(step, in_dims=(0, None))(params, rates[0])"), "expected"),
    )
