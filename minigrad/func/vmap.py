"""vmap: turn a function of single examples into a function of batches.  The Batch layer does the work."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import optree

from ..core.frames import push
from ..core.tensor import Box, Tensor
from ..errors import error
from ..layers.batch import Batch
from ..ops.join import cat
from ..places import return_of
from .tree import check_function, counted, flatten, rebuild, structure_text

RANDOMNESS = ("error", "different", "same")


def vmap(
    func: Callable, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *, chunk_size: int | None = None
) -> Callable:
    """Map `func` over a dimension of its inputs, all examples at once.

    `in_dims` is the batch dimension of each input (None: the same for all examples), as an int or a structure like the
    arguments; `out_dims` is the batch dimension of each output.  `randomness` controls random operations: "error",
    "different" draws per example, or the "same".  `chunk_size` limits the number of examples computed at once.

    >>> import minigrad
    >>> minigrad.vmap(minigrad.dot)(minigrad.ones(3, 2), minigrad.ones(3, 2))
    tensor([2., 2., 2.])
    """
    check_function("vmap", func)
    if randomness not in RANDOMNESS:
        raise error(RuntimeError, "vmap", f"randomness must be one of {', '.join(RANDOMNESS)}, got {randomness!r}")
    check_chunk_size("vmap", chunk_size)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        flat, spec = flatten(args)
        dims = dims_like(flat, spec, in_dims, args, func)
        size = batch_size(flat, dims, func)
        if chunk_size is None or chunk_size >= size:
            return run(func, kwargs, spec, dims, out_dims, randomness, flat, size)
        at_once = functools.partial(run, func, kwargs, spec, dims, out_dims, randomness)
        return chunked(at_once, flat, dims, size, chunk_size, out_dims, func)

    return wrapper


def check_chunk_size(who: str, chunk_size: Any) -> None:
    """Check the number of examples to compute at once; None means all."""
    if chunk_size is not None and chunk_size <= 0:
        what = f"chunk_size must be None or a positive number, got {chunk_size}"
        raise error(ValueError, who, what, "pass chunk_size=None for all examples at once")


def run(
    func: Callable, kwargs: dict, spec: Any, dims: list, out_dims: Any, randomness: str, flat: list, size: int
) -> Any:
    """Compute all examples at once."""
    with push(Batch(size, randomness)) as layer:
        result = func(*rebuild(spec, [a if d is None else Box(layer, a, d) for a, d in zip(flat, dims)]), **kwargs)
    outs, out_spec = flatten(result)
    places = out_places(out_dims, result, out_spec, func)
    return rebuild(out_spec, [lower(layer, i, len(outs), o, d, func) for i, (o, d) in enumerate(zip(outs, places))])


def chunked(at_once: Callable, flat: list, dims: list, size: int, step: int, out_dims: Any, func: Callable) -> Any:
    """Compute the examples in chunks with `at_once`, and join the results."""
    parts, out_spec = [], None
    for start in range(0, size, step):
        n = min(step, size - start)
        part = [a if d is None else a.narrow(d, start, n) for a, d in zip(flat, dims)]
        outs, out_spec = flatten(at_once(part, n))
        parts.append(outs)
    places = out_places(out_dims, rebuild(out_spec, parts[0]), out_spec, func)
    return rebuild(out_spec, [os[0] if d is None else cat(os, d) for *os, d in zip(*parts, places)])


def dims_like(flat: list, spec: Any, in_dims: Any, args: tuple, func: Callable) -> list:
    """Return one batch dimension, or None, for each leaf of the arguments."""
    if not isinstance(in_dims, (int, tuple)):
        raise error(
            ValueError,
            "vmap",
            f"vmap({name_of(func)}, in_dims={in_dims!r}): expected in_dims to be an int or a (nested) tuple "
            f"matching the arguments, got {type(in_dims).__name__}",
            f"pass in_dims={tuple(in_dims)!r}"
            if isinstance(in_dims, list)
            else "pass in_dims=0, or a tuple with an entry for "
            "each argument: its batch dimension, or None if it is the same for all examples",
        )
    if not flat:
        what = f"vmap({name_of(func)}): got no inputs; vmap needs a tensor to map over"
        raise error(ValueError, "vmap", what, "pass at least one tensor by position; keyword arguments are not mapped")
    try:
        dims = broadcast_prefix(in_dims, args, len(flat))
    except ValueError:
        raise error(
            ValueError,
            "vmap",
            f"vmap({name_of(func)}, in_dims={in_dims!r}): in_dims is not compatible with the structure of the inputs: the "
            f"function was called with {counted(len(args), 'argument')}, nested as {structure_text(spec)}",
            f"pass one entry per argument: in_dims={tuple([0] * len(args))!r}",
        ) from None
    return [
        None if d is None else checked_dim(i, len(flat), a, d, func)
        for i, (a, d) in enumerate(zip(flat, dims, strict=True))
    ]


def checked_dim(i: int, n: int, a: Any, d: Any, func: Callable) -> int:
    """Return the batch dimension of input i of n, counted from the front."""
    if not isinstance(a, Tensor):
        what = f"vmap({name_of(func)}): got in_dim={d!r} for input {i}, but it is a {type(a).__name__}, not a tensor"
        fix = f"pass None for it: in_dims={tuple([None if j == i else 0 for j in range(n)])!r}"
        raise error(ValueError, "vmap", what, fix)
    if not isinstance(d, int) or not -a.ndim <= d < a.ndim:
        raise error(
            ValueError,
            "vmap",
            f"vmap({name_of(func)}): got in_dim={d!r} for input {i}, which has {a.ndim} dimensions (shape "
            f"{tuple(a.shape)})",
            f"pass one of its dimensions: {', '.join(map(str, range(a.ndim)))} or None"
            if a.ndim
            else "pass None if it is the same for all examples; pass a list of examples as stack(...)",
        )
    return d % a.ndim


def broadcast_prefix(prefix: Any, tree: Any, n: int) -> list:
    """Return the leaves of a prefix of a tree with n leaves, each repeated for the leaves below it."""
    if prefix is None or isinstance(prefix, int):
        return [prefix] * n
    return optree.broadcast_prefix(prefix, tree, none_is_leaf=True)


def batch_size(flat: list, dims: list, func: Callable) -> int:
    """Return the common size of all batch dimensions.  Raises ValueError naming each input's size if they differ."""
    sizes = [(i, a.shape[d], d) for i, (a, d) in enumerate(zip(flat, dims)) if d is not None]
    if not sizes:
        what = f"vmap({name_of(func)}): at least one input must have a batch dimension, but all in_dims are None"
        fix = "pass the batch dimension of an input that differs between examples, e.g. in_dims=0"
        raise error(ValueError, "vmap", what, fix)
    if len({n for _, n, _ in sizes}) > 1:
        each = ", ".join(f"input {i} has {n} (in dimension {d})" for i, n, d in sizes)
        raise error(
            ValueError,
            "vmap",
            f"vmap({name_of(func)}): expected all tensors to have the same size in the mapped dimension, but {each}",
            "pass None for an input that is the same for all examples, as in in_dims=(0, None), or map over dimensions of "
            "equal size",
        )
    return sizes[0][1]


