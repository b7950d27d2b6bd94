"""What is drawn where a learner's graph is not the expected one."""

import minigrad as torch
from lessons.difference import Difference


def function(name, slope):
    """A custom Function of this name, which doubles, with this number for its slope."""

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, grad_output):
            return slope * grad_output

    return type(name, (Doubled,), {})


def drawn(answer, expected):
    return Difference.between(answer, expected, (torch.tensor([1.0, 3.0], requires_grad=True),)).drawing().text()


def test_functions_are_compared_whatever_their_names_are():
    assert "✗" not in drawn(function("Mine", 2).apply, function("Expected", 2).apply)
    text = drawn(function("Mine", 5).apply, function("Expected", 2).apply)
    assert "✗ gradient of x is [5, 5], expected [2, 2]" in text and "Mine(x)" in text


def test_nothing_is_missing_where_a_function_stands_for_operations():
    difference = Difference.between(
        function("Mine", 5).apply, lambda x: 2 * x, (torch.tensor(1.0, requires_grad=True),)
    )
    assert difference.changes and "✗" not in difference.drawing().text()


def test_a_step_that_is_missing_is_told():
    assert "missing in this graph: exp" in drawn(lambda x: x * 2, lambda x: (x * 2).exp())
