"""vmap: a function of single examples becomes one of batches.  The work is done by the Batch layer."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import optree

from ..core.context import push
from ..core.tensor import Box, Tensor
from ..errors import error
from ..layers.batch import Batch
from .tree import flatten, rebuild, tensors_only

RANDOMNESS = ("error", "different", "same")


def vmap(
    func: Callable, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *, chunk_size: int | None = None
) -> Callable:
    """Map `func` over a dimension of its inputs, all examples at once.

    `in_dims` says which dimension of each input is the batch (None: the same for all examples), as an int or a structure
    like the arguments; `out_dims` where it goes in each output.  `randomness` is what random operations do: "error",
    "different" draws per example, or the "same".  `chunk_size` bounds how many examples are computed at once.

    >>> import minigrad
    >>> minigrad.vmap(minigrad.dot)(minigrad.ones(3, 2), minigrad.ones(3, 2))
    tensor([2., 2., 2.])
    """
    if randomness not in RANDOMNESS:
        raise error(RuntimeError, "vmap", f"randomness has to be one of {', '.join(RANDOMNESS)}, got {randomness!r}")
    if chunk_size is not None and chunk_size <= 0:
        raise error(ValueError, "vmap", f"chunk_size has to be None or a positive number, got {chunk_size}")

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        flat, spec = flatten(args)
        dims = dims_like(flat, spec, in_dims, args, func)
        size = batch_size(flat, dims, func)
        if chunk_size is None or chunk_size >= size:
            return run(func, flat, spec, dims, size, out_dims, randomness, kwargs)
        return chunked(func, flat, spec, dims, size, out_dims, randomness, kwargs, chunk_size)

    return wrapper


def run(
    func: Callable, flat: list, spec: Any, dims: list, size: int, out_dims: Any, randomness: str, kwargs: dict
) -> Any:
    """All examples at once."""
    with push(Batch(size, randomness)) as layer:
        result = func(*rebuild(spec, [a if d is None else Box(layer, a, d) for a, d in zip(flat, dims)]), **kwargs)
        tensors_only("vmap", f"the results of {name_of(func)}", result)
    outs, out_spec = flatten(result)
    places = out_places(out_dims, result, out_spec, func)
    return rebuild(out_spec, [lower(layer, o, d, func) for o, d in zip(outs, places)])


def chunked(
    func: Callable,
    flat: list,
    spec: Any,
    dims: list,
    size: int,
    out_dims: Any,
    randomness: str,
    kwargs: dict,
    step: int,
) -> Any:
    """A number of examples at a time, joined at the end."""
    from ..ops.shape import cat

    parts = []
    for start in range(0, size, step):
        n = min(step, size - start)
        part = [a if d is None else a.narrow(d, start, n) for a, d in zip(flat, dims)]
        parts.append(flatten(run(func, part, spec, dims, n, 0, randomness, kwargs)))
    out_spec = parts[0][1]
    places = out_places(out_dims, rebuild(out_spec, parts[0][0]), out_spec, func)
    joined = [cat([p[0][i] for p in parts], 0) for i in range(len(parts[0][0]))]
    return rebuild(out_spec, [o.movedim(0, d) if d else o for o, d in zip(joined, places)])


def dims_like(flat: list, spec: Any, in_dims: Any, args: tuple, func: Callable) -> list:
    """One batch dimension, or None, for each leaf of the arguments."""
    if not isinstance(in_dims, (int, tuple, list)):
        raise error(
            ValueError,
            "vmap",
            f"vmap({name_of(func)}, in_dims={in_dims!r}): expected in_dims to be an int or a (nested) tuple "
            f"matching the arguments, got {type(in_dims).__name__}",
        )
    if not flat:
        raise error(ValueError, "vmap", f"vmap({name_of(func)}): got no inputs; vmap needs a tensor to map over")
    try:
        dims = broadcast_prefix(in_dims, args)
    except ValueError as e:
        raise error(
            ValueError,
            "vmap",
            f"vmap({name_of(func)}, in_dims={in_dims!r}): in_dims is not compatible with the structure of the "
            f"inputs {spec}",
            f"give one entry for each of the {len(args)} arguments ({e})",
        ) from None
    found = []
    for i, (a, d) in enumerate(zip(flat, dims, strict=True)):
        if d is None or not isinstance(a, Tensor):
            if d is not None and not isinstance(in_dims, int):
                raise error(
                    ValueError,
                    "vmap",
                    f"vmap({name_of(func)}): got in_dim={d} for input {i}, but it is a {type(a).__name__}, not a tensor",
                    "use None there",
                )
            if d is not None:
                raise error(
                    ValueError,
                    "vmap",
                    f"vmap({name_of(func)}): input {i} is a {type(a).__name__}, which has no dimension to map over",
                    "pass in_dims with None in its place",
                )
            found.append(None)
            continue
        if not isinstance(d, int) or not -a.ndim <= d < a.ndim:
            raise error(
                ValueError,
                "vmap",
                f"vmap({name_of(func)}): got in_dim={d!r} for input {i}, which has {a.ndim} dimensions (shape "
                f"{tuple(a.shape)})",
                "name one of its dimensions, or None",
            )
        found.append(d % a.ndim)
    return found


def broadcast_prefix(prefix: Any, tree: Any) -> list:
    """The leaves of a prefix of a tree, each repeated for what stands below it; a list of args may be a tuple."""
    if isinstance(prefix, list) and isinstance(tree, tuple):
        prefix = tuple(prefix)
    if prefix is None or isinstance(prefix, int):
        return [prefix] * len(flatten(tree)[0])
    return optree.broadcast_prefix(prefix, tree, none_is_leaf=True)


def batch_size(flat: list, dims: list, func: Callable) -> int:
    """The common size of all batch dimensions.  Raises ValueError naming each input's size when they differ."""
    sizes = [(i, a.shape[d], d) for i, (a, d) in enumerate(zip(flat, dims)) if d is not None]
    if not sizes:
        raise error(
            ValueError,
            "vmap",
            f"vmap({name_of(func)}): at least one input has to have a batch dimension, but all in_dims are None",
        )
    if len({n for _, n, _ in sizes}) > 1:
        each = ", ".join(f"input {i} has {n} (in dimension {d})" for i, n, d in sizes)
        raise error(
            ValueError,
            "vmap",
            f"vmap({name_of(func)}): expected all tensors to have the same size in the mapped dimension, but {each}",
            "map over dimensions of one size, and pass None for inputs that are the same for all examples",
        )
    return sizes[0][1]


