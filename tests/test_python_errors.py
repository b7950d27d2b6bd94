"""Errors of Python itself get a note if a mistake with tensors explains them, and none otherwise."""

import collections
import inspect
import subprocess
import sys
import warnings

import pytest

import minigrad as torch
from minigrad.diagnose.python_errors import note


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx["n"] = 2
        return 2 * x

    @staticmethod
    def backward(ctx, g):
        return 2 * g


def gradient_before_backward():
    w = torch.ones(2, requires_grad=True)
    w.grad.zero_()


def dimension_twice():
    return torch.ones(2, 2).sum(0, dim=1)


def dimension_twice_in_a_function():
    return torch.softmax(torch.ones(2, 2), 0, dim=1)


def gradient_of_a_layer():
    layer = torch.nn.Linear(2, 1)
    return layer.weight.grad.norm()


def method_without_call():
    x = torch.ones(2, requires_grad=True)
    loss = (x * x).mean
    loss.backward()


def method_as_an_operand():
    x = torch.ones(2, requires_grad=True)
    return x.sum - 1


def method_compared():
    x = torch.ones(2)
    return x.sum() if x.mean > 0 else x.max()


def method_indexed():
    x = torch.ones(2)
    return x.tolist[0]


def method_of_a_result():
    x = torch.ones(2, requires_grad=True)
    (x * x).mean.backward()


def function_without_a_name():
    loss = lambda x: x.sum()
    loss.backward()


def gradient_of_an_own_class():
    class Model:
        def __init__(self):
            self.weights = [torch.ones(2, requires_grad=True)]

        def step(self):
            self.weights[-1] -= 0.1 * self.weights[-1].grad

    Model().step()


def list_plus_a_tensor():
    x = torch.ones(2)
    return [1.0, 2.0] + x


def maximum_plus_a_number():
    best = torch.ones(2, 3).max(1)
    return best + 1


def number_without_graph():
    x = torch.ones(2, requires_grad=True)
    loss = (x * x).sum().item()
    loss.backward()


def gradients_are_a_tuple():
    x = torch.ones(2, requires_grad=True)
    slope = torch.autograd.grad((x * x).sum(), x)
    return slope.norm()


def jvp_is_a_pair():
    out = torch.func.jvp(torch.sin, (torch.ones(2),), (torch.ones(2),))
    return out - 1


def vjp_is_a_pair():
    pull = torch.func.vjp(torch.sin, torch.ones(2))
    return pull(torch.ones(2))


def list_as_a_tensor():
    losses = [torch.ones(()), torch.ones(())]
    return losses.mean()


def shape_is_called():
    x = torch.ones(2)
    return x.shape()


def tensor_is_called():
    f = torch.ones(2)
    return f(3)


def context_as_a_dict():
    return Double.apply(torch.ones(2))


EXPLAINED = {
    dimension_twice: "sum gets dim twice, by its position and as dim=. To fix: write sum(input, dim=None, keepdim=False",
    dimension_twice_in_a_function: "softmax gets dim twice",
    gradient_before_backward: "w.grad is None until a backward pass has reached w",
    gradient_of_a_layer: "layer.weight.grad is None until",
    method_without_call: "loss is the function mean, which was not called. To fix: write the parentheses, mean()",
    method_as_an_operand: "x.sum is the function sum, which was not called",
    method_compared: "x.mean is the function mean, which was not called",
    method_indexed: "x.tolist is the function tolist, which was not called",
    method_of_a_result: "(x * x).mean is the function mean, which was not called",
    function_without_a_name: "write the parentheses, loss()",
    gradient_of_an_own_class: "self.weights[-1].grad is None until",
    list_plus_a_tensor: "+ joins lists, and x is a tensor",
    maximum_plus_a_number: "best is a tuple of 2: autograd.grad, func.jvp",
    number_without_graph: "loss is a plain number, without a graph",
    gradients_are_a_tuple: "slope is a tuple of 1: autograd.grad, func.jvp",
    jvp_is_a_pair: "To fix: unpack it, as in a, b = ...",
    vjp_is_a_pair: "pull is a tuple of 2",
    list_as_a_tensor: "losses is a list of 2 tensors. To fix: stack(losses)",
    shape_is_called: "x.shape is a tuple, not a method. To fix: write x.shape[0], or x.size(0)",
    tensor_is_called: "f is a tensor, not a function",
    context_as_a_dict: "ctx is no dict. To fix: save tensors with ctx.save_for_backward",
}


@pytest.mark.parametrize("f", EXPLAINED, ids=lambda f: f.__name__)
def test_an_error_is_explained_once(f):
    with pytest.raises((AttributeError, TypeError)) as raised:
        f()
    note(raised.value)
    note(raised.value)
    (words,) = raised.value.__notes__
    assert EXPLAINED[f] in words


def none_of_another_kind():
    found = {}.get("x")
    return found.zero_


def function_without_attribute():
    f = len
    return f.backward_hook_of_mine


def tuple_of_numbers():
    pair = 1, 2
    return pair - 1


def text_and_number():
    x = torch.ones(2)
    return "shape " + x.ndim


def number_without_name():
    count = 3
    return count.name


