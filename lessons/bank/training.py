"""Exercises about training: optimizers, schedules, clipping, accumulated gradients, and the initial weights."""

import math
import random
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong

from . import Task, code, exercise, fence, number, numbers


@exercise(
    1,
    "`backward` adds to `w.grad`. Write down `w.grad` before each step.",
    "They are one, two, three times the slope, and so on.",
)
def forgotten_zero_grad(r: random.Random) -> Task:
    """Train without clearing the gradient."""
    w, a, rate, n = r.randint(5, 9), r.randint(2, 5), r.choice([0.1, 0.2, 0.5]), r.randint(3, 5)
    program = (
        f"w = torch.tensor({w}.0, requires_grad=True)\nfor _ in range({n}):\n"
        f"    ({a} * w).backward()\n    with torch.no_grad():\n        w -= {rate} * w.grad\n"
    )
    return number(
        f"This loop never clears `w.grad`. What is `w` at the end?{fence(program)}",
        w - rate * a * n * (n + 1) / 2,
        solution=f"{program}forgotten_zero_grad = w",
        why="`w.grad` holds the sum of all gradients so far, so step k is k times as long as the first one.",
        mistakes={
            w - rate * a * n: "these are the steps of a loop that clears the gradient",
            w - rate * a * n * n: "only the last step uses all gradients; the first step uses one",
            w + rate * a * n * (n + 1) / 2: "a step goes against the gradient",
        },
    )


@exercise(1, "How many times does the schedule multiply the rate by gamma?")
def scheduled_rate(r: random.Random) -> Task:
    """Follow the learning rate of a schedule."""
    rate, gamma, size, k = r.choice([0.8, 0.4, 0.2]), r.choice([0.5, 0.4]), r.randint(3, 6), r.randint(8, 14)
    if r.random() < 0.5:
        times, made = k // size, f"StepLR(optimizer, step_size={size}, gamma={gamma})"
    else:
        marks = sorted(r.sample(range(2, 16), 4))
        times, made = sum(mark <= k for mark in marks), f"MultiStepLR(optimizer, milestones={marks}, gamma={gamma})"
    steps = f"for _ in range({k}):\n    optimizer.step()\n    schedule.step()\n"
    program = (
        f"optimizer = torch.optim.SGD([w], lr={rate})\nschedule = torch.optim.lr_scheduler.{made}\n{steps}"
        'rate = optimizer.param_groups[0]["lr"]\n'
    )
    return number(
        f"What is `rate` at the end?{fence(program)}",
        rate * gamma**times,
        solution=f"w = torch.ones(1, requires_grad=True)\nw.grad = torch.zeros(1)\n{program}scheduled_rate = rate",
        why=f"The schedule multiplies the rate by gamma {times} times in {k} steps.",
        mistakes={
            rate * gamma**k: "the schedule does not multiply by gamma in every step",
            rate
            * gamma
            * max(times, 1): "the schedule multiplies the rate several times, so you need a power of gamma",
            rate * gamma ** (times + 1): "count the multiplications again: there are fewer",
        },
    )


@exercise(
    1,
    "Compute the norm of both gradients together, as if they were one vector.",
    "clip_grad_norm_ multiplies all gradients by the same factor: the limit divided by the norm.",
)
def clipped_together(r: random.Random) -> Task:
    """Clip the gradients of two parameters."""
    a, b, norm = r.choice([(3, 4, 5), (4, 3, 5), (5, 12, 13), (12, 5, 13), (8, 15, 17), (15, 8, 17), (6, 8, 10)])
    a, b, limit = r.choice([a, -a]), r.choice([b, -b]), r.choice([1.0, 2.0, 2.5])
    program = (
        "a = torch.zeros(1, requires_grad=True)\nb = torch.zeros(1, requires_grad=True)\n"
        f"({a} * a + {b} * b).sum().backward()\ntorch.nn.utils.clip_grad_norm_([a, b], max_norm={limit})\n"
    )
    return number(
        f"Compute `a.grad` at the end.{fence(program)}",
        a * limit / norm,
        solution=f"{program}clipped_together = a.grad",
        why=f"The norm of both gradients is {norm}. The factor {limit} / {norm} makes it {limit} and keeps the direction.",
        mistakes={
            a: "the norm of both gradients is larger than the limit",
            math.copysign(limit, a): "the limit is for both gradients together, not for each",
            a * limit / (abs(a) + abs(b)): "the norm is the square root of the sum of squares, not the sum",
        },
    )


