"""A verdict names the mistake in a gradient, result or tangent before its numbers, which are those of the picture."""

import re
from collections.abc import Callable

import pytest

import lessons
import minigrad as torch
from lessons import expect
from lessons.bank import combined
from lessons.exercise import Wrong
from lessons.incoming import drawn, for_learner

A = torch.tensor([[1.0, 2.0], [3.0, -4.0]], requires_grad=True)
B = torch.tensor([[0.5, -1.0], [2.0, 7.0]], requires_grad=True)
X, Y = A[0].detach().requires_grad_(), B[1].detach().requires_grad_()
S = torch.tensor(3.0, requires_grad=True)


def product(backward, arguments="x, y", result="x * y", name="Product"):
    """Return a Function of two arguments that it saves, with this backward."""
    names: dict = {"torch": torch}
    forward = f"ctx.save_for_backward({arguments})\nreturn {result}"
    source = combined(name, arguments, forward, "grad_output", f"{arguments} = ctx.saved_tensors", f"return {backward}")
    exec(source, names)
    return names[name].apply


def refused(answer, expected, *args):
    with for_learner("an exercise", "ada"), pytest.raises(Wrong) as e:
        expect.computes(answer, expected, args)
    return e.value


def times(x, y):
    return x * y


GRADIENTS = {
    "grad_output * x, grad_output * y": ("swapped", "the gradients of x and y are swapped"),
    "y, grad_output * x": ("without the incoming gradient", "the gradient of x does not depend on grad_output"),
    "-grad_output * y, grad_output * x": ("sign", "the gradient of x has the wrong sign"),
    "3 * grad_output * y, grad_output * x": ("factor 3", "the gradient of x is 3 times as large as it should be"),
    "grad_output * y / 2, grad_output * x": ("factor 1/2", "the gradient of x has to be 2 times as large"),
    "grad_output, grad_output * x": ("without the factor y", "the gradient of x lacks the factor y"),
    "grad_output * y * y, grad_output * x": ("one factor y too many", "the gradient of x has one factor y too many"),
    "grad_output * x, grad_output * x": ("as if the derivative were x", "as if the derivative were x"),
    "0 * y, grad_output * x": ("zero", "the gradient of x is 0"),
    "grad_output**2 * y, grad_output * x": (
        "not linear in the incoming gradient",
        "the gradient of x is not grad_output times a slope",
    ),
    "None, grad_output * x": ("the gradient of x is None", "the gradient of x is None, expected a tensor"),
    "grad_output * y + x, grad_output * x": (
        "not linear in the incoming gradient",
        "the gradient of x is not grad_output",
    ),
    "grad_output / y, grad_output * x": ("1 / slope", "the gradient of x has 1 / slope instead of the slope"),
    "grad_output * y.exp(), grad_output * x": (
        "the gradient of x is wrong",
        "for x = [1, 2], y = [2, 7] and grad_output",
    ),
}


@pytest.mark.filterwarnings("ignore::minigrad.MinigradWarning")
@pytest.mark.parametrize("backward", GRADIENTS)
def test_a_wrong_gradient_is_explained_before_its_numbers(backward):
    name, words = GRADIENTS[backward]
    wrong = refused(product(backward), times, X, Y)
    assert wrong.mistake == name and words in str(wrong)
    assert name.startswith("the gradient") or str(wrong).index(words) < str(wrong).index("for x = ")
    assert re.search(r"and grad_output = \[-?\d\.\d, -?\d\.\d\], the gradient of x is", str(wrong))


def test_a_transposed_gradient_and_one_without_its_sum():
    wrong = refused(product("(grad_output @ y.T).T, x.T @ grad_output", result="x @ y"), lambda x, y: x @ y, A, B)
    assert wrong.mistake == "transposed" and str(wrong).startswith("the gradient of x is transposed: for x = [[1, 2]")
    wrong = refused(lambda g, x: g * x, lambda g, x: (g * x).sum(0), A.detach(), B.detach())
    assert wrong.mistake == "not summed over the broadcast dimension"
    assert "add up these gradients, to the shape [2]" in str(wrong)
    wrong = refused(product("grad_output * y, (grad_output * x).mean()"), times, X, S)
    assert (wrong.mistake, wrong.line) == ("factor 1/2", "") and "the gradient of y has to be 2 times" in str(wrong)


def test_of_several_incoming_gradients_the_forgotten_one_is_named():
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x, 3 * x

        @staticmethod
        def backward(ctx, grad_double, grad_triple):
            return 2 * grad_double

    wrong = refused(Both.apply, lambda x: (2 * x, 3 * x), X)
    assert wrong.mistake == "without the incoming gradient" and "does not depend on grad_triple" in str(wrong)
    assert wrong.line == "return 2 * grad_double"


