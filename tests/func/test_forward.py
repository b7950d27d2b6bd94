"""jvp and linearize: values against closed forms and backward, writes in place, trees, errors."""

import math

import numpy as np
import pytest

import minigrad as torch
import minigrad.autograd.forward_ad as fwAD
from minigrad.func import grad, jvp, linearize, vjp
from tests.functions import custom

F64 = {"dtype": torch.float64}


def test_tangent_in_closed_form():
    x, v = torch.tensor([0.5, -1.0], **F64), torch.tensor([2.0, 3.0], **F64)
    value, tangent = jvp(lambda x: x.sin() * x, (x,), (v,))
    assert torch.allclose(value, x.sin() * x) and torch.allclose(tangent, (x.cos() * x + x.sin()) * v)


def test_is_the_transpose_of_vjp():
    f = lambda x: (x @ x.T).tanh()
    x, v, c = torch.randn(3, 2, **F64), torch.randn(3, 2, **F64), torch.randn(3, 3, **F64)
    forward, backward = (jvp(f, (x,), (v,))[1] * c).sum(), (vjp(f, x)[1](c)[0] * v).sum()
    assert forward.item() == pytest.approx(backward.item())


def test_higher_orders_in_closed_form():
    def derivative(f):
        return lambda x: jvp(f, (x,), (torch.ones((), **F64),))[1]

    f = torch.sin
    for _ in range(5):
        f = derivative(f)
    assert f(torch.tensor(0.3, **F64)).item() == pytest.approx(math.cos(0.3))


def test_primals_may_be_several_and_nested():
    x, y = torch.tensor(3.0), torch.tensor(2.0)
    assert jvp(lambda x, y: x * y, (x, y), (torch.tensor(1.0), torch.tensor(10.0)))[1].item() == 32.0
    _, out = jvp(lambda d: {"a": [d["u"] * 2]}, ({"u": x, "v": y},), ({"u": y, "v": x},))
    assert out["a"][0].item() == 4.0


def test_results_that_do_not_depend_on_the_primals():
    (x, c), (tx, tc) = jvp(lambda x: (x, torch.ones(2)), (torch.ones(2),), (torch.ones(2),))
    assert tc.tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match=r"result 1 \(a tensor of shape \(2,\).*does not depend"):
        jvp(lambda x: (x, torch.ones(2)), (torch.ones(2),), (torch.ones(2),), strict=True)


def test_integer_results_have_zeros_for_tangents():
    _, t = jvp(lambda x: x.long(), (torch.ones(2),), (torch.ones(2),))
    assert t.tolist() == [0, 0] and t.dtype == torch.int64


def test_aux():
    value, tangent, aux = jvp(lambda x: (x * 2, {"x": x}), (torch.tensor(1.0),), (torch.tensor(1.0),), has_aux=True)
    assert (value.item(), tangent.item(), (aux["x"] + 1).item()) == (2.0, 2.0, 2.0)


def test_tangents_take_the_dtype_of_their_primals():
    assert jvp(lambda x: x * 2, (torch.ones(2),), (torch.ones(2, **F64),))[1].dtype == torch.float32
    with fwAD.dual_level():
        x = fwAD.make_dual(torch.ones(2, **F64), torch.tensor([1.0, 2.0], requires_grad=True))
        value, tangent = fwAD.unpack_dual(torch.outer(x.exp(), x))
    assert value.dtype == tangent.dtype == torch.float64
    assert tangent[1].tolist() == pytest.approx([3 * math.e, 4 * math.e])
    assert tangent.requires_grad


def test_linearize_and_jvp_refuse_tangents_of_other_dtypes_and_shapes():
    push = linearize(torch.sin, torch.ones(2))[1]
    for dtype in (torch.float64, torch.float16, torch.int64):
        with pytest.raises(RuntimeError, match="linearize: tangent 0 is .*, but its primal is .*float32"):
            push(torch.ones(2).to(dtype))
    with pytest.raises(ValueError, match="jvp: tangent 0 is .*int64, but its primal is .*float32"):
        jvp(torch.sin, (torch.ones(2),), (torch.ones(2).long(),))


def test_buffers_and_views_of_them_follow_writes():
    def f(x):
        b = torch.zeros(3)
        early = b[0:1]  # before there is any tangent
        b[0] = x * 2
        late = b[:2]
        late[1] = x * x
        b.mul_(x)
        return early, late, b

    _, (early, late, b) = jvp(f, (torch.tensor(3.0),), (torch.tensor(1.0),))
    assert early.tolist() == [12.0] and late.tolist() == [12.0, 27.0] and b.tolist() == [12.0, 27.0, 0.0]


def test_a_tangent_is_not_shared_by_two_tensors():
    def f(x):
        y = x + 1  # whose tangent is x's
        y.mul_(3)
        return x * 1, y

    _, (tx, ty) = jvp(f, (torch.ones(2),), (torch.ones(2),))
    assert tx.tolist() == [1.0, 1.0] and ty.tolist() == [3.0, 3.0]


def test_a_tangent_with_one_value_per_example_in_a_buffer_without():
    def f(y, direction):  # the value is the same for all examples, the tangent is not
        def g(y):
            b = torch.zeros(2)
            part = b[:1]
            b[1] = y * 2
            part += y
            return b, part

        return jvp(g, (y,), (direction,))[1]

    b, part = torch.vmap(f, (None, 0))(torch.tensor(5.0), torch.tensor([1.0, 10.0]))
    assert b.tolist() == [[1.0, 2.0], [10.0, 20.0]] and part.tolist() == [[1.0], [10.0]]