@exercise(
    1,
    "The variances of independent numbers add up. What is the variance of one product?",
    "A weight with mean 0 and standard deviation s, times an input: the variance is s² times the mean square of the input.",
)
def init_spread(r: random.Random) -> Task:
    """Choose the standard deviation of the initial weights."""
    n, square = r.choice([64, 100, 144, 256, 400]), r.choice([0.25, 0.5, 2.0, 4.0])
    return number(
        f"A unit adds up {n} products of a weight and an input. The weights are independent random numbers with mean 0 and "
        f"standard deviation $s$. The mean of the inputs' squares is {square}. For which $s$ do the sums have the standard "
        "deviation 1?",
        1 / math.sqrt(n * square),
        solution=f"init_spread = 1 / ({n} * {square}) ** 0.5",
        why="The variance of the sum is n times s² times the mean square of the inputs; set it to 1.",
        mistakes={
            1 / (n * square): "that is the variance of the weights",
            1 / math.sqrt(n): "that would be right if the mean square of the inputs were 1",
            math.sqrt(square / n): "larger inputs need smaller weights",
            1.0: "the sum of many products has a larger spread than one product",
        },
    )


@exercise(
    2,
    "A velocity starts at 0. Each step multiplies it by the momentum, adds the gradient, and subtracts lr times the result.",
    "The gradient is the same in each step. Write down the velocities of the steps, then add them.",
)
def momentum_after_steps(r: random.Random) -> Task:
    """Take steps with momentum."""
    w, a, rate, mu, n = (
        r.randint(5, 9),
        r.randint(2, 6),
        r.choice([0.1, 0.2]),
        r.choice([0.5, 0.8, 0.9]),
        r.choice([3, 4]),
    )
    program = (
        f"w = torch.tensor({w}.0, requires_grad=True)\n"
        f"optimizer = torch.optim.SGD([w], lr={rate}, momentum={mu})\nfor _ in range({n}):\n"
        f"    optimizer.zero_grad()\n    ({a} * w).backward()\n    optimizer.step()\n"
    )
    velocities = [a * (1 - mu**k) / (1 - mu) for k in range(1, n + 1)]
    return number(
        f"What is `w` at the end?{fence(program)}",
        w - rate * sum(velocities),
        solution=f"{program}momentum_after_steps = w",
        why=f"The velocities are {', '.join(f'{v:.4g}' for v in velocities)}: each is {mu} times the last one plus {a}.",
        mistakes={
            w - rate * a * n: "that is the result without momentum",
            w
            - rate
            * (1 - mu)
            * sum(velocities): "SGD adds the whole gradient to the velocity, not 1 - momentum times the gradient",
            w - rate * velocities[-1]: "every step changes `w`, not only the last one",
        },
    )


@exercise(
    2,
    "Adam divides a mean of gradients by the square root of a mean of their squares. What is that for equal gradients?",
    "The corrected means of a constant g are g and g². So each step has the length lr, in the direction of the sign.",
)
def adam_first_steps(r: random.Random) -> Task:
    """Take steps of Adam with gradients of different sizes."""
    slopes = [r.choice([0.01, 0.02, 0.05]), r.choice([3.0, 5.0]), r.choice([200.0, 400.0])]
    slopes = [r.choice([one, -one]) for one in r.sample(slopes, 3)]
    rate, n = r.choice([0.1, 0.2, 0.01]), r.randint(1, 3)
    program = (
        f"w = torch.zeros(3, requires_grad=True)\noptimizer = torch.optim.Adam([w], lr={rate})\n"
        f"for _ in range({n}):\n    optimizer.zero_grad()\n    (torch.tensor({slopes}) * w).sum().backward()\n"
        "    optimizer.step()\n"
    )

    def down(lengths: Iterable[float]) -> tuple[float, ...]:
        return tuple(round(-length, 6) for length in lengths)

    signs = [math.copysign(1.0, one) for one in slopes]
    return numbers(
        f"What are the three numbers in `w` at the end? Ignore Adam's tiny `eps`.{fence(program)}",
        down(n * rate * sign for sign in signs),
        solution=f"{program}adam_first_steps = w",
        why="Adam divides a constant gradient by its size: only its sign is left, times the rate.",
        mistakes={
            down(
                n * rate * one for one in slopes
            ): "that is gradient descent; Adam divides by the size of the gradients",
            down(-n * rate * sign for sign in signs): "a step goes against the gradient",
            down(n * rate for _ in slopes): "the signs of the gradients matter",
            down((n + 1) * rate * sign for sign in signs): f"the loop takes {n} step{'s' * (n > 1)}",
        },
    )


