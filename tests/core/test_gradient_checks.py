"""minigrad accepts right results of a user's backward without a word, and its warnings name each argument."""

import warnings

import pytest

import minigrad as torch
from tests.functions import custom


def leaf(*values):
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


def function(backward):
    """Return a Function of this backward, as a lambda."""
    return custom("Named", forward=lambda ctx, *tensors: sum(tensors), backward=backward)


def test_arguments_given_as_a_sequence_are_counted():
    f = function(lambda ctx, g: (g, g.reshape(1, 2, 1)))
    with pytest.raises(RuntimeError, match=r"argument tensors\[1\] has shape \(2,\)"):
        f.apply(leaf(), leaf()).sum().backward()


def test_a_generator_is_named():
    f = function(lambda ctx, g: (g * k for k in (1, 2)))
    with pytest.raises(RuntimeError, match=r"expected 2, got 1\); a generator is not a tuple"):
        f.apply(leaf(), leaf()).sum().backward()


@pytest.mark.parametrize(
    "backward",
    [
        lambda ctx, g: None,
        lambda ctx, _g: torch.ones(2),
        lambda ctx, g: torch.zeros(2),
        lambda ctx, g: (lambda: g * 2)(),
        lambda *args: args[1],
        lambda ctx, g: g.double(),
        lambda ctx, g: [g],
        lambda ctx, g: (g, None, None),
    ],
)
def test_results_that_may_be_intended_cause_no_warning(backward):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for mode in (False, True):
            with torch.debug(mode):
                (3 * function(backward).apply(leaf())).sum().backward()


def test_ignoring_an_incoming_gradient_of_one_is_right():
    f = function(lambda ctx, g: torch.full((2,), 5.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f.apply(leaf()).sum().backward()
    with pytest.warns(torch.MinigradWarning, match="gradient 0 does not depend on g"):
        (2 * f.apply(leaf())).sum().backward()


def test_returning_none_for_every_needed_gradient_is_no_warning():
    f = function(lambda ctx, g: (None, g))
    with warnings.catch_warnings(), torch.debug():
        warnings.simplefilter("error")
        f.apply(leaf(), leaf()).sum().backward()


def test_in_debug_mode_the_forward_call_is_named():
    f = function(lambda ctx, g: (g, g))
    with torch.debug():
        y = f.apply(leaf())
        with pytest.raises(RuntimeError, match=r"the forward call was at .*y = f.apply\(leaf\(\)\)"):
            y.sum().backward()


def test_results_are_checked_under_transforms():
    Apart = custom("Apart", forward=lambda x, n: x * n, setup_context=lambda *a: None, backward=lambda ctx, g: g)

    with pytest.raises(RuntimeError, match=r"1 gradient for the 2 arguments of forward, \(x, n\)"):
        torch.func.grad(lambda x: Apart.apply(x, 2.0).sum())(torch.ones(2))


def test_arguments_are_named_also_where_defaults_are_left_out():
    forward = lambda ctx, x, factor, shift=None: x * factor if shift is None else x * factor + shift
    Shifted = custom("Shifted", forward=forward, backward=lambda ctx, g: g)

    with pytest.raises(RuntimeError, match=r"1 gradient for the 2 arguments of forward, \(x, factor\)"):
        Shifted.apply(torch.ones(2, requires_grad=True), 2.0).sum().backward()
