"""Exercises about checking derivatives: the errors of differences, gradcheck and its tolerances, kinks, and wrong gradients."""

import random
from collections.abc import Callable

import numpy as np

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong

from . import Task, choice, code, combined, exercise, fence, number


@exercise(
    1,
    "Put $x + h$ into the formula and multiply out. Most terms cancel.",
    "$(x + h)^2 = x^2 + 2xh + h^2$, and $(x + h)^3 = x^3 + 3x^2h + 3xh^2 + h^3$.",
)
def difference_error(r: random.Random) -> Task:
    """Compute the error of a difference."""
    a, x, h, central = r.randint(2, 9), r.randint(2, 5), r.choice([0.1, 0.2, 0.3, 0.5]), r.random() < 0.5
    if central:
        n, formula, right = 3, "(f(x + h) - f(x - h)) / (2 * h)", a * h * h
        why = "The error of a central difference begins with $h^2 f''' / 6$, and here $f''' = 6a$."
        mistakes = {6 * a * h * h: "only a sixth of the third derivative counts", 3 * a * x * h: "this term cancels"}
    else:
        n, formula, right = 2, "(f(x + h) - f(x)) / h", a * h
        why = "The error of a one-sided difference begins with $h f'' / 2$, and here $f'' = 2a$."
        mistakes = {2 * a * h: "only half of the second derivative counts", a * h * h: "divide by h: one h remains"}
    program = f"f = lambda x: {a} * x**{n}\nx, h = {x}.0, {h}\ndifference = {formula}"
    return number(
        f"{fence(program)}By how much does `difference` exceed the derivative of `f` at `x`?",
        right,
        solution=f"{program}\nleaf = torch.tensor(x, requires_grad=True)\n"
        "(slope,) = torch.autograd.grad(f(leaf), leaf)\ndifference_error = difference - slope.item()",
        why=why,
        mistakes={0: "this difference is exact only for functions of a lower degree", **mistakes},
    )


@exercise(
    1,
    "Only one element of `x` changes at a time. The number of results does not matter: one call computes all of them.",
    "A central difference needs two calls for each element; one-sided ones share the call at `x` itself.",
)
def difference_runs(r: random.Random) -> Task:
    """Count the calls for a Jacobian from differences."""
    (m, n), k, central = r.sample([2, 3, 4, 5, 6], 2), r.randint(2, 4), r.random() < 0.5
    kind, formula = ("central", "f(x + e) - f(x - e)") if central else ("one-sided", "f(x + e) - middle")
    right = 2 * m * n if central else m * n + 1
    solution = (
        f"calls = []\nf = lambda x: calls.append('call') or x.sum() ** torch.arange({k})\nx = torch.ones({m}, {n})\n"
        + ("" if central else "middle = f(x)\n")
        + f"for e in 0.01 * torch.eye({m * n}).reshape(-1, {m}, {n}):\n    {formula}\ndifference_runs = len(calls)"
    )
    return number(
        f"`f` takes a tensor of shape ({m}, {n}) and returns a vector with {k} elements. How many calls of `f` do you "
        f"need to compute all its first derivatives with {kind} differences?",
        right,
        solution=solution,
        why="Differences change one element at a time, so the number of calls grows with the input. Backward would need a "
        "pass for each result.",
        mistakes={
            right * k: "one call gives all results: count it once",
            m * n: "each element changes in both directions" if central else "the call at x itself is missing",
            m * n + 1: "a central difference does not use the value at x",
            2 * m * n: "all one-sided differences share the call at x",
            k: "that is the number of passes that backward needs",
        },
    )


