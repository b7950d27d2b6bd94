"""minigrad warns of a graph that grows under retain_graph=True, and of no other graph."""

import warnings

import pytest

import minigrad as torch

ROUNDS = 25


def warned(program) -> list:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        program()
    return [w.message.name for w in caught]


def rollout(step, rounds=ROUNDS):
    """States that go on from round to round with their history; `step` gets each new one."""
    w = torch.ones(2, requires_grad=True)
    h = torch.ones(2)
    for i in range(rounds):
        h = torch.tanh(w * h)
        cut = step(w, h, i)
        h = h if cut is None else cut


def test_a_state_that_is_differentiated_by_grad_grows_too():
    def step(w, h, i):
        torch.autograd.grad(h.sum(), w, retain_graph=True)

    assert "growing-graph" in warned(lambda: rollout(step))


def test_a_short_loop_is_not_reported():
    assert not warned(lambda: rollout(lambda w, h, i: h.sum().backward(retain_graph=True), rounds=9))


def test_truncated_histories_do_not_grow():
    def step(w, h, i):
        h.sum().backward(retain_graph=True)
        return h.detach() if i % 4 == 3 else None

    assert not warned(lambda: rollout(step))


def test_a_gradient_that_stops_at_the_state_covers_one_iteration():
    w, h = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)

    def program():
        state = h
        for _ in range(ROUNDS):
            before, state = state, torch.tanh(w * state)
            torch.autograd.grad(state.sum(), before, retain_graph=True)

    assert not warned(program)


def test_rows_of_one_graph_do_not_grow():
    x = torch.ones(ROUNDS, requires_grad=True)
    y = x.cumsum(0)

    def program():
        for i in range(ROUNDS):
            torch.autograd.grad(y[i], x, retain_graph=True)

    assert not warned(program)


def test_unrolled_updates_with_create_graph_are_no_warning():
    def program():
        w = torch.ones(2, requires_grad=True)
        v = w
        for _ in range(ROUNDS):
            (g,) = torch.autograd.grad((v * v).sum(), v, create_graph=True)
            v = v - 0.1 * g
        v.sum().backward()

    assert not warned(program)


@pytest.mark.cpu("goes back through ten thousand nodes")
def test_a_graph_that_starts_to_grow_later_is_reported():
    def program():
        w, h = torch.ones(2, requires_grad=True), torch.ones(2)
        for i in range(8 * ROUNDS):
            h = torch.tanh(w * (h.detach() if i < 2 * ROUNDS else h))
            h.sum().backward(retain_graph=True)

    assert warned(program).count("growing-graph") >= 1


def test_backward_of_an_empty_list_causes_no_warning():
    assert not warned(lambda: torch.autograd.backward([], retain_graph=True))
    torch.autograd.backward([])


@pytest.mark.parametrize("rounds", [1, 3])
def test_the_check_does_not_change_gradients(rounds):
    w = torch.tensor(2.0, requires_grad=True)
    y = w**2
    for _ in range(rounds):
        y.backward(retain_graph=True)
    assert w.grad.item() == 4.0 * rounds
