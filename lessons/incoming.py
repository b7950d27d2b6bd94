"""Calls of a function with a backward pass from incoming gradients, which a check draws for the learner.

The numbers are short, such as 0.7 or -1.3, never 1, and all different: ones would hide a forgotten or exchanged gradient.
The same learner gets the same ones in an exercise, so a verdict, its picture and a second try agree.
"""

import contextlib
import getpass
import inspect
import itertools
import math
import random
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

import minigrad
from minigrad import Tensor
from minigrad.autograd import forward_ad
from minigrad.record.passes import applied, parameter_names

__all__ = ["Call", "arguments_of", "called", "copies", "drawn", "for_learner", "names_of", "pushed"]

TENTHS = [n for n in range(3, 30) if n % 5]  # 0.3 to 2.9
_seed: ContextVar[str] = ContextVar("seed", default="")


@contextlib.contextmanager
def for_learner(exercise: str, student: str = "") -> Iterator[None]:
    """Draw the numbers of this student, or of the person who is logged in, within the block."""
    if not student:
        with contextlib.suppress(OSError, KeyError, ImportError):  # no name is known
            student = getpass.getuser()
    token = _seed.set(f"{exercise} {student}")
    try:
        yield
    finally:
        _seed.reset(token)


def drawn(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    """Return an array of short random numbers for each shape; arrays, so that a record has no operation of theirs.

    >>> with for_learner("CombinedSine", "ada"):
    ...     first, again = drawn((2,)), drawn((2,))
    >>> first[0].tolist() == again[0].tolist()
    True
    """
    chance = random.Random(_seed.get())
    numbers = (chance.choice((-1, 1)) * n / 10 for _ in itertools.count() for n in chance.sample(TENTHS, len(TENTHS)))
    return [np.array(list(itertools.islice(numbers, math.prod(shape)))).reshape(shape) for shape in shapes]


@dataclass
class Call:
    """A call: what it returned, the incoming gradients of the results with a graph, and the gradients of the arguments.

    `incoming` has them by name.  It is empty, and `gradients` None, if no argument requires grad or the graph is cut.
    """

    results: Any
    incoming: dict[str, Tensor]
    gradients: tuple[Tensor | None, ...] | None


def called(f: Callable, args: tuple, scales: tuple[float, ...] = ()) -> Call:
    """Call a function and run backward for the tensors among `args` that require grad.

    `scales` multiplies the incoming gradients of the first, second ... result.

    >>> with for_learner("an exercise", "ada"):
    ...     call = called(lambda x: 2 * x, (minigrad.tensor(3.0, requires_grad=True),))
    >>> call.gradients[0] == 2 * call.incoming["the incoming gradient"]
    tensor(True)
    """
    call = Call(f(*args), {}, None)
    several = call.results if isinstance(call.results, (tuple, list)) else (call.results,)
    tracked = {i: r for i, r in enumerate(several) if getattr(r, "grad_fn", None)}
    leaves = [a for a in args if isinstance(a, Tensor) and a.requires_grad]
    if not tracked or not leaves:
        return call
    roots, names = list(tracked.values()), names_of(f, len(several))
    numbers, factors = drawn(*[tuple(r.shape) for r in roots]), itertools.chain(scales, itertools.repeat(1.0))
    seeds = [minigrad.tensor(k * g, dtype=r.dtype) for r, g, k in zip(roots, numbers, factors)]
    call.incoming = {names[i]: seed for i, seed in zip(tracked, seeds)}
    call.gradients = minigrad.autograd.grad(roots, leaves, seeds, allow_unused=True)
    return call


def pushed(f: Callable, point: tuple, direction: tuple) -> list[Tensor | None]:
    """Return the tangent of each result of a function, at a point and in a direction.

    >>> pushed(lambda x: 2 * x, (minigrad.tensor(3.0),), (minigrad.tensor(10.0),))
    [tensor(20.)]
    """
    with forward_ad.dual_level():
        results = f(*map(forward_ad.make_dual, point, direction))
        several = results if isinstance(results, (tuple, list)) else (results,)
        return [forward_ad.unpack_dual(one).tangent for one in several]


def arguments_of(f: Callable, count: int) -> list[str]:
    """Return the names of a function's first parameters, or of those of the Function that it wraps (`expect.calling`)."""
    return parameter_names(inspect.unwrap(f), count)


def names_of(f: Callable, count: int) -> list[str]:
    """Return the names of the incoming gradients: the parameters of a custom Function's backward, if f is its `apply`.

    >>> names_of(lambda x: x, 1), names_of(lambda x: (x, x), 2)
    (['the incoming gradient'], ['incoming gradient 0', 'incoming gradient 1'])
    """
    function = applied(inspect.unwrap(f))
    with contextlib.suppress(TypeError, ValueError):
        method = getattr(function, "backward" if "backward" in vars(function) else "vjp") if function else None
        found = list(inspect.signature(method).parameters.values())[1:] if method else []
        if len(found) == count and all(p.kind is p.POSITIONAL_OR_KEYWORD for p in found):
            return [p.name for p in found]
    return ["the incoming gradient"] if count == 1 else [f"incoming gradient {i}" for i in range(count)]


def copies(args: tuple) -> tuple:
    """Copy the tensors among arguments, so that a call that modifies them does not affect another."""
    return tuple(a.detach().clone().requires_grad_(a.requires_grad) if isinstance(a, Tensor) else a for a in args)