@exercise(
    1,
    "The spacing of floating-point numbers grows with the number: `np.spacing(np.float32(x))` gives it.",
    "A step below half of the spacing is lost: `x + step` is rounded to `x`.",
)
def smallest_step(r: random.Random) -> Task:
    """Find the smallest step that changes a number."""
    x, (name, other) = r.choice([3, 50, 700, 9000, 60000]), r.sample(["float32", "float64"], 2)

    def last(x: float, dtype: str) -> int:
        kind = getattr(np, dtype)
        return max(n for n in range(1, 20) if kind(x) + kind(10.0**-n) != kind(x))

    return number(
        f"`x = torch.tensor({x}.0, dtype=torch.{name})`. For which of the steps `10.0**-n` with n = 1, 2, 3, ... is "
        "`x + step` a different number from `x`? Give the largest such n.",
        last(x, name),
        solution=f"x = torch.tensor({x}.0, dtype=torch.{name})\n"
        "smallest_step = max(n for n in range(1, 20) if x + 10.0**-n != x)",
        why="A smaller step is lost in the rounding of the sum, and a difference with it is 0. The limit grows with `x`.",
        mistakes={
            last(x, other): f"that is the answer for {other}",
            last(1, name): "that is the answer for x = 1; the spacing of larger numbers is larger",
            last(x, name) + 1: "this step is less than half of the spacing, so the sum is rounded to x",
        },
    )


@exercise(
    1,
    "gradcheck compares like `allclose`: an absolute and a relative tolerance add up.",
    "The allowed difference is atol + rtol times the size of the number from differences.",
)
def allowed_difference(r: random.Random) -> Task:
    """Find the largest difference that gradcheck accepts."""
    slope = r.choice([-80, -50, -30, 20, 40, 60])
    atol, rtol = r.choice([0.01, 0.02, 0.05]), r.choice([0.001, 0.002, 0.005])
    line = combined(
        "Line", "x, off", f"ctx.off = off\nreturn {slope} * x", "g", f"return ({slope} + ctx.off) * g, None"
    )
    program = f"""{line}

def accepted(off):
    x = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
    return torch.autograd.gradcheck(Line.apply, (x, off), atol={atol}, rtol={rtol}, raise_exception=False)"""
    return number(
        f"{fence(program)}What is the largest number `off` for which `accepted(off)` is true?",
        atol + rtol * abs(slope),
        solution=f"{program}\n\n\nlow, high = 0.0, 1.0\nfor _ in range(30):\n    middle = (low + high) / 2\n"
        "    low, high = (middle, high) if accepted(middle) else (low, middle)\nallowed_difference = low",
        why="An element passes if the two numbers differ by at most atol + rtol times the number from differences.",
        mistakes={
            rtol * abs(slope): "that leaves out the absolute tolerance",
            atol: "that leaves out the relative tolerance times the slope",
            atol + rtol: "the relative tolerance is multiplied by the slope",
            atol + rtol * slope: "multiply the relative tolerance by the size of the slope, without its sign",
        },
    )


@exercise(
    2,
    "A difference uses the points x - eps and x + eps, with eps = 1e-6. Is the kink between them?",
    "At the kink itself, a difference gives the mean of the slopes on both sides. Compare it with the slope from backward.",
)
def kink_verdicts(r: random.Random) -> Task:
    """Find the points at which a right gradient is rejected."""
    c = r.choice([0.25, 0.5, 1.5, 2.0, 3.0])
    formula = r.choice([f"(x - {c}).relu()", f"(x - {c}).abs()", f"x.clamp(min={c})"])
    near, far = r.randint(2, 8), r.randint(2, 9)
    points = {"kink": f"{c}", "above": f"{c} + {near}e-7", "below": f"{c} - {near}e-7"}
    points |= {"beside": f"{c} {r.choice('+-')} {far}e-6", "far": f"{c} {r.choice('+-')} 0.{far}"}
    kinds = r.sample(list(points), 5)
    letters = dict(zip(kinds, "abcde"))
    mean = "abs" in formula  # at its kink, backward gives the mean of both slopes
    rejected = {letters[kind] for kind in ("above", "below", "kink")[: 2 if mean else 3]}
    listed = ", ".join(f'"{letters[kind]}": {points[kind]}' for kind in kinds)
    program = (
        f"f = lambda x: {formula}\npoints = {{{listed}}}\n\n\ndef accepted(value):\n"
        "    x = torch.tensor([value], dtype=torch.float64, requires_grad=True)\n"
        "    return torch.autograd.gradcheck(f, x, eps=1e-6, raise_exception=False)"
    )
    return choice(
        f"{fence(program)}At which points is `accepted` false? Give a list of letters.",
        rejected,
        solution=f"{program}\n\n\nkink_verdicts = [letter for letter, value in points.items() if not accepted(value)]",
        why="A difference across a kink mixes both slopes, so keep the inputs of a check more than eps away from kinks."
        + (" At the kink of abs, the mean is 0, and backward gives 0, too." if mean else ""),
        mistakes={
            letters["kink"]: "at the kink the mean of both slopes is 0, and so is the gradient of abs",
            letters["beside"]: "the kink is farther away than eps, so both points are on the same side of it",
            letters["far"]: "the function is straight around this point",
        },
    )


