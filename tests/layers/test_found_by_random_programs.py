"""Faults that random programs of transforms have found, each as its shortest program."""

import pytest

import minigrad as torch
from minigrad.autograd import forward_ad
from minigrad.func import grad, hessian, jacrev, jvp, vmap
from tests.functions import custom

F64 = {"dtype": torch.float64}


def test_a_tensor_saved_before_a_write_keeps_its_tangent():
    fw = torch.autograd.forward_ad
    x, v = torch.tensor([0.3, 2.5], **F64), torch.tensor([1.0, 10.0], **F64)
    with fw.dual_level():
        d = fw.make_dual(x.requires_grad_(), v)
        y = d * 1
        y[None].sin_()
        (g,) = torch.autograd.grad(y.sum(), d, create_graph=True)
        assert torch.allclose(fw.unpack_dual(g).tangent, -x.sin() * v)


def test_repeat_interleave_of_one_element_is_a_copy():
    x = torch.ones(1)
    x.repeat_interleave(2)[0] = 5.0
    assert x.tolist() == [1.0]


def test_scatter_into_a_0d_tensor_keeps_its_shape():
    x, i = torch.tensor(1.5), torch.tensor(0)
    assert x.scatter(0, i, torch.tensor(2.5)).shape == () and x.scatter(0, i, 2.5, reduce="add").item() == 4.0


def test_contiguous_returns_the_same_memory_under_transforms():
    def f(x):
        y = x * 1
        y.contiguous().mul_(2)
        return (y * y).sum()

    x = torch.ones(2, 3)
    assert grad(f)(x).tolist() == [[8.0] * 3] * 2 and vmap(f)(x).tolist() == [12.0, 12.0]
    assert vmap(f, 1)(x).tolist() == [8.0] * 3  # as for each column alone: what it computes is contiguous


def test_a_product_of_overlapping_examples_is_contiguous():
    def f(x):
        y = x @ x.mT
        y.contiguous().mul_(2)
        return y

    x = torch.arange(20.0).reshape(2, 5, 1, 2)
    assert torch.equal(vmap(f, 1)(x), torch.stack([f(x[:, i]) for i in range(5)]))


def test_a_write_through_a_view_whose_gradient_has_another_layout():
    weight = torch.arange(6.0).reshape(3, 2)

    def f(x, y):
        z = x.clone()
        z.flatten().copy_(y)
        return (z.t() * weight).sum()

    x, y = torch.ones(2, 3), torch.ones(6)
    assert grad(f, 1)(x, y).tolist() == [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]
    gradients = vmap(grad(f, 1), (2, 1))(torch.stack([x, x], 2), torch.stack([y, y], 1))
    assert gradients.tolist() == [[0.0, 2.0, 4.0, 1.0, 3.0, 5.0]] * 2


def test_a_batched_tensor_has_the_layout_of_one_example():
    seen = []
    vmap(lambda x: (seen.append((x.stride(), x.is_contiguous())), x)[1], 1)(torch.ones(2, 3))
    assert seen == [((3,), False)]


def test_writes_to_tensors_without_elements():
    def f(x):
        return torch.diff(x).exp_().sum()

    x = torch.tensor([0.3], **F64, requires_grad=True)
    (g,) = torch.autograd.grad(hessian(f)(x).sum() + 0 * x.sum(), x)
    assert g.tolist() == [0.0]


def test_a_tensor_that_eager_mode_tracks_is_written_by_itself_under_grad():
    k = torch.tensor([1.0, 2.0], requires_grad=True)

    def f(x):
        v = k.flip(0)
        v.add_(v)
        return (x * v).sum()

    g = grad(f)(torch.ones(2))
    assert g.tolist() == [4.0, 2.0] and torch.autograd.grad(g.sum(), k)[0].tolist() == [2.0, 2.0]


def test_a_broadcast_sum_has_a_separate_tangent_under_vmap():
    k = torch.zeros(2, 3)

    def f(x, t):
        def g(x):
            v = x - k
            v.add_(1)
            return v

        return jvp(g, (x,), (t,))[1]

    assert vmap(f, (None, 0))(torch.ones(2, 1), torch.ones(4, 2, 1)).shape == (4, 2, 3)


def test_second_derivative_of_a_once_differentiable_function_under_vmap():
    from minigrad.autograd.function import once_differentiable

    F = custom(
        "F",
        generate_vmap_rule=True,
        forward=lambda x: x**3,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
        backward=once_differentiable(lambda ctx, g: 3 * ctx.saved_tensors[0] ** 2 * g),
    )
    x = torch.tensor([2.0])
    assert jacrev(F.apply)(x).tolist() == [[12.0]]
    try:
        jacrev(jacrev(F.apply))(x)
    except RuntimeError as e:
        assert "once_differentiable" in str(e)
    else:
        raise AssertionError("a silent zero")


def test_a_view_of_a_tensor_written_inside_grad_keeps_its_outer_tangent():
    k, x = torch.ones(2, 3), torch.tensor([1.0, 1.0])

    def f(x):
        v = k * 1
        w = v.view(-1)
        v.mul_(x.sum())
        return (w * x.sum()).sum()  # 6 s**2, of which the gradient is 12 s

    with forward_ad.dual_level():
        primal, tangent = forward_ad.unpack_dual(grad(f)(forward_ad.make_dual(x, torch.tensor([0.5, 2.0]))))
    assert primal.tolist() == [24.0, 24.0] and tangent.tolist() == [30.0, 30.0]


@pytest.mark.parametrize("write", ["exp_", "tanh_", "sigmoid_", "sqrt_", "rsqrt_", "reciprocal_"])
@pytest.mark.parametrize("part", [slice(None), slice(1)], ids=["whole", "a view"])
def test_a_gradient_made_in_forward_mode_of_a_write_that_keeps_its_result(write, part):
    def slope(x):
        y = x * 2
        getattr(y[part], write)()
        return torch.autograd.grad((y * 3).sum(), x, create_graph=True)[0]

    x, v = torch.tensor([0.3, 0.7], **F64), torch.tensor([1.0, -2.0], **F64)
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(slope(forward_ad.make_dual(x.clone().requires_grad_(), v))).tangent
    less, more = slope((x - 1e-6 * v).requires_grad_()), slope((x + 1e-6 * v).requires_grad_())
    assert torch.allclose(tangent, (more - less) / 2e-6, 1e-6, 1e-8)
