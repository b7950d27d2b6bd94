"""Jacobians, Hessians and their products with vectors, of functions of one tensor or a tuple of tensors.

All of them use one step, `pull`: the gradients of outputs weighted by vectors, with zeros where the outputs are independent.
A product from the right uses that `pull` is linear in its vectors, so its derivative with respect to them is the transpose of
the transpose.  The transforms of minigrad.func do the same by composition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.frames import current
from ..core.tensor import Tensor
from ..errors import error
from ..func.tree import zeros
from ..ops.create import eye
from ..ops.join import stack
from . import forward_ad
from .grad_mode import enable_grad, set_grad_enabled
from .gradients import grad

__all__ = [
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "vhp",
    "vjp",
]

Tensors = Tensor | tuple[Tensor, ...]


def vjp(
    func: Callable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> tuple:
    """Return (func(inputs), v times the Jacobian).  v is nested like the outputs; a single output of one element needs none.

    With `strict`, an output that does not depend on the inputs raises RuntimeError instead of giving zeros.

    >>> import minigrad
    >>> vjp(lambda x: x ** 2, minigrad.tensor([1., 2.]), minigrad.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        nested, inputs = fresh(inputs, create_graph, "vjp")
        several, outputs = evaluate(func, inputs, strict, "vjp")
        vectors = weights(v, outputs, create_graph, "vjp", "the user-provided function returns")
    with set_grad_enabled(create_graph or current().grad):
        found = pull(outputs, inputs, vectors, create_graph, strict, "vjp")
    return finish(several, outputs, create_graph), finish(nested, found, create_graph)


def jvp(
    func: Callable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> tuple:
    """Return (func(inputs), the Jacobian times v).  v is nested like the inputs; a single input of one element needs none.

    >>> import minigrad
    >>> jvp(lambda x: x ** 2, minigrad.tensor([1., 2.]), minigrad.tensor([1., 0.]))
    (tensor([1., 4.]), tensor([2., 0.]))
    """
    with enable_grad():
        _, inputs = fresh(inputs, create_graph, "jvp")
        vectors = weights(v, inputs, create_graph, "jvp", "the input to the user-provided function is")
        several, outputs = evaluate(func, inputs, strict, "jvp")
        probes = tuple([o.new_zeros(o.shape, requires_grad=True) for o in outputs])
        pulled = pull(outputs, inputs, probes, True, strict, "jvp")
    with set_grad_enabled(create_graph or current().grad):
        found = pull(pulled, probes, vectors, create_graph, strict, "jvp")
    return finish(several, outputs, create_graph), finish(several, found, create_graph)


def jacobian(
    func: Callable,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Return the Jacobian of func, of shape (*output, *input); a tuple of outputs or of inputs gives a tuple, outputs first.

    `vectorize` computes all rows as one batch; `strategy="forward-mode"` computes columns instead of rows, and requires it.

    >>> import minigrad
    >>> jacobian(lambda x: x ** 2, minigrad.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    check_strategy(strategy, vectorize, create_graph, strict, "jacobian")
    if strategy == "forward-mode":
        return columns(func, inputs)
    with enable_grad():
        nested, inputs = fresh(inputs, create_graph, "jacobian")
        several, outputs = evaluate(func, inputs, strict, "jacobian")
        make = rows_at_once if vectorize else rows
        found = tuple([make(o, inputs, create_graph, strict) for o in outputs])
    found = tuple([finish(nested, blocks, create_graph) for blocks in found])
    return found if several else found[0]


def hessian(
    func: Callable,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Return the second derivatives of a func with one output element, of shape (*input, *input), nested like the inputs twice.

    >>> import minigrad
    >>> hessian(lambda x: (x ** 3).sum(), minigrad.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    nested, inputs = as_tensors(inputs, "inputs", "hessian")

    def gradient(*xs: Tensor) -> tuple:
        if outer_jacobian_strategy == "forward-mode":  # otherwise jacobian detaches them, and they have no tangent
            xs = tuple([x.requires_grad_() for x in xs])
        found = jacobian(lambda *a: one_element(func(*a), "hessian"), xs, create_graph=True, strict=strict)
        return tuple([g.reshape(x.shape) for g, x in zip(found, xs)])

    found = jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return found if nested else found[0][0]


def vhp(
    func: Callable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> tuple:
    """Return (func(inputs), v times the Hessian), for a func that returns one element.

    >>> import minigrad
    >>> vhp(lambda x: (x ** 3).sum(), minigrad.tensor([1., 2.]), minigrad.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return hessian_product(func, inputs, v, create_graph, strict, "vhp")


def hvp(
    func: Callable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> tuple:
    """Return (func(inputs), the Hessian times v), for a func that returns one element; equal to vhp, by symmetry.

    >>> import minigrad
    >>> minigrad.autograd.functional.hvp(lambda x: (x ** 3).sum(), minigrad.tensor([1., 2.]), minigrad.tensor([1., 0.]))
    (tensor(9.), tensor([6., 0.]))
    """
    return hessian_product(func, inputs, v, create_graph, strict, "hvp")


def hessian_product(
    func: Callable, inputs: Tensors, v: Tensors | None, create_graph: bool, strict: bool, who: str
) -> tuple:
    """Return the function's outputs and its gradient pulled back once more, by v."""
    with enable_grad():
        nested, inputs = fresh(inputs, create_graph, who)
        vectors = weights(v, inputs, create_graph, who, "the input to the user-provided function is")
        several, outputs = evaluate(func, inputs, strict, who)
        one_element(outputs if several else outputs[0], who)
        gradient = pull(outputs, inputs, None, True, strict, who)
        if strict:
            check_dependent(gradient, "the gradient", who)
    with set_grad_enabled(create_graph or current().grad):
        found = pull(gradient, inputs, vectors, create_graph, strict, who)
    return finish(several, outputs, create_graph), finish(nested, found, create_graph)


# ---------------------------------------------------------------------- three ways to a whole Jacobian
def rows(out: Tensor, inputs: tuple, create_graph: bool, strict: bool) -> tuple:
    """Compute the Jacobian row by row, from the gradient of each element."""
    flat = out.reshape(-1)
    found = [pull((flat[i],), inputs, None, create_graph, strict, "jacobian", keep=True) for i in range(out.numel())]
    return tuple([stacked([row[k] for row in found], x).reshape((*out.shape, *x.shape)) for k, x in enumerate(inputs)])


def rows_at_once(out: Tensor, inputs: tuple, create_graph: bool, strict: bool) -> tuple:
    """Compute all rows as one batch of gradients."""
    if not out.requires_grad or out.numel() == 0:
        return rows(out, inputs, create_graph, strict)
    found = grad(out, inputs, units(out), True, create_graph, allow_unused=True, is_grads_batched=True)
    shapes = [(*out.shape, *x.shape) for x in inputs]
    return tuple([x.new_zeros(s) if g is None else g.reshape(s) for g, x, s in zip(found, inputs, shapes)])


def columns(func: Callable, inputs: Tensors) -> Any:
    """Compute the Jacobian column by column, from the tangents for each input element, in forward mode."""
    nested, inputs = as_tensors(inputs, "inputs", "jacobian")
    blocks, several, results = [], False, ()
    for k, x in enumerate(inputs):
        block = []
        for unit in units(x) if x.numel() else []:
            with forward_ad.dual_level():
                args = [forward_ad.make_dual(y.detach(), unit) if j == k else y.detach() for j, y in enumerate(inputs)]
                several, results = as_tensors(func(*args), "outputs of the user-provided function", "jacobian")
                duals = [forward_ad.unpack_dual(r) for r in results]
                block.append([zeros(d.primal) if d.tangent is None else d.tangent for d in duals])
        blocks.append(block)
    if not any(blocks):
        several, results = as_tensors(func(*inputs), "outputs of the user-provided function", "jacobian")

    def derivative(i: int, k: int) -> Tensor:
        """Return the derivative of result i with respect to input k."""
        r, x = results[i], inputs[k]
        return stacked([c[i] for c in blocks[k]], r).movedim(0, -1).reshape((*r.shape, *x.shape))

    found = tuple([tuple([derivative(i, k) for k in range(len(inputs))]) for i in range(len(results))])
    found = tuple([finish(nested, f, False) for f in found])
    return found if several else found[0]


def check_strategy(strategy: str, vectorize: bool, create_graph: bool, strict: bool, who: str) -> None:
    """Raise for options that do not go together, as PyTorch does."""
    if strategy not in ("forward-mode", "reverse-mode"):
        raise error(
            AssertionError, who, f"expected strategy to be either 'forward-mode' or 'reverse-mode', got {strategy!r}"
        )
    if strategy == "forward-mode" and create_graph:
        raise error(
            NotImplementedError,
            who,
            "create_graph=True is not supported with strategy='forward-mode'",
            "use minigrad.func.jacfwd",
        )
    if strategy == "forward-mode" and not vectorize:
        raise error(
            NotImplementedError,
            who,
            "strategy='forward-mode' is only supported with vectorize=True",
            "pass vectorize=True",
        )
    if vectorize and strict:
        raise error(RuntimeError, who, "strict=True and vectorize=True are not supported together", "drop one of them")


# ---------------------------------------------------------------------- steps
def pull(
    outputs: tuple,
    inputs: tuple,
    vectors: tuple | None,
    create_graph: bool,
    strict: bool,
    who: str,
    keep: bool | None = None,
) -> tuple:
    """Return the gradients of weighted outputs; zeros if there is no dependence, or RuntimeError if `strict`."""
    vectors = vectors or (None,) * len(outputs)
    pairs = [(o, v) for o, v in zip(outputs, vectors) if o.requires_grad]
    found: tuple = (None,) * len(inputs)
    if pairs:
        found = grad([o for o, _ in pairs], inputs, [v for _, v in pairs], keep, create_graph, allow_unused=True)
    if strict:
        for i, g in enumerate(found):
            if g is None:
                raise error(
                    RuntimeError,
                    who,
                    f"the output of the user-provided function is independent of input {i}. This is not "
                    "allowed in strict mode",
                    "drop strict=True for a result of zeros",
                )
            if create_graph and not g.requires_grad:
                raise error(
                    RuntimeError,
                    who,
                    f"the derivative with respect to input {i} is independent of the inputs. This is not allowed in strict "
                    "mode when create_graph=True",
                    "drop strict=True",
                )
    return tuple([zeros(x) if g is None else g for g, x in zip(found, inputs)])


def fresh(inputs: Any, create_graph: bool, who: str) -> tuple[bool, tuple]:
    """Return the inputs as new tensors, so that func is not differentiated with respect to captured ones."""
    nested, inputs = as_tensors(inputs, "inputs", who)
    return nested, tuple(
        [x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_() for x in inputs]
    )


def evaluate(func: Callable, inputs: tuple, strict: bool, who: str) -> tuple[bool, tuple]:
    """Return True if func returned a tuple, and its outputs as a tuple."""
    several, outputs = as_tensors(func(*inputs), "outputs of the user-provided function", who)
    if strict:
        check_dependent(outputs, "the output", who)
    return several, outputs


def check_dependent(tensors: tuple, what: str, who: str) -> None:
    """Raise, for strict mode, unless every tensor depends on the inputs."""
    for i, t in enumerate(tensors):
        if not t.requires_grad:
            raise error(
                RuntimeError,
                who,
                f"{what} {i} of the user-provided function does not require gradients: it is independent of the "
                "inputs. This is not allowed in strict mode",
                "compute with the function's argument, without detach() and not with a captured tensor; or drop "
                "strict=True for a result of zeros",
            )


def as_tensors(x: Any, what: str, who: str) -> tuple[bool, tuple]:
    """Return True if x is a tuple, and x as a tuple of tensors.  Raises TypeError for anything else."""
    parts = x if isinstance(x, tuple) else (x,)
    for i, part in enumerate(parts):
        if not isinstance(part, Tensor):
            raise error(
                TypeError,
                who,
                f"the {what} must be either a Tensor or a tuple of Tensors but the value at index {i} has type "
                f"{type(part).__name__}",
                "pass a tensor, or several as a tuple",
            )
    return isinstance(x, tuple), parts


def weights(v: Any, like: tuple, create_graph: bool, who: str, which: str) -> tuple | None:
    """Return the vectors, checked against the tensors that they weight."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise error(
                RuntimeError,
                who,
                f"the vector v can only be None if {which} a single Tensor with a single element",
                "pass v",
            )
        return (like[0].new_ones(like[0].shape),)
    _, vectors = as_tensors(v, "vector v", who)
    if len(vectors) != len(like):
        raise error(
            RuntimeError,
            who,
            f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}",
            "pass one vector for each tensor, in a tuple",
        )
    for i, (vector, t) in enumerate(zip(vectors, like)):
        if vector.shape != t.shape:
            raise error(
                RuntimeError,
                who,
                f"v has invalid size at index {i}: should be {tuple(t.shape)} but got {tuple(vector.shape)}",
                "pass a v of that shape",
            )
    return tuple([x.view_as(x) if create_graph and x.requires_grad else x.detach() for x in vectors])


def one_element(out: Any, who: str) -> Tensor:
    """Return the single-element output of a function whose Hessian is requested."""
    if isinstance(out, tuple) and len(out) == 1:
        out = out[0]
    if not isinstance(out, Tensor):
        raise error(
            RuntimeError, who, f"the function given to {who} should return a single Tensor, got {type(out).__name__}"
        )
    if out.numel() != 1:
        raise error(
            RuntimeError,
            who,
            f"the Tensor returned by the function given to {who} should contain a single element, got shape "
            f"{tuple(out.shape)}",
            "reduce it, e.g. with .sum(), or use jacobian, which takes outputs of any shape",
        )
    return out


def finish(nested: bool, tensors: tuple, create_graph: bool) -> Any:
    """Return the caller's result: detached unless a graph was requested, and a tuple if the caller passed one."""
    found = tensors if create_graph else tuple([t.detach() for t in tensors])
    return found if nested else found[0]


def units(t: Tensor) -> Tensor:
    """Return the unit tensors, one for each element of t, stacked."""
    return eye(t.numel(), dtype=t.dtype, device=t.device).reshape((t.numel(), *t.shape))


def stacked(parts: list, like: Tensor) -> Tensor:
    """Return tensors stacked as rows; if there are none, zero rows like `like`."""
    return stack(parts) if parts else like.new_zeros((0, *like.shape))