@exercise(
    2,
    "Differentiate the bound by $h$ and set it to zero: $-u / h^2 + M h / 3 = 0$.",
    "Solve for $h$: a cube root.",
)
def best_step(r: random.Random) -> Task:
    """Choose the step of a difference for noisy values."""
    u, m = r.choice([0.001, 0.0005, 0.0001, 0.00005, 0.00001]), r.randint(2, 12)
    return number(
        f"A simulator's results have errors of up to $u = {u:.5f}$, and its third derivative is at most $M = {m}$. So a "
        "central difference with the step $h$ has an error of at most $u / h + M h^2 / 6$. Which $h$ makes it smallest?",
        (3 * u / m) ** (1 / 3),
        solution="steps = np.geomspace(1e-3, 1, 400_001)\n"
        f"best_step = steps[np.argmin({u} / steps + {m} * steps**2 / 6)]",
        why="A smaller step enlarges the noise, and a larger one the error from the curvature. gradcheck's eps of 1e-6 "
        "would be far too small for this noise.",
        mistakes={
            (6 * u / m) ** (1 / 3): "there the two parts are equal; at the minimum, their derivatives cancel",
            2 * (u / m) ** 0.5: "that is the formula for one-sided differences",
            (3 * u / m) ** 0.5: "the condition has the cube of h, not its square",
            1e-6: "that suits the rounding errors of float64; here the errors are far larger",
        },
    )


@exercise(
    2,
    "Row i of the analytical Jacobian is what backward returns when g is 1 at result i and 0 elsewhere.",
    "Compare: equal rows mean that backward ignores g. You can see opposite signs, doubled numbers and swapped rows directly.",
)
def reading_jacobians(r: random.Random) -> Task:
    """Recognise a mistake from its Jacobian."""
    matrix = np.array(r.sample(range(1, 10), 6), dtype=float).reshape(2, 3)
    kinds = {
        "-(A.T @ g)": (-matrix, "it changes all signs"),
        "A.sum(0)": (np.tile(matrix.sum(0), (2, 1)), "it ignores g, so both rows are equal"),
        "A.flip(0).T @ g": (matrix[::-1], "it swaps the rows"),
        "2 * (A.T @ g)": (2 * matrix, "it doubles each element"),
        "(A.T @ g).flip(0)": (matrix[:, ::-1], "it reverses each row"),
    }
    lines = r.sample(list(kinds), 4)
    right = r.choice(lines)
    letters = dict(zip(lines, "abcd"))
    shown = kinds[right][0].tolist()
    program = f"A = torch.tensor({matrix.tolist()})  # forward returns A @ x\nanalytical = torch.tensor({shown})"
    listed = ", ".join(f'"{letters[line]}": lambda g: {line}' for line in lines)
    return choice(
        "gradcheck rejects a Function. `A` is also the Jacobian from differences, and `analytical` is the Jacobian from "
        f"backward:{fence(program)}What does backward return? Give a letter.\n\n"
        + "\n".join(f"- `{letters[line]!r}`: `{line}`" for line in lines),
        letters[right],
        solution=f"{program}\nlines = {{{listed}}}\njacobian = lambda f: torch.stack([f(g) for g in torch.eye(2)])\n"
        "(reading_jacobians,) = [letter for letter, f in lines.items() if jacobian(f).equal(analytical)]",
        why="Each row of the analytical Jacobian comes from one backward pass, so the pattern shows the formula.",
        mistakes={letters[line]: kinds[line][1] for line in lines},
    )


