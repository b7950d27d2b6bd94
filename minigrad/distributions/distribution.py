"""Distribution, the base class: shapes, sampling, checks of arguments; everything that does not depend on formulas.

Draws have the shape sample_shape + batch_shape + event_shape: independent draws, then distributions with different
parameters, then the parts of one draw (the entries of a vector).  `Parametric`, below, builds a distribution from its table
of parameters; continuous.py, discrete.py and vectors.py have the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..arrays.devices import Size
from ..autograd import no_grad
from ..core.frames import OFF, current, use
from ..core.saved import plain_tensor
from ..core.tensor import Tensor
from ..errors import error
from ..layers.transform import layers_of, recording
from ..ops.broadcast import broadcast_shapes
from ..ops.from_data import as_tensor, tensor
from . import constraints
from .constraints import Constraint


def formula(f: Callable) -> Any:
    """Return a property computed by a function of the distribution or transform, like a row of a textbook's table."""
    return property(f)


class Distribution:
    """Base class of probability distributions.

    `batch_shape` is the shape of the parameters, `event_shape` the shape of one draw.  Subclasses define `rsample` (or
    `sample`), `log_prob`, and whatever else they have a formula for.

    >>> import minigrad
    >>> d = minigrad.distributions.Normal(minigrad.zeros(3), 1.)
    >>> d.batch_shape, d.event_shape, d.sample((2,)).shape
    (minigrad.Size([3]), minigrad.Size([]), minigrad.Size([2, 3]))
    """

    has_rsample = has_enumerate_support = False
    arg_constraints: ClassVar[dict[str, Constraint]] = {}
    support: Any = None  # the constraint on values
    _validate_args = __debug__
    _draw: Any = None  # the formula of draws of a shape: differentiable if `has_rsample`

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None):
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            for name, constraint in self.arg_constraints.items():
                if name in self.__dict__:
                    self._check(name, constraint, self.__dict__[name])

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters; each element is a separate distribution."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of a single draw."""
        return self._event_shape

    # ------------------------------------------------------------------ drawing
    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Return draws of shape sample_shape + batch_shape + event_shape; no gradient flows through them."""
        with no_grad():
            if self._draw is None or self.has_rsample:
                return self.rsample(sample_shape)
            return self._draw(self._extended_shape(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Return draws that are differentiable functions of the parameters.  Raises NotImplementedError if impossible."""
        if self._draw is None or not self.has_rsample:
            raise self._has_no("rsample", "use sample, and log_prob(x) * reward for a gradient of the mean reward")
        return self._draw(self._extended_shape(sample_shape))

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        """Return the shape of the draws."""
        sample_shape = (sample_shape,) if isinstance(sample_shape, int) else tuple(sample_shape)
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    # ------------------------------------------------------------------ formulas
    def log_prob(self, value: Tensor) -> Tensor:
        """Return the log of the density or probability at values; the shape is sample_shape + batch_shape."""
        return self._formula("log_prob", "define `_log_prob(self, value)`")(self._checked(value))

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability that a draw is at most the value."""
        fix = "estimate it: (d.sample((10000,)) <= value).float().mean(0)"
        return self._formula("cdf", fix)(self._checked(value))

    def icdf(self, value: Tensor) -> Tensor:
        """Return the quantile: the number that a draw stays below with the given probability."""
        return self._formula("icdf", "estimate it: d.sample((10000,)).quantile(value, 0)")(value)

    def entropy(self) -> Tensor:
        """Return the entropy in nats, of shape batch_shape."""
        return self._formula("entropy", "estimate it: -d.log_prob(d.sample((10000,))).mean(0)")()

    def perplexity(self) -> Tensor:
        """Return exp(entropy), of shape batch_shape: the number of equally likely values with the same entropy."""
        return self.entropy().exp()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return the n values that a draw can have, of shape (n,) + batch_shape + event_shape.

        With `expand=False` each dimension of the batch is 1. Raises NotImplementedError if there is no finite list.

        >>> import minigrad
        >>> minigrad.distributions.Bernoulli(probs=minigrad.full((2,), 0.5)).enumerate_support()
        tensor([[0., 0.],
                [1., 1.]])
        """
        fix = "write the values down, or estimate: d.log_prob(d.sample((10000,)))"
        values = self._formula("enumerate_support", fix)()
        batch = self._batch_shape if expand else (1,) * len(self._batch_shape)
        single = values.reshape(len(values), *[1] * len(batch), *self._event_shape)
        return single.expand(len(values), *batch, *self._event_shape)

    # moments of draws, of shape batch_shape + event_shape, and the most probable value
    mean = formula(lambda d: d._formula("mean", "estimate it: d.sample((10000,)).mean(0)"))
    mode = formula(lambda d: d._formula("mode", "choose the one of many draws with the largest log_prob"))
    variance = formula(lambda d: d._formula("variance", "estimate it: d.sample((10000,)).var(0)"))
    stddev = formula(lambda d: d.variance.sqrt())

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution with its parameters expanded to a batch shape, without copying memory.

        A subclass passes the object that it made as `_instance`.
        """
        raise self._has_no("expand", "build it from parameters of that shape")

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """Return the object that expand fills: `_instance`, or an empty one of the same class.

        Raises NotImplementedError for a subclass of `cls` with other arguments, whose attributes cls cannot know.
        """
        if _instance is None and type(self).__init__ is not cls.__init__:
            what = f"defines __init__, but not expand, so the expand of {cls.__name__} would leave its attributes out"
            fix = "define expand(self, batch_shape, _instance=None) too"
            raise error(NotImplementedError, type(self).__name__, what, fix)
        return type(self).__new__(type(self)) if _instance is None else _instance

    def _formula(self, name: str, fix: str) -> Any:
        """Return the subclass's formula, such as `_log_prob`.  Raises NotImplementedError if it has none."""
        if not hasattr(self, f"_{name}"):
            raise self._has_no(name, fix)
        return getattr(self, f"_{name}")

    def _has_no(self, what: str, fix: str) -> Exception:
        """Return the error for a missing formula."""
        return error(NotImplementedError, type(self).__name__, f"has no {what}", fix)

    # ------------------------------------------------------------------ checks
    def _checked(self, value: Tensor) -> Tensor:
        """Return a value, after its check unless the user has switched checks off."""
        if not isinstance(value, Tensor):
            what = f"the value has to be a tensor, got {type(value).__name__}"
            raise error(ValueError, type(self).__name__, what, f"write minigrad.tensor({value!r})")
        if self._validate_args:
            self._validate_sample(value)
        return value

    def _validate_sample(self, value: Tensor) -> None:
        """Raise ValueError for a value of the wrong shape or outside the support."""
        who, event = type(self).__name__, self._event_shape
        if tuple(value.shape[value.ndim - len(event) :]) != event:
            what = f"draws have event shape {tuple(event)}, but the value has shape {tuple(value.shape)}"
            raise error(ValueError, who, what, f"pass a value whose last dimensions are {tuple(event)}")
        try:
            broadcast_shapes(value.shape, (*self._batch_shape, *event))
        except RuntimeError:
            what = f"a value of shape {tuple(value.shape)} does not fit batch shape {tuple(self._batch_shape)}"
            raise error(ValueError, who, what, "make them broadcast: value.unsqueeze(-1), or another batch") from None
        if isinstance(support := self.support, Constraint):
            self._check("value", support, value)

    def _check(self, name: str, constraint: Constraint, value: Any) -> None:
        """Raise ValueError, with the first wrong element, if a parameter or a value violates its constraint."""
        if not isinstance(value, Tensor) or any([hasattr(layer, "drawing") for layer in current().layers()]):
            return  # a capture has no values to check
        if type(value) is Tensor:
            with use(OFF):  # hide the check from recordings
                valid = constraint.check(value)
        else:
            with no_grad():
                valid = plain_tensor(constraint.check(value))
        wrong = np.argwhere(~np.asarray(valid.cpu()._a))
        if len(wrong):
            at, found = tuple(map(int, wrong[0])), "not"
            place = f"[{', '.join(map(str, at))}]" if at else ""
            if type(value) is Tensor:
                low = value.cpu()._a
                low = np.broadcast_to(low, (*valid.shape, *low.shape[low.ndim - constraint.event_dim :]))
                found = np.array2string(low[at], separator=", ", precision=4, threshold=8)
            what = f"{name} has to be {constraint.text}, but {name}{place} is {found}"
            many = f"; so are {len(wrong) - 1} more" if len(wrong) > 1 else ""
            raise error(ValueError, type(self).__name__, what + many, remedy(name, constraint))

    def __repr__(self) -> str:
        shown = [f"{k}: {short_text(v)}" for k, v in self.__dict__.items() if k in self.arg_constraints]
        return f"{type(self).__name__}({', '.join(shown)})"


