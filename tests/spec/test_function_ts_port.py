"""The examples of the TypeScript port's page on Function, in Python, with what they give in closed form.

The methods return lists and unpack `ctx.saved_tensors` as they do there.
"""

import math

import pytest

import minigrad as torch


class Exp(torch.autograd.Function):
    """Combined style."""

    @staticmethod
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        [result] = ctx.saved_tensors
        return [grad_output.mul(result)]


class SeparateExp(torch.autograd.Function):
    """Separate style."""

    @staticmethod
    def forward(x):
        return x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad_output):
        [result] = ctx.saved_tensors
        return [grad_output.mul(result)]


both_styles = pytest.mark.parametrize("function", [Exp, SeparateExp], ids=["combined", "separate"])


def numbers():
    return torch.tensor([0.0, 1.0, -2.0], dtype=torch.float64, requires_grad=True)


@both_styles
def test_value_is_the_exponential(function):
    y = function.apply(numbers())
    assert y.tolist() == pytest.approx([1.0, math.e, math.exp(-2)])


@both_styles
def test_gradient_is_the_exponential(function):
    x = numbers()
    function.apply(x).sum().backward()
    assert x.grad.tolist() == pytest.approx([1.0, math.e, math.exp(-2)])


@both_styles
def test_gradient_is_scaled_by_what_comes_in(function):
    x = numbers()
    function.apply(x).backward(torch.tensor([1.0, 10.0, 100.0], dtype=torch.float64))
    assert x.grad.tolist() == pytest.approx([1.0, 10 * math.e, 100 * math.exp(-2)])


@both_styles
def test_second_derivative_is_the_exponential(function):
    x = numbers()
    (g,) = torch.autograd.grad(function.apply(x).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert h.tolist() == pytest.approx([1.0, math.e, math.exp(-2)])


@both_styles
def test_composes_with_itself(function):
    x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    function.apply(function.apply(x)).backward()
    assert x.grad.item() == pytest.approx(math.exp(math.exp(0.5)) * math.exp(0.5))


@both_styles
def test_gradcheck_and_gradgradcheck_pass(function):
    assert torch.autograd.gradcheck(function.apply, (numbers(),))
    assert torch.autograd.gradgradcheck(function.apply, (numbers(),))


def test_backward_returns_as_many_tensors_as_there_were_inputs():
    class Weighted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, z):
            return x + 2 * y + 3 * z

        @staticmethod
        def backward(ctx, grad_output):
            return [grad_output, grad_output * 2, grad_output * 3]

    x, y, z = (torch.tensor([1.0], requires_grad=True) for _ in range(3))
    Weighted.apply(x, y, z).sum().backward()
    assert [x.grad.item(), y.grad.item(), z.grad.item()] == [1.0, 2.0, 3.0]


def test_backward_takes_as_many_gradients_as_forward_returned_tensors():
    class Split(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return [x * 2, x * 3]

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.outputs = len(output)

        @staticmethod
        def backward(ctx, first, second):
            assert ctx.outputs == 2
            return [first * 2 + second * 3]

    x = torch.tensor([1.0], requires_grad=True)
    a, b = Split.apply(x)
    (a * 10 + b * 100).sum().backward()
    assert x.grad.tolist() == [320.0]