def test_writes_in_a_transform_do_not_break_eager_backward():
    w = torch.tensor([1.0, 2.0], requires_grad=True)

    def f(x):
        y = x * w
        y.sin_()
        return y

    x = torch.tensor([0.5, 0.25])
    _, t = jvp(f, (x,), (torch.ones(2),))  # cos(x w) w
    (g,) = torch.autograd.grad(t.sum(), w)
    assert torch.allclose(g, (x * w).cos() - (x * w).sin() * x * w)


def test_write_to_a_view_that_a_function_made_in_its_input():
    Head = custom("Head", forward=lambda x: x[:1], setup_context=lambda *a: None, jvp=lambda ctx, t: t[:1] * 1)

    def f(x):
        y = x * 1
        Head.apply(y).mul_(2)
        return y

    with pytest.raises(RuntimeError, match="made inside Head"):
        jvp(f, (torch.ones(2),), (torch.ones(2),))


def test_control_flow_on_values():
    f = lambda x: x * x if x > 0 and float(x) > 1 else -x
    assert jvp(f, (torch.tensor(3.0),), (torch.tensor(1.0),))[1].item() == 6.0
    assert jvp(lambda x: x * sum(x.tolist()), (torch.ones(2),), (torch.ones(2),))[1].tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    "primals, tangents, kind, text",
    [
        ([torch.ones(2)], [torch.ones(2)], RuntimeError, "non-empty tuple"),
        ((), (), RuntimeError, "non-empty tuple"),
        ((torch.ones(2),), ([torch.ones(2)],), RuntimeError, "same structure"),
        ((2.0,), (torch.ones(2),), RuntimeError, "primal 0 is a float"),
    ],
)
def test_errors_contain_the_given_values(primals, tangents, kind, text):
    with pytest.raises(kind, match=text):
        jvp(lambda x: x * 2, primals, tangents)


def test_dual_levels_do_not_open_inside_a_transform():
    def f(x):
        with torch.autograd.forward_ad.dual_level():
            return x

    for call in (lambda: grad(f)(torch.tensor(1.0)), lambda: torch.vmap(f)(torch.ones(2))):
        with pytest.raises(RuntimeError, match=r"use torch\.func\.jvp"):
            call()


# ---------------------------------------------------------------------- linearize
def test_linearize_agrees_with_jvp():
    f = lambda x, y: {"a": (x * y).sin(), "b": [x.cumsum(0), torch.ones(2)]}
    x, y = torch.randn(3, **F64), torch.randn(3, **F64)
    value, push = linearize(f, x, y)
    assert torch.equal(value["a"], (x * y).sin())
    for _ in range(3):
        v, w = torch.randn(3, **F64), torch.randn(3, **F64)
        found, wanted = push(v, w), jvp(f, (x, y), (v, w))[1]
        assert torch.allclose(found["a"], wanted["a"]) and torch.allclose(found["b"][0], wanted["b"][0])
        assert found["b"][1].tolist() == [0.0, 0.0]


def test_linearize_runs_the_function_once():
    calls = []

    def f(x):
        calls.append(1)
        return x * torch.rand(3)

    value, push = linearize(f, torch.ones(3))
    assert torch.equal(push(torch.ones(3)), value) and torch.equal(push(torch.ones(3) * 2), value * 2)
    assert calls == [1]


def test_linearize_uses_jvp_staticmethods():
    save = lambda ctx, inputs, output: ctx.save_for_forward(inputs[0])
    wrong = lambda ctx, t: t * ctx.saved_tensors[0] * 7  # does not match forward
    Odd = custom("Odd", forward=lambda x: x * 2, setup_context=save, jvp=wrong)

    assert linearize(Odd.apply, torch.tensor(3.0))[1](torch.tensor(1.0)).item() == 21.0


def test_linearize_can_be_differentiated_and_mapped():
    x = torch.tensor(3.0)
    assert grad(lambda x: linearize(lambda y: y**3, x)[1](torch.tensor(1.0)))(x).item() == 18.0
    _, push = linearize(lambda x: x**2, torch.tensor([1.0, 2.0]))
    assert torch.vmap(push)(torch.eye(2)).tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_linearize_refusals():
    with pytest.raises(RuntimeError, match="no tensors"):
        linearize(lambda: torch.ones(2))
    with pytest.raises(ValueError, match="got float"):
        linearize(lambda x: x, 2.0)
    with pytest.raises(RuntimeError, match=r"shape \(3,\)"):
        linearize(torch.sin, torch.ones(2))[1](torch.ones(3))


def test_numpy_without_a_tangent_is_no_warning(recwarn):
    Sin = custom(
        "Sin",
        forward=lambda ctx, x: ctx.save_for_forward(x) or torch.from_numpy(np.sin(x.numpy())),
        jvp=lambda ctx, x_t: ctx.saved_tensors[0].cos() * x_t,
    )
    with fwAD.dual_level():
        x = fwAD.make_dual(torch.ones(2), torch.ones(2))
        torch.ones(2).numpy()
        fwAD.unpack_dual(x).primal.numpy()
        assert fwAD.unpack_dual(Sin.apply(x)).tangent is not None
    x.numpy()
    assert not recwarn.list


def test_a_tangent_of_a_level_that_has_ended_is_missed_in_the_next_level(recwarn):
    with fwAD.dual_level():
        x = fwAD.make_dual(torch.ones(2), torch.ones(2))
    with fwAD.dual_level():
        fwAD.unpack_dual(fwAD.make_dual(torch.ones(2), torch.ones(2)))
        assert fwAD.unpack_dual(torch.ones(2)).tangent is None
        assert not recwarn.list
        with pytest.warns(torch.MinigradWarning, match="dual level has ended"):
            assert fwAD.unpack_dual(x).tangent is None
