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
    text = drawn(function("Mine", 5).apply, function("Expected", 2).apply)
    assert "Mine.backward" in text and text.count("✗ expected [4.2, -5.4]") == 1


def test_steps_that_are_the_same_are_compared_one_by_one():
    assert "✗ v0 is [1, 9], expected [1, 3]" in drawn(lambda x: (x * x) * 2, lambda x: (x * 1.0) * 2)


def test_of_other_steps_only_results_and_gradients_are_compared():
    lines = drawn(function("Mine", 5).apply, lambda x: 2 * x).splitlines()
    (at,) = [i for i, line in enumerate(lines) if "✗" in line]
    assert (
        "expected [4.2, -5.4]" in lines[at] and "5 * grad_output" in lines[at - 1]
    )  # in the method, where it is computed
    text = drawn(lambda x: x * x * 2, lambda x: 3 * x)
    assert "✗ expected [3, 9]" in text and "passes: forward\n" in text and "not expected" not in text
    text = drawn(lambda x: (x * 2).detach() + x * 1, lambda x: 3 * x)
    assert "✗ expected [6.3, -8.1]" in text and "passes: backward\n" in text


def test_an_incoming_gradient_that_no_operation_reads_is_shown():
    class Forgotten(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, grad_output):
            return torch.full((2,), 2.0) * 1

    text = " ".join(drawn(Forgotten.apply, lambda x: 2 * x).split())
    assert "✗ grad_output, [2.1, -2.7], is not used" in text and "✗ expected [4.2, -5.4]" in text


def test_a_gradient_that_an_operation_passes_on_is_marked_where_it_is_computed():
    mine = function("Mine", 5)
    lines = drawn(lambda x: mine.apply(x * 1), lambda x: 2 * x).splitlines()
    (at,) = [i for i, line in enumerate(lines) if "✗" in line]
    assert "expected [4.2, -5.4]" in lines[at] and "5 * grad_output" in lines[at - 1]


def test_a_wrong_tangent_is_marked_inside_jvp():
    class Moved(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def jvp(ctx, x_tangent):
            return 5 * x_tangent

    x, direction = torch.tensor([1.0, 3.0]), torch.tensor([1.0, 10.0])
    found = Difference.between(Moved.apply, lambda x: 2 * x, (x,), (direction,))
    text = found.drawing().text()
    assert "Moved.jvp" in text and text.count("✗") == text.count("✗ expected [2, 20]") == 1
    assert found.line() == "return 5 * x_tangent"


def test_where_the_graph_has_to_be_the_same_a_step_that_is_missing_is_told():
    assert "missing in this graph: exp" in drawn(lambda x: x * 2, lambda x: (x * 2).exp(), graph=True)
    assert "✗ is not expected" in drawn(lambda x: (x * 2).exp(), lambda x: x * 2, graph=True)


def test_what_was_returned_as_it_came_and_several_results_are_compared():
    assert "✗" not in (between(lambda x: x, lambda x: x * 1).drawing() or "")
    text = drawn(lambda x: (x * 2, x * x), lambda x: (x + x, x**3))
    assert text.count("✗") == text.count("✗ expected [1, 27]") == 1
