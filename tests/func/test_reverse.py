"""grad, grad_and_value and vjp: values against closed forms and eager mode, arguments, trees, errors."""

import collections
import math

import pytest

import minigrad as torch
from minigrad.func import grad, grad_and_value, vjp

Pair = collections.namedtuple("Pair", "u v")
F64 = {"dtype": torch.float64}


def test_gradient_in_closed_form():
    x = torch.tensor([0.5, -1.0, 2.0], **F64)
    assert torch.allclose(grad(lambda x: (x.sin() * x).sum())(x), x.cos() * x + x.sin())


def test_higher_orders_in_closed_form():
    f, x = torch.exp, torch.tensor(0.7, **F64)
    for _ in range(6):
        f = grad(f)
    assert f(x).item() == pytest.approx(math.exp(0.7))


def test_agrees_with_eager_mode():
    w = torch.randn(3, 4, **F64)
    x = torch.randn(4, **F64, requires_grad=True)
    (eager,) = torch.autograd.grad((w @ x).tanh().sum(), x)
    assert torch.allclose(grad(lambda x: (w @ x).tanh().sum())(x.detach()), eager, 1e-12, 1e-14)


@pytest.mark.parametrize(
    "argnums, wanted", [(0, 6.0), (1, 9.0), (-1, 9.0), (-2, 6.0), ((0, 1), (6.0, 9.0)), ((-1, 0), (9.0, 6.0))]
)
def test_argnums(argnums, wanted):
    found = grad(lambda x, y: x * x * y, argnums)(torch.tensor(3.0), torch.tensor(1.0))
    assert type(found) is (tuple if isinstance(argnums, tuple) else torch.Tensor)
    found = [g.item() for g in found] if isinstance(found, tuple) else found.item()
    assert found == (list(wanted) if isinstance(wanted, tuple) else wanted)


@pytest.mark.parametrize("argnums", [2, -3, (0, 0), (0, -2), (), "x", [0], 0.5])
def test_wrong_argnums(argnums):
    with pytest.raises(RuntimeError, match="argnums"):
        grad(lambda x, y: x * y, argnums)(torch.tensor(3.0), torch.tensor(1.0))


@pytest.mark.parametrize("make", [lambda a, b: {"u": a, "v": b}, lambda a, b: [a, b], lambda a, b: (a, b), Pair])
def test_trees(make):
    tree = make(torch.tensor([1.0, 2.0]), torch.tensor(3.0))
    found = grad(lambda t: sum(v.sum() ** 2 for v in (t.values() if isinstance(t, dict) else t)))(tree)
    assert type(found) is type(tree)
    u, v = found.values() if isinstance(found, dict) else found
    assert (u.tolist(), v.item()) == ([6.0, 6.0], 6.0)


def test_aux_is_returned_one_layer_down():
    x = torch.tensor(3.0)
    gradient, aux = grad(lambda x: (x * x, {"double": x * 2, "name": "n", "list": [x]}), has_aux=True)(x)
    assert gradient.item() == 6.0
    assert (aux["double"] + 1).tolist() == 7.0 and aux["name"] == "n" and aux["list"][0].item() == 3.0
    gradient, (value, aux) = grad_and_value(lambda x: (x * x, x), has_aux=True)(x)
    assert (gradient.item(), value.item(), aux.item()) == (6.0, 9.0, 3.0)


def test_aux_of_an_inner_gradient_can_be_differentiated():
    def outer(x):
        g, aux = grad(lambda y: (y**3, y**2), has_aux=True)(x)
        return g * aux  # 3 x^4

    assert grad(outer)(torch.tensor(2.0)).item() == 96.0


def test_the_same_tensor_in_two_places():
    x = torch.tensor(3.0)
    assert [g.item() for g in grad(lambda a, b: a * a * b, (0, 1))(x, x)] == [18.0, 9.0]


def test_unused_arguments_get_zeros_of_their_dtype():
    g = grad(lambda x, y: x.sum(), (0, 1))(torch.ones(2), torch.ones(3, **F64))[1]
    assert g.tolist() == [0.0] * 3 and g.dtype == torch.float64


def test_gradients_keep_their_dtype():
    x = torch.ones(2)
    assert grad(lambda x: (x * torch.ones(2, **F64)).sum())(x).dtype == torch.float32


def test_a_pull_back_can_be_called_repeatedly_and_differentiated():
    x = torch.tensor(3.0, **F64)
    value, pull = vjp(lambda x: x**3, x)
    near = lambda *wanted: pytest.approx(wanted, rel=1e-12)  # powers on a GPU are rounded in the last bits
    assert (value.item(), *[pull(torch.tensor(c, **F64))[0].item() for c in (1.0, 2.0)]) == near(27.0, 27.0, 54.0)
    by_cotangent = grad(lambda c: vjp(lambda x: x**3, x)[1](c)[0] * c)(torch.tensor(2.0, **F64))
    by_primal = grad(lambda x: vjp(lambda x: x**3, x)[1](torch.tensor(1.0, **F64))[0])(x)
    assert (by_cotangent.item(), by_primal.item()) == near(108.0, 18.0)


