"""Random tensors and the generators that they come from.

Every draw goes through `draw`, which gets an array of noise from a Generator and handles vmap's `randomness`; an operation
with tensor arguments is then an ordinary function of these and the noise.  Generators are in generator.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..arrays import dtypes, halves
from ..arrays.devices import CPU, default_device
from ..arrays.kinds import as_array
from ..arrays.meta import has_numbers
from ..core.frames import current
from ..core.inplace import inplace
from ..core.tensor import Tensor, wrap
from ..errors import error
from ..events import events, unheard
from ..layers.transform import layers_of
from .base.families import NonDifferentiable, Operation, Pointwise
from .base.registry import op
from .broadcast import broadcast_shapes, broadcast_tensors
from .copy import Copy, on_device
from .create import factory, is_plain_mode, number, of_tensor, settings, sizes
from .from_data import chosen, made
from .generator import Generator, default_generator, source
from .products import one_dtype
from .public_functions import called
from .sort import SearchSorted


def draw(who: str, shape: Any, generator: Generator | None, sample: Callable, device: Any = None) -> Tensor:
    """Return noise `sample(rng, shape)` as a tensor; under vmap with randomness="different", separately for each example.

    It is on the given device, by default the device of new tensors.  Raises RuntimeError under vmap with randomness="error".
    """
    if (device is None or device is CPU) and generator is None and events.drawn is unheard and is_plain_mode():
        return wrap(as_array(sample(default_generator._rng, tuple(shape))))
    layers = current().layers()
    if any(getattr(layer, "randomness", None) == "error" for layer in layers):
        what = "vmap: called random operation while in randomness error mode"
        fix = 'pass randomness="different" to vmap for separate numbers for each example, or randomness="same"'
        raise error(RuntimeError, who, what, fix)
    batches = [layer for layer in layers if getattr(layer, "randomness", None) == "different"]
    size = (*[layer.size for layer in batches], *shape)
    drawn_from = source(generator, on_device(default_device() if device is None else device), who)
    for layer in layers:
        if hasattr(layer, "drawing"):  # a capture of the program, which must draw anew in each call
            layer.drawing(drawn_from, sample, size)
    t = made(as_array(sample(drawn_from._rng, size)), batches=batches)
    events.drawn(t)
    return t


def floating(dtype: np.dtype, who: str) -> np.dtype:
    """Return the dtype; raise NotImplementedError unless it is floating-point."""
    if dtype not in dtypes.FLOATS:
        raise error(NotImplementedError, who, f"not implemented for {dtype}", "use a floating-point dtype, or randint")
    return dtype


def fine(dtype: np.dtype) -> np.dtype:
    """Return the dtype in which numbers of a dtype are drawn: half precision is too coarse."""
    return dtypes.F4 if dtype in dtypes.HALVES else dtype


def in_order_of(like: Tensor | None, sample: Callable, dense: bool = False) -> Callable:
    """Return `sample`, made to draw in the order of a tensor's memory, or of that of a `dense` one."""
    strides = like._a.strides if type(like) is Tensor and not like._a.flags.c_contiguous else ()
    own = sorted(range(len(strides)), key=lambda d: -strides[d])
    row_major = not strides or dense and own == list(range(len(strides)))

    def ordered(rng: Any, size: tuple) -> Any:
        examples = len(size) - len(own)  # vmap's dimensions come first
        order = [*range(examples), *[examples + d for d in own]]
        back = [order.index(d) for d in range(len(order))]
        return sample(rng, tuple([size[d] for d in order]), row_major).transpose(back)

    return ordered if strides else lambda rng, size: sample(rng, size, True)