class Parametric(Distribution):
    """A distribution built from parameters, which are broadcast against each other.

    Numbers become tensors.  `arg_constraints` names the parameters; of equivalent ones, such as probs and logits, you give
    one, and the others are lazy properties.
    """

    _given: tuple[str, ...] = ()
    _constants: tuple[str, ...] = ()  # attributes that are no parameters

    def __init__(self, parameters: dict[str, Any], validate_args: bool | None, event_shape: Any = ()):
        near = next((v for v in parameters.values() if isinstance(v, Tensor) and v.is_floating_point()), None)
        given = {k: v if isinstance(v, Tensor) else number(v, near) for k, v in parameters.items()}
        ranks = {k: self.arg_constraints[k].event_dim for k in given}
        batch = broadcast_shapes(*[v.shape[: v.ndim - ranks[k]] for k, v in given.items()])
        for k, v in given.items():
            shape = (*batch, *v.shape[v.ndim - ranks[k] :])
            setattr(self, k, v if tuple(v.shape) == shape else v.expand(shape))
        self._given = tuple(given)
        super().__init__(batch, event_shape, validate_args)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return a parameter of arg_constraints."""

    # a parameter with the dtype and device of the draws
    _like = formula(lambda d: next(v for k in d._given if (v := getattr(d, k)).is_floating_point()))

    _param = formula(lambda d: getattr(d, d._given[0]))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution with its parameters expanded to a batch shape, without copying memory.

        >>> import minigrad
        >>> minigrad.distributions.Normal(0., 1.).expand((2, 3)).batch_shape
        minigrad.Size([2, 3])
        """
        owner = next(cls for cls in type(self).__mro__ if cls.__module__.startswith(f"{__package__}."))
        new, before = self._get_checked_instance(owner, _instance), len(self._batch_shape)
        for k in (*self._constants, "_given", "_event_shape", "_validate_args"):
            if k in vars(self):
                setattr(new, k, getattr(self, k))
        for k in self._given:
            v = getattr(self, k)
            setattr(new, k, v.expand((*batch_shape, *v.shape[before:])))
        new._batch_shape = Size(batch_shape)
        return new