@exercise(
    2,
    "Adam adds `weight_decay * w` to the gradient. AdamW shrinks the parameter separately from the step.",
    "In Adam's first step the size of the gradient does not matter, only its sign.",
)
def decay_two_ways(r: random.Random) -> Task:
    """Compare the weight decay of Adam and AdamW."""
    w, rate, decay = r.choice([-4.0, -3.0, 2.0, 3.0, 5.0]), r.choice([0.1, 0.2, 0.5]), r.choice([0.1, 0.3, 0.4])
    program = (
        f"    w = torch.tensor({w}, requires_grad=True)\n    optimizer = kind([w], lr={rate}, weight_decay={decay})\n"
        "    (0 * w).backward()\n    optimizer.step()\n    results.append(w.item())\n"
    )
    program = f"results = []\nfor kind in (torch.optim.Adam, torch.optim.AdamW):\n{program}"
    by_adam, by_adamw = round(w - math.copysign(rate, w), 6), round(w * (1 - rate * decay), 6)
    return numbers(
        f"The gradient is 0, so only the weight decay acts. What are the two numbers in `results`?{fence(program)}",
        (by_adam, by_adamw),
        solution=f"{program}decay_two_ways = results",
        why="Adam divides the decay by its size, so the step is lr. AdamW multiplies w by 1 - lr * weight_decay.",
        mistakes={
            (by_adamw, by_adamw): "Adam treats the decay as a gradient, and divides it by its size",
            (by_adamw, by_adam): "the two are swapped: AdamW is the one with the separate decay",
            (w, w): "the decay needs no gradient: it acts on each parameter",
            (by_adam, by_adam): "AdamW does not divide the decay by its size",
        },
    )


@exercise(
    2,
    "Every layer multiplies the gradient by the slope of the layer. What is `h` in all layers?",
    "`h` is 0 in all layers, and the slope of the sigmoid at 0 is 1/4.",
)
def vanished_slope(r: random.Random) -> Task:
    """Send a gradient through many layers."""
    w, n = r.choice([2, 3, 5, 6, 8]), r.randint(3, 5)
    program = (
        "x = torch.tensor(0.0, requires_grad=True)\nh = x\n"
        f"for _ in range({n}):\n    h = torch.sigmoid({w} * h) - 0.5\nh.backward()\n"
    )
    return number(
        f"Compute `x.grad`.{fence(program)}",
        (w / 4) ** n,
        solution=f"{program}vanished_slope = x.grad",
        why="backward multiplies the slopes of all layers. Below 1, the gradient vanishes with depth; above 1, it explodes.",
        mistakes={
            w**n: "the sigmoid has a slope, too: 1/4 at 0",
            0.25**n: "the weight is a factor of the slope in each layer",
            w / 4: "that is the slope of one layer",
            n * w / 4: "multiply the slopes of the layers instead of adding them",
            0.0: "that is the value of h; its slope is not 0",
        },
    )


