"""Where Python takes a plain value of a tensor, the message says what to write for tensors."""

import math
import warnings

import pytest

import minigrad as torch
from minigrad.errors import MinigradError

x, y = torch.tensor([0.5, -2.0]), torch.tensor([1.0, 1.0])


def decided():
    if x > 0:
        return 1
    return 2


def chosen():
    return y if x > 0 else -y


CASES = [
    (lambda: 0 < x < 1, "compare each side for itself: (0 < x) & (x < 1)"),
    (lambda: 0 <= x != 1, "(0 <= x) & (x != 1)"),
    (lambda: max(x, 0), "write x.clamp(min=0), or torch.relu(x)"),
    (lambda: max(0.5, x), "write x.clamp(min=0.5)"),
    (lambda: min(x, -1.0), "write x.clamp(max=-1.0)"),
    (lambda: min(x, y), "write torch.minimum(x, y)"),
    (lambda: sorted(torch.stack([x, y])), "sort().values"),
    (lambda: max(torch.stack([x, y])), "takes row by row; write torch.stack([x, y]).max()"),
    (lambda: x > 0 and y > 0, "combine the elements: (x > 0) & (y > 0), or torch.logical_and; use .any() or .all()"),
    (lambda: x > 0 or y > 0, "(x > 0) | (y > 0), or torch.logical_or"),
    (lambda: not x, "invert each element: torch.logical_not(x)"),
    (chosen, "choose for each element: torch.where(x > 0, y, -y)"),
    (decided, "use .any() or .all()"),
    (lambda: bool(x), "use .any() or .all()"),
]


@pytest.mark.parametrize("f, fix", CASES, ids=[fix[:40] for _, fix in CASES])
def test_the_fix_is_the_users_expression_for_all_elements(f, fix):
    with pytest.raises(MinigradError, match="truth value of a tensor of shape") as raised:
        f()
    assert fix in raised.value.remedy


def test_a_caret_is_told_from_a_power():
    with pytest.raises(NotImplementedError, match=r"in Python \^ is this operation, and a power is x \*\* y"):
        x ^ 2
    with pytest.raises(NotImplementedError, match="convert first"):
        x & 2


@pytest.mark.parametrize("loss", [torch.nn.functional.cross_entropy, torch.nn.functional.nll_loss])
def test_exchanged_scores_and_classes_are_noticed(loss):
    with pytest.raises(RuntimeError, match="exchange the arguments: .*the scores first"):
        loss(torch.tensor([0, 1, 1]), torch.randn(3, 2))


@pytest.mark.parametrize("name", ["relu_", "tanh_", "sigmoid_", "exp_"])
def test_a_function_in_place_on_a_leaf_is_to_make_a_new_tensor(name):
    w = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=rf"make a new tensor, y = x\.{name[:-1]}\(\)"):
        getattr(w, name)()
    with pytest.raises(RuntimeError, match="update it inside"):
        w.sub_(1.0)


def exponential(t):
    return math.exp(t) * t


def root_of_a_module():
    layer = torch.nn.Linear(1, 1)
    return math.sqrt(layer.weight.abs()) * layer.weight


def perplexity(t):
    print(math.exp(t))
    return f"{math.exp(t):.3f}" + str(math.exp(t.item()))


def told(f, *args):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f(*args)
    return [str(one.message) for one in caught]


def test_a_function_of_math_takes_the_gradient_away_and_warns():
    t = torch.tensor(0.5, requires_grad=True)
    (message,) = told(exponential, t)
    assert "math.exp: takes the number of a tensor of shape () that requires grad, so no gradient passes" in message
    assert "To fix: write torch.exp(t); if a number is meant, math.exp(t.item())" in message
    assert "return math.exp(t) * t" in message
    (message,) = told(root_of_a_module)
    assert "torch.sqrt(layer.weight.abs())" in message


def test_numbers_that_are_printed_or_need_no_gradient_do_not_warn():
    t = torch.tensor(0.5, requires_grad=True)
    assert told(perplexity, t) == []
    assert told(lambda: [float(t), int(t), math.isnan(t), math.exp(torch.tensor(1.0)), math.exp(t.detach())]) == []
    with torch.no_grad():
        assert told(lambda: math.cos(t) * t) == []


def test_a_list_times_a_tensor_names_no_ctx_outside_of_a_function():
    x, pair = torch.ones(2), (torch.ones(2), torch.ones(2))
    with pytest.raises(TypeError, match=r"a list of 1 tensor[^$]*take the tensor out of the list: values\[0\]"):
        [x] * x
    with pytest.raises(TypeError, match=r"a tuple of 2 tensors[^$]*minigrad.stack\(pair\)|torch.stack\(pair\)"):
        x - pair


def test_a_method_of_dicts_on_the_ctx_names_the_attribute():
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, n):
            ctx.n = n
            return x * n

        @staticmethod
        def backward(ctx, g):
            return g * ctx.get("n"), None

    with pytest.raises(AttributeError, match=r"no attribute 'get': it is no dict[^$]*read ctx.n in backward"):
        Scale.apply(torch.ones(2, requires_grad=True), 3).sum().backward()
