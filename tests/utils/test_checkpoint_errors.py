"""A checkpointed function that computes something else in backward, or whose tensors change, is an error with its line."""

import pytest

import minigrad as torch
from minigrad.utils.checkpoint import CheckpointError, checkpoint

from .checkpoints import leaf


def other_the_second_time(first, second):
    runs = iter([first, second])
    return lambda x: next(runs)(x)


DIFFERENT = [
    (
        lambda x: x.exp().sin().cos(),
        lambda x: x.exp(),
        {},
        ["saved 3 tensors in forward, but 1", "the first missing one"],
    ),
    (lambda x: x.exp(), lambda x: x.exp().sin(), dict(early_stop=False), ["saved 1 tensors", "but 2", "first new one"]),
    (lambda x: x.exp(), lambda x: x[:2].exp(), {}, ["saved tensor 0 differs", "shape (3,)", "shape (2,)"]),
    (lambda x: x.exp(), lambda x: x.double().exp(), {}, ["float32", "float64"]),
]


@pytest.mark.parametrize("first, second, options, words", DIFFERENT, ids=[words[0] for *_, words in DIFFERENT])
def test_a_function_that_computes_something_else_is_an_error_with_its_line(first, second, options, words):
    y = checkpoint(other_the_second_time(first, second), leaf(3), use_reentrant=False, **options)
    with pytest.raises(CheckpointError) as raised:
        y.sum().backward()
    text = str(raised.value)
    assert all(word in text for word in words), text
    assert any(f"at {__file__}:{run.__code__.co_firstlineno}" in text for run in (first, second))
    assert "To fix: make the function depend on its arguments alone" in text


def test_debug_lists_all_tensors_of_both_runs():
    run = other_the_second_time(lambda x: x.exp().sin().cos(), lambda x: x.exp().sin())
    y = checkpoint(run, leaf(3), use_reentrant=False, debug=True)
    with pytest.raises(CheckpointError, match=r"in forward 2: shape(?s:.*)recomputed 1: shape"):
        y.sum().backward()


def test_without_the_check_other_shapes_come_to_the_engine():
    run = other_the_second_time(lambda x: x.exp(), lambda x: x.detach()[:1].requires_grad_().exp())
    y = checkpoint(run, leaf(3), use_reentrant=False, determinism_check="none")
    with pytest.raises(RuntimeError, match="shape"):
        y.sum().backward()


def test_an_input_that_is_written_to_is_an_error():
    x = leaf(3)
    h = x * 2
    y = checkpoint(torch.exp, h, use_reentrant=False)
    h.add_(1)
    with pytest.raises(RuntimeError, match="checkpoint: one of its inputs, .* modified by (?s:.*)last written by add_"):
        y.sum().backward()


def test_a_saved_tensor_that_the_function_itself_overwrites_is_an_error():
    def run(x):
        h = x * 2
        y = h.sin()
        h.add_(1)
        return y * h

    y = checkpoint(run, leaf(3), use_reentrant=False)
    with pytest.raises(RuntimeError, match="modifies a tensor of shape \\(3,\\) in place(?s:.*)last written by add_"):
        y.sum().backward()
