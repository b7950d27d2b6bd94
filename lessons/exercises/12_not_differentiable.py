"""The exercises of lesson 12."""

import warnings

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise


@exercise(
    "backward receives one gradient for each output, in the order of forward's return.",
    "c counts as a constant. minigrad replaces a missing gradient with zeros, unless forward asks for None.",
)
def nondiff_received(answer):
    """2 for a; b is unused and c is a constant, so minigrad makes zeros for both."""
    if isinstance(answer, (str, dict, set)) or not hasattr(answer, "__len__") or len(answer) != 3:
        raise Wrong(f"expected a list of three numbers, one for each output, got {answer!r}")
    given = dict(zip("abc", answer))
    if any(one is None for one in given.values()):
        raise Wrong("None arrives only after set_materialize_grads(False). What does backward receive without it?")
    marked = {3.0: "c is marked: no gradient flows into it, whatever is computed from it"}
    for name, wanted in zip("cab", (0.0, 2.0, 0.0)):
        try:
            expect.number(given[name], wanted, marked if name == "c" else {})
        except Wrong as wrong:
            raise Wrong(f"for {name}: {wrong}") from None


def two_outputs(function, x):
    """Return apply's results, which have to be a pair."""
    if not (isinstance(function, type) and issubclass(function, torch.autograd.Function)):
        raise Wrong(f"expected a subclass of autograd.Function, got {function!r}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function.apply(x)
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise Wrong(f"apply has to return two tensors, got {result!r}")
    for one in caught:
        if "mark has no effect" in str(one.message):
            raise Wrong("the mark has no effect: mark the very tensor that is returned, not one with the same values")
    return result


@exercise(
    "ctx.mark_non_differentiable(inside), and ctx.save_for_backward(inside) for the gradient.",
    "backward receives two gradients. The first times the mask is the answer, the second is not needed.",
)
def NondiffClip(answer):
    """backward multiplies by the mask; marked, the mask is a constant to all later operations."""
    x = torch.tensor([0.5, -2.0, 3.0, -1.0], requires_grad=True)
    clipped, inside = two_outputs(answer, x)
    expect.tensor(clipped, [0.5, -1.0, 1.0, -1.0], "the first output")
    expect.tensor(inside, [1.0, 0.0, 0.0, 1.0], "the mask")
    if not clipped.requires_grad:
        raise Wrong("the clipped numbers have lost their gradient: mark the mask, and nothing else")
    if inside.requires_grad:
        raise Wrong("the mask requires grad: mark it in forward")
    expect.computes(answer.apply, lambda x: (x.clamp(-1, 1), (x.abs() <= 1).float()), (x,))


@exercise(
    "x.round() creates a new tensor in each call. Give the returned one a name, and mark it.",
    "The rest is x minus a constant: its derivative is 1.",
)
def NondiffParts(answer):
    """forward marks the tensor that it returns, and the gradient of the rest passes through unchanged."""
    x = torch.tensor([1.25, -2.5, 3.75], requires_grad=True)
    whole, rest = two_outputs(answer, x)
    expect.tensor(whole, x.round(), "the whole part")
    expect.tensor(rest, x - x.round(), "the rest")
    if whole.requires_grad:
        raise Wrong("the whole part still requires grad: mark the tensor that is returned")
    if not rest.requires_grad:
        raise Wrong("the rest has lost its gradient: mark only the whole part")
    expect.computes(answer.apply, lambda x: (x.round().detach(), x - x.round().detach()), (x,))


@exercise(
    "Call ctx.set_materialize_grads(False) in forward.",
    "In backward, add up g1, 2 * g2 and 3 * g3, each only if it is not None.",
    "At least one of the three is a tensor: start with None or 0 and add the tensors.",
)
def NondiffMultiples(answer):
    """No zeros are created, and backward adds only the gradients that came in."""
    if not (isinstance(answer, type) and issubclass(answer, torch.autograd.Function)):
        raise Wrong(f"expected a subclass of autograd.Function, got {answer!r}")
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    outputs = answer.apply(x)
    if not isinstance(outputs, (tuple, list)) or len(outputs) != 3:
        raise Wrong(f"apply has to return three tensors, got {outputs!r}")
    for k, one in enumerate(outputs, 1):
        expect.tensor(one, k * x, f"output {k - 1}")
        if one.data_ptr() == x.data_ptr():
            raise Wrong(f"output {k - 1} is x itself: return a new tensor, x.clone()")
        if not one.requires_grad:
            raise Wrong(f"output {k - 1} does not require grad")
    used = [(1,), (2,), (3,), (1, 3), (1, 2, 3)]
    for some in used:
        outputs = answer.apply(x)
        (gradient,) = torch.autograd.grad(sum(outputs[k - 1] * 10**k for k in some).sum(), x)
        wanted = sum(k * 10**k for k in some)
        expect.tensor(gradient, [wanted, wanted], f"with {len(some)} of the outputs used, the gradient")
    if outputs[0].grad_fn.materialize_grads:
        raise Wrong("the numbers are right, but backward receives zeros for outputs that are not used")
