"""Rows on the transforms: each alone and over each other, compared with plain code.

Plain code means: first derivatives from one backward without transforms (or from finite differences if there is no
backward), second derivatives from differences of these.  Other rows check that backward is the derivative of forward.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...diagnose.transforms import separate_form
from .batches import examples, need_rule, require_no_random_numbers
from .case import EPS, SINGLE, Case, close, short, weights
from .form import need_backward, need_gradient, need_jvp
from .outcome import Absent, Fault

REVERSE, FORWARD = ("grad", "vjp", "jacrev"), ("jvp", "jacfwd")
ORDER = ("grad", "vjp", "jvp", "vmap", "jacrev", "jacfwd")
SIZE = 2  # of batches
NO_RULE = "no vmap rule"


def row_of(outer: str) -> Callable[[Case], str]:
    """Return the row of one transform, alone and over each of the others."""

    def run(case: Case) -> str:
        return composed(case, outer)

    run.__doc__ = f"Compare func.{outer}, alone and over each transform, with plain code."
    run.__name__ = outer
    return run


ROWS = {name: row_of(name) for name in ORDER}


def composed(case: Case, outer: str) -> str:
    """Check all compositions with this transform outside; return the compositions that hold, and the others with reasons."""
    if not case.separate:
        raise Absent("forward takes ctx, but transforms need a separate setup_context", separate_form(case.function))
    require_no_random_numbers(case)
    claim(case, outer)
    done, missing = [], {}
    for inner in ("", *ORDER):
        why = missing_method(case, outer, inner) or all_inputs(case, outer, inner)
        if why and not inner:
            if why == NO_RULE:  # jacrev and jacfwd, if the method that they map over has none
                need_rule(case)
            raise Absent(why)
        (missing.setdefault(why, []) if why else done).append(inner or "alone")
    over = f", over {', '.join(done[1:])}" if done[1:] else ""
    left = "".join(f"; not over {', '.join(names)} ({why})" for why, names in missing.items())
    return f"{done[0]}{over}{left}"


def claim(case: Case, outer: str) -> None:
    """Raise Absent, with the code to add, if a transform needs a method that is not defined."""
    need_gradient(case)
    if outer in REVERSE:
        need_backward(case)
    if outer in FORWARD:
        need_jvp(case)
    if outer == "vmap":
        need_rule(case)


def missing_method(case: Case, outer: str, inner: str) -> str:
    """Return the method that a composition needs and the Function lacks, or the row to fix first; else an empty string."""
    used = {outer, inner}
    if used & {*REVERSE} and not case.backward:
        return "no backward"
    if used & {*FORWARD} and not case.jvp:
        return "no jvp"
    if "vmap" in used and not case.batched:
        return NO_RULE
    if "vmap" in used and "vmap" in case.broken:
        return f"fix {case.broken['vmap']} first"
    if case.library.name == "torch" and inner in FORWARD and outer in FORWARD:
        return "PyTorch returns 0 for any Function"
    if inner in REVERSE and outer != "vmap":
        if case.once or "first derivatives only" in case.traits:
            return "backward cannot be differentiated"
        if "second derivatives" in case.broken:
            return f"fix {case.broken['second derivatives']} first"
    return ""


def all_inputs(case: Case, outer: str, inner: str) -> str:
    """Check a composition for each of the first two differentiable inputs; return the missing method, if there is one."""
    for i in case.wanted[:2]:
        over = Over(case, i)
        try:
            found = over.transformed(outer, inner)
        except Exception as e:
            if not case.batched and "generate_vmap_rule" in str(e):
                return NO_RULE
            e.add_note(called(outer, inner))
            raise
        expected = over.plain(outer, inner)
        exact = (1e-4, 1e-5) if case.step == EPS else (1e-2, SINGLE)
        if not close(expected, found, *exact) and close(expected, Over(case, i, 8).plain(outer, inner), 1e-2, 1e-4):
            raise Fault(
                f"{called(outer, inner)} with respect to {case.names[i]} gives {short(found)}, but plain code gives "
                f"{short(expected)}",
                "# in backward, jvp and vmap, use only operations on their arguments and on ctx.saved_tensors;\n"
                "# in setup_context, save only inputs and outputs",
                "jvp" if {outer, inner} & {*FORWARD} else case.backward,
            )
    return ""


def called(outer: str, inner: str) -> str:
    """Name a composition."""
    return f"{outer} of {inner}" if inner else outer


def batch(x: np.ndarray) -> np.ndarray:
    """Return a batch of the argument and others of its kind."""
    return np.stack(examples(x, SIZE))


class Over:
    """Transforms of x -> total, x being argument i of the case."""

    def __init__(self, case: Case, i: int, stride: float = 1):
        self.stride = stride  # factor on the usual step; a result that changes with it reveals a corner
        self.case, self.i, self.func = case, i, case.library.module.func
        self.x = case.arrays[i]
        self.direction = weights(self.x.shape, 5)

    # ---------------------------------------------------------------------- with transforms
    def f(self, x: Any) -> Any:
        """Return the scalar for the argument."""
        return self.case.total(self.case.apply(self.case.inputs_with({self.i: x})))

    def transform(self, name: str, f: Callable) -> Callable:
        """Transform a function from a tensor to a scalar into another such function."""
        func, tensor = self.func, self.case.library.tensor
        if name == "vjp":
            return lambda x: func.vjp(f, x)[1](x.new_ones(()))[0]
        if name == "jvp":
            return lambda x: func.jvp(f, (x,), (tensor(weights(tuple(x.shape), 5)),))[1]
        return getattr(func, name)(f)

    def transformed(self, outer: str, inner: str) -> np.ndarray:
        """Return the composition's numbers, at the argument or at a batch of it."""
        x, f = self.x, self.f
        for name in (inner, outer):
            x = batch(x) if name == "vmap" else x
        if inner:
            f = self.transform(inner, f) if outer == "vmap" else self.summed(self.transform(inner, f))
        return self.case.library.array(self.transform(outer, f)(self.case.library.tensor(x)))

    def summed(self, f: Callable) -> Callable:
        """Turn the result of f into a scalar."""

        def scalar(x: Any) -> Any:
            v = f(x)
            return (v * self.case.library.tensor(weights(v.shape, 3))).sum()

        return scalar

    # ---------------------------------------------------------------------- in plain code
    def value(self, x: np.ndarray) -> np.ndarray:
        """Return the scalar itself."""
        outs = self.case.replaced({self.i: x}).outputs()
        return np.asarray(sum(float((outs[k] * weights(outs[k].shape, k)).sum()) for k in self.case.tracked))

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return its gradient, from one backward."""
        case = self.case.replaced({self.i: x})
        return case.gradients([self.i])[self.i] if case.backward else case.numerical_gradient(self.i)

    def curved(self, x: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return the change of the gradient along a direction."""
        step = (self.case.step if self.case.backward else SINGLE) * self.stride
        ends = [self.gradient(x + sign * step * direction) for sign in (1, -1)]
        return (ends[0] - ends[1]) / (2 * step)

    def plain(self, outer: str, inner: str) -> np.ndarray:
        """Return the expected numbers of the composition."""
        first = self.first(inner) if inner else self.value
        if outer == "vmap":
            return np.stack([first(x) for x in batch(batch(self.x) if inner == "vmap" else self.x)])
        if not inner:
            return self.first(outer)(self.x)
        x = batch(self.x) if inner == "vmap" else self.x
        slope = self.slope(inner, x)
        return np.asarray((slope * weights(x.shape, 5)).sum()) if outer == "jvp" else slope

    def first(self, name: str) -> Callable[[np.ndarray], np.ndarray]:
        """Return one transform of the scalar, in plain code."""
        if name == "vmap":
            return lambda xs: np.stack([self.value(x) for x in xs])
        if name == "jvp":
            return lambda x: np.asarray((self.gradient(x) * self.direction).sum())
        return self.gradient

    def slope(self, inner: str, x: np.ndarray) -> np.ndarray:
        """Return the gradient, for x, of the weighted sum of the inner transform's result."""
        if inner == "vmap":
            rows = weights((len(x),), 3)
            return np.stack([w * self.gradient(one) for w, one in zip(rows, x)])
        if inner == "jvp":
            return float(weights((), 3)) * self.curved(x, self.direction)
        return self.curved(x, weights(self.x.shape, 3))