@exercise(
    2,
    "gradcheck needs only right numbers. gradgradcheck also needs the gradient's history, back to x and to g.",
    "A saved tensor has a history if it is an input. detach() and NumPy cut the history.",
)
def only_second_check(r: random.Random) -> Task:
    """Find the mistakes that only gradgradcheck sees."""
    c, n = r.randint(2, 5), r.choice([3, 4])
    power = f"saved**{n - 1}"
    lost = [
        (f"{c * n} * x**{n - 1}", "saved * g"),
        ("x", f"{c * n} * saved.detach()**{n - 1} * g"),
        ("x", f"torch.tensor({c * n} * saved.detach().numpy()**{n - 1}) * g"),
        ("x", f"{c * n} * {power} * g.detach()"),
    ]
    others = {
        ("x", f"{c * n} * {power} * g"): "both checks accept it",
        ("x", f"{c} * {power} * g"): "a factor is wrong, so gradcheck rejects it",
        ("x", f"{c * n} * {power}"): "it ignores g, so gradcheck rejects it",
        ("x", f"{c * n} * saved**{n} * g"): "the exponent is wrong, so gradcheck rejects it",
    }
    many = r.randint(1, 2)
    picked = r.sample(lost, many) + r.sample(list(others), 4 - many)
    r.shuffle(picked)
    letters = dict(zip(picked, "abcd"))
    rules = "\n".join(
        f"    {one!r}: (lambda x: {kept}, lambda saved, g: {out})," for (kept, out), one in letters.items()
    )
    solution = f"""rules = {{
{rules}
}}


def verdicts(letter):
    class Power(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(rules[letter][0](x))
            return {c} * x**{n}

        @staticmethod
        def backward(ctx, g):
            return rules[letter][1](*ctx.saved_tensors, g)

    x = torch.tensor([0.7, 1.3], dtype=torch.float64, requires_grad=True)
    checks = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    return [check(Power.apply, x, raise_exception=False) for check in checks]


only_second_check = [letter for letter in rules if verdicts(letter) == [True, False]]"""
    return choice(
        f"`forward(ctx, x)` returns `{c} * x**{n}` and saves a tensor; `backward(ctx, g)` gets it back as `saved`. Which of "
        "these Functions pass gradcheck but fail gradgradcheck? Give a list of letters.\n\n"
        + "\n".join(f"- `{one!r}`: saves `{kept}`, returns `{out}`" for (kept, out), one in letters.items()),
        {letters[rule] for rule in picked if rule in lost},
        solution=solution,
        why="Their gradients are right, but part of their history is cut, so second derivatives lack a term.",
        mistakes={letters[rule]: others[rule] for rule in picked if rule in others},
    )