@exercise(
    3,
    "`.grad` adds up the gradients of all parts. What is the share of a part in the mean over all examples?",
    "A part of k examples has the share k / len(x), even if it is the last, smaller part.",
)
def accumulated_in_parts(r: random.Random) -> Task:
    """Accumulate the gradient of a large batch in parts."""
    size = r.randint(2, 9)

    def judge(answer):
        for total in (2 * size + 1, 3 * size, size - 1):
            _check_parts(answer, total, size)

    def source(line: str, before: str = "", after: str = "") -> str:
        return (
            f"def accumulated_in_parts(loss, x, y):\n{before}    for i in range(0, len(x), {size}):\n"
            f"        part = slice(i, i + {size})\n        {line}\n{after}"
        )

    share = "loss(x[part], y[part]) * len(x[part]) / len(x)"
    return code(
        "`loss(x, y)` is the mean of a loss over the examples in `x` and `y`; it uses the parameters. All examples at once "
        f"do not fit into memory. Write a function that calls `loss` with at most {size} examples at a time. It accumulates "
        "the gradient of the mean over *all* examples in the parameters' `.grad`, which is `None` at first. Each graph must be "
        f"freed before the next call. The number of examples need not be a multiple of {size}.",
        "def accumulated_in_parts(loss, x, y): ...",
        source(f"({share}).backward()"),
        judge,
        "Each part counts with its share of the examples; `backward` adds the shares up and frees the graph.",
        (source("loss(x[part], y[part]).backward()"), "sum of the parts' means"),
        (source(f"(loss(x[part], y[part]) / -(-len(x) // {size})).backward()"), "smaller part"),
        (source(f"total = total + {share}", "    total = 0\n", "    total.backward()\n"), "memory"),
    )


@exercise(
    3,
    "m and v start at 0, so they are too small at first. After step t, divide each by 1 - beta**t, with its own beta.",
    "Use torch.autograd.grad, or clear w.grad in each step. Change w in place, under torch.no_grad().",
)
def adam_by_hand(r: random.Random) -> Task:
    """Write Adam's steps."""
    rate, beta1, beta2 = r.choice([0.1, 0.05, 0.2]), r.choice([0.5, 0.8, 0.9]), r.choice([0.9, 0.95, 0.98])

    def judge(answer):
        for start, steps in ((torch.tensor([1.0, -2.0, 0.5]), 1), (torch.tensor([[3.0], [-0.2]]), 5)):
            w = start.clone().requires_grad_()
            answer(_bowl, w, steps)
            wanted, plain, piled = (
                _adam(start, steps, rate, beta1, beta2, mistake) for mistake in ("", "plain", "piled")
            )
            known = {
                "m and v start at 0, so they need the correction that the hats stand for": plain,
                "w.grad still contains the gradients of earlier steps: clear w.grad": piled,
            }
            if torch.equal(w, start):
                raise Wrong("w has not changed: write to it in place, under no_grad")
            for reason, value in known.items():
                if np.allclose(w.detach(), value, rtol=1e-3) and not np.allclose(value, wanted, rtol=1e-3):
                    raise Wrong(f"w after {steps} step{'s' * (steps > 1)} is not right: {reason}")
            expect.tensor(w, wanted, f"w after {steps} step{'s' * (steps > 1)}", rtol=1e-3)
            if not w.is_leaf or not w.requires_grad:
                raise Wrong("w is no longer a leaf that requires grad: update it under no_grad")
        w = torch.zeros(1, requires_grad=True)
        answer(lambda w: (1e-8 * w).sum(), w, 1)
        expect.tensor(w, [-rate / 2], "w after a step from 0 with a gradient of 1e-8, as small as ε,", rtol=1e-3)

    def source(m: str = f"m / (1 - {beta1}**t)", v: str = f"v / (1 - {beta2}**t)", clear: str = "w.grad = None") -> str:
        return (
            "def adam_by_hand(loss, w, steps):\n    m, v = torch.zeros_like(w), torch.zeros_like(w)\n"
            f"    for t in range(1, steps + 1):\n        {clear}\n        loss(w).backward()\n        g = w.grad\n"
            f"        m, v = {beta1} * m + (1 - {beta1}) * g, {beta2} * v + (1 - {beta2}) * g * g\n"
            f"        with torch.no_grad():\n            w -= {rate} * ({m}) / (({v}).sqrt() + 1e-8)\n"
        )

    return code(
        f"Write a function that takes `steps` steps of Adam and changes `w` in place. The rate is {rate}, $\\beta_1$ is "
        f"{beta1}, $\\beta_2$ is {beta2}, $\\varepsilon$ is $10^{{-8}}$. `loss(w)` is the loss, $g$ its gradient; $m$ and $v$ "
        "start at 0:\n\n$$m \\leftarrow \\beta_1 m + (1 - \\beta_1)\\,g \\qquad v \\leftarrow \\beta_2 v + (1 - \\beta_2)\\,g^2"
        " \\qquad w \\leftarrow w - \\text{rate}\\cdot\\frac{\\hat m}{\\sqrt{\\hat v} + \\varepsilon}$$\n\n"
        "The hats correct the start at 0: $\\hat m$ and $\\hat v$ are means whose weights add up to one.",
        "def adam_by_hand(loss, w, steps): ...",
        source(),
        judge,
        "The weights in m add up to 1 - beta**t after t steps, so the division makes m a mean. The same holds for v.",
        (source("m", "v"), "hats"),
        (source(clear="pass"), "clear w.grad"),
        (source(v="v"), "expected"),
    )


