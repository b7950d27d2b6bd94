"""Whole derivatives: jacrev (a vmap over pull-backs), jacfwd (a vmap over push-forwards), hessian (jacfwd of jacrev).

The result has the structure of the output, in each place that of the chosen inputs, and in each place of that a tensor of
shape output.shape + input.shape.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor
from ..ops.create import eye
from .forward import jvp
from .reverse import check_differentiable, normalize, vjp
from .tree import flatten, rebuild
from .vmap import vmap


def jacrev(
    func: Callable, argnums: int | tuple = 0, *, has_aux: bool = False, chunk_size: int | None = None
) -> Callable:
    """The Jacobian by reverse mode: one pull-back for each element of the output, all at once.

    >>> import minigrad
    >>> minigrad.func.jacrev(lambda x: x * x)(minigrad.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        nums, chosen, partial = choose("jacrev", func, argnums, args, kwargs)
        value, pull, *aux = vjp(partial, *chosen, has_aux=has_aux)
        outs, out_spec = flatten(value)
        sizes = [o.numel() for o in outs]
        found = vmap(lambda *rows: pull(rebuild(out_spec, rows)), chunk_size=chunk_size)(*bases(outs))
        in_leaves, in_spec = flatten(found)
        start, blocks = 0, []
        for o, n in zip(outs, sizes):
            part = [g.narrow(0, start, n).reshape((*o.shape, *g.shape[1:])) for g in in_leaves]
            blocks.append(unwrap(rebuild(in_spec, part), argnums))
            start += n
        result = rebuild(out_spec, blocks)
        return (result, aux[0]) if has_aux else result

    return wrapper


def jacfwd(func: Callable, argnums: int | tuple = 0, has_aux: bool = False, *, randomness: str = "error") -> Callable:
    """The Jacobian by forward mode: one push-forward for each element of the inputs, all at once."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        nums, chosen, partial = choose("jacfwd", func, argnums, args, kwargs)
        ins, in_spec = flatten(chosen)

        def push(*directions: Tensor) -> Any:
            value, tangent, *aux = jvp(partial, chosen, rebuild(in_spec, directions), has_aux=has_aux)
            return (tangent, (value, aux)) if has_aux else tangent

        result = vmap(push, out_dims=(0, None) if has_aux else 0, randomness=randomness)(*bases(ins))
        columns, aux = (result[0], result[1][1][0]) if has_aux else (result, None)
        out_leaves, out_spec = flatten(columns)
        blocks = [unwrap(rebuild(in_spec, by_input(c, ins)), argnums) for c in out_leaves]
        jacobian = rebuild(out_spec, blocks)
        return (jacobian, aux) if has_aux else jacobian

    return wrapper


def by_input(columns: Tensor, ins: list) -> list:
    """Columns of shape (elements of all inputs, *output.shape) as one block of shape output.shape + input.shape per input."""
    start, found = 0, []
    for i in ins:
        block = columns.narrow(0, start, i.numel()).movedim(0, -1)
        found.append(block.reshape((*columns.shape[1:], *i.shape)))
        start += i.numel()
    return found


def hessian(func: Callable, argnums: int | tuple = 0) -> Callable:
    """The matrix of second derivatives, as jacfwd(jacrev(func)).

    >>> import minigrad
    >>> minigrad.func.hessian(lambda x: (x ** 3).sum())(minigrad.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def choose(who: str, func: Callable, argnums: Any, args: tuple, kwargs: dict) -> tuple:
    """The arguments to differentiate by, and func as a function of them alone."""
    nums = normalize(who, argnums, len(args))
    for n in nums:
        check_differentiable(who, n, args[n])

    def partial(*chosen: Any) -> Any:
        full = list(args)
        for n, c in zip(nums, chosen):
            full[n] = c
        return func(*full, **kwargs)

    return nums, tuple([args[n] for n in nums]), partial


def bases(tensors: list) -> list:
    """For tensors of n elements in all: for each of them the n directions in which exactly one element of all is 1."""
    sizes = [t.numel() for t in tensors]
    total, start, found = sum(sizes), 0, []
    for t, n in zip(tensors, sizes):
        rows = eye(total, dtype=t.dtype).narrow(1, start, n)
        found.append(rows.reshape((total, *t.shape)))
        start += n
    return found


def unwrap(tree: tuple, argnums: Any) -> Any:
    """One argument's part alone where argnums was an int."""
    return tree[0] if isinstance(argnums, int) else tree
