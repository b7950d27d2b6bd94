"""autocast runs products in half precision and losses in float32; GradScaler leaves out steps with gradients that overflow."""

import copy

import numpy as np
import pytest

import minigrad as torch
from minigrad.nn import functional as F
from minigrad.ops.base.primitive import Primitive

BF16, F32 = torch.bfloat16, torch.float32


@pytest.mark.parametrize(
    ("program", "inside"),
    [
        (lambda x: x @ x, BF16),
        (lambda x: F.linear(x, x), BF16),
        (lambda x: torch.bmm(x[None], x[None]), BF16),
        (lambda x: F.conv1d(x[None], x[:, :, None]), BF16),
        (lambda x: torch.addmm(x, x, x), BF16),
        (lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]), BF16),
        (lambda x: x + x, F32),
        (lambda x: x.exp(), F32),
        (lambda x: F.mse_loss(x @ x, x), F32),
        (lambda x: F.cross_entropy(x @ x, torch.tensor([0, 1])), F32),
        (lambda x: (x @ x).prod(), F32),
        (lambda x: (x @ x).median(), BF16),
        (lambda x: torch.matrix_exp(x @ x), BF16),
        (lambda x: torch.mv(x, x[0]), F32),
    ],
)
def test_products_are_in_half_precision_and_losses_in_float32(program, inside):
    x = torch.tensor([[1.0, 0.5], [0.25, 2.0]])
    with torch.autocast("cpu"):
        assert program(x).dtype is inside
    assert program(x).dtype is F32


@pytest.mark.parametrize(
    "program",
    [
        lambda x: F.conv1d(x[None].bfloat16(), x[:, :, None], x[0]),
        lambda x: F.conv_transpose1d(x[None].bfloat16(), x[:, :, None], x[0]),
        lambda x: F.linear(x.bfloat16(), x, x[0]),
        lambda x: F.linear(x.bfloat16(), x.bfloat16(), x[0]),
        lambda x: x.bfloat16() @ x,
        lambda x: torch.addmm(x, x.bfloat16(), x),
        lambda x: torch.einsum("ij,jk", x.bfloat16(), x),
    ],
)
def test_operands_of_two_dtypes_meet_inside_alone(program):
    x = torch.tensor([[1.0, 0.5], [0.25, 2.0]])
    with torch.autocast("cpu"):
        assert program(x).dtype is BF16
    with pytest.raises(RuntimeError, match="have the same dtype"):
        program(x)


def test_gradients_come_in_the_dtype_of_the_parameters():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    x = torch.randn(5, 3)
    grads = []
    for on in (False, True):
        model.zero_grad()
        with torch.autocast("cpu", enabled=on):
            loss = (model(x) ** 2).mean()
        loss.backward()
        grads.append([p.grad for p in model.parameters()])
    for exact, half in zip(*grads):
        assert half.dtype is F32
        np.testing.assert_allclose(half.numpy(), exact.numpy(), rtol=0.1, atol=0.05)
    assert any(not torch.equal(a, b) for a, b in zip(*grads))  # something was rounded


def test_it_works_inside_transforms_and_with_them_inside():
    f = lambda x: (x @ x).float().sum()
    x = torch.tensor([[1.0, 0.5], [0.25, 2.0]])
    with torch.autocast("cpu"):
        outside = torch.func.grad(f)(x)
    inside = torch.func.grad(torch.autocast("cpu")(f))(x)
    assert outside.dtype is inside.dtype is F32
    np.testing.assert_allclose(outside.numpy(), torch.func.grad(f)(x).numpy(), rtol=0.02)
    np.testing.assert_allclose(inside.numpy(), outside.numpy())


def test_no_grad_and_writes_work_inside():
    x = torch.ones(2, 2, requires_grad=True)
    with torch.autocast("cpu"):
        with torch.no_grad():
            x.add_(1)
            assert not (x @ x).requires_grad
        y = x.clone()
        y.mul_(2)
        y[0] = 0
    assert y.tolist() == [[0, 0], [4, 4]] and y.requires_grad


def test_an_inner_block_may_turn_it_off():
    x = torch.ones(2, 2)
    with torch.autocast("cpu"):
        with torch.autocast("cpu", enabled=False):
            assert (x @ x).dtype is F32 and not torch.is_autocast_enabled("cpu")
        assert (x @ x).dtype is BF16 and torch.is_autocast_enabled("cpu")
    assert not torch.is_autocast_enabled("cpu")


def test_a_function_may_be_decorated_and_another_dtype_chosen():
    @torch.autocast("cpu", dtype=torch.float16)
    def product(x):
        return x @ x, torch.get_autocast_dtype("cpu")

    found, told = product(torch.ones(2, 2))
    assert found.dtype is told is torch.float16


def test_a_dtype_that_is_not_smaller_is_refused():
    with pytest.raises(RuntimeError, match="float64 is not a dtype for autocast"):
        torch.autocast("cpu", dtype=torch.float64)


def test_a_custom_forward_may_ask_for_float32():
    seen = []

    class Square(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=F32)
        def forward(ctx, x):
            seen.append((x.dtype, torch.is_autocast_enabled("cpu")))
            ctx.save_for_backward(x)
            return x @ x

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g @ x.T + x.T @ g

    with torch.autocast("cpu"):
        x = torch.eye(2, requires_grad=True)
        Square.apply(x @ x).sum().backward()
    assert seen == [(F32, False)] and x.grad is not None