def out_places(out_dims: Any, result: Any, spec: Any, func: Callable) -> list:
    """Where the batch dimension goes, for each leaf of the result."""
    try:
        return broadcast_prefix(out_dims, result)
    except ValueError as e:
        raise error(
            ValueError,
            "vmap",
            f"vmap({name_of(func)}): out_dims={out_dims!r} is not compatible with the structure of the outputs {spec}",
            str(e),
        ) from None


def lower(layer: Batch, o: Any, d: Any, func: Callable) -> Any:
    """A result with its batch dimension where out_dims wants it."""
    mine = isinstance(o, Box) and o._layer is layer
    if d is None:
        if mine:
            raise error(
                ValueError,
                "vmap",
                f"vmap({name_of(func)}): got out_dims=None for an output that differs between examples",
                "give the dimension where the batch is to go",
            )
        return o
    value = o._value.movedim(o._extra, 0) if mine else o.expand((layer.size, *o.shape))
    if not isinstance(d, int) or not -value.ndim <= d < value.ndim:
        raise error(
            IndexError,
            "vmap",
            f"vmap({name_of(func)}): out_dim {d!r} is out of range for an output with {value.ndim} dimensions",
        )
    return value.movedim(0, d)


def name_of(func: Callable) -> str:
    """What a function is called in an error."""
    return getattr(func, "__name__", type(func).__name__)
