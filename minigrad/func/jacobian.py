"""Whole derivatives: jacrev (a vmap over pull-backs), jacfwd (a vmap over push-forwards), hessian (jacfwd of jacrev).

The result is a tree like the output; each leaf is a tree like the chosen inputs, and each leaf of that is a tensor of shape
output.shape + input.shape.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import accumulate
from typing import Any

from ..core.tensor import Tensor
from ..ops.create import eye
from .forward import jvp
from .reverse import call, normalize, pulled, unwrap
from .tree import check_function, flatten, rebuild
from .vmap import check_chunk_size, vmap


def jacrev(
    func: Callable, argnums: int | tuple = 0, *, has_aux: bool = False, chunk_size: int | None = None
) -> Callable:
    """Return a function for the Jacobian by reverse mode: one pull-back per output element, `chunk_size` (all) at once.

    >>> import minigrad
    >>> minigrad.func.jacrev(lambda x: x * x)(minigrad.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    check_function("jacrev", func)
    check_chunk_size("jacrev", chunk_size)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        partial, chosen = choose("jacrev", func, argnums, args, kwargs)
        value, pull, *aux = pulled("jacrev", partial, chosen, has_aux)
        outs, out_spec = flatten(value)
        if single := [o.numel() for o in outs] == [1]:  # a single pull-back needs no vmap, and a number no other shape
            found = pull(rebuild(out_spec, [outs[0].new_ones(outs[0].shape)]))
        else:
            found = vmap(lambda *rows: pull(rebuild(out_spec, rows)), chunk_size=chunk_size)(*bases(outs))
        rows, in_spec = flatten(found)
        blocks = []
        for o, start in spans(outs):
            of_it = rows if single else [chunk(g, 0, start, o.numel()) for g in rows]
            part = [shaped(g, (*o.shape, *g.shape[not single :])) for g in of_it]
            blocks.append(unwrap(rebuild(in_spec, part), argnums))
        result = rebuild(out_spec, blocks)
        return (result, aux[0]) if has_aux else result

    return wrapper


def jacfwd(func: Callable, argnums: int | tuple = 0, has_aux: bool = False, *, randomness: str = "error") -> Callable:
    """Return a function for the Jacobian by forward mode: one push-forward per input element, all at once.

    `randomness` is passed to vmap: it determines the results of random operations in func, which runs for all of them at once.

    >>> import minigrad
    >>> minigrad.func.jacfwd(lambda x: x ** 2)(minigrad.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    check_function("jacfwd", func)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        partial, chosen = choose("jacfwd", func, argnums, args, kwargs)
        ins, in_spec = flatten(chosen)

        def push(*directions: Tensor) -> Any:
            _, tangent, *aux = jvp(partial, chosen, rebuild(in_spec, directions), has_aux=has_aux)
            return (tangent, aux) if has_aux else tangent

        result = vmap(push, out_dims=(0, None) if has_aux else 0, randomness=randomness)(*bases(ins))
        columns, out_spec = flatten(result[0] if has_aux else result)
        jacobian = rebuild(out_spec, [unwrap(rebuild(in_spec, by_input(c, ins)), argnums) for c in columns])
        return (jacobian, result[1][0]) if has_aux else jacobian

    return wrapper


def by_input(columns: Tensor, ins: list) -> list:
    """Split columns of shape (elements of all inputs, *output.shape) into one block of output.shape + input.shape per input."""
    blocks = [chunk(columns, 0, start, i.numel()).movedim(0, -1) for i, start in spans(ins)]
    return [shaped(block, (*columns.shape[1:], *i.shape)) for block, i in zip(blocks, ins)]


def hessian(func: Callable, argnums: int | tuple = 0) -> Callable:
    """Return a function for the matrix of second derivatives, jacfwd(jacrev(func)).

    >>> import minigrad
    >>> minigrad.func.hessian(lambda x: (x ** 3).sum())(minigrad.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def choose(who: str, func: Callable, argnums: Any, args: tuple, kwargs: dict) -> tuple:
    """Return func as a function of only the arguments to differentiate with respect to, and these arguments."""
    nums = normalize(who, argnums, len(args), kwargs)
    partial = lambda *chosen: call(func, args, kwargs, dict(zip(nums, chosen)))
    return partial, tuple([args[n] for n in nums])


def bases(tensors: list) -> list:
    """Return, for tensors with n elements in total, the n directions in which exactly one element is 1, per tensor."""
    total, found = sum([t.numel() for t in tensors]), []
    for t, start in spans(tensors):
        rows = chunk(eye(total, dtype=t.dtype, device=t.device), 1, start, t.numel())
        found.append(shaped(rows, (total, *t.shape)))
    return found


def spans(tensors: list) -> list[tuple[Tensor, int]]:
    """Return each tensor with the number of elements in the tensors before it."""
    return list(zip(tensors, accumulate([t.numel() for t in tensors], initial=0)))


def chunk(t: Tensor, dim: int, start: int, n: int) -> Tensor:
    """Return n elements along a dimension; t itself if these are all."""
    return t if n == t.shape[dim] else t.narrow(dim, start, n)


def shaped(t: Tensor, shape: tuple) -> Tensor:
    """Return t reshaped; t itself if it already has the shape."""
    return t if t._sizes == shape else t.reshape(shape)
