"""The two usages of `Function.forward` and what the page promises about ctx in each."""

import math

import pytest

import minigrad as torch


class Combined(torch.autograd.Function):
    """Usage 1: combined forward and ctx."""

    @staticmethod
    def forward(ctx, x, power, *rest, **options):
        ctx.save_for_backward(x)
        ctx.power = power
        return x**power

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.power * x ** (ctx.power - 1), None


class Separate(torch.autograd.Function):
    """Usage 2: separate forward and ctx."""

    @staticmethod
    def forward(x, power, *rest, **options):
        return x**power

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.power = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.power * x ** (ctx.power - 1), None


both_usages = pytest.mark.parametrize("function", [Combined, Separate])


@both_usages
def test_value_and_gradient(function):
    x = torch.tensor([2.0, -3.0], requires_grad=True)
    y = function.apply(x, 3)
    y.sum().backward()
    assert y.tolist() == [8.0, -27.0]
    assert x.grad.tolist() == [12.0, 27.0]


@both_usages
def test_argument_by_keyword(function):
    x = torch.tensor([2.0], requires_grad=True)
    function.apply(x, power=2).sum().backward()
    assert x.grad.tolist() == [4.0]


@both_usages
def test_second_derivative(function):
    x = torch.tensor([2.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda t: function.apply(t, 4), (x,))


def test_setup_context_gets_the_inputs_as_a_tuple_and_the_output_as_it_was_returned():
    seen = []

    class Single(torch.autograd.Function):
        @staticmethod
        def forward(x, text):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            seen.append((type(inputs), inputs[1], isinstance(output, torch.Tensor)))

        @staticmethod
        def backward(ctx, grad):
            return grad * 2, None

    class Pair(Single):
        @staticmethod
        def forward(x, text):
            return x * 2, x * 3

        @staticmethod
        def setup_context(ctx, inputs, output):
            seen.append((type(output), len(output)))

        @staticmethod
        def backward(ctx, a, b):
            return a * 2 + b * 3, None

    x = torch.tensor([1.0], requires_grad=True)
    Single.apply(x, "text")
    Pair.apply(x, "text")
    assert seen == [(tuple, "text", True), (tuple, 2)]


def test_arbitrary_data_on_ctx_is_there_in_backward():
    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, settings):
            ctx.settings, ctx.note, ctx.scale = settings, "kept", len(settings)
            return x * ctx.scale

        @staticmethod
        def backward(ctx, grad):
            assert ctx.note == "kept" and ctx.settings == {"a": 1, "b": 2}
            return grad * ctx.scale, None

    x = torch.tensor([1.0], requires_grad=True)
    Keep.apply(x, {"a": 1, "b": 2}).sum().backward()
    assert x.grad.tolist() == [2.0]


def test_tensor_stored_on_ctx_directly_still_works():
    """Not recommended, but not enforced either."""

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.x = x
            return x**3

        @staticmethod
        def backward(ctx, grad):
            return grad * 3 * ctx.x**2

    x = torch.tensor([2.0], requires_grad=True)
    Cube.apply(x).sum().backward()
    assert x.grad.tolist() == [12.0]


def test_vjp_is_backward_by_another_name():
    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x.sin()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def vjp(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * x.cos()

    x = torch.tensor([0.5], dtype=torch.float64, requires_grad=True)
    Sine.apply(x).sum().backward()
    assert x.grad.tolist() == pytest.approx([math.cos(0.5)])


def test_save_for_backward_serves_backward_and_save_for_forward_serves_jvp():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x, x * 2)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 2 * x

        @staticmethod
        def jvp(ctx, tangent):
            _, double = ctx.saved_tensors
            return tangent * double

    x = torch.tensor([3.0], requires_grad=True)
    with torch.autograd.forward_ad.dual_level():
        y = Square.apply(torch.autograd.forward_ad.make_dual(x, torch.tensor([10.0])))
        assert torch.autograd.forward_ad.unpack_dual(y).tangent.tolist() == [60.0]
        y.sum().backward()
    assert x.grad.tolist() == [6.0]


def test_function_without_forward_says_so():
    class Nothing(torch.autograd.Function):
        pass

    with pytest.raises(NotImplementedError, match="forward"):
        Nothing.apply(torch.tensor([1.0]))