PARTS = {
    "g1 * y - g2 * x": ("sign", "in the gradient of x, the part of g2 has the wrong sign"),
    "g1 * y + g2": ("without the factor x", "in the gradient of x, the part of g2 lacks the factor x"),
    "g2 * y + g1 * x": ("incoming gradients swapped", "in the gradient of x, g1 and g2 are swapped"),
    "2 * g1 * y + 3 * g2 * x": ("the gradient of x is wrong", "for x = [1, 2]"),  # both parts are
}


@pytest.mark.parametrize("backward", PARTS)
def test_of_several_incoming_gradients_the_wrong_part_is_named(backward):
    source = combined(
        "Both",
        "x, y",
        "ctx.save_for_backward(x, y)\nreturn x * y, x * x / 2",
        "g1, g2",
        "x, y = ctx.saved_tensors",
        f"return {backward}, g1 * x",
    )
    names: dict = {"torch": torch}
    exec(source, names)
    wrong = refused(names["Both"].apply, lambda x, y: (x * y, x * x / 2), X, Y)
    name, words = PARTS[backward]
    assert wrong.mistake == name and str(wrong).startswith(words)


def test_a_function_that_calls_a_function_has_its_names():
    forgets = product("y, x").__self__

    @expect.calling(forgets)
    def copied(*args):
        return forgets.apply(*args)

    wrong = refused(copied, times, X, Y)
    assert str(wrong).startswith(
        "the gradient of x does not depend on grad_output, the incoming gradient: for x = [1, 2]"
    )
    assert "✗ grad_output, [" in wrong.drawing.text()


def test_a_large_tensor_is_told_by_its_shape():
    wrong = refused(lambda x: -x, lambda x: x, torch.ones(4, 5))
    assert "for x = a tensor of shape [4, 5], the result is -1 at [0, 0], expected 1" in str(wrong)


def test_factors_that_agree_in_one_call_by_chance_are_not_named():
    wrong = refused(lambda x: 4 * x, lambda x: x**4, torch.tensor(2.0))  # 8 instead of 16, but not for another x
    assert wrong.mistake == "the result is wrong" and str(wrong) == "for x = 2, the result is 8, expected 16"


class Area(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_forward(x, y)
        return x * y

    @staticmethod
    def jvp(ctx, x_tangent, y_tangent):
        x, y = ctx.saved_tensors
        return FORMULA[0](x, y, x_tangent, y_tangent)


FORMULA: list[Callable] = [lambda x, y, dx, dy: dx]
TANGENTS = {
    "swapped": (lambda x, y, dx, dy: dx * x + dy * y, "in the tangent, the tangents of x and y are swapped"),
    "without the incoming tangent": (lambda x, y, dx, dy: dx * y, "the tangent does not depend on the tangent of y"),
    "sign": (lambda x, y, dx, dy: -dx * y - dy * x, "the tangent has the wrong sign"),
    "the tangent is None": (lambda x, y, dx, dy: None, "is there a return in jvp?"),
}


@pytest.mark.parametrize("name", TANGENTS)
def test_a_wrong_tangent_is_explained(name):
    FORMULA[0], words = TANGENTS[name]
    point, direction = (X.detach(), Y.detach()), (torch.tensor([1.0, 3.0]), torch.tensor([-2.0, 10.0]))
    with pytest.raises(Wrong) as e:
        expect.tangents(Area, times, point, direction)
    assert e.value.mistake == name and words in str(e.value) and "x's tangent = [1, 3]" in str(e.value)


def test_the_same_learner_gets_the_same_short_numbers_and_another_one_others():
    def numbers(student):
        with for_learner("an exercise", student):
            return [array.tolist() for array in drawn((30,), ())]

    assert numbers("ada") == numbers("ada") != numbers("grace")
    flat = [*numbers("ada")[0], numbers("ada")[1]]
    assert all(0.3 <= abs(n) <= 2.9 and abs(n * 10 - round(n * 10)) < 1e-9 for n in flat)
    assert not {1.0, -1.0, 2.0, -2.0} & set(flat) and len(set(map(abs, flat[:20]))) == 20


def test_text_and_picture_have_the_same_numbers_and_the_warning_is_not_repeated():
    class CombinedReciprocal(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            result = 1 / x
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx, grad_output):
            (result,) = ctx.saved_tensors
            return -result * result

    verdict = lessons.check("CombinedReciprocal", CombinedReciprocal, "ada")
    assert verdict.mistake == "without the incoming gradient" and verdict.given == "return -result * result"
    said = re.search(r"grad_output = (\S+), the gradient of x is -4, expected (\S+)", verdict.message)
    assert verdict.drawing is not None
    picture = " ".join(verdict.drawing.text().split())
    assert said and f"grad_output, {said[1]}, is not used" in picture
    assert f"✗ expected {said[2]}" in picture and "CombinedReciprocal.backward" in picture
    assert "your code warns" not in verdict.message and verdict.message.count("To fix") == 1