# ---------------------------------------------------------------------- GradScaler
def trained(scaler, gradients):
    """Return a parameter after a step for each of these gradients."""
    w = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=1.0)
    for g in gradients:
        optimizer.zero_grad()
        scaler.scale((w * g).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    return w.item()


def test_steps_are_those_without_a_scale():
    assert trained(torch.amp.GradScaler("cpu"), [1.0, 2.0, -0.5]) == -2.5


def test_a_step_with_a_gradient_that_is_not_finite_is_left_out_and_the_scale_shrinks():
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
    assert trained(scaler, [1.0, float("inf"), 1.0, float("nan")]) == -2.0
    assert scaler.get_scale() == 2.0
    trained(scaler, [1.0, 1.0])
    assert scaler.get_scale() == 4.0


def test_gradients_can_be_clipped_between():
    w = torch.zeros(1, requires_grad=True)
    optimizer, scaler = torch.optim.SGD([w], lr=1.0), torch.amp.GradScaler("cpu")
    scaler.scale((w * 100).sum()).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_value_([w], 1.0)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert w.item() == -1.0


def test_update_before_step_is_refused():
    with pytest.raises(AssertionError, match=r"scaler\.step\(optimizer\); scaler\.update\(\)"):
        torch.amp.GradScaler("cpu").update()


def test_a_call_in_the_wrong_order_is_told():
    def step_twice(scaler, sgd, loss):
        scaler.scale(loss()).backward()
        scaler.step(sgd)
        scaler.step(sgd)

    def unscale_after_step(scaler, sgd, loss):
        scaler.scale(loss()).backward()
        scaler.step(sgd)
        scaler.unscale_(sgd)

    def no_gradient(scaler, sgd, loss):
        scaler.scale(loss())
        scaler.step(sgd)

    def update_alone(scaler, sgd, loss):
        scaler.scale(loss())
        scaler.update()

    def two_scales(scaler, sgd, loss):
        scaler.scale(loss())
        scaler.update(torch.ones(2))

    def copy_between(scaler, sgd, loss):
        scaler.scale(loss()).backward()
        scaler.step(sgd)
        copy.copy(scaler)

    def half_gradients(scaler, sgd, loss):
        w = torch.ones(1, dtype=torch.float16, requires_grad=True)
        scaler.scale(w.sum()).backward()
        scaler.step(torch.optim.SGD([w]))

    cases = [
        (step_twice, RuntimeError, r"step: step\(\) has already been called since the last update"),
        (unscale_after_step, RuntimeError, r"unscale_\(\) is being called after step\(\)"),
        (no_gradient, AssertionError, "No inf checks were recorded for this optimizer"),
        (update_alone, AssertionError, "No inf checks were recorded prior to update"),
        (two_scales, AssertionError, "a float or a tensor of 1 element"),
        (copy_between, AssertionError, "pickled or copied at the beginning of an iteration"),
        (half_gradients, ValueError, "Attempting to unscale FP16 gradients"),
        (lambda s, o, loss: s.step(o), AssertionError, "Attempted step but _scale is None"),
        (lambda s, o, loss: s.step(o, closure=loss), RuntimeError, "Closure use is not currently supported"),
        (lambda s, o, loss: s.scale(3), ValueError, "a Tensor or an iterable of Tensors, but got int"),
        (lambda s, o, loss: s.load_state_dict({}), RuntimeError, "source state dict is empty"),
        (lambda s, o, loss: torch.amp.GradScaler("cpu", growth_factor=1.0), AssertionError, "growth_factor > 1.0"),
    ]
    for program, kind, words in cases:
        w = torch.ones(1, requires_grad=True)
        with pytest.raises(kind, match=words):
            program(torch.amp.GradScaler("cpu"), torch.optim.SGD([w], lr=0.1), lambda w=w: (w * w).sum())


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_scaler_without_its_device_says_that_it_is_off():
    with pytest.warns(torch.MinigradWarning, match="GradScaler: does nothing: there is no GPU"):
        assert not torch.amp.GradScaler().is_enabled()


def test_its_state_can_be_saved_and_taken_over():
    scaler, other = torch.amp.GradScaler("cpu", init_scale=4.0), torch.amp.GradScaler("cpu")
    trained(scaler, [1.0])
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict() and other.get_scale() == 4.0


def test_it_is_off_where_asked_and_scales_lists():
    off = torch.amp.GradScaler("cpu", enabled=False)
    x = torch.ones(1)
    assert off.scale(x) is x and off.get_scale() == 1.0 and not off.is_enabled() and off.state_dict() == {}
    assert torch.amp.GradScaler("cpu", init_scale=2.0).scale([x, x])[1].item() == 2.0


def test_distances_of_products_are_in_float32():
    with torch.autocast("cpu"):
        x = torch.ones(3, 2) @ torch.ones(2, 2)
        assert x.dtype is BF16 and torch.cdist(x, x).dtype is F32


def test_an_operation_declares_half_precision_or_float32_or_nothing():
    classes: list[type[Primitive]] = [Primitive]
    for cls in classes:  # grows while it is iterated over
        classes += cls.__subclasses__()
    assert {cls.autocast for cls in classes} == {"", "half", "float32"}
