"""The examples of "Extending torch.func with autograd.Function" as written there, and what its text promises.

Its part on vmap is in test_extending_torch_func_vmap.py.
"""

import numpy as np
import pytest

import minigrad as torch
from tests.functions import custom


def to_numpy(tensor):
    return tensor.cpu().numpy()


class NumpySort(torch.autograd.Function):
    # Note that forward does not take ctx
    @staticmethod
    def forward(x, dim):
        device = x.device
        x = to_numpy(x)
        ind = np.argsort(x, axis=dim)
        ind_inv = np.argsort(ind, axis=dim)
        result = np.take_along_axis(x, ind, axis=dim)
        # Any intermediates to be saved in backward must be returned as
        # outputs.
        return (
            # The desired output
            torch.tensor(result, device=device),
            # intermediate to save for backward
            torch.tensor(ind, device=device),
            # intermediate to save for backward
            torch.tensor(ind_inv, device=device),
        )

    # setup_context is responsible for calling methods and/or assigning to
    # the ctx object. Please do not do additional compute (e.g. add
    # Tensors together) in setup_context.
    @staticmethod
    def setup_context(ctx, inputs, output):
        x, dim = inputs
        # Note that output is whatever you returned from forward.
        # If you returned multiple values, then output is a Tuple of multiple values.
        # If you returned a single Tensor, then output is a Tensor.
        # If you returned a Tuple with a single Tensor, then output is a
        # Tuple with a single Tensor.
        _, ind, ind_inv = output
        ctx.mark_non_differentiable(ind, ind_inv)
        # Tensors must be saved via ctx.save_for_backward. Please do not
        # assign them directly onto the ctx object.
        ctx.save_for_backward(ind, ind_inv)
        # Non-tensors may be saved by assigning them as attributes on the ctx object.
        ctx.dim = dim

    @staticmethod
    def backward(ctx, grad_output, _0, _1):
        # For the autograd.Function to be arbitrarily composable with function
        # transforms, all staticmethod other than forward and setup_context
        # must be implemented in a "transformable" way; that is, they must
        # only consist of PyTorch operations or autograd.Function.
        #
        # For example, this allows us to do double backwards and/or compute
        # second order gradients.
        #
        # We've written the backward pass of NumpySort in terms of another
        # autograd.Function, NumpyTake.
        ind, ind_inv = ctx.saved_tensors
        return NumpyTake.apply(grad_output, ind_inv, ind, ctx.dim), None


class NumpyTake(torch.autograd.Function):
    @staticmethod
    def forward(x, ind, ind_inv, dim):
        device = x.device
        x = to_numpy(x)
        ind = to_numpy(ind)
        return torch.tensor(np.take_along_axis(x, ind, dim), device=device)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ind, ind_inv, dim = inputs
        ctx.save_for_backward(ind, ind_inv)
        ctx.dim = dim

    @staticmethod
    def backward(ctx, grad_output):
        ind, ind_inv = ctx.saved_tensors
        result = NumpyTake.apply(grad_output, ind_inv, ind, ctx.dim)
        return result, None, None, None


def numpy_sort(x, dim=-1):
    result, _, _ = NumpySort.apply(x, dim)
    return result


class MyCube(torch.autograd.Function):
    @staticmethod
    def forward(x):
        result = x**3
        # In regular PyTorch, if we had just run y = x ** 3, then the backward
        # pass computes dx = 3 * x ** 2. In this autograd.Function, we've done
        # that computation here in the forward pass instead.
        dx = 3 * x**2
        return result, dx

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        result, dx = output
        ctx.save_for_backward(x, dx)

    @staticmethod
    def backward(ctx, grad_output, grad_dx):
        x, dx = ctx.saved_tensors
        # In order for the autograd.Function to work with higher-order
        # gradients, we must add the gradient contribution of `dx`.
        result = grad_output * dx + grad_dx * 6 * x
        return result


def my_cube(x):
    result, _ = MyCube.apply(x)
    return result


def test_example_1_sanity_check():
    x = torch.randn(2, 3)
    grad_x = torch.func.grad(lambda x: numpy_sort(x).sum())(x)
    assert torch.allclose(grad_x, torch.ones_like(x))


