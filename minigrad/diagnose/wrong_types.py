"""Find the argument of the wrong kind in a failed call, and the kind that its parameter takes.

The kinds follow from annotations.  A parameter that takes several kinds is annotated `Any`; its kinds follow from its name,
which means the same in every function of PyTorch.
"""

import inspect
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays import dtypes
from ..arrays.dtypes import ALL, FLOATS, bool_, uint8
from ..core.tensor import Tensor
from ..kernels.operands import NUMERIC
from ..ops.public_functions import SPELLINGS


class Kind(NamedTuple):
    """Kind of value that a parameter takes, in words, and the test of a value."""

    words: str
    fits: Callable[[Any], bool]


def tensor(a: Any) -> bool:
    """Return True for a tensor."""
    return isinstance(a, Tensor)


def operand(a: Any) -> bool:
    """Return True for an operand of an elementwise operation."""
    if isinstance(a, (np.ndarray, np.generic)):
        return a.dtype.kind in "biuf" or a.dtype in dtypes.HALVES
    return isinstance(a, (Tensor, *NUMERIC))


def number(a: Any) -> bool:
    """Return True for one number; any tensor under a transform may be one."""
    if isinstance(a, Tensor):
        return a._layer is not None or a.ndim == 0
    return a.ndim == 0 and operand(a) if isinstance(a, np.ndarray) else isinstance(a, numbers.Real)


def whole(a: Any) -> bool:
    """Return True for one whole number."""
    if isinstance(a, (Tensor, np.ndarray)):
        return number(a) and dtypes.kind(a._np_dtype if isinstance(a, Tensor) else a.dtype) == "i"
    return isinstance(a, numbers.Integral) and not isinstance(a, bool)


def truth(a: Any) -> bool:
    """Return True for a bool, or a tensor of one."""
    return isinstance(a, (bool, np.bool_)) or isinstance(a, Tensor) and number(a) and a.dtype in (bool_, uint8)


def sequence(a: Any) -> bool:
    """Return True for a tuple, a list or a 1-d tensor."""
    return isinstance(a, (tuple, list)) or isinstance(a, Tensor) and a.ndim == 1


def wholes(a: Any) -> bool:
    """Return True for one whole number, or several."""
    return whole(a) or sequence(a) and all(map(whole, a))


def several(one: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return the test for a tuple or list with members of one kind."""
    return lambda a: isinstance(a, (tuple, list)) and all(map(one, a))


BY_ANNOTATION = {
    "Tensor": Kind("a tensor", tensor),
    "int": Kind("an int", whole),
    "float": Kind("a number", number),
    "bool": Kind("True or False", truth),
    "Sequence": Kind("a tuple or list of ints", several(whole)),
    "str": Kind("a string", lambda a: isinstance(a, str)),
    "Generator": Kind("a minigrad.Generator", lambda a: hasattr(a, "initial_seed")),
    "None": Kind("None", lambda a: a is None),
}
INTEGERS = [d for d in ALL if d.dtype not in FLOATS]
OPERAND = Kind("a tensor or a number", lambda a: tensor(a) or number(a))
NUMBER = Kind("a number", number)
INTS = Kind("an int, or several in a tuple", wholes)
TENSORS = Kind("a tuple or list of tensors", several(tensor))
NUMBERS = Kind("a number, or several in a tuple", lambda a: number(a) or several(number)(a))


def named(kind: Kind, names: str) -> dict[str, Kind]:
    """Return a table in which all these names have this kind."""
    return dict.fromkeys(names.split(), kind)


BY_NAME = {
    **named(OPERAND, "input other exponent min max weight mean std var q start end low high elements test_elements"),
    **named(NUMBER, "alpha beta value fill_value negative_slope threshold lambd step nan posinf neginf"),
    **named(INTS, "dim dims size sizes shape shapes normalized_shape output_size kernel_size stride dilation source"),
    **named(INTS, "output_padding destination shifts"),
    **named(TENSORS, "tensors"),
    **named(NUMBERS, "scale_factor"),
    "padding": Kind(
        "an int, several in a tuple, or for convolutions 'same' or 'valid'",
        lambda a: a in ("same", "valid") if isinstance(a, str) else wholes(a),
    ),
    "ord": Kind("a number or a string", lambda a: isinstance(a, str) or number(a)),
    "p": Kind("a number or a string", lambda a: isinstance(a, str) or number(a)),
    "unbiased": BY_ANNOTATION["bool"],
    "repeats": Kind("an int, or a tensor of ints", lambda a: tensor(a) and a.dtype in INTEGERS or whole(a)),
    "split_size_or_sections": Kind("an int, or sizes in a tuple", wholes),
    "indices_or_sections": Kind("an int, or places in a tuple or tensor", wholes),
    "indices": Kind("a tuple of tensors, one for each dimension", several(lambda a: a is None or tensor(a))),
    "src": OPERAND,
}


OF_SEVERAL = {  # for `*size`, which also takes one tuple or list
    **named(BY_ANNOTATION["int"], "size shape dims repeats"),
    **named(BY_ANNOTATION["Tensor"], "tensors"),
}


def misfit(f: Callable, args: Sequence, kwargs: Mapping) -> tuple[str, Any, str] | None:
    """Return the first argument of the wrong kind: its parameter, its value, and the kind that is needed, in words."""
    parameters = inspect.signature(f).parameters
    for name, value in by_name(f, args, kwargs).items():
        p = parameters.get(name)
        if p is None or p.kind is p.VAR_KEYWORD or value is p.default:
            continue
        kinds, members = wanted(p), (value,)
        if p.kind is p.VAR_POSITIONAL:
            alone = len(value) == 1 and isinstance(value[0], (tuple, list)) and p.name in OF_SEVERAL
            members = value[0] if alone else value
        for member in members:
            if kinds and not any(kind.fits(member) for kind in kinds):
                return name, member, " or ".join(kind.words for kind in kinds)
    return None


def by_name(f: Callable, args: Sequence, kwargs: Mapping) -> dict[str, Any]:
    """Return the arguments of a call by parameter name."""
    signature = inspect.signature(f)
    spelled = {SPELLINGS[p]: p for p in signature.parameters if SPELLINGS.get(p) in kwargs}
    try:
        return signature.bind_partial(*args, **{spelled.get(k, k): v for k, v in kwargs.items()}).arguments
    except TypeError:
        return dict(zip(signature.parameters, args)) | dict(kwargs)


def wanted(p: inspect.Parameter) -> list[Kind]:
    """Return the kinds that a parameter takes; an empty list if they are unknown."""
    annotation = p.annotation if isinstance(p.annotation, str) else getattr(p.annotation, "__name__", "")
    parts = annotation.split(" | ")
    if all(part in BY_ANNOTATION for part in parts):
        return [BY_ANNOTATION[part] for part in parts]
    if p.kind is p.VAR_POSITIONAL:
        return [found] if (found := OF_SEVERAL.get(p.name) or BY_NAME.get(p.name)) else []
    return [BY_NAME[p.name]] if p.name in BY_NAME else []


def longest(named: Mapping[str, Any]) -> tuple[str, int]:
    """Return the argument with the int furthest from zero, and that int."""
    return max(
        ((name, n) for name, a in named.items() for n in ints_in(a)), key=lambda found: abs(found[1]), default=("", 0)
    )


def ints_in(a: Any) -> list[int]:
    """Return the ints of an argument, also those in tuples and lists."""
    return [n for b in a for n in ints_in(b)] if isinstance(a, (tuple, list)) else [a] if isinstance(a, int) else []
