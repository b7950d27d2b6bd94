"""Random training loops, compiled and eager: gradients, optimizers, attributes, entries and numbers that calls leave behind."""

import linecache
import random
import warnings

import pytest

import minigrad as torch
from minigrad.compile.api import compile
from tests.functions import custom

from .interpreted import interpreted
from .training import OPTIMIZERS, plain, same

__all__ = ["interpreted"]

STATEMENTS = """
y = y * {number} + s.tensor
y = (y * w).tanh()
y = y + s.table["t"].sum() / 10
y = y - s.rows[{i}]
s.tensor = s.tensor * 0.5 + y.detach()
s.tensor.mul_(0.5).add_(y.detach())
s.shift = y.detach() * {number}
own = {"t": y.detach() * {number}, "n": [s.count, k]}
rows = [y.detach() * 2, *s.rows]; rows[0], rows[1] = rows[1], rows[0]; y = y + rows[{i}]
numbers = [a * s.rate for a in s.numbers]; numbers[{i}] += 1.0; y = y * numbers[{j}]
opt.param_groups[0]["lr"] *= 0.9
opt.state[w]["seen"] = y.detach() * 1
y = y + sum([a for a in s.numbers if a < 1]) + len(own)
pair = (y.detach() * 1.5, s.count); y = y + pair[0] * pair[1]
if s.count > 2: y = y * 2
if s.count % 3 == {i}: y = y * 0.25
if s.name == "1": y = y.sin()
if "n" in own: y = y + own["n"][{i}]
if w.grad is not None: y = y + w.grad.sum() / 100
for i, row in enumerate(s.rows): y = y + i * row
for i in range(s.count % 3): y = y + i
loss = (y * w).sum() + v.sum()
loss = (y * v * w).mean()
if loss is not None: loss.backward(); loss = None
opt.zero_grad()
opt.zero_grad(set_to_none=False)
w.grad = None
opt.step()
with torch.no_grad(): w.sub_(0.01 * y.detach().mean())
with torch.no_grad(): v.mul_({number})
out.append(y.detach().sum().item() * k)
out.append(s.counter.item() + 1)
s.counter.fill_(s.counter.item() + 1)
s.counter.add_(1)
out.append(y.detach() * 1.0)
y = Twice.apply(y)
y = scheduled(y, s.rate)
y = s.scaled(y, {number})
y = s(y)
""".strip().splitlines()
# with these, the function runs eagerly
EAGER = """
s.count += 1
s.rate = s.rate * 0.9 + 0.1
s.table["new"] = y.detach()
s.rows[0], s.rows[1] = s.rows[1], s.rows[0]
s.rows.append(y.detach())
if y.sum().item() > 0.05: y = y * 1.5
y = y / (1 + abs(y.detach().sum().item()))
print(end="")
""".strip().splitlines()


Twice = custom(
    "Twice",
    forward=lambda ctx, x: ctx.save_for_backward(x) or x * 2,
    backward=lambda ctx, g: g * 2 + 0 * ctx.saved_tensors[0],
)


def scheduled(y, rate):
    return y * rate if rate > 0.2 else y - rate


class State(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.count, self.rate, self.name = 0, 1.0, "0"
        for name, value in {"tensor": torch.ones(3), "shift": torch.zeros(3), "counter": torch.tensor(1.0)}.items():
            self.register_buffer(name, value)
        self.table = {"t": torch.arange(3.0)}
        self.rows, self.numbers = [torch.ones(3), torch.zeros(3)], [0.5, 2.0]

    def scaled(self, y, k):
        return y * self.rate + k + self.shift

    def forward(self, y):
        return y - self.shift * self.rate

    def between(self, k):
        """Change what a call reads, as the code around it does."""
        self.count, self.rate = self.count + 1, self.rate * 0.9 + 0.1
        self.numbers[k % 2] += 0.5
        self.name = str(k % 2)
        if k == 4:
            self.rows[1] = self.rows[1] + 1


def written(seed):
    """Return the text of a program: a function of a tensor and the number of its call."""
    chance = random.Random(seed)
    lines = []
    for _ in range(chance.randint(4, 12)):
        line = chance.choice(EAGER if chance.random() < 0.03 else STATEMENTS)
        for name, value in {"number": chance.choice(["0.5", "1.25", "s.rate", "k", "s.numbers[0]"]),
                            "i": chance.randrange(2), "j": chance.randrange(2)}.items():  # fmt: skip
            line = line.replace(f"{{{name}}}", str(value))
        head, colon, rest = line.partition(": ")
        nested = colon and head.startswith(("if ", "for ", "with "))
        lines += [f"    {head}:", f"        {rest}"] if nested else [f"    {line}"]
    body = "\n".join(lines)
    return f"def f(y, k):\n    loss, out, own = None, [], {{}}\n{body}\n    return y.detach() * 1, out\n"


def outcomes(seed, source, fast, calls=7):
    """Return the result and the effects of each call."""
    torch.manual_seed(seed)
    s, w, v = State(), torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
    opt = OPTIMIZERS[sorted(OPTIMIZERS)[seed % len(OPTIMIZERS)]]([w, v])
    if "opt.state" in source:  # the first step makes a state only where there is none
        w.grad, v.grad = torch.ones_like(w), torch.ones_like(v)
        opt.step()
    scope = {"torch": torch, "Twice": Twice, "scheduled": scheduled, "s": s, "w": w, "v": v, "opt": opt}
    name = f"<effects {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(builtins_compile(source, name, "exec"), scope)
    f = compile(scope["f"]) if fast else scope["f"]
    found = []
    for k in range(calls):
        x = torch.randn(3)
        try:
            given = plain(f(x, k // 2))
        except (RuntimeError, ZeroDivisionError, OverflowError) as e:
            return [*found, type(e).__name__], f
        kept = [s.tensor, s.shift, s.counter, s.table, s.rows, s.count, s.rate]
        found.append(
            [given, plain([w, w.grad, v, v.grad, list(opt.state.values()), opt.param_groups[0]["lr"]]), plain(kept)]
        )
        s.between(k)
    return found, f


builtins_compile = __builtins__["compile"] if isinstance(__builtins__, dict) else __builtins__.compile


def compare(seed):
    """Check that a compiled program has the results and effects of the eager one; return True if it was compiled."""
    source = written(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted, _ = outcomes(seed, source, False)
        found, compiled = outcomes(seed, source, True)
    try:
        same(wanted, found)
    except AssertionError as e:
        raise AssertionError(f"seed {seed}\n{source}\n{compiled.explain()}") from e
    assert "failed" not in compiled.explain(), f"{compiled.explain()}\n{source}"
    return "eagerly" not in compiled.explain()


@pytest.mark.parametrize("part", [0, *[pytest.param(k, marks=pytest.mark.slow) for k in range(1, 16)]])
def test_random_training_loops(part, interpreted):
    assert sum([compare(seed) for seed in range(part * 30, part * 30 + 30)]) > 10
