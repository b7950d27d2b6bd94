"""LBFGS: Newton's method with a Hessian estimated from the last steps, and a line search along each direction.

A closure computes the loss as often as a step needs it.  As in PyTorch, the first parameter holds the state.
Source: Nocedal, Wright, "Numerical optimization", 2006: algorithms 7.4 (direction), 3.5 and 3.6 (strong_wolfe).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import sqrt
from typing import Any, NamedTuple

from ..autograd.grad_mode import enable_grad, no_grad
from ..core.tensor import Tensor
from ..diagnose.optimizers import closure_without_loss
from ..errors import error
from ..ops.create import zeros_like
from ..ops.join import cat
from ..places import held, user_place
from .optimizer import Optimizer, number, settings


class LBFGS(Optimizer):
    """p += t * d, where d is minus an inverse Hessian, estimated from the last `history_size` steps, times the gradient.

    t is lr, or with line_search_fn="strong_wolfe" a step that lowers loss and slope enough.  One `step(closure)` takes up
    to `max_iter` such steps, and computes the loss up to `max_eval` times (default: max_iter * 5 // 4).  It ends early
    if no gradient is larger than `tolerance_grad`, or if steps or losses change by less than `tolerance_change`.

    >>> import minigrad
    >>> x = minigrad.tensor([2., 3.], requires_grad=True)
    >>> optimizer = minigrad.optim.LBFGS([x], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((x - minigrad.tensor([1., -1.])) ** 4).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure)
    tensor(257., grad_fn=<SumBackward0>)
    >>> closure().item() < 1e-6
    True
    """

    amounts = ("lr",)

    def __init__(
        self,
        params: Iterable,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ):
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        super().__init__(params, settings(locals()))
        if len(self.param_groups) != 1:
            what = f"has one state for all parameters, but got {len(self.param_groups)} parameter groups"
            raise error(ValueError, "LBFGS", what, "pass one list of parameters")

    def step(self, closure: Callable | None = None) -> Any:
        """Take up to `max_iter` steps.  `closure` clears the gradients, computes loss and gradients, and returns the loss.

        Return the loss before the steps.  Raises TypeError without a closure.
        """
        if not callable(closure):
            raise error(
                TypeError,
                "LBFGS",
                "a step needs a function that recomputes the loss",
                "write def closure(): optimizer.zero_grad(); loss = ...; loss.backward(); return loss,"
                " and optimizer.step(closure)",
            )
        line = held.set(user_place())
        try:
            with no_grad():
                return self._minimize(enable_grad()(closure))
        finally:
            held.reset(line)

    def _minimize(self, closure: Callable) -> Any:
        group, params = self.param_groups[0], self.param_groups[0]["params"]
        state, most = self.state[params[0]], group["max_iter"]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        if (first := closure()) is None:
            raise closure_without_loss("LBFGS", closure)
        loss, grad, evals = float(first), self._gather_flat_grad(), 1
        state["func_evals"] += 1
        if largest(grad) <= group["tolerance_grad"]:
            return first
        for n in range(1, most + 1):
            state["n_iter"] += 1
            d = state["d"] = direction(state, grad, group["history_size"])
            rate = min(1.0, 1.0 / grad.abs().sum().item()) if state["n_iter"] == 1 else 1.0
            t = state["t"] = rate * number(group["lr"])
            state["prev_flat_grad"], state["prev_loss"] = grad.clone(), loss
            slope = grad.dot(d).item()
            if slope > -group["tolerance_change"]:
                break
            before, used = loss, 0
            if group["line_search_fn"] is not None:
                start = LinePoint(0.0, loss, grad, slope)
                (t, loss, grad, _), used = self._search(closure, start, t, d, group["max_eval"] - evals)
                state["t"] = t
                self._add_grad(t, d)
            else:
                self._add_grad(t, d)
                if n < most:  # the next call computes the last step's loss, perhaps for another batch
                    loss, grad, used = float(closure()), self._gather_flat_grad(), 1
            evals += used
            state["func_evals"] += used
            if evals >= group["max_eval"] or largest(grad) <= group["tolerance_grad"]:
                break
            if largest(d * t) <= group["tolerance_change"] or abs(loss - before) < group["tolerance_change"]:
                break
        return first

    def _search(self, closure: Callable, start: LinePoint, t: float, d: Tensor, most: int) -> tuple[LinePoint, int]:
        """Search along d from the current parameters, and leave them unchanged."""
        group = self.param_groups[0]
        if group["line_search_fn"] != "strong_wolfe":
            what = f"only 'strong_wolfe' is supported as line_search_fn, but got {group['line_search_fn']!r}"
            raise error(RuntimeError, "LBFGS", what, "pass 'strong_wolfe', or None for steps of lr")
        begin = self._clone_param()

        def at(t: float) -> LinePoint:
            loss, grad = self._directional_evaluate(closure, begin, t, d)
            return LinePoint(t, loss, grad, grad.dot(d).item())

        return strong_wolfe(at, start, t, group["tolerance_change"] / (largest(d) or 1.0), most)

    # PyTorch's names, for subclasses
    def _gather_flat_grad(self) -> Tensor:
        """Return all gradients, concatenated into one vector."""
        return cat([(zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in self._all()])

    def _add_grad(self, t: float, direction: Tensor) -> None:
        """Move the parameters by t times their parts of a direction."""
        params = self._all()
        for p, part in zip(params, direction.split([p.numel() for p in params])):
            p.add_(part.reshape(p.shape), alpha=t)

    def _clone_param(self) -> list[Tensor]:
        """Return copies of the parameters."""
        return [p.clone() for p in self._all()]

    def _set_param(self, params_data: list[Tensor]) -> None:
        """Set the parameters to copies."""
        for p, value in zip(self._all(), params_data):
            p.copy_(value)

    def _directional_evaluate(self, closure: Callable, x: list, t: float, d: Tensor) -> tuple[float, Tensor]:
        """Return loss and gradient at x + t * d, and set the parameters to x."""
        self._add_grad(t, d)
        loss, grad = float(closure()), self._gather_flat_grad()
        self._set_param(x)
        return loss, grad


def largest(x: Tensor) -> float:
    """Return the largest absolute value."""
    return x.abs().max().item()


def direction(state: dict, grad: Tensor, size: int) -> Tensor:
    """Add the last step to the history; return minus the inverse Hessian times the gradient, by two loops over the history."""
    if state["n_iter"] == 1:
        state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
        return -grad
    ys, steps, ro = state["old_dirs"], state["old_stps"], state["ro"]  # ys: differences of gradients
    y, s = grad - state["prev_flat_grad"], state["d"] * state["t"]
    curvature = y.dot(s)
    if curvature > 1e-10:
        for kept, new in ((ys, y), (steps, s), (ro, 1 / curvature)):
            kept.append(new)
            del kept[:-size]
        state["H_diag"] = curvature / y.dot(y)
    al = state.setdefault("al", [None] * size)
    q = -grad
    for i in reversed(range(len(ys))):
        al[i] = steps[i].dot(q) * ro[i]
        q = q - al[i] * ys[i]
    r = q * state["H_diag"]
    for i in range(len(ys)):
        r = r + steps[i] * (al[i] - ys[i].dot(r) * ro[i])
    return r


# ---------------------------------------------------------------------- the line search
class LinePoint(NamedTuple):
    """A point on a line: its position, the loss there, the gradient, and the slope of the loss along the line."""

    t: float
    loss: float
    grad: Tensor
    slope: float


DECREASE, CURVATURE = 1e-4, 0.9  # c1 and c2 of the Wolfe conditions


def strong_wolfe(
    at: Callable[[float], LinePoint], start: LinePoint, t: float, tolerance: float, most: int
) -> tuple[LinePoint, int]:
    """Return a point whose loss and slope are enough below those of `start`, and the number of points tried.

    From the first guess t, move on until two points enclose a minimum.  Then shrink this bracket until a point is good, the
    bracket is shorter than `tolerance`, or `most` points beyond the first were tried.
    """

    def high(p: LinePoint) -> bool:
        return p.loss > start.loss + DECREASE * p.t * start.slope

    def level(p: LinePoint) -> bool:
        return abs(p.slope) <= -CURVATURE * start.slope

    last, new, n = start, at(t), 0
    while n < most and not (high(new) or n > 1 and new.loss >= last.loss):
        if level(new):
            return new, n + 1
        if new.slope >= 0:
            break
        further = cubic_minimum(last, new, new.t + 0.01 * (new.t - last.t), 10 * new.t)
        last, new, n = new, at(further), n + 1
    low, top = sorted((start if n >= most else last, new), key=lambda p: p.loss)
    close = False
    while n < most and abs(top.t - low.t) >= tolerance:
        t, close = inside(low, top, close)
        new, n = at(t), n + 1
        if high(new) or new.loss >= low.loss:
            low, top = sorted((low, new), key=lambda p: p.loss)
        elif level(new):
            return new, n + 1
        else:
            low, top = new, low if new.slope * (top.t - low.t) >= 0 else top
    return low, n + 1


def inside(a: LinePoint, b: LinePoint, close: bool) -> tuple[float, bool]:
    """Return the next position between two points, and True if it is close to one of them (allowed once in a row)."""
    least, most = sorted((a.t, b.t))
    t, margin = cubic_minimum(a, b, least, most), 0.1 * (most - least)
    if min(most - t, t - least) >= margin:
        return t, False
    if close or t >= most or t <= least:
        return most - margin if most - t < t - least else least + margin, False
    return t, True


def cubic_minimum(a: LinePoint, b: LinePoint, least: float, most: float) -> float:
    """Return the bounded minimum of the cubic through two points with their slopes, or the middle if it has none."""
    a, b = sorted((a, b), key=lambda p: p.t)
    if a.t < b.t:
        d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
        square = d1 * d1 - a.slope * b.slope
        if square >= 0 and (below := b.slope - a.slope + 2 * sqrt(square)):
            return min(max(b.t - (b.t - a.t) * (b.slope + sqrt(square) - d1) / below, least), most)
    return (least + most) / 2
