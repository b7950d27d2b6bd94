"""The examples of "Extending torch.func with autograd.Function" as written there, and what its text promises."""

import numpy as np
import pytest

import minigrad as torch

if not hasattr(getattr(torch, "func", None), "grad"):
    pytest.skip("the function transforms are not there yet", allow_module_level=True)


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


def cube_with_generated_rule():
    class MyCube(torch.autograd.Function):
        # Set generate_vmap_rule to True to ask PyTorch to automatically generate
        # a vmap rule.
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            result = x**3
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
            result = grad_output * dx + grad_dx * 6 * x
            return result

    def my_cube(x):
        result, dx = MyCube.apply(x)
        return result

    return my_cube


def test_example_of_a_generated_rule():
    my_cube = cube_with_generated_rule()
    x = torch.randn(3)
    result = torch.vmap(my_cube)(x)
    assert torch.allclose(result, x**3)


def test_generated_rule_with_gradients_inside_and_outside():
    my_cube = cube_with_generated_rule()
    x = torch.tensor([1.0, 2.0, 3.0])
    assert torch.vmap(torch.func.grad(my_cube))(x).tolist() == [3.0, 12.0, 27.0]
    assert torch.func.grad(lambda x: torch.vmap(my_cube)(x).sum())(x).tolist() == [3.0, 12.0, 27.0]
    assert torch.vmap(torch.func.grad(torch.func.grad(my_cube)))(x).tolist() == [6.0, 12.0, 18.0]


def test_generated_rule_with_jacrev_and_hessian():
    my_cube = cube_with_generated_rule()
    x = torch.tensor([1.0, 2.0])
    assert torch.func.jacrev(my_cube)(x).tolist() == [[3.0, 0.0], [0.0, 12.0]]
    assert torch.func.jacrev(torch.func.jacrev(lambda x: my_cube(x).sum()))(x).tolist() == [[6.0, 0.0], [0.0, 12.0]]


class BatchedNumpySort(torch.autograd.Function):
    @staticmethod
    def forward(x, dim):
        device = x.device
        x = to_numpy(x)
        ind = np.argsort(x, axis=dim)
        ind_inv = np.argsort(ind, axis=dim)
        result = np.take_along_axis(x, ind, axis=dim)
        return (
            torch.tensor(result, device=device),
            torch.tensor(ind, device=device),
            torch.tensor(ind_inv, device=device),
        )

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, dim = inputs
        _, ind, ind_inv = output
        ctx.mark_non_differentiable(ind, ind_inv)
        ctx.save_for_backward(ind, ind_inv)
        ctx.dim = dim

    @staticmethod
    def backward(ctx, grad_output, _0, _1):
        ind, ind_inv = ctx.saved_tensors  # the document forgets this line here
        return BatchedNumpyTake.apply(grad_output, ind_inv, ind, ctx.dim), None

    # The signature of the vmap staticmethod is:
    # vmap(info, in_dims: Tuple[Optional[int]], *args)
    # where *args is the same as the arguments to `forward`.
    @staticmethod
    def vmap(info, in_dims, x, dim):
        # For every input (x and dim), in_dims stores an Optional[int]
        # that is:
        # - None if the input is not being vmapped over or if the input
        #   is not a Tensor
        # - an integer if the input is being vmapped over that represents
        #   the index of the dimension being vmapped over.
        x_bdim, _ = in_dims

        # A "vmap rule" is the logic of how to perform the operation given
        # inputs with one additional dimension. In NumpySort, x has an
        # additional dimension (x_bdim). The vmap rule is simply
        # to call NumpySort again but pass it a different `dim`.
        x = x.movedim(x_bdim, 0)
        # Handle negative dims correctly
        dim = dim if dim >= 0 else dim + x.dim() - 1
        result = BatchedNumpySort.apply(x, dim + 1)

        # The vmap rule must return a tuple of two things
        # 1. the output. Should be the same amount of things
        #    as returned by the forward().
        # 2. one Optional[int] for each output specifying if each output
        # is being vmapped over, and if so, the index of the
        # dimension being vmapped over.
        #
        # NumpySort.forward returns a Tuple of 3 Tensors. Since we moved the
        # dimension being vmapped over to the front of `x`, that appears at
        # dimension 0 of all outputs.
        # The return is (output, out_dims) -- output is a tuple of 3 Tensors
        # and out_dims is a Tuple of 3 Optional[int]
        assert len(result) == 3
        return BatchedNumpySort.apply(x, dim + 1), (0, 0, 0)