@exercise(
    3,
    "Move the whole tensor by `h * v` in both directions: the difference is the slope along v.",
    "The gradient predicts the slope `(gradient * v).sum()`. Allow atol + rtol times the size of the difference.",
)
def directional_check(r: random.Random) -> Task:
    """Check a gradient in one direction."""
    atol, rtol = r.choice([1e-4, 2e-4, 5e-4]), r.choice([0.002, 0.005, 0.01, 0.02, 0.05])

    def judge(answer):
        x, v = _double([[0.5, -1.0, 2.0], [3.0, 0.1, 1.0]]), _double([[1.0, 2.0, -1.0], [0.5, 3.0, 1.0]])
        slope = _double([[3.0, 1.0, -2.0], [0.0, 4.0, 5.0]])
        across = slope - (slope * v).sum() / (v * v).sum() * v  # 0 along v
        _accepts(answer, lambda x: (x.sin() * slope).sum() ** 2, x, v, "a right gradient")
        _accepts(answer, lambda t: 1e6 * ((t - x) ** 2).sum(), x, v, "a right gradient at the minimum of a narrow well")
        _accepts(answer, _claims(slope, slope + across), x, v, "a gradient that is wrong only across v")
        for part in (0.4, -0.4, 2.5, -2.5):
            says, right = f"a slope along v that is wrong by {abs(part)} times", abs(part) < 1
            _accepts(answer, _claims(slope, slope * (1 + part * rtol)), x, v, f"{says} rtol times the slope", right)
            claimed = across + part * atol * v / (v * v).sum()
            _accepts(answer, _claims(across, claimed), x, v, f"{says} atol, where the slope is 0", right)
        _accepts(answer, lambda x: x**3, _double(2.0), _double(-1.0), "a right slope")

    def source(slope: str, allowed: str, back: str = "x - 1e-6 * v", width: str = "2e-6") -> str:
        return (
            "def directional_check(f, x, v):\n    x = x.detach().requires_grad_()\n"
            "    (gradient,) = torch.autograd.grad(f(x), x)\n    x = x.detach()\n"
            f"    difference = (f(x + 1e-6 * v) - f({back})) / {width}\n    slope = {slope}\n"
            f"    return bool((slope - difference).abs() <= {allowed})"
        )

    along, allowed = "(gradient * v).sum()", f"{atol} + {rtol} * difference.abs()"
    return code(
        "`gradcheck` changes each element of `x`. For a network with a million weights, one direction has to be enough. "
        "Compute the slope of `f` along `v` from its gradient at `x`, and by a central difference along `v` with the step "
        f"1e-6. Return True if they differ by at most {atol} + {rtol} times the size of the difference, otherwise False. `f` "
        "takes a "
        "float64 tensor of any shape and returns one number. Call `f` at most three times, and leave `x` as it is.",
        "def directional_check(f, x, v): ...",
        source(along, allowed),
        judge,
        "Two more calls check a gradient of any size along v. A random v reveals almost every mistake.",
        (source("gradient.sum()", allowed), "it rejects a right gradient"),
        (source(along, f"{atol}"), "it rejects"),
        (source(along, f"{rtol} * difference.abs()"), "it rejects"),
        (source(along, allowed, "x", "1e-6"), "a narrow well"),
    )


@exercise(
    3,
    "$D(h) = f' + c h^2$ and $D(h/k) = f' + c h^2 / k^2$, up to smaller terms. Solve these two equations for $f'$.",
    "Multiply the second one by $k^2$ and subtract the first: $c$ cancels.",
)
def extrapolated_slope(r: random.Random) -> Task:
    """Combine two differences into a better one."""
    k = r.choice([2, 3, 4, 5, 6, 8, 10])

    def expected(f: Callable, x: float, h: float) -> float:
        wide, narrow = ((f(x + s) - f(x - s)) / (2 * s) for s in (h, h / k))
        return (k * k * narrow - wide) / (k * k - 1)

    def judge(answer):
        for name, f in (("x**3 - 2 * x", lambda x: x**3 - 2 * x), ("x**5", lambda x: x**5), ("1 / x", lambda x: 1 / x)):
            for x, h in ((2.0, 0.5), (-1.5, 0.2)):
                calls: list = []
                given = answer(lambda t: calls.append(t) or f(t), x, h)
                expect.tensor(given, expected(f, x, h), f"the slope of {name} at {x} with h = {h}", rtol=1e-9)
                if len(calls) > 4:
                    raise Wrong(f"f is called {len(calls)} times; four calls are enough")

    def source(body: str) -> str:
        return (
            "def extrapolated_slope(f, x, h):\n    D = lambda h: (f(x + h) - f(x - h)) / (2 * h)\n"
            f"    wide, narrow = D(h), D(h / {k})\n    return {body}"
        )

    return code(
        "The error of the central difference $D(h)$ begins with $c h^2$, where $c$ depends only on `f` and `x`. Compute "
        f"$D(h)$ and $D(h / {k})$, and combine them so that this term cancels. This is Richardson's method. `f` takes and "
        "returns "
        "a number. Call it at most four times.",
        "def extrapolated_slope(f, x, h): ...",
        source(f"({k * k} * narrow - wide) / {k * k - 1}"),
        judge,
        "The term with the square of h cancels, so the error begins with its fourth power.",
        (source("narrow"), "expected"),
        (source(f"({k} * narrow - wide) / {k - 1}"), "expected"),
        (source("(narrow + wide) / 2"), "expected"),
    )


