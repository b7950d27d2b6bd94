"""Arguments for a Function when none are given, found by trying shapes until forward runs."""

import inspect
from collections.abc import Iterator
from contextlib import suppress
from itertools import count as numbers_from
from itertools import product
from typing import Any

import numpy as np

from .case import Case, Data
from .library import Library

ALIKE = ((3,), (2, 3), (3, 3), (), (2, 3, 4), (2, 3, 4, 4))
MIXED = ((3,), (2, 3), (3, 4), (4, 3), (4,), ())
ELEMENTS = 64  # of a tensor that is written out as code
NUMBERS = (2, 0.5, 1, 0, -1, True, None)  # for arguments that are not tensors
COUNTING = ("n", "dim", "axis", "k", "power", "p", "size", "scale", "alpha", "eps", "factor")  # names of such arguments


def guessed(library: Library, function: Any, applied: tuple = (), surrogate: str = "") -> tuple[Case | None, bool]:
    """Return a case in which forward and backward run, or else only forward, or else None, and True if it was made up.

    The first guess are the arguments to which the program has `applied` the Function, cut to a smaller size.
    """
    own = Case.of(library, function, applied, surrogate) if applied else None
    if own is not None and runs(own):
        return smaller(own), False
    forward_only = None
    for case in (Case(library, function, args, None, surrogate or None) for args in attempts(library, function)):
        if runs(case) and case.wanted and case.tracked:
            forward_only = forward_only or case
            if differentiates(case):
                return case, True
    return forward_only, True


def runs(case: Case) -> bool:
    """Return True if forward runs on a case; note if it modifies its inputs, so that they must not be leaves."""
    for clone in (False, True):
        with suppress(Exception):
            case.apply(case.inputs(), clone=clone)
            case.traits |= {"in place"} if clone else set()
            return True
    return False


def differentiates(case: Case) -> bool:
    """Return True if backward, as far as there is one, gives gradients."""
    with suppress(Exception):
        return bool(case.wanted and case.tracked and (not case.backward or case.gradients()))
    return False


def smaller(case: Case) -> Case:
    """Return a case of at most ELEMENTS per tensor, if it runs as far; dimensions of one size shrink together."""
    far = differentiates(case)
    while True:
        large = [a for a in case.arrays.values() if a.size > ELEMENTS]
        sizes = {n for a in case.arrays.values() for n in a.shape}
        unused = next(
            n for n in numbers_from(2) if n not in sizes
        )  # equal sizes would hide dimensions that are confused
        for size in sorted({n for a in large for n in a.shape if n > unused}, reverse=True):
            cut = case.cut(size, unused)
            if runs(cut) and differentiates(cut) == far:
                case = cut
                break
        else:
            return case


def attempts(library: Library, function: Any) -> Iterator[tuple]:
    """Yield arguments to try: tensors of one shape, then of several shapes, then fewer tensors followed by numbers."""
    parameters = list(inspect.signature(function.forward).parameters.values())
    if not library.owns(function, "setup_context"):
        parameters = parameters[1:]
    needed = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty]
    fixed = [known_number(p) for p in needed]
    for tensors in range(len(needed), 0, -1):
        free = [k for k, number in enumerate(fixed) if number is None][:tensors]
        numbers = [k for k in range(len(needed)) if k not in free]
        for shapes in shapes_of(len(free)):
            for values in product(NUMBERS, repeat=min(len(numbers), 2)):
                args: list = [values[-1] if values else None] * len(needed)
                for k, value in zip(numbers, values):
                    args[k] = value if fixed[k] is None else fixed[k]
                for place, (k, shape) in enumerate(zip(free, shapes)):
                    args[k] = Data(plain_numbers(shape, place))
                yield tuple(args)


def shapes_of(count: int) -> Iterator[tuple]:
    """Yield shapes for `count` tensors."""
    yield from ((shape,) * count for shape in ALIKE)
    if 1 < count < 4:
        yield from product(MIXED, repeat=count)


def known_number(parameter: inspect.Parameter) -> Any:
    """Return a value if a parameter's annotation or name shows that it is not a tensor; None if it may be one."""
    kinds = {int: 1, float: 0.5, bool: True, str: "mean", "int": 1, "float": 0.5, "bool": True, "str": "mean"}
    if parameter.annotation in kinds:
        return kinds[parameter.annotation]
    return 0 if parameter.name in ("dim", "axis") else 2 if parameter.name in COUNTING else None


def plain_numbers(shape: tuple, place: int) -> np.ndarray:
    """Return distinct positive numbers below 1."""
    n = int(np.prod(shape, dtype=int))
    return (0.15 + 0.8 * ((np.arange(1, n + 1) * 0.618 + 0.37 * place) % 1)).reshape(shape).round(3)
