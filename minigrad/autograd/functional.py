"""Jacobians, Hessians and their products with vectors, of functions of one tensor or a tuple of tensors.

All of them are gradients of outputs weighted by vectors, `pull`, so that they differentiate any Function, also one without
`setup_context` or jvp.  `pull` is linear in its vectors: its derivative with respect to them is a product from the right.
Forward mode is minigrad.func's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor
from ..errors import error
from ..func.tree import zeros
from ..ops.create import eye
from ..ops.join import stack
from .grad_mode import enable_grad
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


def vjp(func: Callable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False) -> tuple:
    """Return (func(inputs), v times the Jacobian).  v is nested like the outputs; a single output of one element needs none.

    >>> import minigrad
    >>> vjp(lambda x: x ** 2, minigrad.tensor([1., 2.]), minigrad.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        at = EvaluatedFunction("vjp", func, inputs, create_graph)
        v = at.vectors(v, at.outputs, "the user-provided function returns")
        found = at.pull(at.outputs, at.inputs, v)
    return at.result(at.outputs, at.several), at.result(found, at.nested)


def jvp(func: Callable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False) -> tuple:
    """Return (func(inputs), the Jacobian times v).  v is nested like the inputs; a single input of one element needs none.

    >>> import minigrad
    >>> jvp(lambda x: x ** 2, minigrad.tensor([1., 2.]), minigrad.tensor([1., 0.]))
    (tensor([1., 4.]), tensor([2., 0.]))
    """
    with enable_grad():
        at = EvaluatedFunction("jvp", func, inputs, create_graph)
        v = at.vectors(v, at.inputs, "the input to the user-provided function is")
        probes = tuple([zeros(o).requires_grad_() for o in at.outputs])
        found = at.pull(at.pull(at.outputs, at.inputs, probes, create=True), probes, v)
    return at.result(at.outputs, at.several), at.result(found, at.several)


def jacobian(
    func: Callable,
    inputs: Tensors,
    create_graph: bool = False,
    vectorize: bool = False,
) -> Any:
    """Return the Jacobian of func, of shape (*output, *input); a tuple of outputs or of inputs gives a tuple, outputs first.

    `vectorize` computes all rows as one batch; minigrad.func.jacfwd computes columns.

    >>> import minigrad
    >>> jacobian(lambda x: x ** 2, minigrad.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    with enable_grad():
        at = EvaluatedFunction("jacobian", func, inputs, create_graph)
        found = tuple([at.result(at.rows(o, vectorize), at.nested) for o in at.outputs])
    return found if at.several else found[0]


def hessian(
    func: Callable,
    inputs: Tensors,
    create_graph: bool = False,
    vectorize: bool = False,
) -> Any:
    """Return the second derivatives of a func with one output element, of shape (*input, *input), nested like the inputs twice.

    >>> import minigrad
    >>> hessian(lambda x: (x ** 3).sum(), minigrad.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    nested, inputs = as_tensors(inputs, "inputs", "hessian")
    scalar = lambda *xs: one_element("hessian", func(*xs)).reshape(())
    found = jacobian(lambda *xs: jacobian(scalar, xs, True), inputs, create_graph, vectorize)
    return found if nested else found[0][0]


def vhp(func: Callable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False) -> tuple:
    """Return (func(inputs), v times the Hessian), for a func that returns one element.

    >>> import minigrad
    >>> vhp(lambda x: (x ** 3).sum(), minigrad.tensor([1., 2.]), minigrad.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return hessian_product("vhp", func, inputs, v, create_graph)


def hvp(func: Callable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False) -> tuple:
    """Return (func(inputs), the Hessian times v), for a func that returns one element; equal to vhp, by symmetry.

    >>> import minigrad
    >>> minigrad.autograd.functional.hvp(lambda x: (x ** 3).sum(), minigrad.tensor([1., 2.]), minigrad.tensor([1., 0.]))
    (tensor(9.), tensor([6., 0.]))
    """
    return hessian_product("hvp", func, inputs, v, create_graph)


def hessian_product(who: str, func: Callable, inputs: Tensors, v: Any, create_graph: bool) -> tuple:
    """Return the function's output and its gradient pulled back once more, by v."""
    with enable_grad():
        at = EvaluatedFunction(who, func, inputs, create_graph)
        one_element(who, at.outputs if at.several else at.outputs[0])
        v = at.vectors(v, at.inputs, "the input to the user-provided function is")
        gradient = at.pull(at.outputs, at.inputs, create=True)
        found = at.pull(gradient, at.inputs, v)
    return at.result(at.outputs, at.several), at.result(found, at.nested)


class EvaluatedFunction:
    """A function's inputs, as new tensors so that captured ones do not matter, and its outputs, both as tuples."""

    def __init__(self, who: str, func: Callable, inputs: Any, create_graph: bool):
        self.who, self.create = who, create_graph
        self.nested, given = as_tensors(inputs, "inputs", who)
        self.inputs = tuple([self.fresh(x, True) for x in given])
        self.several, self.outputs = as_tensors(func(*self.inputs), "outputs of the user-provided function", who)

    def fresh(self, x: Tensor, tracked: bool) -> Tensor:
        """Return a tensor that is a view of x if x has to be differentiated, and else is detached from it."""
        return x.view_as(x) if self.create and x.requires_grad else x.detach().requires_grad_(tracked)

    def pull(self, outputs: tuple, inputs: tuple, vectors: Any = None, create: bool = False, keep: Any = None) -> tuple:
        """Return the gradients of weighted outputs with respect to inputs; zeros where there is no dependence."""
        create = create or self.create
        pairs = [(o, v) for o, v in zip(outputs, vectors or [None] * len(outputs)) if o.requires_grad]
        found: tuple = (None,) * len(inputs)
        if pairs:
            outputs, vectors = zip(*pairs)
            found = grad(outputs, inputs, vectors, keep, create, allow_unused=True)
        return tuple([zeros(x) if g is None else g for g, x in zip(found, inputs)])

    def rows(self, out: Tensor, vectorize: bool) -> tuple:
        """Return the Jacobian of one output, a block for each input: one row for each element, or all rows as one batch."""
        n, shapes = out.numel(), [(*out.shape, *x.shape) for x in self.inputs]
        units = eye(n, dtype=out.dtype, device=out.device).reshape((n, *out.shape))
        blocks: Any = [None] * len(self.inputs)
        if vectorize and n and out.requires_grad:
            blocks = grad(out, self.inputs, units, True, self.create, allow_unused=True, is_grads_batched=True)
        elif n:
            found = [self.pull((out,), self.inputs, (u,), keep=True) for u in units]
            blocks = [stack(block) for block in zip(*found)]
        return tuple([x.new_zeros(s) if b is None else b.reshape(s) for b, x, s in zip(blocks, self.inputs, shapes)])

    def vectors(self, v: Any, like: tuple, which: str) -> tuple:
        """Return the vectors, checked against the tensors that they weight."""
        if v is None:
            if len(like) != 1 or like[0].numel() != 1:
                what = f"the vector v can only be None if {which} a single Tensor with a single element"
                raise error(RuntimeError, self.who, what, "pass v")
            return (like[0].new_ones(like[0].shape),)
        _, given = as_tensors(v, "vector v", self.who)
        if len(given) != len(like):
            what = f"v is a tuple of invalid length: should be {len(like)} but got {len(given)}"
            raise error(RuntimeError, self.who, what, "pass one vector for each tensor, in a tuple")
        for i, (vector, t) in enumerate(zip(given, like)):
            if vector.shape != t.shape:
                what = f"v has invalid size at index {i}: should be {tuple(t.shape)} but got {tuple(vector.shape)}"
                raise error(RuntimeError, self.who, what, "pass a v of that shape")
        return tuple([self.fresh(x, False) for x in given])

    def result(self, tensors: tuple, nested: bool) -> Any:
        """Return tensors to the caller: detached unless a graph was requested, and as a tuple if `nested`."""
        found = tensors if self.create else tuple([t.detach() for t in tensors])
        return found if nested else found[0]


def as_tensors(x: Any, what: str, who: str) -> tuple[bool, tuple]:
    """Return True if x is a tuple, and x as a tuple of tensors.  Raises TypeError for anything else."""
    parts = x if isinstance(x, tuple) else (x,)
    for i, part in enumerate(parts):
        if not isinstance(part, Tensor):
            got = f"the value at index {i} has type {type(part).__name__}"
            what = f"the {what} must be either a Tensor or a tuple of Tensors but {got}"
            raise error(TypeError, who, what, "pass a tensor, or several as a tuple")
    return isinstance(x, tuple), parts


def one_element(who: str, out: Any) -> Tensor:
    """Return the single-element output of a function whose Hessian is requested."""
    out = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    if not isinstance(out, Tensor):
        what = f"the function given to {who} should return a single Tensor, got {type(out).__name__}"
        raise error(RuntimeError, who, what)
    if out.numel() != 1:
        what = f"the Tensor returned by the function given to {who} should contain a single element, got shape "
        fix = "reduce it, e.g. with .sum(), or use jacobian, which takes outputs of any shape"
        raise error(RuntimeError, who, f"{what}{tuple(out.shape)}", fix)
    return out
