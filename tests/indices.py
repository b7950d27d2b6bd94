"""Random tensors' shapes and index expressions, and a model of what PyTorch makes of them, in NumPy's terms.

The model works on positions: `positions(shape, index)` is the array of the flat positions that x[index] shows.
Reading is then x.flat[p], writing x.flat[p] = v, and the gradient of reading counts how often each position occurs.
"""

import numpy as np
from hypothesis import reject
from hypothesis import strategies as st

shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)
full_shapes = st.lists(st.integers(1, 4), max_size=4).map(tuple)


@st.composite
def slices(draw, n):
    bound = st.none() | st.integers(-n - 2, n + 2)
    return slice(draw(bound), draw(bound), draw(st.none() | st.integers(1, 3)))


@st.composite
def index_arrays(draw, n, common):
    """Return integers below n, in a shape that broadcasts to `common`."""
    lead = draw(st.integers(0, len(common)))
    shape = tuple(draw(st.sampled_from((1, m))) for m in common[lead:]) or (1,)
    size = int(np.prod(shape))
    return np.array(draw(st.lists(st.integers(-n, n - 1), min_size=size, max_size=size)), np.int64).reshape(shape)


@st.composite
def indices(draw, shape, kinds=("int", "slice", "none", "array", "list", "mask", "bool")):  # noqa: PLR0912 (one for each kind of index)
    """Return an index into a tensor of this shape: a tuple of ints, slices, None, Ellipsis, arrays, lists, bools."""
    common = draw(st.sampled_from(((1,), (2,), (3,), (2, 3), (3, 1))))
    items, d, masks, dots = [], 0, 0, False
    stop = draw(st.integers(0, len(shape)))
    while d < stop:
        n = shape[d]
        kind = draw(st.sampled_from((*kinds, "dots")))
        if kind == "dots":
            if not dots:  # it stands for some dimensions, and all that follow are indexed
                items.append(Ellipsis)
                d, stop, dots = d + draw(st.integers(0, len(shape) - d)), len(shape), True
        elif kind == "none":
            items.append(None)
        elif kind == "bool":
            if masks:
                continue
            items.append(draw(st.booleans()))
            masks = 1
            if not items[-1]:
                common = (1,)
        elif kind == "int" and n:
            items.append(draw(st.integers(-n, n - 1)))
            d += 1
        elif kind == "array" and n:
            items.append(draw(index_arrays(n, common)))
            d += 1
        elif kind == "list" and n:
            items.append(draw(index_arrays(n, common[-1:])).tolist())
            d += 1
        elif kind == "mask" and not masks:
            k = draw(st.integers(1, stop - d))
            size = int(np.prod(shape[d : d + k]))
            flags = draw(st.lists(st.booleans(), min_size=size, max_size=size))
            mask = np.array(flags, bool).reshape(shape[d : d + k])
            if mask.sum() > 1:  # one place broadcasts to whatever else there is
                mask.flat[np.flatnonzero(mask)[1:]] = False
            items.append(mask)
            d, masks = d + k, 1
        else:
            items.append(draw(slices(n)))
            d += 1
    if not dots and draw(st.booleans()):
        items.append(Ellipsis)
    try:
        positions(shape, items)
    except IndexError:  # no places of a mask beside several of an array
        reject()
    return tuple(items)


def positions(shape, index):
    """Return the flat positions that x[index] shows: integers act first, then what tensors there are."""
    basic, arrays, r = [], {}, 0
    used = sum(i.ndim if is_mask(i) else i is not None and i is not Ellipsis and not isinstance(i, bool) for i in index)
    d = 0
    for i in index:
        if i is Ellipsis:
            basic += [slice(None)] * (len(shape) - used)
            d, r = d + len(shape) - used, r + len(shape) - used
        elif i is None or isinstance(i, bool):
            basic.append(None)
            if i is not None:
                arrays[r] = np.zeros(int(i), np.int64)
            r += 1
        elif isinstance(i, (list, np.ndarray)):
            columns = np.nonzero(i) if is_mask(i) else [np.asarray(i)]
            for c in columns:
                basic.append(slice(None))
                arrays[r] = c
                d, r = d + 1, r + 1
        else:
            basic.append(i)
            d, r = d + 1, r + isinstance(i, slice)
    part = np.arange(int(np.prod(shape))).reshape(shape)[(*basic, ...)]
    if not arrays:
        return part
    return part[tuple(arrays.get(k, slice(None)) for k in range(max(arrays) + 1))]


def is_mask(i):
    return isinstance(i, np.ndarray) and i.dtype == bool


def given_to(module, index):
    """Return the index with arrays as tensors of a module."""
    return tuple(module.tensor(i) if isinstance(i, np.ndarray) else i for i in index)