def uniform(
    shape: Any, dtype: np.dtype, generator: Any = None, who: str = "rand", device: Any = None,
    low: float = 0.0, high: float = 1.0, like: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return numbers in [low, high); a number that is rounded to `high` becomes `low`, as in PyTorch."""
    kind = fine(floating(dtype, who))

    def sample(rng: Any, size: tuple, row_major: bool) -> Any:
        x = rng.uniform(size, kind)
        if (low, high) != (0, 1):
            x = x * kind.type(high - low) + kind.type(low)
        x = halves.narrowed(x, dtype) if kind is not dtype else x
        return x if kind is dtype and (low, high) == (0, 1) else np.where(x == dtype.type(high), dtype.type(low), x)

    return draw(who, shape, generator, in_order_of(like, sample), device)


def gaussian(
    shape: Any, dtype: np.dtype, generator: Any = None, who: str = "randn", device: Any = None,
    mean: float = 0.0, std: float = 1.0, like: Tensor | None = None, dense: bool = False,
) -> Tensor:  # fmt: skip
    """Return normal numbers; in a memory that is not row-major they are drawn one by one."""
    floating(dtype, who)
    sample = lambda rng, size, row_major: rng.normal(size, dtype, mean, std, row_major)
    return draw(who, shape, generator, in_order_of(like, sample, dense), device)


def integers(
    low: int, high: int, shape: Any, dtype: np.dtype, generator: Any = None, who: str = "randint", device: Any = None,
    like: Tensor | None = None, wide: bool | None = None,
) -> Tensor:  # fmt: skip
    """Return integers in [low, high); `wide` as in Stream.integers."""
    low, high = number(low, who), number(high, who)
    if isinstance(low, float) or isinstance(high, float):
        raise error(TypeError, who, f"expects integers as limits, got low={low} and high={high}", "round them first")
    if low >= high:
        what = f"expects low to be less than high, but got low={low} >= high={high}"
        fix = f"write low={high}, high={low}" if low > high else f"write high={high + 1}"
        raise error(RuntimeError, who, what, fix)
    if dtype.kind in "iu" and not (least(dtype) <= low and high - 1 <= largest(dtype)):
        what = f"the limits {low} and {high} - 1 are out of bounds for {dtype}"
        raise error(RuntimeError, who, what, "choose dtype=minigrad.int64, or limits that fit")
    sample = lambda rng, size, row_major: rng.integers(low, high, size, wide).astype(dtype, copy=False)
    return draw(who, shape, generator, in_order_of(like, sample), device)


def plainly(name: str) -> Callable:
    """Return a function that draws floats of a shape and a dtype from the default generator, unless an observer follows."""

    def plain(shape: tuple, dtype: np.dtype) -> np.ndarray | None:
        if events.drawn is unheard and (dtype is dtypes.F4 or dtype is dtypes.F8):
            return getattr(default_generator._rng, name)(shape, dtype)
        return None

    return plain


UNIFORM, NORMAL = plainly("uniform"), plainly("normal")


@factory("2, 3", "()", "(0, 2)", "3, dtype=torch.float64", plain=UNIFORM)
def rand(
    *args: Any, size: Any = None, generator: Generator | None = None, dtype: Any = None, device: Any = None
) -> Tensor:
    """Return random numbers, uniform in [0, 1)."""
    return uniform(sizes(args, size, "rand"), chosen(dtype), generator, "rand", device)


@factory("2, 3", "()", "(0, 2)", "3, dtype=torch.float64", plain=NORMAL)
def randn(
    *args: Any, size: Any = None, generator: Generator | None = None, dtype: Any = None, device: Any = None
) -> Tensor:
    """Return random numbers, normal with mean 0 and variance 1."""
    return gaussian(sizes(args, size, "randn"), chosen(dtype), generator, "randn", device)


@factory("5, (2, 3)", "-2, 4, (6,)")
def randint(
    low: Any = None,
    high: Any = None,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
) -> Tensor:
    """Return random integers in [low, high): `randint(high, size)` or `randint(low, high, size)`."""
    if size is None and isinstance(high, (tuple, list)):
        high, size = None, high
    if low is None:
        low, high = high, None
    if size is None or low is None:
        what = "missing the arguments high or size"
        raise error(TypeError, "randint", what, "write randint(high, size) or randint(low, high, size)")
    if high is None:
        low, high = 0, low
    target = dtypes.I8 if dtype is None else dtypes.numpy_dtype(dtype)
    return integers(low, high, sizes((), size, "randint"), target, generator, "randint", device)


@factory("5", "0")
def randperm(n: int, *, generator: Generator | None = None, dtype: Any = None, device: Any = None) -> Tensor:
    """Return the numbers 0 to n - 1 in random order."""
    (n,) = sizes((n,), None, "randperm")
    target = dtypes.numpy_dtype(dtypes.int64 if dtype is None else dtype)
    if n - 1 > largest(target):
        raise error(RuntimeError, "randperm", f"n = {n} is too large for {target}", "leave dtype out")

    shuffled = lambda rng, size: rng.permutations(size).astype(target, copy=False)
    return draw("randperm", (n,), generator, shuffled, device)


@factory("T(2, 3)", "T(), dtype=torch.float32", out=False, given=of_tensor(UNIFORM))
def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    memory_format: Any = None,
) -> Tensor:
    """Return random numbers, uniform in [0, 1), in input's shape and dtype."""
    kind, place = settings(input, dtype, device)
    return uniform(input.shape, kind, generator, "rand_like", place, like=input)


@factory("T(2, 3)", "T(), dtype=torch.float32", out=False, given=of_tensor(NORMAL))
def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    memory_format: Any = None,
) -> Tensor:
    """Return random numbers, normal with mean 0 and variance 1, in input's shape and dtype."""
    kind, place = settings(input, dtype, device)
    return gaussian(input.shape, kind, generator, "randn_like", place, like=input, dense=True)


