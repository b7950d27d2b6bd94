"""Name the mistake behind wrong numbers: gradients in the wrong order, a forgotten factor, a sign.

Each rule compares what a learner's code gives with what is expected, in several calls with different numbers, since numbers of
a single call may agree by chance.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

__all__ = ["Mistake", "Sample", "of_gradients", "of_tangent", "of_value"]

MOST = 12  # a larger whole factor is hardly a mistake in a formula


@dataclass(frozen=True)
class Mistake:
    """A mistake: a short name, the same for all who make it, the words for the learner, and a hint."""

    name: str
    words: str
    hint: str = ""


@dataclass
class Sample:
    """Numbers of one call: the arguments by name, and given and expected values, such as the gradients of all arguments.

    Of gradients, `seeds` are the incoming ones by name; `doubled` has the given and expected values with each of them doubled.
    """

    arguments: dict[str, np.ndarray]
    given: list[np.ndarray | None]
    wanted: list[np.ndarray | None]
    seeds: dict[str, np.ndarray] = field(default_factory=dict)
    doubled: list[list[list[np.ndarray | None]]] = field(default_factory=list)

    @property
    def seed(self) -> np.ndarray | None:
        """The only incoming gradient, or None."""
        return next(iter(self.seeds.values())) if len(self.seeds) == 1 else None

    def part(self, k: int) -> Sample:
        """Return the part of each gradient that incoming gradient k contributes: the change if it is doubled."""
        (name, seed), (given, wanted) = list(self.seeds.items())[k], self.doubled[k]
        return Sample(self.arguments, changes(self.given, given), changes(self.wanted, wanted), {name: seed})


def changes(before: Sequence[np.ndarray | None], after: Sequence[np.ndarray | None]) -> list[np.ndarray | None]:
    """Return the differences of arrays, None where one is missing."""
    return [None if a is None or b is None else b - a for a, b in zip(before, after)]


def of_value(what: str, samples: Sequence[Sample], i: int) -> Mistake | None:
    """Return the mistake in value number i, which the message calls `what`, or None if no rule explains it.

    >>> two = np.array([2.0, 3.0])
    >>> of_value("the gradient of x", [Sample({"t": two}, [two], [two * two])], 0).words
    'the gradient of x lacks the factor t'
    """
    pairs = [(s.given[i], s.wanted[i]) for s in samples]
    pairs = [(g, w) for g, w in pairs if g is not None and w is not None]
    if len(pairs) < len(samples) or not any(w.any() for _, w in pairs):
        return None

    def all_of(rule: Callable) -> bool:
        return all(rule(g, w) for g, w in pairs)

    if all_of(lambda g, w: 1 < g.ndim == w.ndim and close(np.swapaxes(g, -1, -2), w)):
        return Mistake("transposed", f"{what} is transposed", "exchange the two factors of @, or use .T")
    if all_of(lambda g, w: g.shape != w.shape and close(summed(g, w.shape), w)):
        shape = list(pairs[0][1].shape)
        return Mistake(
            "not summed over the broadcast dimension",
            f"{what} is not summed over the broadcast dimension",
            f"broadcasting uses each element several times: add up these gradients, to the shape {shape}",
        )
    if any(g.shape != w.shape for g, w in pairs):
        return None
    if all_of(lambda g, w: not g.any()):
        return Mistake("zero", f"{what} is 0")
    if all_of(lambda g, w: close(-g, w)):
        return Mistake("sign", f"{what} has the wrong sign", "look for a minus that is missing, or one too many")
    return of_factor(what, samples, i, pairs)


def of_factor(what: str, samples: Sequence[Sample], i: int, pairs: list) -> Mistake | None:
    """Return the mistake if a factor is missing or too much: an argument, or else a number."""
    for name in samples[0].arguments:
        factors = [s.arguments[name] for s in samples]
        if any(f.ndim and f.shape != w.shape for f, (_, w) in zip(factors, pairs)) or close(np.abs(factors[0]), 1.0):
            continue
        if all(close(g * f, w) for f, (g, w) in zip(factors, pairs)):
            return Mistake(f"without the factor {name}", f"{what} lacks the factor {name}", f"multiply it by {name}")
        if all(close(g, w * f) for f, (g, w) in zip(factors, pairs)):
            return Mistake(
                f"one factor {name} too many", f"{what} has one factor {name} too many", f"divide it by {name}"
            )
    largest = [np.unravel_index(np.abs(w).argmax(), w.shape) for _, w in pairs]
    factor = pairs[0][0][largest[0]] / pairs[0][1][largest[0]]
    whole = factor if abs(factor) > 1 else 1 / factor if factor else 0
    if not 1.5 < abs(whole) < MOST or not close(whole, round(whole)) or not all(close(g, factor * w) for g, w in pairs):
        return None
    if abs(factor) > 1:
        words = f"{what} is {factor:.0f} times as large as it should be"
        return Mistake(f"factor {factor:.0f}", words, f"look for a factor {factor:.0f}, or a sum of equal terms")
    words = f"{what} has to be {whole:.0f} times as large"
    return Mistake(f"factor 1/{whole:.0f}", words, f"a factor {whole:.0f} is missing, or a sum of equal terms")


def of_gradients(names: Sequence[str], samples: Sequence[Sample], i: int, incoming: Sequence[str]) -> Mistake | None:
    """Return the mistake in the gradient of argument i, or None if no rule explains it.

    `names` are those of the arguments with a gradient, `incoming` those of the incoming gradients.
    """
    here, name = samples[0], names[i]
    given, wanted = here.given[i], here.wanted[i]
    if given is None or wanted is None:
        return None
    for j, other in enumerate(names):
        if j != i and all(crossed(s, i, j) for s in samples):
            order = ", ".join(f"grad_{one}" for one in names)
            return Mistake(
                "swapped",
                f"the gradients of {name} and {other} are swapped",
                f"return them in the order of forward's arguments: {order}",
            )
    for k, (grad, (twice, right)) in enumerate(zip(incoming, here.doubled)):
        if close(twice[i], given) and not close(right[i], wanted) and (given.any() or k):
            return Mistake(
                "without the incoming gradient",
                f"the gradient of {name} does not depend on {grad}" + ", the incoming gradient" * (" " not in grad),
                f"multiply the slope by it: {grad} * slope",
            )
    if (found := of_value(f"the gradient of {name}", samples, i)) is not None:
        return found
    if len(incoming) > 1:
        return of_parts(name, samples, i, incoming)
    grad = incoming[0] if " " not in incoming[0] else "grad_output"
    for factor in ("", *here.arguments):
        if all(s.seed is not None and close(s.given[i], s.seed * s.arguments.get(factor, 1.0)) for s in samples):
            formula = f"{grad} * {factor}" if factor else grad
            return Mistake(
                f"as if the derivative were {factor or 1}",
                f"the gradient of {name} is {formula}, as if the derivative were {factor or 1}",
                f"multiply {grad} by the derivative of the result with respect to {name}",
            )
    if all(s.seed is not None and inverted(s.given[i], s.wanted[i], s.seed) for s in samples):
        return Mistake(
            "1 / slope",
            f"the gradient of {name} has 1 / slope instead of the slope",
            f"multiply {grad} where you divide it, or divide where you multiply",
        )
    twice, right = here.doubled[0]
    if close(right[i], 2 * wanted) and not close(twice[i], 2 * given):
        return Mistake(
            "not linear in the incoming gradient",
            f"the gradient of {name} is not {grad} times a slope",
            "multiply the slope by the incoming gradient, once, and add nothing that lacks it",
        )
    return None


def of_parts(name: str, samples: Sequence[Sample], i: int, incoming: Sequence[str]) -> Mistake | None:
    """Return the mistake in what the incoming gradients contribute to the gradient of argument i, if only one part is wrong.

    Two parts that are exchanged are a mistake as well.
    """
    parts = [[sample.part(k) for sample in samples] for k in range(len(incoming))]
    wrong = [k for k, part in enumerate(parts) if not all(close(s.given[i], s.wanted[i]) for s in part)]
    if len(wrong) == 1:
        (k,) = wrong
        return of_value(f"in the gradient of {name}, the part of {incoming[k]}", parts[k], i)
    if len(wrong) == 2 and all(exchanged(a, b, i) for a, b in zip(parts[wrong[0]], parts[wrong[1]])):
        first, second = (incoming[k] for k in wrong)
        return Mistake(
            "incoming gradients swapped",
            f"in the gradient of {name}, {first} and {second} are swapped",
            "backward receives the gradients in the order in which forward returns the outputs",
        )
    return None


def exchanged(first: Sample, second: Sample, i: int) -> bool:
    """Return True if each of two incoming gradients is multiplied by the slope of the other."""
    a, b = first.seed, second.seed
    numbers = first.given[i], first.wanted[i], second.given[i], second.wanted[i]
    if a is None or b is None or any(one is None or one.shape != a.shape for one in (b, *numbers)):
        return False
    mine, right, other, others_right = (np.asarray(one) for one in numbers)
    return close(mine * b, others_right * a) and close(other * a, right * b)


def inverted(given: np.ndarray | None, wanted: np.ndarray | None, seed: np.ndarray) -> bool:
    """Return True if the incoming gradient is divided by the slope, or multiplied, where the other is right."""
    if given is None or wanted is None or not np.shape(given) == np.shape(wanted) == np.shape(seed):
        return False
    return close(given * wanted, seed**2) and not close(np.abs(given), np.abs(wanted))


def of_tangent(
    what: str,
    names: Sequence[str],
    samples: Sequence[Sample],
    i: int,
    along: Callable[[tuple], Sample],
    direction: tuple,
) -> Mistake | None:
    """Return the mistake in the tangent of result i in a direction; `along` is a sample in another one."""
    here = samples[0]
    for j, name in enumerate(names):
        moved = along((*direction[:j], direction[j] * 2 + 1, *direction[j + 1 :]))
        if close(moved.given[i], here.given[i]) and not close(moved.wanted[i], here.wanted[i]):
            return Mistake(
                "without the incoming tangent",
                f"{what} does not depend on the tangent of {name}",
                f"multiply it by the derivative with respect to {name}, and add the product",
            )
    for j, k in itertools.combinations(range(len(names)), 2):
        other = list(direction)
        other[j], other[k] = direction[k], direction[j]
        if direction[j].shape == direction[k].shape and close(along(tuple(other)).wanted[i], here.given[i]):
            return Mistake(
                "swapped",
                f"in {what}, the tangents of {names[j]} and {names[k]} are swapped",
                "jvp receives tangents in the order of forward's arguments",
            )
    return of_value(what, samples, i)


def crossed(sample: Sample, i: int, j: int) -> bool:
    """Return True if two values are in each other's place, and differ."""
    (a, b), (c, d) = (sample.given[i], sample.given[j]), (sample.wanted[i], sample.wanted[j])
    return close(a, d) and close(b, c) and not close(c, d)


def summed(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """Sum an array over the dimensions along which a tensor of the shape is broadcast to it; None if it is not."""
    try:
        if np.broadcast_shapes(array.shape, shape) != array.shape:
            return None
    except ValueError:
        return None
    array = array.sum(tuple(range(array.ndim - len(shape))))
    return array.sum(tuple(d for d, n in enumerate(shape) if n != array.shape[d]), keepdims=True)


def close(a: np.ndarray | float | None, b: np.ndarray | float | None) -> bool:
    """Return True if two arrays have the same shape and, up to rounding, the same numbers.

    >>> close(np.ones(2), np.ones(2)), close(np.ones(2), None), close(np.ones(2), np.ones(3))
    (True, False, False)
    """
    if a is None or b is None:
        return False
    same = np.ndim(b) == 0 or np.shape(a) == np.shape(b)
    return same and bool(np.allclose(a, b, rtol=1e-4, atol=1e-6))
