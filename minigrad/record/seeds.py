"""The seeds of the derivative passes: the tangents of leaves and the gradients of results; both are ones unless given.

They are named as the program or a picture names its tensors, and serve the recordings of both libraries: they are NumPy
arrays.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..errors import error
from ..places import is_library_frame, local_variables
from .labels import as_expression, as_label
from .tensor_names import is_module, names_in
from .values import NOTHING, bottom

RANDOM, FIRST = "random", "first"
SEED = 0  # of random directions: the same picture in each run


class Seeds:
    """The seeds of one recording.

    Args:
        tangent: values by the names of leaves, or by their numbers in the order of use, each possibly "random"; the other
            leaves do not move.  "random" alone is for all leaves, "first" is 1 at the first element of the first leaf and 0
            elsewhere.  None: ones at all leaves.
        grad: the gradient of the only result, or gradients by the names of results, each possibly "random".  "first" is 1 at
            the first element of the first result and 0 elsewhere.  None: ones.
        known: names of tensors by id, which a picture takes from the function that it draws.

    >>> seeds = Seeds(tangent={"x": [1, 0]})
    >>> seeds.direction(None, (2,), np.dtype("float32"), "x"), seeds.direction(None, (), np.dtype("float32"), "w")
    (array([1., 0.], dtype=float32), None)
    """

    def __init__(self, tangent: Mapping | str | None = None, grad: Any = None, known: Mapping[int, str] = NOTHING):
        if isinstance(tangent, str) and tangent not in (RANDOM, FIRST):
            fix = f'pass a dictionary such as {{"x": [1.0, 0.0]}}, "{RANDOM}" or "{FIRST}"'
            raise error(ValueError, "record", f"the tangent {tangent!r} is no direction", fix)
        self.tangent, self.grad, self.known = tangent, grad, known
        self.leaves: dict[int, tuple] = {}  # by id: each leaf so far, its name and its shape
        self.problems: list[tuple[str, str]] = []
        self.used: set[Any] = set()

    def direction(self, t: Any, shape: tuple, dtype: np.dtype, name: str = "") -> np.ndarray | None:
        """Return the tangent of a leaf that a recording meets; None if it does not move, or has no name yet."""
        self.leaves.setdefault(id(t), (t, "", tuple(shape)))
        if self.tangent is None:
            return np.ones(shape, dtype)
        number = list(self.leaves).index(id(t))
        if self.tangent == FIRST:
            return unit(shape, dtype) if number == 0 and np.prod(shape) else None
        names = [*filter(None, (name, self.known.get(id(t)))), *names_of(t)]
        title = (names[0] if name or id(t) in self.known else names[-1]) if names else ""
        self.leaves[id(t)] = t, as_expression(title) or title, tuple(shape)
        if isinstance(self.tangent, str):
            return self.fitting("tangent", title, self.tangent, shape, dtype)
        for key, given in self.tangent.items():
            if is_among(key, names) if isinstance(key, str) else key == number:
                self.used.add(key)
                return self.fitting("tangent", title, given, shape, dtype)
        return None

    def gradients(self, shapes: Sequence[tuple], dtypes: Sequence, names: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """Return the gradients of the results, each of which may have several names; raise ValueError for unknown names."""
        given = self.grad
        if isinstance(given, str) and given == FIRST:
            return [
                unit(shape, dtype) if i == 0 and np.prod(shape) else np.zeros(shape, dtype)
                for i, (shape, dtype) in enumerate(zip(shapes, dtypes))
            ]
        if given is not None and not isinstance(given, Mapping) and len(shapes) > 1:
            known = ", ".join(filter(None, map(one_of, names)))
            fix = f"pass a dictionary with the names of results{': ' * bool(known)}{known}"
            raise error(ValueError, "record", f"grad is one gradient, and there are {len(shapes)} results", fix)
        if not isinstance(given, Mapping):
            given = {} if given is None else {one_of(names[0]): given}
        if unknown := [one for one in given if not any(is_among(one, some) for some in names)]:
            self.unknown("grad", unknown[0], "a result", [(one_of(some), shape) for some, shape in zip(names, shapes)])
        found = []
        for shape, dtype, some in zip(shapes, dtypes, names):
            name = next((one for one in given if is_among(one, some)), None)
            seed = np.ones(shape, dtype) if name is None else self.fitting("grad", name, given[name], shape, dtype)
            found.append(np.ones(shape, dtype) if seed is None else seed)
        self.check()
        return found

    def fitting(self, what: str, name: str, given: Any, shape: tuple, dtype: Any) -> np.ndarray | None:
        """Return a seed as an array, or note why it does not fit."""
        if isinstance(given, str) and given == RANDOM:
            return np.random.default_rng(SEED).standard_normal(shape).astype(dtype)
        try:
            array = np.asarray(bottom(given) if isinstance(given, Tensor) else given).astype(dtype)
        except (TypeError, ValueError):
            array = None
        if array is not None and array.shape == tuple(shape):
            return array
        has = "is not a tensor of numbers" if array is None else f"has shape {array.shape}"
        title = name or "the result"
        problem = f"the {what} of {title} {has}, and {title} has shape {tuple(shape)}"
        self.problems.append((problem, f"pass {example(shape)}"))
        return None

    def unknown(self, what: str, name: str, kind: str, known: Sequence[tuple[str, tuple]]) -> None:
        """Raise ValueError for a name that has no seed."""
        there = ", ".join(f"{one} {shape}" for one, shape in known if one) or "none with a name"
        raise error(ValueError, "record", f"{what} names {name!r}, which is not {kind} here", f"choose from {there}")

    def check(self) -> None:
        """Raise ValueError if a seed does not fit, or its name is unknown, now that all leaves are known."""
        for problem, fix in self.problems:
            raise error(ValueError, "record", problem, fix)
        for name in self.tangent if isinstance(self.tangent, Mapping) else ():
            if name not in self.used and self.leaves:
                self.unknown(
                    "tangent", name, "a leaf that requires grad", [known[1:] for known in self.leaves.values()]
                )


def refuse_gradient(seeds: Seeds | None) -> None:
    """Raise ValueError if a gradient is given for a program that runs backward itself."""
    if seeds is not None and seeds.grad is not None:
        fix = "leave out grad, or remove backward from the program"
        raise error(ValueError, "record", "the program runs backward itself, with its own gradient", fix)


def unit(shape: tuple, dtype: Any) -> np.ndarray:
    """Return the first basis vector."""
    made = np.zeros(shape, dtype)
    made[(0,) * len(shape)] = 1
    return made


def one_of(names: Sequence[str]) -> str:
    """Return the first of a result's names, or ""."""
    return names[0] if names else ""