@exercise(
    3,
    "Backward gives rows, with one pass for each result. Differences give columns, with one element of x for each.",
    "Stack the rows with torch.stack(rows), the columns with torch.stack(columns, dim=1).",
    "`divmod(off.argmax().item(), len(x))` gives the row and the column of the largest element of a matrix `off`.",
)
def worst_element(r: random.Random) -> Task:
    """Report the worst element of a wrong Jacobian."""
    names = {
        "row": "i",
        "column": "j",
        "number from backward": "analytical[i, j]",
        "number from differences": "numerical[i, j]",
    }
    parts = r.sample(list(names), 4)
    relative = r.random() < 0.5
    measure = "(analytical - numerical).abs()" + (" / numerical.abs()" if relative else "")

    def judge(answer):
        slope, x = _double([[10.0, 2.0, -4.0], [0.5, -8.0, 1.0]]), _double([0.5, -1.0, 2.0])
        for large, small in (
            ((0, 0), (1, 2)),
            ((1, 1), (0, 1)),
            ((0, 2), (1, 0)),
        ):  # one is off by more, the other by a larger part
            claimed = slope.clone()
            claimed[large] *= 1.5
            claimed[small] *= -0.2
            i, j = small if relative else large
            found = {"row": i, "column": j}
            found |= {"number from backward": claimed[i, j], "number from differences": slope[i, j]}
            given = answer(_claims(slope, claimed), x.clone())
            expect.tensor(given, [float(found[part]) for part in parts], "the report", atol=1e-5)

    def source(measure: str, order: list[str] = parts, dim: int = 1) -> str:
        return f"""def worst_element(f, x):
    x = x.detach().requires_grad_()
    y = f(x)
    analytical = torch.stack([torch.autograd.grad(one, x, retain_graph=True)[0] for one in y])
    x = x.detach()
    steps = 1e-6 * torch.eye(len(x), dtype=x.dtype)
    numerical = torch.stack([(f(x + e) - f(x - e)) / 2e-6 for e in steps], dim={dim})
    i, j = divmod(({measure}).argmax().item(), len(x))
    return [{", ".join(names[part] for part in order)}]"""

    other = "(analytical - numerical).abs()" + ("" if relative else " / numerical.abs()")
    return code(
        "`f` takes and returns a float64 vector, and its backward may be wrong. Compute its Jacobian from backward and from "
        "central differences. Find the element where the two are farthest apart"
        + (", relative to the number from differences (which is never 0)" if relative else "")
        + f". Return a list: the {parts[0]}, the {parts[1]}, the {parts[2]}, the {parts[3]}. Each result of `f` has a row.",
        "def worst_element(f, x): ...",
        source(measure),
        judge,
        "Rows from backward and columns from differences fill the same matrix, so they can be compared element by element.",
        (source(other), "expected"),
        (source(measure, parts[::-1]), "expected"),
        (source(measure, dim=0), "raises"),
    )