def either(who: str, **parameters: Any) -> dict[str, Any]:
    """Return the given one of several equivalent parameters.  Raises ValueError for none or more than one."""
    given = {k: v for k, v in parameters.items() if v is not None}
    if len(given) != 1:
        got = " and ".join(given) or "none"
        names = ", ".join(parameters)
        raise error(ValueError, who, f"takes exactly one of {names}, but got {got}", f"pass {next(iter(parameters))}=")
    return given


def number(value: Any, near: Tensor | None) -> Tensor:
    """Return a number or a nested list as a tensor, in the dtype and on the device of another tensor."""
    if near is None:
        return as_tensor(value).float() if isinstance(value, int) else tensor(value)
    return tensor(value, dtype=near.dtype, device=near.device)


REMEDIES = {
    "scale": "write scale.exp(), or nn.functional.softplus(scale)",
    "probs": "pass logits= for numbers of any size",
    "value": "pass validate_args=False for -inf there, or nan",
}


def remedy(name: str, constraint: Constraint) -> str:
    """Return the fix for a parameter that violates its constraint."""
    if constraint is constraints.simplex and name == "value":
        return "write value / value.sum(-1, keepdim=True)"
    return REMEDIES.get(name, f"make {name} {constraint.text}; validate_args=False skips the check")


def short_text(value: Any) -> str:
    """Return a parameter as short text: a number, or a shape."""
    if isinstance(value, Tensor):
        return f"{value.item()}" if value.numel() == 1 and type(value) is Tensor else str(tuple(value.shape))
    return str(value)


class lazy_property:
    """Compute a property on first use and cache it; the graph is built even inside `no_grad()` and `inference_mode()`.

    A result that only a running transform can use is computed again each time.

    >>> class D:
    ...     @lazy_property
    ...     def probs(self):
    ...         return print("computed")
    >>> d = D()
    >>> d.probs, d.probs
    computed
    (None, None)
    """

    def __init__(self, method: Callable[[Any], Any]):
        self.method, self.__doc__ = method, method.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with use(recording()):
            value = self.method(instance)
        own = [layers_of(t) for t in vars(instance).values() if isinstance(t, Tensor)]
        if not isinstance(value, Tensor) or layers_of(value) <= set().union(*own):
            vars(instance)[self.method.__name__] = value
        return value


HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
