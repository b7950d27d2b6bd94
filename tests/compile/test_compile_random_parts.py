"""Random programs with lines that cannot be compiled, in loops and branches: in parts they give what eager code gives."""

import contextlib
import importlib.util
import io
import random
import warnings

import pytest

import minigrad as torch
from minigrad.compile.api import compile

from .interpreted import interpreted
from .test_compile_random import close

__all__ = ["interpreted"]
SIMPLE = ["{a} = {b}.sin() * 2 + {c}", "{a} = {b} * {c} - {a}", "{a} = {b} @ w", "{a} += {b}.cos()", "{a}, {b} = {b} * 2, {a}",
          "m = {b}.mean()", "{a} = {b} + m", "n = n + 1", "{a} = {b} * n", "{a} = box.net({b})", "box.calls += 1",
          "rows = [{a} * i for i in range(2)]; {b} = rows[1]", "{a} = helper({b}, n)", "{a} = inner({b}) + shifted({a})",
          "{a} = (lambda t: t * n0 + box.calls)({b})", "{a} = (half := {b} / 2) + half", "import math; {a} = {b} * math.pi",
          "{a} = torch.func.grad(lambda t: inner(t).sum())({b})"]  # fmt: skip
STOPS = ["print({a}.shape, n)", "seen.append(n)", "m = {a}.sum().item()", "{a} = {a} + float({b}.max())",
         "{a} = speaking({a}, n)", "{a} = box.loud({b})"]  # fmt: skip
HEADS = ["for k in range({n}):", "if {a}.sum().item() > n:", "if n % 2:", "for x in ({a}, {b}):", "with torch.no_grad():",
         "while n < {n}:", "if (k := n) % 2:", "if (m := {a}.mean()) > 0.1:", "try:",
         "with contextlib.suppress(ValueError):"]  # fmt: skip
WORLD = """import contextlib

import minigrad as torch

w = torch.tensor([[0.5, -0.25], [0.75, 0.1]], requires_grad=True)
seen = []


def helper(x, n):
    return x.tanh() + n * 0.1


def speaking(x, n):
    y = x.cos() * 0.5
    print("speaking", n)
    return y + x


class Loud(torch.nn.Module):
    def forward(self, x):
        y = x.tanh() @ w
        if y.sum().item() > 0:
            return y * 2
        return y.sin()


class Box:
    def __init__(self):
        self.calls, self.net, self.loud = 0, torch.nn.Tanh(), torch.nn.Sequential(torch.nn.Tanh(), Loud())


def f(x, y, n, box):
    m, n0, first = 0.5, n, x * 2
    shifted = lambda t: t + first

    def inner(t, k=2):
        return shifted(t).cos() * k + box.calls

"""


def statements(rng, depth, in_loop):
    """Return some statements, indented."""
    found = []
    for _ in range(rng.randint(1, 4)):
        a, b, c = (rng.choice("xy") for _ in range(3))
        given = dict(a=a, b=b, c=c, n=rng.randint(2, 4))
        if depth and rng.random() < 0.35:
            head = rng.choice(HEADS).format(**given)
            loops = head.startswith(("for", "while"))
            inner = statements(rng, depth - 1, in_loop or loops)
            if head.startswith("while"):
                inner.insert(0, "n = n + 1")
            if head.startswith(("try", "with contextlib")) and rng.random() < 0.7:
                inner += [f"if n % {rng.randint(1, 3)} == 0:", "    raise ValueError"]
            found += [head, *["    " + line for line in inner]]
            if head == "try:":
                found += ["except ValueError:", *["    " + line for line in statements(rng, depth - 1, in_loop)]]
            if head.startswith("if") and rng.random() < 0.5:
                found += ["else:", *["    " + line for line in statements(rng, depth - 1, in_loop)]]
        elif in_loop and rng.random() < 0.1:
            found += [f"if n == {rng.randint(0, 5)}:", "    " + rng.choice(["break", "continue"])]
        elif rng.random() < 0.03:
            found += [f"if n == {rng.randint(0, 5)}:", f"    return {a}, {b} * 2, n"]
        else:
            found.append(rng.choice(STOPS if rng.random() < 0.3 else SIMPLE).format(**given))
    return found


def program(seed):
    """Return the text of a module with a function f."""
    rng = random.Random(seed)
    lines = statements(rng, 2, False)
    return WORLD + "\n".join(["    " + line for line in lines]) + "\n    return x * 1 + m, y * 2, n\n"


def outcome(f, module, k):
    """Return the results and gradient of a call, and the texts and values that it leaves behind."""
    module.seen.clear()
    box, said = module.Box(), io.StringIO()
    x, y = torch.tensor([[0.1 * k, -0.2], [0.3, 0.4]]), torch.tensor([[1.0, -0.5], [0.2 * k, 0.3]])
    with contextlib.redirect_stdout(said):
        try:
            a, b, n = f(x, y, k % 3, box)
            tracked = (a + b).requires_grad
            grads = torch.autograd.grad((a + b).sum(), module.w, allow_unused=True) if tracked else ()
        except (UnboundLocalError, RuntimeError):  # it has written to what its backward needs
            return None
    return [a, b, *[g for g in grads if g is not None]], (n, said.getvalue(), list(module.seen), box.calls)


def compare(seed, folder):
    """Compare a random program over some calls, compiled and eager."""
    path = folder / f"parts_{seed}.py"
    path.write_text(program(seed))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    compiled = compile(module.f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(4):
            if (wanted := outcome(module.f, module, k)) is None:
                continue
            found = outcome(compiled, module, k)
            assert found and found[1] == wanted[1], f"call {k}\n{path.read_text()}"
            for a, b in zip(found[0], wanted[0], strict=True):
                close(a, b, f"call {k}\n{path.read_text()}")
    return compiled


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", [0, 1, *[pytest.param(k, marks=pytest.mark.slow) for k in range(2, 8)]])
def test_random_programs_in_parts(part, interpreted, tmp_path):
    compiled = [compare(seed, tmp_path) for seed in range(part * 30, part * 30 + 30)]
    assert sum(["in parts" in c.explain() for c in compiled]) > 12