def out_places(out_dims: Any, result: Any, spec: Any, func: Callable) -> list:
    """Return the batch dimension of each leaf of the result."""
    if isinstance(out_dims, tuple) and len(out_dims) == 1 and spec.is_leaf():
        (out_dims,) = out_dims
    if type(out_dims) is int:
        return [out_dims] * spec.num_leaves
    if any(d is not None and not isinstance(d, int) for d in flatten(out_dims)[0]):
        raise error(
            ValueError,
            "vmap",
            f"vmap({name_of(func)}): out_dims={out_dims!r} must be an int, None or a structure of them: the batch "
            "dimension of each output",
            "pass out_dims=0",
        )
    try:
        return broadcast_prefix(out_dims, result, spec.num_leaves)
    except ValueError:
        outputs = (
            "one output"
            if spec.is_leaf()
            else f"{counted(spec.num_leaves, 'output')}, nested as {structure_text(spec)}"
        )
        raise error(
            ValueError,
            "vmap",
            f"vmap({name_of(func)}): out_dims={out_dims!r} is not compatible with the structure of the outputs: the function "
            f"returned {outputs}",
            "pass out_dims=0, or one entry for each output",
        ) from None


def lower(layer: Batch, i: int, n: int, o: Any, d: Any, func: Callable) -> Any:
    """Return result i of n with its batch dimension moved according to out_dims."""
    mine = layer.owns(o)
    if d is None:
        if mine:
            raise error(
                ValueError,
                "vmap",
                f"vmap({name_of(func)}): got out_dims=None for output {i}, which differs between the {layer.size} examples",
                "pass the batch dimension of that output, e.g. out_dims=0",
            )
        return o
    if not isinstance(o, Tensor):
        raise error(
            ValueError,
            "vmap",
            f"vmap({name_of(func)}): the function must only return tensors, got {type(o).__name__} as output {i}",
            "return a tensor instead"
            if o is None
            else "pass None for an output that is the same for all examples: out_dims="
            f"{tuple([None if j == i else 0 for j in range(n)])!r}",
            notes=return_of(func),
        )
    value, place = (o._value, o._extra) if mine else (o.expand((layer.size, *o.shape)), 0)
    if not -value.ndim <= d < value.ndim:
        raise error(
            IndexError,
            "vmap",
            f"vmap({name_of(func)}): out_dim {d!r} is out of range for output {i}, which has "
            f"{counted(value.ndim, 'dimension')} including the batch, shape {tuple(value.shape)}",
            "pass out_dims=0, or another dimension of the output",
        )
    return value if place == d else value.movedim(place, d)


def name_of(func: Callable) -> str:
    """Return the name of a function for errors."""
    return getattr(func, "__name__", type(func).__name__)