@factory("T(2, 3), 5", "I(2, 3, 4), -2, 2", out=False)
def randint_like(
    input: Tensor,
    low: Any = None,
    high: Any = None,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    memory_format: Any = None,
) -> Tensor:
    """Return random integers below `low`, or in [low, high), in input's shape and dtype."""
    low, high = (0, low) if high is None else (low or 0, high)
    kind, place = settings(input, dtype, device)
    return integers(low, high, input.shape, kind, generator, "randint_like", place, like=input)


# ---------------------------------------------------------------------- with tensors as parameters
def zero_gradient(g: Tensor, shape: tuple) -> Tensor:
    """Return the gradient of a parameter of a draw: zeros, as in PyTorch."""
    return g.new_zeros(shape)


class Draw(Operation):
    """Base class of the operations that draw random numbers; the gradients of their parameters are 0."""


class Bernoulli(Draw):
    """1 where the noise is below the probability p, else 0."""

    dp = zero_gradient
    batch = lambda p, noise: (p, noise)

    @staticmethod
    def impl(p: np.ndarray, noise: np.ndarray) -> np.ndarray:
        if p.size and has_numbers(p) and not (p.min() >= 0 and p.max() <= 1):
            what = f"probabilities must be in [0, 1], found {float(p.min()):g} to {float(p.max()):g}"
            raise error(RuntimeError, "bernoulli", what, "pass probabilities, not logits: use sigmoid")
        return (noise < p).astype(p.dtype)


class Normal(Draw):
    """mean + std * noise; mean and std have no derivatives."""

    node, number_nodes = "NormalBackward3", {0: "NormalBackward2", 1: "NormalBackward1"}
    dmean = zero_gradient
    dstd = zero_gradient
    n_conditions, n_settings = 0, 0  # all are operands, as Pointwise.vmap requires

    @staticmethod
    def impl(mean: Any, std: Any, noise: np.ndarray) -> np.ndarray:
        if np.size(std) and has_numbers(std) and not np.min(std) >= 0:
            what = f"expects all elements of std >= 0.0, but found {float(np.min(std)):g}"
            raise error(RuntimeError, "normal", what, "write std.abs(), or logstd.exp()")
        return noise * std + mean

    def vmap(info: Any, in_dims: tuple, mean: Any, std: Any, noise: Tensor) -> tuple:
        """Make the ranks behind the batch dimension equal, as for every operation that broadcasts."""
        return Pointwise.vmap(info, in_dims, mean, std, noise)


class Poisson(Draw):
    """Random counts of the given means."""

    drate = zero_gradient

    @staticmethod
    def impl(rate: np.ndarray, generator: Generator) -> np.ndarray:
        if rate.size and has_numbers(rate) and not (np.min(rate) >= 0 and np.max(rate) < 2.0**62):
            what = f"means must be from 0 to about 2**62, got {np.min(rate).item():g} to {np.max(rate).item():g}"
            raise error(RuntimeError, "poisson", what, "write input.clamp(min=0)")
        return generator._rng.each("poissons", rate).astype(rate.dtype)

    batch = lambda rate, generator: (rate, generator)