def another_method_as_an_operand():
    x, names = torch.ones(2), {}
    return x.sum() - names.get


def error_inside_a_library():
    x = torch.ones(2, requires_grad=True)
    return collections.ChainMap(x.grad).get("x")  # the library's line fails, whatever the user's line holds


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.n = 3
        return x * ctx.n[0]

    @staticmethod
    def backward(ctx, g):
        return g


def element_of_a_number_on_ctx():
    return Scaled.apply(torch.ones(2))


def number_called_with_tensors():
    pair, loss = (torch.ones(2), torch.ones(2)), 3
    return loss(pair)


def other_none_beside_a_gradient():
    w, schedule = torch.ones(2, requires_grad=True), None
    return w.grad, schedule.rate


def other_operand_beside_a_gradient():
    w, rate = torch.ones(2, requires_grad=True), None
    return w.grad, rate * 2.0


def other_tuple_beside_results():
    pair, sizes = (torch.ones(2), torch.ones(2)), (1, 2)
    return pair, sizes - 1


def own_class_is_called():
    return object()()


@pytest.mark.parametrize(
    "f",
    [
        none_of_another_kind,
        function_without_attribute,
        tuple_of_numbers,
        text_and_number,
        number_without_name,
        another_method_as_an_operand,
        error_inside_a_library,
        element_of_a_number_on_ctx,
        number_called_with_tensors,
        other_none_beside_a_gradient,
        other_operand_beside_a_gradient,
        other_tuple_beside_results,
        own_class_is_called,
    ],
    ids=lambda f: f.__name__,
)
def test_other_errors_stay_as_they_are(f):
    with pytest.raises((AttributeError, TypeError)) as raised:
        f()
    note(raised.value)
    assert not hasattr(raised.value, "__notes__")


def test_reading_an_error_does_not_warn():
    with warnings.catch_warnings(record=True) as caught, pytest.raises(TypeError) as raised:
        warnings.simplefilter("always")
        y = torch.ones(2, requires_grad=True) * 2
        y.grad - 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        note(raised.value)
    assert [one.message.name for one in caught] == ["grad-of-non-leaf"]
    assert not hasattr(raised.value, "__notes__")


def test_minigrads_own_errors_get_no_note():
    with pytest.raises(TypeError) as raised:
        torch.ones(2) + "x"
    note(raised.value)
    assert not hasattr(raised.value, "__notes__")


def test_an_uncaught_error_is_printed_with_its_note(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import minigrad as torch\nw = torch.ones(2, requires_grad=True)\nw.grad.zero_()\n")
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    assert (
        "\n  minigrad: w.grad is None until a backward pass has reached w. To fix: call backward() first" in done.stderr
    )


def stderr_of(folder, *lines):
    """Return what a program prints to the error stream."""
    program = folder / "program.py"
    program.write_text("\n".join([*lines, ""]))
    return subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False).stderr


WRONG = "import minigrad as torch", "w = torch.ones(2, requires_grad=True)", "def wrong():", "    w.grad.zero_()"


def test_an_error_in_a_thread_is_printed_with_its_note(tmp_path):
    text = stderr_of(tmp_path, *WRONG, "import threading", "threading.Thread(target=wrong, name='worker').start()")
    assert (
        "Exception in thread worker" in text and "minigrad: w.grad is None until a backward pass has reached w" in text
    )


def test_minigrads_own_error_in_a_thread_shows_only_the_users_lines(tmp_path):
    text = stderr_of(
        tmp_path,
        "import minigrad as torch, threading",
        "threading.Thread(target=lambda: torch.ones(2) + torch.ones(3)).start()",
    )
    assert "cannot be broadcast" in text and "minigrad/ops" not in text


@pytest.mark.parametrize("call", ["wrong()", "threading.Thread(target=wrong).start()"])
def test_the_hook_of_another_package_prints_the_error_with_its_note(tmp_path, call):
    text = stderr_of(
        tmp_path,
        "import sys, threading",
        "sys.excepthook = lambda kind, e, tb: print('mine:', *e.__notes__, file=sys.stderr)",
        "threading.excepthook = lambda args: print('mine:', *args.exc_value.__notes__, file=sys.stderr)",
        *WRONG,
        call,
    )
    assert text.startswith("mine:   minigrad: w.grad is None") and text.count("\n") == 1


def test_an_explained_error_shows_only_the_users_lines(tmp_path):
    program = tmp_path / "program.py"
    body = [*inspect.getsource(Double).splitlines(), "Double.apply(torch.ones(2))", ""]
    program.write_text("\n".join(["import minigrad as torch", *body]))
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    assert "ctx is no dict" in done.stderr
    assert done.stderr.count('  File "') == done.stderr.count(f'  File "{program}"') == 2


def test_a_notebook_shows_the_note():
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell()
    from minigrad.diagnose.python_errors import notebook_error

    shell.set_custom_exc((AttributeError, TypeError), notebook_error)
    done = shell.run_cell("import minigrad\nx = minigrad.ones(2, requires_grad=True)\nx.grad.zero_()")
    (words,) = done.error_in_exec.__notes__
    assert "x.grad is None until" in words
