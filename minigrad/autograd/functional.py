"""Jacobians, Hessians and their products with vectors, of functions of one tensor or a tuple of tensors.

All of them are gradients of outputs weighted by vectors, `pull`, so that they differentiate any Function, also one without
`setup_context` or jvp.  `pull` is linear in its vectors: its derivative with respect to them is a product from the right.
Forward mode is minigrad.func's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import func as transforms
from ..core.tensor import Tensor
from ..errors import error
from ..func.tree import zeros
from ..ops.create import eye
from ..ops.join import stack
from .grad_mode import enable_grad, no_grad
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
        at = Point("vjp", func, inputs, create_graph, strict)
        v = at.vectors(v, at.outputs, "the user-provided function returns")
        found = at.pull(at.outputs, at.inputs, v)
    return at.result(at.outputs, at.several), at.result(found, at.nested)


def jvp(
    func: Callable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> tuple:
    """Return (func(inputs), the Jacobian times v).  v is nested like the inputs; a single input of one element needs none.

    >>> import minigrad
    >>> jvp(lambda x: x ** 2, minigrad.tensor([1., 2.]), minigrad.tensor([1., 0.]))
    (tensor([1., 4.]), tensor([2., 0.]))
    """
    with enable_grad():
        at = Point("jvp", func, inputs, create_graph, strict)
        v = at.vectors(v, at.inputs, "the input to the user-provided function is")
        probes = tuple([zeros(o).requires_grad_() for o in at.outputs])
        found = at.pull(at.pull(at.outputs, at.inputs, probes, create=True), probes, v)
    return at.result(at.outputs, at.several), at.result(found, at.several)


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
    check_strategy("jacobian", strategy, vectorize, create_graph, strict)
    if strategy == "forward-mode":
        nested, inputs = as_tensors(inputs, "inputs", "jacobian")
        with no_grad():
            return transforms.jacfwd(func, tuple(range(len(inputs))) if nested else 0)(*inputs)
    with enable_grad():
        at = Point("jacobian", func, inputs, create_graph, strict)
        found = tuple([at.result(at.rows(o, vectorize), at.nested) for o in at.outputs])
    return found if at.several else found[0]


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
    check_strategy("hessian", outer_jacobian_strategy, vectorize, create_graph, strict)
    nested, inputs = as_tensors(inputs, "inputs", "hessian")
    scalar = lambda *xs: one_element("hessian", func(*xs)).reshape(())
    if outer_jacobian_strategy == "forward-mode":
        with no_grad():
            return transforms.hessian(scalar, tuple(range(len(inputs))) if nested else 0)(*inputs)
    found = jacobian(lambda *xs: jacobian(scalar, xs, True, strict), inputs, create_graph, strict, vectorize)
    return found if nested else found[0][0]


def vhp(
    func: Callable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> tuple:
    """Return (func(inputs), v times the Hessian), for a func that returns one element.

    >>> import minigrad
    >>> vhp(lambda x: (x ** 3).sum(), minigrad.tensor([1., 2.]), minigrad.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return hessian_product("vhp", func, inputs, v, create_graph, strict)


def hvp(
    func: Callable, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> tuple:
    """Return (func(inputs), the Hessian times v), for a func that returns one element; equal to vhp, by symmetry.

    >>> import minigrad
    >>> minigrad.autograd.functional.hvp(lambda x: (x ** 3).sum(), minigrad.tensor([1., 2.]), minigrad.tensor([1., 0.]))
    (tensor(9.), tensor([6., 0.]))
    """
    return hessian_product("hvp", func, inputs, v, create_graph, strict)


def hessian_product(who: str, func: Callable, inputs: Tensors, v: Any, create_graph: bool, strict: bool) -> tuple:
    """Return the function's output and its gradient pulled back once more, by v."""
    with enable_grad():
        at = Point(who, func, inputs, create_graph, strict)
        one_element(who, at.outputs if at.several else at.outputs[0])
        v = at.vectors(v, at.inputs, "the input to the user-provided function is")
        gradient = at.pull(at.outputs, at.inputs, create=True)
        found = at.pull(gradient, at.inputs, v)
    return at.result(at.outputs, at.several), at.result(found, at.nested)


class Point:
    """A function's inputs, as new tensors so that captured ones do not matter, and its outputs, both as tuples."""

    def __init__(self, who: str, func: Callable, inputs: Any, create_graph: bool, strict: bool):
        self.who, self.create, self.strict = who, create_graph, strict
        self.nested, given = as_tensors(inputs, "inputs", who)
        self.inputs = tuple([self.fresh(x, True) for x in given])
        self.several, self.outputs = as_tensors(func(*self.inputs), "outputs of the user-provided function", who)
        self.check_dependent(
            [o.requires_grad for o in self.outputs],
            "output {} of the user-provided function is independent of the inputs",
        )

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
        self.check_dependent(
            [g is not None for g in found], "the output of the user-provided function is independent of input {}"
        )
        fixed = [create and g is not None and not g.requires_grad for g in found]
        self.check_dependent(
            [not f for f in fixed], "the derivative with respect to input {} is independent of the inputs"
        )
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

    def check_dependent(self, depends: list[bool], what: str) -> None:
        """Raise, for strict mode, unless all of these depend on the inputs."""
        if self.strict and False in depends:
            raise error(
                RuntimeError,
                self.who,
                f"{what.format(depends.index(False))}. This is not allowed in strict mode",
                "compute with the function's argument, without detach() and not with a captured tensor; or drop "
                "strict=True for a result of zeros",
            )

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


def check_strategy(who: str, strategy: str, vectorize: bool, create_graph: bool, strict: bool) -> None:
    """Raise for options that do not go together, as PyTorch does."""
    if strategy not in ("forward-mode", "reverse-mode"):
        what = f"expected strategy to be either 'forward-mode' or 'reverse-mode', got {strategy!r}"
        raise error(AssertionError, who, what)
    if strategy == "forward-mode" and create_graph:
        what = "create_graph=True is not supported with strategy='forward-mode'"
        raise error(NotImplementedError, who, what, "use minigrad.func.jacfwd")
    if strategy == "forward-mode" and not vectorize:
        what = "strategy='forward-mode' is only supported with vectorize=True"
        raise error(NotImplementedError, who, what, "pass vectorize=True")
    if vectorize and strict:
        raise error(RuntimeError, who, "strict=True and vectorize=True are not supported together", "drop one of them")
