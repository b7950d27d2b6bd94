"""Check derivatives against finite differences: gradcheck checks first derivatives, gradgradcheck second ones.

numeric_jacobians.py computes the Jacobians; this module compares them.  disagreement.py explains a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arrays.kinds import host
from ..core.function import as_tuple
from ..core.inplace import overlaps
from ..core.tensor import Tensor, is_float
from ..errors import error, warn
from ..events import intercept
from ..func import jvp, vmap
from ..func.tree import check_function
from .disagreement import GradcheckError, Tolerances, mismatch, not_a_function, suspects
from .gradients import grad
from .numeric_jacobians import (
    by_backward,
    by_forward,
    checked,
    differentiable,
    forward_jacobian,
    numerical,
    pulled,
    tensor_like,
)


def gradcheck(
    func: Callable,
    inputs: Tensor | Sequence,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the gradients of `func` at `inputs` with central differences, and return True if they agree.

    Only inputs that require grad are checked; they should be float64 (otherwise it warns).  Every element is
    compared, also with `fast_mode`.  Each output is differentiated without gradients for the other
    outputs, and gradients always have their input's dtype, so `check_undefined_grad` and `check_grad_dtypes` add nothing.
    Raises GradcheckError (or returns False without `raise_exception`), and ValueError if no input requires grad.

    >>> import minigrad
    >>> x = minigrad.tensor([0.5, 2.], dtype=minigrad.float64, requires_grad=True)
    >>> gradcheck(lambda t: t * t, x)
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise error(
            AssertionError, "gradcheck", "expected at least one of check_forward_ad and check_backward_ad to be True"
        )
    check_function("gradcheck", func, "gradcheck(f, x)")
    modes = {"backward": check_backward_ad, "forward": check_forward_ad}
    batched = {"backward": check_batched_grad, "forward": check_batched_forward_grad}
    settings = Tolerances(eps, atol, rtol, nondet_tol)
    return agree(func, as_tuple(inputs), settings, modes, batched, raise_exception)


def gradgradcheck(
    func: Callable,
    inputs: Tensor | Sequence,
    grad_outputs: Tensor | Sequence | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Compare the second derivatives of `func` with central differences of its gradients; return True if they agree.

    The gradients are checked as a function of the inputs and of the output weights, which are `grad_outputs` or random.
    `check_fwd_over_rev` also pushes tangents through backward.  Raises the same errors as gradcheck.

    >>> import minigrad
    >>> x = minigrad.tensor([1., 2.], dtype=minigrad.float64, requires_grad=True)
    >>> minigrad.autograd.gradgradcheck(lambda x: (x ** 3).sum(), x)
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise error(
            AssertionError,
            "gradgradcheck",
            "expected at least one of check_fwd_over_rev and check_rev_over_rev to be True",
        )
    inputs = as_tuple(inputs)
    check_inputs(inputs)
    if grad_outputs is None:
        grad_outputs = random_weights(func, inputs, gen_non_contig_grad_outputs)
    n, wanted = len(inputs), [isinstance(x, Tensor) and x.requires_grad for x in inputs]

    def gradients(*args: Any) -> tuple:
        xs = tuple([x.requires_grad_() if want and not x.requires_grad else x for x, want in zip(args, wanted)])
        outs = [o for _, o in differentiable(func, xs)]
        found = grad(outs, [x for x, want in zip(xs, wanted) if want], args[n:], create_graph=True, allow_unused=True)
        return tuple([g for g in found if g is not None])

    modes, batched = {"backward": check_rev_over_rev, "forward": check_fwd_over_rev}, {"backward": check_batched_grad}
    settings = Tolerances(eps, atol, rtol, nondet_tol)
    try:
        return agree(gradients, (*inputs, *as_tuple(grad_outputs)), settings, modes, batched, raise_exception)
    except GradcheckError as e:
        e.operation = "gradgradcheck"
        e.notes += (
            f"outputs here are gradients with respect to the inputs; inputs from {n} on are gradients given to backward",
        )
        raise


def random_weights(func: Callable, inputs: tuple, gaps: bool) -> list[Tensor]:
    """Return random gradients for the outputs, with gaps between their elements in memory if requested."""
    random, found = np.random.default_rng(), []
    for _, o in differentiable(func, inputs):
        a = random.standard_normal(o.shape).astype(o._np_dtype)
        found.append(tensor_like(o, np.repeat(a[..., None], 2, -1)[..., 0] if gaps else a).requires_grad_())
    return found


def agree(
    func: Callable, inputs: tuple, settings: Tolerances, modes: dict, batched: dict, raise_exception: bool
) -> bool:
    """Run gradcheck in these modes, for single derivatives and for batches of them."""
    if any(wanted and not modes[mode] for mode, wanted in batched.items()):
        what = "a batched check needs the check of the same mode"
        raise error(AssertionError, "gradcheck", what, "set check_backward_ad or check_forward_ad")
    check_inputs(inputs)
    try:
        compare(func, inputs, settings, modes, batched)
    except GradcheckError as e:
        if not raise_exception:
            return False
        if (unsteady := not_a_function(func, inputs)) is not None:
            try:
                raise unsteady from None
            finally:
                del unsteady  # as in raise_instead
        e.notes += tuple(suspects(func, inputs, ("backward", "jvp") if modes["forward"] else ("backward",)))
        raise
    return True


def check_inputs(inputs: tuple) -> None:
    """Check that there is an input to check, of double precision, and that each element has its own memory."""
    if not any(isinstance(x, Tensor) and x.requires_grad for x in inputs):
        what = "expects at least one input tensor to require gradient, but none of them have requires_grad=True"
        raise error(ValueError, "gradcheck", what, "pass x.double().requires_grad_()")
    for i, x in checked(inputs):
        if x._np_dtype != np.float64:
            warn(
                "gradcheck-float32",
                "gradcheck",
                f"input {i} requires grad and has dtype {x.dtype}; rounding errors will likely make the check fail",
                "pass x.double().requires_grad_()",
            )
        if overlaps(x):
            raise error(
                RuntimeError,
                "gradcheck",
                f"input {i} has a dimension with stride 0: its elements share memory and cannot be changed one by one",
                "pass x.clone()",
                notes=intercept.origins({f"input {i}": x}) or (),
            )


# ---------------------------------------------------------------------- comparisons
def compare(func: Callable, inputs: tuple, settings: Tolerances, modes: dict, batched: dict) -> None:
    """Make the requested comparisons.  Raises GradcheckError at a difference."""
    if not differentiable(func, inputs):
        check_constant(func, inputs, settings)
        return
    for mode in [mode for mode, wanted in modes.items() if wanted]:
        compare_all(func, inputs, settings, mode)
        if mode == "backward":
            check_multiplied(func, inputs, settings.nondet_tol)
    for mode in [mode for mode, wanted in batched.items() if wanted]:
        (compare_batched if mode == "backward" else compare_batched_forward)(func, inputs)


def check_constant(func: Callable, inputs: tuple, settings: Tolerances) -> None:
    """Check that outputs do not change with the inputs if no output requires grad."""
    for k, o in enumerate(as_tuple(func(*inputs))):
        if not isinstance(o, Tensor):
            what = f"output {k} is a {type(o).__name__}, not a tensor, so it has no gradient to check"
            raise error(TypeError, "gradcheck", what, "return tensors, without item(), numpy() and tolist()")
    for i, x in checked(inputs):
        for k, jacobian in numerical(func, inputs, x, settings.eps).items():
            if np.abs(jacobian).max(initial=0) > 0:
                raise error(
                    GradcheckError,
                    "gradcheck",
                    f"Numerical gradient for function expected to be zero: output {k} does not require "
                    f"grad, but changes with input {i}",
                    "look for detach(), .data, numpy(), no_grad or .item() in the function",
                )


def check_multiplied(func: Callable, inputs: tuple, tolerance: float) -> None:
    """Check that zero gradients give zero: a backward that does not multiply by them passes when they are 1."""
    outs, targets = [o for _, o in differentiable(func, inputs)], checked(inputs)
    nothing = [o.new_zeros(o.shape) for o in outs]
    for (i, _), g in zip(targets, grad(outs, [x for _, x in targets], nothing, allow_unused=True)):
        if g is not None and not (np.abs(host(g.detach()._a)) <= tolerance).all():
            raise error(
                GradcheckError,
                "gradcheck",
                f"backward not multiplied by grad_output: for gradients of zero, input {i} gets {g.detach().tolist()}",
                "multiply by the incoming gradients in backward",
            )


def compare_all(func: Callable, inputs: tuple, settings: Tolerances, mode: str) -> None:
    """Compare every element of every Jacobian."""
    expected = {i: numerical(func, inputs, x, settings.eps) for i, x in checked(inputs)}
    forward = {i: forward_jacobian(func, inputs, i, x) for i, x in checked(inputs)} if mode == "forward" else {}
    for k, o in differentiable(func, inputs):
        backward = backward_twice(o, k, inputs, settings) if mode == "backward" else {}
        for i, _ in checked(inputs):
            a = backward[i] if mode == "backward" else forward[i].get(k, expected[i][k])
            if not settings.close(a, expected[i][k]):
                raise mismatch(mode, func, inputs, i, k, a, expected[i][k], settings)


def backward_twice(o: Tensor, k: int, inputs: tuple, settings: Tolerances) -> dict[int, np.ndarray]:
    """Return the Jacobians of output k.  Raises GradcheckError if a second run of backward differs."""
    found, again = by_backward(o, inputs), by_backward(o, inputs)
    for i, jacobian in found.items():
        if not np.allclose(jacobian, again[i], rtol=0, atol=settings.nondet_tol, equal_nan=True):
            raise error(
                GradcheckError,
                "gradcheck",
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                f"gives different values: input {i}, output {k}. The tolerance for nondeterminism was "
                f"{settings.nondet_tol}",
                "save the random numbers in forward and use them in backward, keep no state in it, or raise nondet_tol",
            )
    return found


def compare_batched(func: Callable, inputs: tuple) -> None:
    """Check that a batch of gradients through backward under vmap equals the results of a loop."""
    random = np.random.default_rng(0)
    targets = [x for _, x in checked(inputs)]
    for k, o in differentiable(func, inputs):
        weights = random.standard_normal((2, *o.shape)).astype(o._np_dtype)
        expected = [pulled(o, targets, w) for w in weights]
        try:
            found = grad(o, targets, tensor_like(o, weights), True, allow_unused=True, is_grads_batched=True)
        except RuntimeError as e:
            what = f"While computing batched gradients of output {k}, got: {e}"
            fix = "define a vmap rule in the custom Functions inside, or set generate_vmap_rule = True"
            raise error(GradcheckError, "gradcheck", what, fix) from e
        for j, g in enumerate(found):
            loop = np.reshape([e[j] for e in expected], (2, *targets[j].shape))
            if not np.allclose(0 if g is None else host(g._a), loop):
                raise error(
                    GradcheckError,
                    "gradcheck",
                    f"For output {k} and input {j}: batched gradients {g} differ from those of a loop, {loop.tolist()}",
                    "check the vmap rules of the custom Functions inside",
                )


def compare_batched_forward(func: Callable, inputs: tuple) -> None:
    """Check that a batch of tangents through forward mode under vmap equals the results of a loop."""
    random = np.random.default_rng(0)
    for i, x in checked(inputs):
        tangents = random.standard_normal((2, *x.shape)).astype(x._np_dtype)
        loop = [by_forward(func, inputs, i, t) for t in tangents]

        def push(t: Tensor, i: int = i, x: Tensor = x) -> tuple:
            args = [a.detach() if isinstance(a, Tensor) else a for a in inputs]
            return jvp(
                lambda y: tuple([o for o in as_tuple(func(*args[:i], y, *args[i + 1 :])) if is_float(o)]),
                (x.detach(),),
                (t,),
            )[1]

        try:
            found = vmap(push)(tensor_like(x, tangents))
        except RuntimeError as e:
            what = f"While computing batched forward gradients, got: {e}"
            fix = "define a vmap rule in the custom Functions inside, or set generate_vmap_rule = True"
            raise error(GradcheckError, "gradcheck", what, fix) from e
        for k, f in zip(loop[0], found):
            if not np.allclose(host(f._a).reshape(2, -1), np.stack([r[k] for r in loop])):
                what = f"For output {k} and input {i}: batched forward gradients differ from those of a loop"
                raise error(GradcheckError, "gradcheck", what, "check the vmap rules of the custom Functions inside")