@exercise(
    3,
    "The direction of the step does not depend on the rate. The new point does: its derivative is minus the direction.",
    "The chain rule: multiply the gradient of the loss at the new point by this derivative, and sum up.",
)
def rate_slope(r: random.Random) -> Task:
    """Differentiate the loss after a step with respect to the rate."""
    factor = r.choice([2, 3, 4, 5])
    shown, direction = r.choice(
        [
            (f"{factor} * g", lambda g: factor * g),
            (f"{factor} * g.sign()", lambda g: factor * g.sign()),
            (f"{factor} * g / g.norm()", lambda g: factor * g / g.norm()),
        ]
    )

    def judge(answer):
        for start, rate in (([1.0, -2.0, 0.5], 0.1), ([[0.3, 2.0]], 0.25), ([-1.5], 0.0)):
            w = torch.tensor(start, requires_grad=True)
            given = answer(_bowl, w, rate)
            (g,) = torch.autograd.grad(_bowl(w), w)
            d = direction(g)
            (later,) = torch.autograd.grad(_bowl(w - rate * d), w)
            called = f"for w = {start} and the rate {rate}"
            if rate and given is not None:
                mistakes = {
                    (later * d).sum().item(): "the step goes against the direction",
                    -(g * d).sum().item(): "the gradient belongs to the point after the step",
                }
                expect.number(given, -(later * d).sum().item(), mistakes)
            expect.tensor(given, -(later * d).sum(), f"the result {called}")

    def source(result: str) -> str:
        return (
            "def rate_slope(loss, w, rate):\n    (g,) = torch.autograd.grad(loss(w), w)\n"
            f"    direction = {shown}\n    new = (w - rate * direction).detach().requires_grad_()\n"
            f"    (later,) = torch.autograd.grad(loss(new), new)\n    return {result}\n"
        )

    solution = (
        "def rate_slope(loss, w, rate):\n    (g,) = torch.autograd.grad(loss(w), w)\n"
        "    rate = torch.tensor(rate, requires_grad=True)\n"
        f"    return torch.autograd.grad(loss(w.detach() - rate * {shown}), rate)[0]\n"
    )
    return code(
        f"A step leads from `w` to `w - rate * d`. Here `d = {shown}`, and `g` is the gradient of `loss(w)`. Return the "
        "derivative of the loss *after* the step with respect to `rate`, which is a Python float. `loss` takes a tensor and "
        "returns one number. A negative result means that a larger rate would be better.",
        "def rate_slope(loss, w, rate): ...",
        solution,
        judge,
        "The new point moves against d as the rate grows, so the derivative is minus the product of d and the new gradient.",
        (source("(later * direction).sum()"), "against the direction"),
        (source("-(g * direction).sum()"), "after the step"),
    )


