"""Stand-ins while a function is captured: for functions that keep their results, for warnings and loggers."""

import functools
import logging
import math
import warnings
from math import sqrt
from warnings import warn

import pytest

import minigrad as torch
from minigrad import compile
from minigrad.errors import MinigradWarning

from .interpreted import interpreted

__all__ = ["interpreted"]
X = torch.tensor([1.0, 2.0])
log = logging.getLogger("minigrad.tests.stand_ins")
inform = log.info


@functools.cache
def positions(n):
    return torch.arange(float(n))


class Positions:
    @functools.lru_cache  # noqa: B019
    def table(self, n):
        return torch.arange(float(n)) * 2

    @functools.cached_property
    def scale(self):
        return torch.tensor(3.0)

    def __call__(self, x):
        return x * self.table(2) * self.scale


def by_a_global(x):
    return x * positions(2)


def by_a_cell():
    kept = functools.lru_cache(maxsize=2)(lambda n: torch.ones(n) * 3)

    def f(x):
        return x * kept(2)

    return f


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", [by_a_global, by_a_cell(), Positions()], ids=["a global", "a cell", "methods"])
def test_functions_that_keep_their_results_keep_nothing_of_a_capture(f, interpreted):
    c = compile(f)
    for k in range(3):
        assert torch.equal(c(X + k), f(X + k))
    positions.cache_clear()
    assert torch.equal(c(X), f(X)) and torch.equal(positions(2), torch.arange(2.0))


def warns(x):
    y = x * 2
    warnings.warn("from inside", stacklevel=1)
    return y + 1


def informs(x):
    y = x * 2
    log.warning("from inside")
    return y + 1


def informs_by_the_module(x):
    y = x * 2
    logging.warning("from inside")  # noqa: LOG015
    return y + 1


def informs_by_a_method(x):
    y = x * 2
    inform("from inside")
    return y + 1


def warns_by_the_function(x):
    y = x * 2
    warn("from inside", stacklevel=1)
    return y + 1


SPEAKERS = [warns, warns_by_the_function, informs, informs_by_the_module, informs_by_a_method]


@pytest.mark.parametrize("f", SPEAKERS)
def test_what_is_said_is_said_at_each_call_between_compiled_parts(f, caplog, interpreted):
    caplog.set_level(logging.INFO)
    c = compile(f)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for k in range(3):
            assert torch.equal(c(X + k), (X + k) * 2 + 1)
    texts = [str(w.message) for w in said if w.category is UserWarning] + [r.getMessage() for r in caplog.records]
    assert texts == ["from inside"] * 3
    (told,) = [w for w in said if issubclass(w.category, MinigradWarning)]
    assert "which has an effect at each call" in str(told.message)
    assert f"{__file__}:{f.__code__.co_firstlineno + 2}" in str(told.message)
    assert sum(map(c.explain().count, ("one loop over", "one kernel over"))) == 2  # in memory, on a device


sine = torch.tensor([0.5, 1.0]).sin


def test_a_method_of_a_tensor_is_looked_at_and_not_asked_for_its_truth(interpreted):
    c = compile(lambda x: x * sine())
    with pytest.warns(
        MinigradWarning, match="it uses a tensor that is neither an argument nor in one of its variables"
    ):
        assert torch.equal(c(X), X * sine())


def quiet(x, loud):
    if loud:
        warnings.warn("from inside", stacklevel=1)
        log.error("from inside")
    return x * math.cos(loud) * sqrt(4.0)


def test_what_would_be_said_elsewhere_keeps_nothing_from_being_compiled(interpreted):
    c = compile(quiet, fullgraph=True)
    assert torch.equal(c(X, 0.0), X * 2) and len(c.versions) == 1
    assert warnings.warn is __import__("warnings").warn and isinstance(log, logging.Logger)
    with pytest.raises(torch.errors.RuntimeError, match=r"it calls warn\(\), which has an effect at each call"):
        c(X, 1.0)
    assert isinstance(log, logging.Logger) and sqrt is math.sqrt