@exercise(
    3,
    "gradcheck needs float64 and requires_grad=True.",
    "Choose numbers on all three pieces, and none within 0.01 of a kink.",
)
def inputs_for_check(r: random.Random) -> Task:
    """Choose inputs that reveal each mistake."""
    low, high = r.choice([-3.0, -2.0, -1.5, -0.5]), r.choice([0.25, 0.5, 1.0, 2.5])

    def judge(answer):
        for n in (3, 5, 12):
            x = answer(n)
            if not isinstance(x, torch.Tensor) or x.shape != (n,):
                raise Wrong(f"for n = {n} it returns {x!r}, expected a vector with {n} elements")
            if x.dtype != torch.float64 or not x.requires_grad:
                raise Wrong("gradcheck needs float64 and requires_grad=True: small steps vanish in float32")
            if min((x - low).abs().min(), (x - high).abs().min()) < 0.01:
                raise Wrong(f"for n = {n} an element is at a kink, where a right gradient may be rejected")
            for piece, words in enumerate((f"below {low}", f"between {low} and {high}", f"above {high}")):
                if torch.autograd.gradcheck(_pieces(low, high, piece), x, raise_exception=False):
                    raise Wrong(f"for n = {n}, gradcheck does not find a mistake in the slope {words}")

    def source(body: str) -> str:
        return f"def inputs_for_check(n):\n    {body}"

    middle, rest = (low + high) / 2, "dtype=torch.float64, requires_grad=True"
    return code(
        f"A function is smooth except for kinks at {low} and {high}. Its backward may have a mistake on any of the three "
        "pieces. Return inputs for gradcheck: a vector with `n` elements (at least 3) at which it finds each such mistake, "
        "and does not reject a right backward. Stay away from the kinks by at least 0.01.",
        "def inputs_for_check(n): ...",
        source(
            f"points = {low - 1}, {middle}, {high + 1}\n    return torch.tensor([points[i % 3] for i in range(n)], {rest})"
        ),
        judge,
        "A check sees only the pieces that its inputs reach, and its small steps have to stay on one piece.",
        (source(f"return torch.linspace({low}, {high}, n, {rest})"), "at a kink"),
        (
            source(f"return torch.linspace({low + 0.02}, {high - 0.02}, n, {rest})"),
            "does not find a mistake in the slope below",
        ),
        (source(f"return torch.linspace({low - 1.03}, {high + 1.04}, n, requires_grad=True)"), "float64"),
    )


def _double(values: list | float) -> torch.Tensor:
    """Return a float64 tensor."""
    return torch.tensor(values, dtype=torch.float64)


def _accepts(answer: Callable, f: Callable, x: torch.Tensor, v: torch.Tensor, words: str, right: bool = True) -> None:
    """Expect a check of f with a verdict and at most three calls of f, and x as it was."""
    calls, own = [], x.clone()

    def counted(x):
        calls.append("call")
        return f(x)

    given = answer(counted, own, v)
    if given not in (True, False):
        raise Wrong(f"it returns {given!r}, expected True or False")
    if bool(given) != right:
        raise Wrong(f"it {'accepts' if given else 'rejects'} {words}")
    if len(calls) > 3:
        raise Wrong(f"it calls f {len(calls)} times; three calls are enough for any number of elements")
    if own.requires_grad or not own.equal(x):
        raise Wrong("x is different afterwards: leave it as it is")


def _claims(slope: torch.Tensor, claimed: torch.Tensor) -> Callable:
    """Return the function slope @ x, or the sum of slope * x, whose backward uses other numbers."""
    times = lambda w, x: w @ x if x.ndim == 1 else (w * x).sum()
    return lambda x: times(claimed, x) + times(slope - claimed, x).detach()


def _pieces(low: float, high: float, wrong: int) -> Callable:
    """Return a function with two kinks whose slope is wrong on one piece, 0 to 2."""

    def f(x: torch.Tensor) -> torch.Tensor:
        inside = (x < low, (x >= low) & (x < high), x >= high)[wrong]
        off = torch.where(inside, 0.5 * x, 0.0)
        return torch.where(x < low, 2 * (x - low), low - x) + 4 * (x - high).relu() + off - off.detach()

    return f