class Binomial(NonDifferentiable):
    """Random numbers of successes in `count` trials of the probabilities p."""

    batch = lambda count, p, generator: (count, p, generator)

    @staticmethod
    def impl(count: np.ndarray, p: np.ndarray, generator: Generator) -> np.ndarray:
        for name, x, most in (("counts", count, 2.0**53), ("probabilities", p, 1.0)):
            if x.size and has_numbers(x) and not (np.min(x) >= 0 and np.max(x) <= most):
                what = f"{name} must be from 0 to {most:g}, got {np.min(x).item():g} to {np.max(x).item():g}"
                raise error(RuntimeError, "binomial", what, "pass probabilities, not logits: use sigmoid")
        return generator._rng.each("binomials", count, p).astype(count.dtype)


class Multinomial(NonDifferentiable):
    """Positions along the last dimension, drawn with the weights p, from noise of the shape of the result or of p."""

    batch = lambda p, noise, n, replacement: (p, noise, n, replacement)

    @staticmethod
    def impl(p: np.ndarray, noise: np.ndarray, n: int, replacement: bool) -> np.ndarray:
        if has_numbers(p) and not (np.isfinite(p).all() and (p >= 0).all()):
            what = "probability tensor contains either `inf`, `nan` or element < 0"
            raise error(RuntimeError, "multinomial", what, "pass weights of at least 0, such as logits.softmax(-1)")
        if has_numbers(p) and not (p.sum(-1) > 0).all():
            what = "invalid multinomial distribution (sum of probabilities <= 0)"
            raise error(RuntimeError, "multinomial", what, "pass at least one positive weight per row")
        if not replacement:  # exponential clocks: the one of rate p rings first with probability p
            with np.errstate(all="ignore"):
                rate = halves.widened(np.where(p > 0, p / noise, p.dtype.type(-1)))
                order = np.argsort(-rate, axis=-1, kind="stable")
            return order[..., :n].astype(np.int64)
        ends = np.cumsum(p, -1, np.float64)
        last = p.shape[-1] - 1 - np.argmax(p[..., ::-1] > 0, -1)[..., None]  # rounding must not select a weight of 0
        below = SearchSorted.impl(ends, noise * ends[..., -1:], True)
        return np.minimum(below, last).astype(np.int64)


@op("P(2, 3) / 2", "P(4) / 4, 0.5", out=True, method=True, differentiable=False)
def bernoulli(input: Tensor, p: float | None = None, *, generator: Generator | None = None) -> Tensor:
    """Draw 0 or 1 for each element of `input`, 1 with the probability in that element, or with probability p everywhere.

    Its gradient is zero.  Raises RuntimeError for probabilities outside [0, 1].
    """
    floating(input._np_dtype, "bernoulli")
    kind = fine(input._np_dtype) if p is None else dtypes.F8
    noise = uniform(input.shape, kind, generator, "bernoulli", input.device)
    return Bernoulli.apply(input if p is None else input.new_full(tuple(input.shape), p), noise)


@factory("T(3), 1.0", "0.0, P(3)", "T(2), P(3, 1)", "0.0, 1.0, (2, 3)")
def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
) -> Tensor:
    """Draw normal numbers with the given mean and standard deviation; pass `mean`, `std` or both as tensors, or a `size`.

    Gradients of mean and std are zero (write mean + std * randn_like(std) for gradients).
    """
    tensors = [t for t in (mean, std) if isinstance(t, Tensor)]
    if not tensors and size is None:
        what = "missing the argument size: neither mean nor std is a tensor"
        raise error(TypeError, "normal", what, "write normal(0, 1, (2, 3))")
    shape = broadcast_shapes(*[t.shape for t in tensors]) if tensors else sizes((size,), None, "normal")
    target, place = (tensors[0]._np_dtype, tensors[0].device) if tensors else (chosen(dtype), device)
    return Normal.apply(mean, std, gaussian(shape, target, generator, "normal", place))