class BatchedNumpyTake(torch.autograd.Function):
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
        result = BatchedNumpyTake.apply(grad_output, ind_inv, ind, ctx.dim)
        return result, None, None, None

    @staticmethod
    def vmap(info, in_dims, x, ind, ind_inv, dim):
        x_bdim, ind_bdim, ind_inv_bdim, _ = in_dims

        # The strategy is: expand {x, ind, ind_inv} to all have the dimension
        # being vmapped over.
        # Then, call back into NumpyTake(expanded_x, expanded_ind, expanded_ind_inv, new_dim).

        # Handle negative dims by wrapping them to be positive
        logical_dim = x.dim() if x_bdim is None else x_bdim - 1
        dim = dim if dim >= 0 else dim + logical_dim

        def maybe_expand_bdim_at_front(x, x_bdim):
            if x_bdim is None:
                return x.expand(info.batch_size, *x.shape)
            return x.movedim(x_bdim, 0)

        # If the Tensor doesn't have the dimension being vmapped over,
        # expand it out. Otherwise, move it to the front of the Tensor
        x = maybe_expand_bdim_at_front(x, x_bdim)
        ind = maybe_expand_bdim_at_front(ind, ind_bdim)
        ind_inv = maybe_expand_bdim_at_front(ind_inv, ind_inv_bdim)

        # The return is a tuple (output, out_dims). Since output is a Tensor,
        # then out_dims is an Optional[int] (instead of being a Tuple).
        return BatchedNumpyTake.apply(x, ind, ind_inv, dim + 1), 0


def batched_numpy_sort(x, dim=-1):
    result, _, _ = BatchedNumpySort.apply(x, dim)
    return result


def test_example_of_the_vmap_staticmethod():
    x = torch.randn(2, 3)
    result = torch.vmap(batched_numpy_sort)(x)
    assert torch.allclose(result, batched_numpy_sort(result, 1))


def test_vmap_staticmethod_over_another_dimension():
    x = torch.tensor([[3.0, 1.0], [2.0, 5.0], [1.0, 4.0]])
    assert torch.vmap(batched_numpy_sort, in_dims=1, out_dims=1)(x).tolist() == [[1.0, 1.0], [2.0, 4.0], [3.0, 5.0]]


def test_grad_of_vmap_is_grad_of_map():
    x = torch.tensor([[3.0, 1.0, 2.0], [4.0, 5.0, 6.0]])
    weights = torch.tensor([1.0, 10.0, 100.0])
    by_vmap = torch.func.grad(lambda x: (torch.vmap(lambda row: batched_numpy_sort(row, 0))(x) * weights).sum())(x)
    by_map = torch.func.grad(lambda x: sum((batched_numpy_sort(row, 0) * weights).sum() for row in x))(x)
    assert by_vmap.tolist() == by_map.tolist() == [[100.0, 1.0, 10.0], [1.0, 10.0, 100.0]]


def test_jacrev_needs_only_a_backward_that_vmap_understands():
    x = torch.tensor([3.0, 1.0, 2.0])
    jacobian = torch.func.jacrev(lambda x: batched_numpy_sort(x, 0))(x)
    assert jacobian.tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]


def test_info_and_in_dims_of_the_vmap_staticmethod():
    seen = []

    class Affine(torch.autograd.Function):
        @staticmethod
        def forward(x, weight, n):
            return x * weight + n

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x, weight, n):
            seen.append((info.batch_size, info.randomness, in_dims, tuple(x.shape), tuple(weight.shape), n))
            return Affine.apply(x.movedim(in_dims[0], 0), weight, n), 0

    x, weight = torch.ones(3, 2), torch.tensor([10.0, 20.0, 30.0])
    result = torch.vmap(lambda column: Affine.apply(column, weight, 5), in_dims=1, randomness="same")(x)
    assert result.tolist() == [[15.0, 25.0, 35.0]] * 2
    assert seen == [(2, "same", (1, None, None), (3, 2), (3,), 5)]


def test_output_that_the_rule_says_is_not_batched():
    class Constant(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2, torch.tensor(7.0)

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x):
            return (x * 2, torch.tensor(7.0)), (in_dims[0], None)

    double, constant = torch.vmap(Constant.apply)(torch.tensor([1.0, 2.0]))
    assert double.tolist() == [2.0, 4.0]
    assert constant.tolist() == [7.0, 7.0]


def scale(**extra):
    """A Function x -> 2 x with the static methods (or class attributes) given."""
    methods = {
        "forward": lambda x: x * 2,
        "setup_context": lambda ctx, inputs, output: None,
        "backward": lambda ctx, grad: grad * 2,
    } | extra
    return type(
        "Scale",
        (torch.autograd.Function,),
        {
            name: staticmethod(method) if callable(method) else method
            for name, method in methods.items()
            if method is not None
        },
    )


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
