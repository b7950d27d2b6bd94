"""The example of the C++ struct Function, in Python: an in-place forward, `saved_data`, `is_traceable`."""

import pytest

import minigrad as torch


class MyFunction(torch.autograd.Function):
    is_traceable = True

    @staticmethod
    def forward(ctx, n, var):
        # Save data for backward in context
        ctx.saved_data["n"] = n
        var.mul_(2)
        # Mark var as modified by inplace operation
        ctx.mark_dirty(var)
        return [var]

    @staticmethod
    def backward(ctx, *grad_output):
        # Use data saved in forward
        n = ctx.saved_data["n"]
        return None, grad_output[0] * n


def test_example_as_written():
    leaf = torch.tensor([1.0, 2.0], requires_grad=True)
    x = leaf.clone()
    y = MyFunction.apply(6, x)
    # Example backward call
    y[0].sum().backward()
    assert leaf.grad.tolist() == [6.0, 6.0]


def test_output_is_the_modified_input():
    x = torch.tensor([1.0, 2.0], requires_grad=True).clone()
    y = MyFunction.apply(6, x)
    assert y[0] is x
    assert x.tolist() == [2.0, 4.0]
    assert x.requires_grad and not x.is_leaf


def test_input_that_does_not_require_grad():
    x = torch.tensor([1.0, 2.0])
    (y,) = MyFunction.apply(6, x)
    assert y.tolist() == [2.0, 4.0]
    assert not y.requires_grad


def test_leaf_that_requires_grad_is_refused():
    with pytest.raises(RuntimeError, match="leaf"):
        MyFunction.apply(6, torch.tensor([1.0], requires_grad=True))


def test_later_operations_see_the_modified_value():
    leaf = torch.tensor([3.0], requires_grad=True)
    x = leaf * 1
    MyFunction.apply(5, x)
    (x * x).sum().backward()
    assert leaf.grad.tolist() == [2 * 6.0 * 5.0]


def test_saved_data_belongs_to_one_call():
    leaf = torch.tensor([1.0], requires_grad=True)
    (a,), (b,) = MyFunction.apply(2, leaf.clone()), MyFunction.apply(30, leaf.clone())
    (a + b).sum().backward()
    assert leaf.grad.tolist() == [32.0]


def test_saved_data_is_a_dictionary():
    seen = []

    class Remember(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.saved_data["factor"] = factor
            ctx.saved_data["names"] = ["a", "b"]
            return x * factor

        @staticmethod
        def backward(ctx, grad):
            seen.append((dict(ctx.saved_data), "missing" in ctx.saved_data))
            return grad * ctx.saved_data["factor"], None

    x = torch.tensor([1.0], requires_grad=True)
    Remember.apply(x, 2.5).sum().backward()
    assert seen == [({"factor": 2.5, "names": ["a", "b"]}, False)]
    assert x.grad.tolist() == [2.5]


def test_get_saved_variables_gives_what_save_for_backward_kept():
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, grad):
            x, y = ctx.get_saved_variables()
            return grad * y, grad * x

    x, y = torch.tensor([3.0], requires_grad=True), torch.tensor([4.0], requires_grad=True)
    Product.apply(x, y).sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([4.0], [3.0])


def test_saved_variables_allow_second_derivatives():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.get_saved_variables()
            return grad * 2 * x

    x = torch.tensor([3.0], requires_grad=True)
    (g,) = torch.autograd.grad(Square.apply(x).sum(), x, create_graph=True)
    assert torch.autograd.grad(g.sum(), x)[0].tolist() == [2.0]


def test_optional_tensor_is_an_input_when_it_has_a_value():
    class Affine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, bias):
            ctx.needs = ctx.needs_input_grad
            return x * 2 if bias is None else x * 2 + bias

        @staticmethod
        def backward(ctx, grad):
            return grad * 2, grad if ctx.needs[1] else None

    x, bias = torch.tensor([1.0], requires_grad=True), torch.tensor([5.0], requires_grad=True)
    Affine.apply(x, None).sum().backward()
    assert bias.grad is None
    Affine.apply(x, bias).sum().backward()
    assert (x.grad.tolist(), bias.grad.tolist()) == ([4.0], [1.0])


def test_backward_gets_as_many_gradients_as_forward_returned():
    class Split(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return [x * 2, x * 3]

        @staticmethod
        def backward(ctx, *grad_output):
            assert len(grad_output) == 2
            return grad_output[0] * 2 + grad_output[1] * 3

    x = torch.tensor([1.0], requires_grad=True)
    y = Split.apply(x)
    (y[0] + 10 * y[1]).sum().backward()
    assert x.grad.tolist() == [32.0]


@pytest.mark.parametrize(
    "pack", [lambda *tensors: list(tensors), lambda *tensors: {"x": tensors}], ids=["list", "dict"]
)
def test_no_data_structure_is_traversed(pack):
    """Tensors inside structures are not registered in the graph: with a message, not without a word."""

    class Sum(torch.autograd.Function):
        @staticmethod
        def forward(ctx, structure):
            return torch.zeros(1)

        @staticmethod
        def backward(ctx, grad):
            return None

    with pytest.raises(TypeError, match="Sum"):
        Sum.apply(pack(torch.tensor([1.0], requires_grad=True)))


def test_functions_are_not_traceable_unless_they_say_so():
    class Plain(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    assert torch.autograd.Function.is_traceable is False
    assert Plain.is_traceable is False
    assert MyFunction.is_traceable is True