@op("P(2, 3)", method=False, differentiable=False)
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw random counts with the means in `input`.  Its gradient is zero."""
    return Poisson.apply(per_example("poisson", generator, input), source(generator, input.device, "poisson"))


@op("0 * P(2, 3) + 5, P(2, 3) / 2", "0 * P(3) + 9, P(2, 1) / 2", method=False, differentiable=False)  # fmt: skip
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Draw numbers of successes in `count` trials that succeed with the probability `prob`; the two are broadcast.

    Raises ValueError for counts that are not floating point, RuntimeError for two dtypes, negative counts and
    probabilities outside [0, 1].

    >>> import minigrad
    >>> minigrad.binomial(minigrad.tensor([3.0, 8.0]), minigrad.tensor([0.0, 1.0]))
    tensor([0., 8.])
    """
    if not count.is_floating_point():
        what = f"only supports floating-point dtypes for count, got {count.dtype.name}"
        raise error(ValueError, "binomial", what, "convert it: count.float()")
    one_dtype("binomial", count, prob, names=("count", "prob"))
    count, prob = broadcast_tensors(per_example("binomial", generator, count, prob), prob)
    return Binomial.apply(count, prob, source(generator, count.device, "binomial"))


def per_example(who: str, generator: Generator | None, x: Tensor, *others: Tensor) -> Tensor:
    """Return x, the first parameter of draws; under vmap with different randomness, one x for each example."""
    if any(getattr(layer, "randomness", None) == "same" for t in (x, *others) for layer in layers_of(t)):
        what = "cannot draw the same numbers for different parameters under vmap with randomness='same'"
        raise error(RuntimeError, who, what, "pass randomness='different' to vmap")
    if not any([hasattr(layer, "randomness") or hasattr(layer, "drawing") for layer in current().layers()]):
        return x
    return x + draw(who, (), generator, lambda rng, size: np.zeros(size, x._np_dtype), x.device).to(x.device)


@op("P(4), 3", "P(2, 4), 2", "P(3), 5, True", out=True, method=True, differentiable=False)
def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
) -> Tensor:
    """Draw `num_samples` positions in each row of `input`, with its elements as weights, as int64.

    Raises RuntimeError for weights that are negative, infinite or all zero, and for more samples than a row has
    positions (unless `replacement`).
    """
    if input.ndim not in (1, 2):
        what = f"the weights must be 1 or 2 dim, got shape {tuple(input.shape)}"
        raise error(RuntimeError, "multinomial", what, "write input.reshape(-1, input.shape[-1])")
    if input._np_dtype not in dtypes.FLOATS:
        what = f"only supports floating-point dtypes for input, got: {input.dtype}"
        raise error(RuntimeError, "multinomial", what, "write input.float()")
    if num_samples <= 0:
        what = f"cannot sample n_sample <= 0 samples, got {num_samples}"
        raise error(RuntimeError, "multinomial", what, "write num_samples=1")
    if not replacement and num_samples > input.shape[-1]:
        raise error(
            RuntimeError,
            "multinomial",
            f"cannot sample n_sample > prob_dist.size(-1) samples without replacement: "
            f"{num_samples} > {input.shape[-1]}",
            "pass replacement=True",
        )
    if replacement := replacement and num_samples > 1:
        noise = uniform((*input.shape[:-1], num_samples), dtypes.F8, generator, "multinomial", input.device)
    else:
        noise = exponentials("multinomial", input.shape, generator, input.device, input).to(input.dtype)
    return Multinomial.apply(input, noise, num_samples, replacement)