def test_example_1_gradient_goes_back_to_the_place_it_came_from():
    x = torch.tensor([[3.0, 1.0, 2.0], [1.0, 2.0, 3.0]])
    weights = torch.tensor([1.0, 10.0, 100.0])
    gradient = torch.func.grad(lambda x: (numpy_sort(x) * weights).sum())(x)
    assert gradient.tolist() == [[100.0, 1.0, 10.0], [1.0, 10.0, 100.0]]
    assert numpy_sort(x, 0).tolist() == [[1.0, 1.0, 2.0], [3.0, 2.0, 3.0]]


def test_example_1_second_order():
    x = torch.tensor([3.0, 1.0, 2.0])
    second = torch.func.grad(lambda x: torch.func.grad(lambda x: (numpy_sort(x) ** 3).sum())(x).sum())(x)
    assert second.tolist() == [18.0, 6.0, 12.0]


def test_example_1_without_transforms():
    x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    (numpy_sort(x) * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [100.0, 1.0, 10.0]


def test_example_2_sanity_check():
    x = torch.randn([])
    ggx = torch.func.grad(torch.func.grad(my_cube))(x)
    assert torch.allclose(ggx, 6 * x)


def test_example_2_first_order():
    assert torch.func.grad(my_cube)(torch.tensor(2.0)).item() == 12.0


def test_example_2_third_order():
    third = torch.func.grad(torch.func.grad(torch.func.grad(my_cube)))(torch.tensor(2.0))
    assert third.item() == pytest.approx(6.0)


def test_example_2_second_order_without_transforms():
    x = torch.tensor(2.0, requires_grad=True)
    (g,) = torch.autograd.grad(my_cube(x), x, create_graph=True)
    (h,) = torch.autograd.grad(g, x)
    assert (g.item(), h.item()) == (12.0, 12.0)


def scale(**extra):
    """Return a Function x -> 2 x with the static methods (or class attributes) given."""
    methods = {"forward": lambda x: x * 2, "setup_context": lambda *a: None, "backward": lambda ctx, grad: grad * 2}
    return custom("Scale", **methods | extra)


def test_forward_that_takes_ctx_is_refused_by_transforms():
    combined = scale(forward=lambda ctx, x: x * 2, setup_context=None)
    with pytest.raises(RuntimeError, match="setup_context"):
        torch.func.grad(combined.apply)(torch.tensor(1.0))


def test_vmap_without_a_rule_is_refused():
    with pytest.raises(RuntimeError, match="vmap"):
        torch.vmap(scale().apply)(torch.ones(3))


def test_vmap_with_two_rules_is_refused():
    both = scale(vmap=lambda info, in_dims, x: (x * 2, 0), generate_vmap_rule=True)
    with pytest.raises(RuntimeError, match="generate_vmap_rule"):
        torch.vmap(both.apply)(torch.ones(3))


def test_jvp_needs_a_jvp_staticmethod():
    x = torch.tensor(3.0)
    with pytest.raises(RuntimeError):  # NotImplementedError is one
        torch.func.jvp(scale().apply, (x,), (x,))
    value, tangent = torch.func.jvp(scale(jvp=lambda ctx, t: t * 2).apply, (x,), (torch.tensor(5.0),))
    assert (value.item(), tangent.item()) == (6.0, 10.0)


def test_all_static_methods_together_give_all_transforms():
    class Cube(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * grad

        @staticmethod
        def jvp(ctx, tangent):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * tangent

    x = torch.tensor([1.0, 2.0])
    diagonal = [[3.0, 0.0], [0.0, 12.0]]
    assert torch.func.jacrev(Cube.apply)(x).tolist() == diagonal
    assert torch.func.jacfwd(Cube.apply)(x).tolist() == diagonal
    assert torch.func.hessian(lambda x: Cube.apply(x).sum())(x).tolist() == [[6.0, 0.0], [0.0, 12.0]]


def test_tensors_in_structures_are_not_tracked():
    class First(torch.autograd.Function):
        @staticmethod
        def forward(pair):
            return pair[0] * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, grad):
            return None

    with pytest.raises((TypeError, RuntimeError)):
        torch.func.grad(lambda x: First.apply([x, x]))(torch.tensor(1.0))
