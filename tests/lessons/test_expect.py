"""`expect` accepts right answers, refuses wrong ones and explains them to a learner."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong

X = torch.tensor([1.0, 2.0], requires_grad=True)


def refused(f, *args, **options):
    with pytest.raises(Wrong) as e:
        f(*args, **options)
    return e.value


@given(st.floats(-1e6, 1e6))
def test_a_number_is_right_in_every_form(value):
    for given_as in (value, str(value), np.array([value]), torch.tensor(value, dtype=torch.float64)):
        expect.number(given_as, value)


def test_a_number_that_comes_from_a_known_mistake_is_explained():
    assert "one path" in str(refused(expect.number, 3.0, 6.0, {3.0: "that is one path"}))
    assert str(refused(expect.number, 5.0, 6.0)) == "5 is not right"


@pytest.mark.parametrize("answer", [True, "six", None, [1.0, 2.0], X])
def test_what_is_no_number_is_described(answer):
    assert "expected a number" in str(refused(expect.number, answer, 6.0))


def test_a_tensor_may_be_an_array_or_lists_and_its_shape_counts():
    for answer in (X, [1, 2], np.array([1.0, 2.0]), [torch.tensor(1.0), 2.0]):
        expect.tensor(answer, X)
    assert "shape [2, 1], expected [2]" in str(refused(expect.tensor, [[1], [2]], X))
    assert "is 3 at [1], expected 2" in str(refused(expect.tensor, [1, 3], X))
    assert "expected numbers" in str(refused(expect.tensor, "ab", X))


def test_choices_of_one_and_of_several():
    expect.choice(" Backward", "backward")
    expect.choice(("b", "a"), ["a", "b"])
    assert "jvp goes forward" in str(refused(expect.choice, "jvp", "backward", {"jvp": "jvp goes forward"}))
    assert "1 more is missing" in str(refused(expect.choice, ["a"], ["a", "b"]))
    assert "'c' does not belong in the list: too late" in str(refused(expect.choice, ["c"], ["a"], {"c": "too late"}))
    assert "several answers" in str(refused(expect.choice, "a", ["a"]))


def test_a_function_with_the_right_numbers_and_a_wrong_gradient_is_drawn():
    wrong = refused(expect.computes, lambda x: x.detach() * x, lambda x: x * x, (X,))
    words = "for x = [1, 2] and the incoming gradient = [2.1, -2.7], the gradient of x is 2.1 at [0], expected 4.2"
    assert words in str(wrong)
    drawn = " ".join(wrong.drawing.text().replace("│", "").split())
    assert "grad = [2.1, -5.4] ✗ expected [4.2, -10.8]" in drawn and "✂ x.detach()" in drawn, "the same numbers"


def test_a_cut_graph_a_missing_return_and_a_wrong_count_have_words():
    assert "cut the graph" in str(refused(expect.computes, lambda x: x.detach() * 2, lambda x: x * 2, (X,)))
    assert "is there a return" in str(refused(expect.computes, lambda x: None, lambda x: x, (X,)))
    assert "expected 2 results" in str(refused(expect.computes, lambda x: (x,), lambda x: (x, x), (X,)))
    assert "expected a function" in str(refused(expect.computes, 3.0, lambda x: x, (X,)))


def test_an_answer_that_writes_to_its_argument_does_not_change_the_one_of_the_check():
    fixed = torch.tensor([1.0, 2.0])
    refused(expect.computes, lambda x: x.mul_(2), lambda x: x * 3, (fixed,))
    assert fixed.tolist() == [1.0, 2.0]


def test_the_graph_counts_where_it_is_asked_for():
    def longer(x):
        return (x * x) * 1.0

    expect.computes(longer, lambda x: x * x, (X,))
    wrong = refused(expect.computes, longer, lambda x: x * x, (X,), graph=True)
    assert "mul(v0, 1.0) is not expected" in str(wrong)
    assert "✗ is not expected" in wrong.drawing.text()


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Half(Double):
    @staticmethod
    def backward(ctx, g):
        return g / 2


def test_a_custom_function_is_compared_with_another():
    expect.function(Double, Double, (X,))
    assert "the gradient" in str(refused(expect.function, Half, Double, (X,)))
    assert "subclass of autograd.Function" in str(refused(expect.function, Double.apply, Double, (X,)))
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    expect.holds(Double, x)
    wrong = refused(expect.holds, Half, x)
    assert "minigrad check finds" in str(wrong) and "\nTo fix: return" in str(wrong)
    assert (wrong.mistake, wrong.line) == ("off by a factor of 4", "return g / 2")


def test_bytes_that_are_kept_are_counted():
    expect.saves(lambda x: x.exp(), (X,), 8)
    assert "16 bytes are saved for backward; 8 are enough" in str(
        refused(expect.saves, lambda x: x.exp().exp(), (X,), 8)
    )


class DoubleKeeping(Double):
    """A Function that saves the tensors of `saved(x)`, and keeps one more as an attribute."""

    @staticmethod
    def forward(ctx, x, saved, attribute=None):
        ctx.save_for_backward(*saved(x))
        ctx.attribute = attribute
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2, None, None


@pytest.mark.parametrize(
    "saved, attribute, word",
    [
        (lambda x: (x,), None, None),
        (lambda x: (), None, "save_for_backward saves no tensor: x is enough"),
        (lambda x: (x, x), None, "2 tensors are saved: x is enough"),
        (lambda x: (x + 1,), None, "tensor([2., 3.]) is saved: x is enough"),
        (lambda x: (x,), torch.ones(2), "kept as ctx.attribute besides those of save_for_backward"),
    ],
)
def test_tensors_that_are_kept_are_looked_at(saved, attribute, word):
    result = DoubleKeeping.apply(X, saved, attribute)
    if word is None:
        expect.keeps(result, X, what="x")
    else:
        assert word in str(refused(expect.keeps, result, X, what="x"))


def test_errors_and_warnings():
    expect.raises(lambda: 1 / 0, ZeroDivisionError, "division")
    assert "raises no error, expected a ValueError" in str(refused(expect.raises, lambda: None, ValueError))
    assert "a different ZeroDivisionError" in str(refused(expect.raises, lambda: 1 / 0, ZeroDivisionError, "shape"))
    assert expect.quiet(lambda: 3) == 3
    import warnings

    assert "old" in str(refused(expect.quiet, lambda: warnings.warn("old", stacklevel=1)))
