"""The examples of "Extending torch.func with autograd.Function" on vmap: a generated rule, and the vmap staticmethod.

There, each class is written again with its rule; here, it inherits the rest from its first form.
"""

import minigrad as torch

from .test_extending_torch_func import MyCube, NumpySort, NumpyTake


class GeneratedCube(MyCube):
    # Set generate_vmap_rule to True to ask PyTorch to automatically generate
    # a vmap rule.
    generate_vmap_rule = True


def my_cube(x):
    result, dx = GeneratedCube.apply(x)
    return result


def test_example_of_a_generated_rule():
    x = torch.randn(3)
    result = torch.vmap(my_cube)(x)
    assert torch.allclose(result, x**3)


def test_generated_rule_with_gradients_inside_and_outside():
    x = torch.tensor([1.0, 2.0, 3.0])
    assert torch.vmap(torch.func.grad(my_cube))(x).tolist() == [3.0, 12.0, 27.0]
    assert torch.func.grad(lambda x: torch.vmap(my_cube)(x).sum())(x).tolist() == [3.0, 12.0, 27.0]
    assert torch.vmap(torch.func.grad(torch.func.grad(my_cube)))(x).tolist() == [6.0, 12.0, 18.0]


def test_generated_rule_with_jacrev_and_hessian():
    x = torch.tensor([1.0, 2.0])
    assert torch.func.jacrev(my_cube)(x).tolist() == [[3.0, 0.0], [0.0, 12.0]]
    assert torch.func.jacrev(torch.func.jacrev(lambda x: my_cube(x).sum()))(x).tolist() == [[6.0, 0.0], [0.0, 12.0]]


class BatchedNumpySort(NumpySort):
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


class BatchedNumpyTake(NumpyTake):
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
