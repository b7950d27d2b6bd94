"""From samples to a batch: stack tensors, arrays and numbers, and keep the containers around them.

`default_collate` makes one batch from a list of samples; `default_convert` turns the arrays of one sample into tensors.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from ...arrays.dtypes import float64
from ...core.tensor import Tensor
from ...errors import error
from ...ops.from_data import as_tensor, tensor
from ...ops.join import stack

TEXT = "SaUO"  # the kinds of dtypes for text and objects


def default_convert(data: Any) -> Any:
    """Return data with each NumPy array as a tensor; mappings and sequences keep their type, tuples become lists.

    >>> import numpy as np
    >>> from minigrad.utils.data import default_convert
    >>> default_convert({"x": np.array([0, 1]), "y": 3, "name": "a"})
    {'x': tensor([0, 1]), 'y': 3, 'name': 'a'}
    """
    if isinstance(data, Tensor) or isinstance(data, np.ndarray) and data.dtype.kind in TEXT:
        return data
    if isinstance(data, (np.ndarray, np.generic)) and not isinstance(data, (np.str_, np.bytes_)):
        return as_tensor(data)
    if isinstance(data, Mapping):
        return like(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return like(data, [default_convert(x) for x in data])
    return data


def default_collate(batch: Sequence) -> Any:
    """Make a batch from a list of samples: stack their tensors, arrays and numbers along a new first dimension.

    Samples may be nested mappings, named tuples and sequences; text stays a list.  Raises TypeError for other samples,
    RuntimeError for sequences or tensors of different sizes, and KeyError for a mapping that lacks a key of the first one.

    >>> from minigrad.utils.data import default_collate
    >>> default_collate([(1, 0.5), (2, 1.5)])
    [tensor([1, 2]), tensor([0.5000, 1.5000], dtype=minigrad.float64)]
    >>> default_collate([{"a": 1, "name": "x"}, {"a": 2, "name": "y"}])
    {'a': tensor([1, 2]), 'name': ['x', 'y']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Sequence, *, collate_fn_map: dict[Any, Callable] | None = None) -> Any:
    """Make a batch like `default_collate`, with your own functions for some types of samples.

    `collate_fn_map` maps a type to `f(batch, *, collate_fn_map)`.

    >>> from minigrad.utils.data.collate import collate
    >>> collate([(1, "a"), (2, "b")], collate_fn_map={int: lambda batch, collate_fn_map: sum(batch), str: collate_text})
    [3, ('a', 'b')]
    """
    first = batch[0]
    kinds = collate_fn_map or {}
    if (kind := next((k for k in (type(first), *kinds) if k in kinds and isinstance(first, k)), None)) is not None:
        return kinds[kind](batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        return like(first, {key: collate([x[key] for x in batch], collate_fn_map=collate_fn_map) for key in first})
    if isinstance(first, Sequence):
        for i, x in enumerate(batch):
            if len(x) != len(first):
                what = f"each element in list of batch should be of equal size: sample 0 has {len(first)} parts, "
                what += f"sample {i} has {len(x)}"
                fix = "pad the samples in the dataset, or pass a collate_fn to DataLoader that pads them"
                raise error(RuntimeError, "default_collate", what, fix)
        return like(first, [collate(parts, collate_fn_map=collate_fn_map) for parts in zip(*batch)])
    raise unknown(type(first))


def like(sample: Any, parts: Any) -> Any:
    """Return parts in a container of the sample's type: a filled copy, or a new one; a tuple becomes a list."""
    if isinstance(sample, tuple):
        return type(sample)(*parts) if hasattr(sample, "_fields") else parts
    try:
        if not isinstance(sample, (MutableMapping, MutableSequence)):
            return type(sample)(parts)
        made: Any = copy.copy(sample)  # keeps attributes, such as a defaultdict's factory
        for key, part in parts.items() if isinstance(sample, Mapping) else enumerate(parts):
            made[key] = part
        return made
    except TypeError:  # the class takes other arguments, or rejects the parts
        return parts


def unknown(what: Any) -> Any:
    """Return the error for samples that cannot be stacked."""
    name = what.__name__ if isinstance(what, type) else f"arrays of {what}"
    what = f"batch must contain tensors, numpy arrays, numbers, dicts or lists; found {name}"
    fix = "return one of these from the dataset, or pass a collate_fn to DataLoader that makes a batch of them"
    return error(TypeError, "default_collate", what, fix)


# ---------------------------------------------------------------------- by type
def collate_tensors(batch: Sequence, *, collate_fn_map: Any = None) -> Tensor:
    """Stack tensors.  Raises RuntimeError if their shapes differ."""
    sizes = batch[0]._sizes
    for i, t in enumerate(batch):
        if t._sizes != sizes:
            what = f"stack expects each tensor to be of equal size: sample 0 has shape {tuple(batch[0].shape)}, "
            what += f"sample {i} has {tuple(t.shape)}"
            fix = "pad or crop the samples in the dataset, or pass a collate_fn to DataLoader that does"
            raise error(RuntimeError, "default_collate", what, fix)
    return stack(list(batch))


def collate_arrays(batch: Sequence, *, collate_fn_map: Any = None) -> Any:
    """Stack arrays into one tensor."""
    if batch[0].dtype.kind in TEXT:
        raise unknown(batch[0].dtype)
    if (collate_fn_map or {}).get(Tensor) is collate_tensors and all([is_like(a, batch[0]) for a in batch]):
        return tensor(np.array(batch))  # half the time: one tensor instead of one per sample
    return collate([as_tensor(a) for a in batch], collate_fn_map=collate_fn_map)


def is_like(a: Any, other: np.ndarray) -> bool:
    """Return True for a plain array of the same dtype and shape, which as_tensor shares without a warning."""
    return type(a) is np.ndarray and a.dtype is other.dtype and a.shape == other.shape and a.flags.carray


def collate_text(batch: Sequence, *, collate_fn_map: Any = None) -> Any:
    """Return text unchanged."""
    return batch


default_collate_fn_map: dict[Any, Callable] = {
    Tensor: collate_tensors,
    np.ndarray: collate_arrays,
    (np.bool_, np.number, np.object_): lambda batch, *, collate_fn_map=None: as_tensor(np.array(batch)),
    float: lambda batch, *, collate_fn_map=None: tensor(batch, dtype=float64),
    int: lambda batch, *, collate_fn_map=None: tensor(batch),
    str: collate_text,
    bytes: collate_text,
}
