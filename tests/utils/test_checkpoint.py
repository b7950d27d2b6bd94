"""Activation checkpointing gives the gradients of the plain function, and runs it as often as it has to."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad as torch
from minigrad import nn
from minigrad.utils.checkpoint import checkpoint, checkpoint_sequential
from tests.functions import custom

from .checkpoints import close, leaf

STEPS = [
    torch.exp,
    torch.sin,
    torch.tanh,
    torch.relu,
    torch.neg,
    torch.sigmoid,
    lambda h: h * h,
    lambda h: h.T,
    lambda h: h + 1,
]


def chain(steps):
    def run(x):
        for step in steps:
            x = step(x)
        return x

    return run


@settings(max_examples=40)
@given(st.lists(st.sampled_from(range(len(STEPS))), min_size=1, max_size=6))
def test_gradients_are_those_without_checkpoint(numbers):
    run = chain([STEPS[i] for i in numbers])
    x, y = leaf(2, 3), leaf(2, 3)
    run(x).sum().backward()
    checkpoint(run, y, use_reentrant=False).sum().backward()
    close([x.grad], [y.grad])


@settings(max_examples=15)
@given(st.integers(1, 7), st.data())
def test_segments_give_the_same(n, data):
    steps = [STEPS[i] for i in data.draw(st.lists(st.sampled_from(range(len(STEPS))), min_size=n, max_size=n))]
    x, y = leaf(3, 2), leaf(3, 2)
    chain(steps)(x).sum().backward()
    checkpoint_sequential(steps, data.draw(st.integers(1, n)), y, use_reentrant=False).sum().backward()
    close([x.grad], [y.grad])


def block(x, *, parts):
    h = (x * parts["w"]).sin()
    return {"out": [(h * h).exp(), h.sum()]}


def test_grad_keywords_nested_structures_and_second_derivatives_work():
    x, w = leaf(3), leaf(3)
    found = []
    for call in (lambda f, *a, **k: f(*a, **k), lambda f, *a, **k: checkpoint(f, *a, use_reentrant=False, **k)):
        out = call(block, x, parts={"w": w})["out"]
        first = torch.autograd.grad(out[0].sum() * out[1], [x, w], create_graph=True)
        second = torch.autograd.grad((first[0] * first[1]).sum(), [x, w])
        found.append([*first, *second])
    close(*found)


def test_it_runs_once_in_forward_and_once_in_each_backward():
    calls = []

    def run(x):
        calls.append(x)
        return x.exp().sin()

    y = checkpoint(run, leaf(2), use_reentrant=False)
    y.sum().backward(retain_graph=True)
    assert len(calls) == 2
    y.sum().backward()
    assert len(calls) == 3


@pytest.mark.parametrize("size", [3, 1 << 12, 1 << 16])  # from 4096 elements on, gradients come from one compiled pass
def test_it_runs_once_in_backward_however_large_the_tensors_are(size):
    calls, layers = (
        [],
        [torch.tanh, torch.sin, lambda h: h * h, lambda h: h / (2 + h), torch.exp, lambda h: h @ h.T @ h],
    )

    def run(h):
        calls.append(len(calls))
        for layer in layers:
            h = layer(h)
        return h

    x = torch.linspace(-1, 1, size).reshape(1, size).requires_grad_()
    checkpoint(run, x, use_reentrant=False).sum().backward()
    assert calls == [0, 1]


def test_without_gradients_it_is_the_function():
    with torch.no_grad():
        assert checkpoint(torch.exp, leaf(2), use_reentrant=False).grad_fn is None


@pytest.mark.parametrize("early_stop", [True, False])
def test_it_stops_early_where_all_that_is_needed_is_there(early_stop):
    reached = []

    def run(x):
        y = x.exp()
        try:
            z = y.sin()
        except Exception:  # what stops it is none
            raise AssertionError from None
        reached.append(1)
        return z + 1

    y = checkpoint(run, leaf(2), use_reentrant=False, early_stop=early_stop)
    y.sum().backward()
    assert len(reached) == (1 if early_stop else 2)


def test_checkpoints_inside_checkpoints_keep_nothing_of_their_own():
    x, y = leaf(3), leaf(3)
    inner = lambda h: checkpoint(lambda h: h.sin().exp(), h * 2, use_reentrant=False).tanh()
    checkpoint(lambda h: inner(inner(h)) * h, x, use_reentrant=False).sum().backward()
    plain = lambda h: (h * 2).sin().exp().tanh()
    (plain(plain(y)) * y).sum().backward()
    close([x.grad], [y.grad])


def test_a_gradient_that_the_function_takes_itself():
    def run(x):
        y = x.sin().exp()
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        return g * y

    x, y = leaf(3), leaf(3)
    checkpoint(run, x, use_reentrant=False).sum().backward()
    run(y).sum().backward()
    close([x.grad], [y.grad])


def test_a_custom_function_may_ask_for_its_tensors_several_times():
    Cube = custom(
        "Cube",
        forward=lambda ctx, x: ctx.save_for_backward(x, x * x) or x**3,
        backward=lambda ctx, g: 3 * ctx.saved_tensors[1] * g + 0 * ctx.saved_tensors[0],
    )
    x = leaf(3)
    checkpoint(Cube.apply, x, use_reentrant=False).sum().backward()
    close([x.grad], [3 * x.detach() ** 2])


def test_a_part_of_the_graph_can_be_asked_for():
    kept = []

    def run(x):
        h = x.sin()
        kept.append(h)
        return h.exp().tanh()

    x = leaf(2)
    y = checkpoint(run, x, use_reentrant=False)
    (g,) = torch.autograd.grad(y.sum(), kept[0])
    expected = kept[0].detach().requires_grad_()
    expected.exp().tanh().sum().backward()
    close([g], [expected.grad])


def test_saved_tensors_can_be_looked_at_outside_of_backward():
    y = checkpoint(lambda x: x.sin().exp(), leaf(2), use_reentrant=False)
    close(y.grad_fn.saved_tensors, [y])
    close(y.grad_fn.saved_tensors, [y])


def test_the_contexts_are_around_the_call_and_the_second_one():
    log = []

    class Log:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            log.append(self.name)

        def __exit__(self, *_):
            log.append(f"end of {self.name}")

    x = leaf(2)
    y = checkpoint(torch.exp, x, use_reentrant=False, context_fn=lambda: (Log("first"), Log("again")))
    assert log == ["first", "end of first"]
    y.sum().backward()
    assert log[2:] == ["again", "end of again"]


# ---------------------------------------------------------------------- random numbers
def test_random_numbers_are_the_same_and_those_afterwards_go_on():
    def run(x):
        return nn.functional.dropout(x.exp(), 0.5).sin()

    found = []
    for call in (lambda x: run(x), lambda x: checkpoint(run, x, use_reentrant=False)):
        torch.manual_seed(3)
        x = leaf(20)
        y = call(x)
        between = torch.rand(2)
        y.sum().backward()
        found.append([y.detach(), x.grad, between, torch.rand(2)])
    close(*found)


def test_without_preserving_the_stream_goes_on():
    run = lambda x: (x * torch.rand(3)).exp()
    torch.manual_seed(0)
    before = [torch.rand(3) for _ in range(3)]
    torch.manual_seed(0)
    checkpoint(run, leaf(3), use_reentrant=False, preserve_rng_state=False).sum().backward()
    close([torch.rand(3)], before[2:])


# ---------------------------------------------------------------------- autocast
@pytest.mark.parametrize("forward, back", [(True, False), (False, True)])
def test_autocast_is_on_where_it_was_in_forward(forward, back):
    dtypes = []

    def run(x, w):
        h = x @ w
        dtypes.append(h.dtype)
        return h.tanh()

    x, w = leaf(3, 3), leaf(3, 3)
    with torch.autocast("cpu", enabled=forward):
        y = checkpoint(run, x, w, use_reentrant=False).sum()
    with torch.autocast("cpu", enabled=back):
        y.backward()
    assert dtypes == [torch.bfloat16 if forward else torch.float32] * 2


# ---------------------------------------------------------------------- arguments
def test_another_check_is_refused():
    with pytest.raises(ValueError, match="but got 'all'(?s:.*)To fix: "):
        checkpoint(torch.exp, leaf(2), use_reentrant=False, determinism_check="all")


@pytest.mark.parametrize("use_reentrant", [None, True])
def test_the_form_makes_no_difference(use_reentrant):
    x, w = leaf(3), leaf(3)
    y = checkpoint(lambda x, *, w: (x * w).exp(), x, use_reentrant=use_reentrant, w=w).sum()
    found = torch.autograd.grad(y, (x, w), create_graph=True)
    close(found, torch.autograd.grad((x * w).exp().sum(), (x, w)))
    close(torch.autograd.grad(found[0].sum(), w), torch.autograd.grad(((x * w).exp() * w).sum(), w))


@pytest.mark.parametrize("segments", [0, 3])
def test_there_is_a_function_for_each_segment(segments):
    with pytest.raises(ValueError, match=f"2 functions cannot be divided into {segments} segments"):
        checkpoint_sequential([torch.exp, torch.sin], segments, leaf(2), use_reentrant=False)