def example(shape: tuple) -> str:
    """Return a value of a shape as one would type it.

    >>> example((3,)), example((20, 20))
    ('[1.0, 0.0, 0.0]', '"random", or a tensor of shape (20, 20)')
    """
    small = int(np.prod(shape)) <= 8
    return (
        str(unit(shape, float).tolist())
        if small and 0 not in shape
        else f'"{RANDOM}", or a tensor of shape {tuple(shape)}'
    )


def names_of(t: Any) -> Iterator[str]:
    """Yield the names that the running functions of the user have for a tensor, from the innermost to the module's."""
    frame, modules = sys._getframe(1), dict[int, dict]()
    while frame is not None:
        if not is_library_frame(frame):
            modules[id(frame.f_globals)] = frame.f_globals
            for name, value in local_variables(frame).items() if frame.f_locals is not frame.f_globals else ():
                yield from paths(t, name, value)
        frame = frame.f_back
    for name, value in [pair for one in modules.values() for pair in list(one.items())]:
        yield from paths(t, name, value)


def paths(t: Any, name: str, value: Any) -> Iterator[str]:
    """Yield the names of a tensor in a variable, or in the attributes of an object that the variable holds.

    A parameter inside of a module's modules has its path alone as another name: `fc.weight` beside `net.fc.weight`.
    """
    holds = is_module(value) or isinstance(value, type | ModuleType | Tensor) or type(value) is type(t)
    parts = [] if holds else [(f"{name}.{key}", part) for key, part in getattr(value, "__dict__", {}).items()]
    for variable, one in ((name, value), *parts):
        for path, _ in names_in(variable, one, lambda one: one is t):
            inside = path.removeprefix(f"{variable}.")
            yield from (inside, path) if is_module(one) and "." in inside else (path,)


def is_among(given: str, names: Iterable[str]) -> bool:
    """Return True if a user's name for a value is one of its names, as the program or as a picture writes them.

    >>> is_among("net[0].weight", ["net.0.weight"]), is_among("batch.left", ['batch["left"]']), is_among("exp_", ["exp"])
    (True, True, True)
    """
    words = lambda name: re.findall(r"\w+", name)
    return any(words(given) in (words(name), words(as_expression(name)), [as_label(name)]) for name in names)