def test_pull_back_after_the_transform_with_create_graph():
    w = torch.tensor(2.0, requires_grad=True)
    _, pull = vjp(lambda x: x * w, torch.tensor(3.0))
    (g,) = pull(torch.tensor(1.0))
    assert g.requires_grad and torch.autograd.grad(g, w)[0].item() == 1.0
    with torch.no_grad():
        assert not pull(torch.tensor(1.0))[0].requires_grad
    assert not pull(torch.tensor(1.0), create_graph=False)[0].requires_grad


def test_cotangents_are_nested_like_the_result():
    _, pull = vjp(lambda x: {"a": x * 2, "b": [x.sum()]}, torch.ones(2))
    (g,) = pull({"a": torch.ones(2), "b": [torch.tensor(10.0)]})
    assert g.tolist() == [12.0, 12.0]
    with pytest.raises(RuntimeError, match="same structure"):
        pull([torch.ones(2), torch.tensor(10.0)])
    with pytest.raises(RuntimeError, match=r"cotangent 0 is a tensor of shape \(3,\).*shape \(2,\)"):
        pull({"a": torch.ones(3), "b": [torch.tensor(10.0)]})


def test_vjp_of_nested_primals():
    _, pull = vjp(lambda d, x: d["a"] * x, {"a": torch.tensor(3.0)}, torch.tensor(4.0))
    by_d, by_x = pull(torch.tensor(1.0))
    assert (by_d["a"].item(), by_x.item()) == (4.0, 3.0)


def test_a_number_among_nested_arguments_is_named_by_its_path():
    with pytest.raises(ValueError, match="got int at b/c"):
        grad(lambda d: d["a"])({"a": torch.ones(()), "b": {"c": 2}})


def test_writing_to_an_input_is_refused_as_for_a_leaf():
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        grad(lambda x: x.mul_(2).sum())(x)
    assert x.tolist() == [1.0, 1.0]


def test_operand_in_the_same_memory_is_kept_as_it_was():
    x = torch.tensor([1.0, 2.0, 3.0])

    def f(x):
        v = x * 1
        return v.mul_(v).sum()

    assert grad(f)(x).tolist() == [2.0, 4.0, 6.0]


def test_constants_get_no_history_in_a_transform():
    seen = []

    def f(x):
        b = torch.zeros(3)
        b[0] = 2.0
        seen.append(b.requires_grad)
        b[1] = x
        seen.append(b.requires_grad)
        return b.sum()

    grad(f)(torch.tensor(1.0))
    assert seen == [False, True]


def test_saved_tensors_hooks_around_a_transform():
    w = torch.tensor([2.0, 3.0], requires_grad=True)
    packed = []

    def pack(t):
        packed.append(t)
        return t * 1

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t * 1):
        g = grad(lambda x: (x * w * w).sum())(torch.ones(2))
    g.sum().backward()
    assert packed and w.grad.tolist() == [4.0, 6.0]


def test_gradient_by_a_hook_that_uses_a_captured_tensor_can_be_differentiated():
    w = torch.tensor([2.0, 3.0], requires_grad=True)

    def f(x):
        y = x * x
        y.register_hook(lambda g: g * w)
        return y.sum()

    grad(f)(torch.ones(2)).sum().backward()
    assert w.grad.tolist() == [2.0, 2.0]  # d/dw of 2 * x * w


def test_the_gradient_of_untracked_tensors_is_not_tracked():
    g = grad(lambda x: (x * x).sum())(torch.ones(2))
    assert not g.requires_grad
    w = torch.ones(2, requires_grad=True)
    assert grad(lambda x: (x * w).sum())(torch.ones(2)).requires_grad
    assert grad(lambda x: (x * x).sum())(w).requires_grad


def test_a_gradient_of_zero_is_no_mistake(recwarn):
    w, x = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    grad(lambda y: w.sum())(x)  # depends on nothing of what was passed
    grad(lambda y: (x.detach() * w).sum())(x)
    grad(lambda y: grad(lambda z: (w * z).sum())(y).sum())(x)  # second derivatives of a linear function
    grad(lambda y, z: (y * x).sum(), argnums=(0, 1))(x, w)
    assert not recwarn.list
    for f in (lambda y, z: (w * x.detach()).sum(), lambda y, z: (w * y).sum()):
        with pytest.warns(torch.MinigradWarning, match="in argument 1 is zero"):
            grad(f, argnums=(0, 1))(torch.ones(2), w)


def test_a_zero_gradient_of_a_branch_is_no_mistake(recwarn):
    grad(lambda x: torch.zeros(()) if x.detach().sum() < 5 else x.sum())(torch.ones(2))
    grad(lambda x, y: (x.detach() * y).sum(), argnums=(0, 1))(torch.ones(2), torch.ones(2))
    grad(lambda x: grad(lambda y: 3 * y)(x.sum()))(torch.ones(2))
    assert not recwarn.list


def test_numbers_in_text_and_copies_inside_a_transform():
    said = []
    grad(lambda x: (said.append(f"{x:.2f}"), x * x)[1])(torch.tensor(1.5))
    assert said == ["1.50"]
    with pytest.warns(torch.MinigradWarning, match="copy"):
        assert torch.vmap(lambda x: torch.tensor(x) * 2)(torch.ones(3)).tolist() == [2.0, 2.0, 2.0]