@exercise(
    3,
    "An assignment `a = ...` gives a name to a new tensor; the list keeps the old one. Which methods write in place?",
    "`a.mul_(decay).add_((1 - decay) * p)` writes in place. Without no_grad it also records each step.",
)
def moving_average(r: random.Random) -> Task:
    """Keep a moving average of the parameters."""
    decay = r.choice([0.5, 0.75, 0.8, 0.9, 0.95, 0.99])

    def judge(answer):
        parameters = [torch.tensor([1.0, -2.0], requires_grad=True), torch.tensor([[3.0]], requires_grad=True)]
        averages = [p.detach().clone() for p in parameters]
        wanted, kept = [a.numpy().copy() for a in averages], list(averages)
        for step in range(1, 4):
            with torch.no_grad():
                for p in parameters:
                    p += step
            before = [p.detach().clone() for p in parameters]
            answer(averages, parameters)
            wanted = [decay * a + (1 - decay) * p.detach().numpy() for a, p in zip(wanted, parameters)]
            if not all(torch.equal(p, old) for p, old in zip(parameters, before)):
                raise Wrong("a parameter has changed: only the averages should change")
            if any(a.requires_grad for a in averages):
                raise Wrong("an average requires grad: it keeps a graph that grows with each step")
            if any(a is not b for a, b in zip(averages, kept)):
                raise Wrong("the list now holds another tensor: write to the old one in place")
            for average, value in zip(averages, wanted):
                expect.tensor(average, value, f"after {step} step{'s' * (step > 1)} an average")

    def source(line: str, guard: str = "@torch.no_grad()\n") -> str:
        return f"{guard}def moving_average(averages, parameters):\n    for a, p in zip(averages, parameters):\n        {line}\n"

    return code(
        "Networks often give better results with a moving average of their parameters. Write a function to call after "
        f"each step: every tensor `a` in the list `averages` becomes {decay} times itself plus {round(1 - decay, 2)} times its "
        "parameter, in place. The averages need no gradient. The parameters stay leaves that require grad.",
        "def moving_average(averages, parameters): ...",
        source(f"a.mul_({decay}).add_((1 - {decay}) * p)"),
        judge,
        "An in-place update keeps the tensors in the list, and no_grad keeps the parameters' history out of them.",
        (source(f"a = {decay} * a + (1 - {decay}) * p"), "after 1 step"),
        (source(f"a.mul_({decay}).add_((1 - {decay}) * p)", guard=""), "graph that grows"),
        (source(f"p.mul_(1 - {decay}).add_({decay} * a)"), "a parameter has changed"),
    )


def _bowl(w: torch.Tensor) -> torch.Tensor:
    """Return a loss that is steeper for larger numbers."""
    return (w**4 / 4 + w * w + 0.3 * w).sum()


def _adam(start: torch.Tensor, steps: int, rate: float, beta1: float, beta2: float, mistake: str) -> Any:
    """Return w after some steps of Adam on `_bowl` as an array: right, without corrections, or with piled gradients."""
    w, m, v, g = start.numpy().astype(float), 0.0, 0.0, 0.0
    for t in range(1, steps + 1):
        g = w**3 + 2 * w + 0.3 + (g if mistake == "piled" else 0)
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        by1, by2 = (1, 1) if mistake == "plain" else (1 - beta1**t, 1 - beta2**t)
        w = w - rate * (m / by1) / (np.sqrt(v / by2) + 1e-8)
    return w


def _check_parts(answer: Callable, total: int, size: int) -> None:
    """Check that the answer accumulates the gradient of the mean over `total` examples, `size` at a time."""
    torch.manual_seed(total)
    w, b = torch.tensor([1.0, 0.5, -1.0], requires_grad=True), torch.tensor(0.0, requires_grad=True)
    x, y, seen = torch.randn(total, 3), torch.randn(total), 0

    def error(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return ((x @ w + b - y) ** 2).mean()

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        nonlocal seen
        if len(x) > size:
            raise Wrong(f"loss is called with {len(x)} examples, but at most {size} fit")
        if seen and w.grad is None:
            raise Wrong("loss is called again before backward: then the graphs of all parts are in memory together")
        seen += len(x)
        return error(x, y)

    answer(loss, x, y)
    if w.grad is None or b.grad is None:
        raise Wrong(f"for {total} examples .grad is None")
    if seen != total:
        raise Wrong(f"loss sees {seen} examples, expected {total}")
    wanted = torch.autograd.grad(error(x, y), (w, b))
    means = [torch.autograd.grad(error(a, c), w)[0] for a, c in zip(x.split(size), y.split(size))]
    if len(means) > 1 and torch.allclose(w.grad, torch.stack(means).sum(0), rtol=1e-4):
        raise Wrong("the gradient is the sum of the parts' means: each part needs its share as a factor")
    if total % size and len(means) > 1 and torch.allclose(w.grad, torch.stack(means).mean(0), rtol=1e-4):
        raise Wrong(f"for {total} examples the last, smaller part counts as much as the others")
    expect.tensor(w.grad, wanted[0], f"for {total} examples the gradient of a parameter")
    expect.tensor(b.grad, wanted[1], f"for {total} examples the gradient of a parameter")
