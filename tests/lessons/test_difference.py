"""The drawing shows where a learner's graph differs from the expected one."""

import minigrad as torch
from lessons.difference import Difference


def function(name, slope):
    """Return a custom Function of this name, which doubles, with this number for its slope."""

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, grad_output):
            return slope * grad_output

    return type(name, (Doubled,), {})


def between(answer, expected):
    return Difference.between(answer, expected, (torch.tensor([1.0, 3.0], requires_grad=True),))


def drawn(answer, expected, graph=False):
    return between(answer, expected).drawing(graph).text()


def test_functions_are_compared_whatever_their_names_are():
    assert "✗" not in drawn(function("Mine", 2).apply, function("Expected", 2).apply)
    text = " ".join(drawn(function("Mine", 5).apply, function("Expected", 2).apply).split())  # a frame wraps its note
    assert "✗ gradient of x is [5, 5], expected [2, 2]" in text and "Mine(x)" in text


def test_steps_that_are_the_same_are_compared_one_by_one():
    assert "✗ v0 is [1, 9], expected [1, 3]" in drawn(lambda x: (x * x) * 2, lambda x: (x * 1.0) * 2)


def test_of_other_steps_only_results_and_gradients_are_compared():
    text = drawn(function("Mine", 5).apply, lambda x: 2 * x)
    assert text.count("✗") == text.count("✗ expected [2, 2]") == 2  # at x, and where the gradient leaves backward
    text = drawn(lambda x: x * x * 2, lambda x: 3 * x)
    assert "✗ expected [3, 9]" in text and "✗ expected [3, 3]" in text and "not expected" not in text


def test_where_the_graph_has_to_be_the_same_a_step_that_is_missing_is_told():
    assert "missing in this graph: exp" in drawn(lambda x: x * 2, lambda x: (x * 2).exp(), graph=True)
    assert "✗ is not expected" in drawn(lambda x: (x * 2).exp(), lambda x: x * 2, graph=True)


def test_what_was_returned_as_it_came_and_several_results_are_compared():
    assert "✗" not in (between(lambda x: x, lambda x: x * 1).drawing() or "")
    text = drawn(lambda x: (x * 2, x * x), lambda x: (x + x, x**3))
    assert text.count("✗") == 2 and "✗ expected [1, 27]" in text