# ---------------------------------------------------------------------- into a tensor's memory
def uniform_(self: Tensor, low: float = 0.0, high: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers uniform in [low, high)."""
    if not low <= high:
        what = f"expects to return a [from, to) range, but found from={low} > to={high}"
        raise error(RuntimeError, "uniform_", what, f"write uniform_({high}, {low})")
    dtypes.check_fits("uniform_", self._np_dtype, low, high, high - low)
    return inplace(
        Copy, self, uniform(self.shape, self._np_dtype, generator, "uniform_", self.device, low, high, like=self)
    )


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with normal numbers."""
    if not std >= 0:
        what = f"expects std >= 0.0, but found std {std}"
        raise error(RuntimeError, "normal_", what, "pass a std of at least 0; for a variance v, write v ** 0.5")
    noise = gaussian(self.shape, self._np_dtype, generator, "normal_", self.device, mean, std, like=self)
    return inplace(Copy, self, noise)


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill with 0 and 1, 1 with probability p, a number or a tensor of probabilities."""
    p, kind = (p, fine(p._np_dtype)) if isinstance(p, Tensor) else (made(np.full((), p), device=self.device), dtypes.F8)
    noise = uniform(self.shape, kind, generator, "bernoulli_", self.device, like=self)
    return inplace(Copy, self, Bernoulli.apply(p.detach().expand(self.shape), noise))


waits = lambda rng, size: -np.log1p(-rng.uniform(size, dtypes.F8))  # exponential numbers of mean 1, as an array


def exponentials(who: str, shape: Any, generator: Any = None, device: Any = None, like: Tensor | None = None) -> Tensor:
    """Return exponential numbers of mean 1, in double precision."""
    return draw(who, shape, generator, in_order_of(like, lambda rng, size, row_major: waits(rng, size)), device)


def fill(
    self: Tensor, who: str, generator: Generator | None, sample: Callable, valid: bool, rule: str, fix: str
) -> Tensor:
    """Fill with sample(rng, size), drawn in double precision; raise RuntimeError unless the parameters follow the rule."""
    if not valid:
        raise error(RuntimeError, who, f"expects {rule}", f"write {who}({fix})")
    ordered = in_order_of(self, lambda rng, size, row_major: sample(rng, size))
    return inplace(Copy, self, draw(who, self.shape, generator, ordered, self.device))


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with exponentially distributed numbers of rate `lambd`."""
    floating(self._np_dtype, "exponential_")
    sample, rule = lambda rng, size: waits(rng, size) / lambd, f"lambda > 0.0, but found lambda={lambd}"
    return fill(self, "exponential_", generator, sample, lambd > 0, rule, "lambd=1.0")


def cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers of a Cauchy distribution: the tangents of uniform angles, times `sigma`, around `median`."""
    floating(self._np_dtype, "cauchy_")
    sample = lambda rng, size: np.tan((rng.uniform(size, dtypes.F8) - 0.5) * np.pi) * sigma + median
    return fill(self, "cauchy_", generator, sample, sigma > 0, f"sigma > 0.0, but found sigma={sigma}", "sigma=1.0")


def log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers whose logarithms are normal, with this mean and standard deviation."""
    floating(self._np_dtype, "log_normal_")
    sample = lambda rng, size: np.exp(rng.normal(size, dtypes.F8, mean, std, False))
    return fill(self, "log_normal_", generator, sample, std > 0, f"std > 0.0, but found std={std}", "std=1.0")


def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers of trials up to the first success, which has probability p."""
    sample = lambda rng, size: np.ceil(np.log(rng.uniform(size, dtypes.F8)) / math.log1p(-p))
    return fill(self, "geometric_", generator, sample, 0 < p < 1, f"p to be in (0, 1), but got p={p}", "0.5")


def random_(self: Tensor, low: int = 0, high: int | None = None, *, generator: Generator | None = None) -> Tensor:
    """Fill with integers in [low, high): `random_()`, `random_(high)`, `random_(low, high)`.

    Without limits the range is all integers that the dtype represents exactly.
    """
    wide = self._np_dtype.itemsize == 8 if high is None and not low else None
    if high is None:
        low, high = 0, low or largest(self._np_dtype) + 1
    drawn = integers(low, high, self.shape, self._np_dtype, generator, "random_", self.device, self, wide)
    return inplace(Copy, self, drawn)


@cache
def least(dtype: np.dtype) -> int:
    """Return the smallest number that an integer dtype represents."""
    return int(np.iinfo(dtype).min)


@cache
def largest(dtype: np.dtype) -> int:
    """Return the largest integer up to which a dtype represents all integers."""
    if dtype in dtypes.FLOATS:
        return round(2 / dtypes.finfo(dtype).eps)
    return 1 if dtype.kind == "b" else int(np.iinfo(dtype).max)


FILLS = (uniform_, normal_, bernoulli_, exponential_, cauchy_, log_normal_, geometric_, random_)
METHODS = {f.__name__: called(f, f.__name__) for f in FILLS}
