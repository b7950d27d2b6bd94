"""minigrad.compile: compiled functions give what eager code gives, and run eagerly where they could not.

Every program here is run both ways: values, gradients, and what it does to its arguments.  What it reads besides them, and
what cannot be compiled, is in test_compile_guards.py.
"""

import math
import re
import threading

import numpy as np
import pytest

import minigrad as torch
from minigrad.compile.api import compile
from minigrad.func.tree import flatten
from tests.floats import some
from tests.forked import python

from .both import T, function_of, same
from .interpreted import either, interpreted

__all__ = ["either", "interpreted"]
F = torch.nn.functional
PROGRAMS = {
    "relu(x @ w + b)": lambda: (T(5, 3), T(3, 4), T(4)),
    "F.linear(x, w, b).tanh()": lambda: (T(5, 3), T(4, 3), T(4)),
    "torch.softmax(x, 1) * torch.log_softmax(x, 0)": lambda: (T(5, 7),),
    "torch.logsumexp(x, 1) + x.mean(1)": lambda: (T(5, 7),),
    "x.sum(0) * x.mean(1, keepdim=True) + x.sum()": lambda: (T(5, 7),),
    "F.layer_norm(x, (7,), w, b)": lambda: (T(5, 7), T(7), T(7)),
    "(x.T * 2).reshape(-1) + 1": lambda: (T(5, 7),),
    "(x.permute(2, 0, 1).exp() + x.permute(2, 0, 1)).sum((0, 2))": lambda: (T(5, 7, 2),),
    "(x.reshape(7, 5) @ x).tanh()": lambda: (T(5, 7),),
    "x[1:3] * x[0].exp()": lambda: (T(5, 7),),
    "torch.cat([x, w], 0).sigmoid() * 2": lambda: (T(5, 7), T(2, 7)),
    "(x * 2).cumsum(1).sin()": lambda: (T(5, 7),),
    "(x @ w).tanh()": lambda: (T(2, 5, 7), T(2, 7, 3)),
    "x**3 + x**2 + (x * x + 1) ** 0.5 + 2**x": lambda: (T(5, 7),),
    "F.gelu(x) + F.silu(x) + F.softplus(x)": lambda: (T(5, 7),),
    "torch.where(x > w, x, w * 2) + torch.maximum(x, w) + torch.clamp(x, -0.5, 0.5)": lambda: (T(5, 7), T(7)),
    "x.masked_fill(x < 0, -1.0).abs() / (w * w + 1)": lambda: (T(5, 7), T(5, 1)),
    "(x * w).sum() * w.exp()": lambda: (T(5), T()),
    "x.dot(w) * 2 + (x @ w).sin()": lambda: (T(5), T(5)),
    "F.relu(F.conv2d(x, w)).mean()": lambda: (T(2, 3, 8, 8), T(4, 3, 3, 3)),
    "(x * 2).sin_().mul_(x)": lambda: (T(5, 7),),
    "{'a': x * w, 'b': [w.exp(), 3, None]}": lambda: (T(5), T(5)),
    "x.double() * 2 + x": lambda: (T(5, 7),),
    "torch.softmax(x @ w.T / 4.0, -1) @ b": lambda: (T(5, 4), T(6, 4), T(6, 3)),
    "torch.func.grad(lambda z: (z.sin() * z).sum())(x) * 2": lambda: (T(5),),
    "torch.vmap(lambda z: (z.sin() * z).sum())(x)": lambda: (T(5, 3),),
    "F.mse_loss(x, w) + x.detach().exp().sum() * w.var()": lambda: (T(5, 7), T(5, 7)),
    "(x + w).sum(1)": lambda: (T(1, 7), T(1)),
    "x[:, 1:3].sin() + x[:, None, 2:6:2].sum(1) * x[0, :2]": lambda: (T(5, 7),),
    "torch.where((x > w).all(1, True), x, w) * (x > 1).any() + torch.where((x * 0).any(0), 0.0, x)": lambda: (
        T(5, 7),
        T(5, 7),
    ),
    "x * torch.isclose(x, w, atol=1.0) + w * torch.isclose(x / 0 * 0, w / 0 * 0, equal_nan=True)": lambda: (
        T(5, 7),
        T(5, 7),
    ),
    "torch.where(torch.ones(7, 7).tril() > 0, x, w) * torch.eye(7)": lambda: (T(7, 7), T(7)),
    "torch.where(x > 0.2, x, x * x).sum(0) * x": lambda: (T(9, 2),),
    "x[:, 0] * x[:, 1].sin()": lambda: (T(5, 2),),
    "[x.sum().reshape(1), x.mean()[None], x.max().flatten(), (x[:1] * 2).reshape(())]": lambda: (T(5),),
}


@pytest.mark.parametrize("text", PROGRAMS)
def test_values_and_gradients_are_those_of_eager_code(text, either):
    agrees(text)


@pytest.mark.parametrize("text", [*[*PROGRAMS][:32:11], [*PROGRAMS][-1]])
def test_values_and_gradients_by_numba(text):
    agrees(text)


def agrees(text):
    """Say whether a compiled program gives the values and gradients of eager code."""
    names = ("x", "w", "b")[: len(args := PROGRAMS[text]())]
    f = function_of(f"lambda {', '.join(names)}: {text}", {"torch": torch, "F": F, "relu": F.relu})
    compiled = compile(f)
    found = []
    for run in (compiled, f):
        tracked = [a.clone().requires_grad_() for a in args]
        outs = [t for t in flatten(run(*tracked))[0] if isinstance(t, torch.Tensor)]
        loss = sum((t * t.detach().cos()).sum() for t in outs)
        found.append([*outs, *torch.autograd.grad(loss, tracked)])
    for a, b in zip(*found, strict=True):
        same(a, b, 1e-4)
    assert "eagerly" not in compiled.explain()


def test_second_derivatives_go_through_eager_code():
    f = lambda x, w: ((x @ w).tanh() ** 2).sum()  # noqa: E731
    x, w, found = T(3, 4), T(4, 2).requires_grad_(), []
    for run in (compile(f), f):
        (g,) = torch.autograd.grad(run(x, w), w, create_graph=True)
        found.append(torch.autograd.grad(g.sin().sum(), w)[0])
    same(*found)


def test_transforms_of_a_compiled_function():
    f = lambda x: (x.sin() * x).sum()  # noqa: E731
    c, x = compile(f), T(4)
    same(torch.func.grad(c)(x), torch.func.grad(f)(x))
    same(torch.func.hessian(c)(x), torch.func.hessian(f)(x))
    same(torch.vmap(c)(T(3, 4) * 0 + 1), torch.vmap(f)(torch.ones(3, 4)))
    same(torch.func.jvp(c, (x,), (x,))[1], torch.func.jvp(f, (x,), (x,))[1])
    same(compile(lambda x: torch.func.grad(c)(x))(x), torch.func.grad(f)(x))


def test_the_record_is_of_the_arguments_of_the_first_call():
    c = compile(lambda x, s: x * s)
    c(T(3), 1.5)
    assert {"const": 1.5} in c.graph().to_dict()["ops"][0]["inputs"]


# ---------------------------------------------------------------------- a whole step
def network(batch):
    rng = np.random.default_rng(0)
    shapes = (32, 16), (32,), (10, 32), (10,)
    parameters = [
        torch.tensor(rng.standard_normal(s).astype("f4") * np.float32(0.1), requires_grad=True) for s in shapes
    ]
    images = torch.tensor(rng.standard_normal((batch, 16)).astype("f4"))
    return parameters, images, torch.tensor(rng.integers(0, 10, batch))


def step(parameters, images, labels, rate):
    w1, b1, w2, b2 = parameters
    hidden = F.linear(images, w1, b1).tanh()
    logits = F.linear(hidden, w2, b2)
    loss = F.cross_entropy(logits, labels)
    gradients = torch.autograd.grad(loss, parameters)
    with torch.no_grad():
        for p, g in zip(parameters, gradients):
            p.sub_(rate * g)
    return loss


@pytest.mark.cpu("the text of a program for the processor")
def test_a_training_step_is_one_function_for_every_batch_and_rate():
    compiled, a, b = compile(step), network(24), network(24)
    for rate in (0.5, 0.25):
        same(compiled(*a, rate), step(*b, rate))
    for p, q in zip(a[0], b[0]):
        same(p, q)
        assert p._version == q._version
    text = compiled.source()
    compiled(*network(40), 0.5)
    assert compiled.source() == text
    names = set(re.findall(r"\w+", text))
    assert {"images", "labels", "hidden", "logits", "loss", "rate"} <= names
    assert "hidden = F.linear(images, w1, b1).tanh()" in text  # the user's line
    assert len(re.findall("^def (?!row_sum)", text, re.M)) == 1  # the entry, besides helpers
    assert "one loop over" in compiled.explain()
    record = compiled.graph().to_dict()
    assert record["schema"] == "minigrad.record/1"
    assert {"images", "labels"} <= {value["name"] for value in record["values"]}


def test_the_graph_names_what_the_function_closes_over():
    w = torch.tensor([2.0, 3.0], requires_grad=True)
    compiled = compile(lambda x, scale=1.0: (x * w * scale).sum())
    compiled(torch.ones(2))
    assert {"x", "w"} <= {value["name"] for value in compiled.graph().to_dict()["values"]}
    compiled(torch.ones(2), scale=2.0)
    assert "x" in {value["name"] for value in compiled.graph().to_dict()["values"]}


def test_the_loss_of_a_step_cannot_be_differentiated_again():
    loss = compile(step)(*network(24), 0.5)
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


# ---------------------------------------------------------------------- errors, names, threads, modes
def test_errors_are_those_of_eager_code_and_name_the_line():
    c, x = compile(lambda x, y: x @ y + 1), T(3, 4)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=re.escape("x @ y + 1")):
            c(x, x)


@pytest.mark.cpu("a kernel raises nothing: a class that there is not gives NaN (tests/kernels/cuda/test_compile.py)")
def test_a_class_out_of_bounds_raises():
    x = T(3, 4)
    loss, target = compile(F.cross_entropy), torch.tensor([0, 1, 2])
    same(loss(x, target), F.cross_entropy(x, target))
    with pytest.raises(IndexError, match="out of bounds"):
        loss(x, torch.tensor([0, 1, 9]))
    same(loss(x, target), F.cross_entropy(x, target))


def test_a_part_of_an_argument_is_read_before_the_argument_is_written_to(either):
    def f(x):
        part, total = x[1:], x.sum()
        out = part * total
        x.mul_(2)
        return out

    a, b, compiled = torch.arange(5.0), torch.arange(5.0), compile(f)
    for _ in range(3):
        same(compiled(a), f(b))
        same(a, b)


def test_names_that_the_text_uses_itself():
    f = lambda k, i, np, term: (k * i).exp() + np * term  # noqa: E731
    args = T(3, 2), T(2), 2.0, 1.5
    same(compile(f)(*args), f(*args))


def test_running_statistics_of_a_module_are_updated(either):
    models = [torch.nn.BatchNorm1d(3) for _ in range(2)]
    x, c = T(8, 3), compile(models[0])
    for _ in range(3):
        same(c(x), models[1](x))
        same(models[0].running_mean, models[1].running_mean)
        same(models[0].running_var, models[1].running_var)


def test_running_statistics_are_used(either):
    model = torch.nn.BatchNorm1d(3)
    model(T(8, 3))
    model.eval()
    c = compile(lambda x: model(x) * 2, fullgraph=True)
    for x in (T(8, 3), T(2, 3)):
        same(c(x), model(x) * 2)
        same(*[torch.autograd.grad(f(x).sum(), model.weight)[0] for f in (c, c.function)])


def test_recursion_and_threads():
    @compile
    def product(x, n):
        return x if n == 0 else x * product(x + n, n - 1)

    x = T(3)
    same(product(x, 3), x * ((x + 3) * ((x + 5) * (x + 6))))
    c, wrong = compile(lambda x, s: (x * s).sin().sum(0)), []

    def work(x):
        for s in (1.0, 2.0, 3.0):
            if not np.allclose(c(x, s).numpy(), (x * s).sin().sum(0).numpy(), atol=1e-5):
                wrong.append(s)

    threads = [threading.Thread(target=work, args=(T(5, n),)) for n in range(2, 10)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_gradient_modes():
    c, x = compile(lambda x: x * 2), T(3).requires_grad_()
    assert c(x).requires_grad
    with torch.no_grad():
        assert not c(x).requires_grad
    with torch.inference_mode():
        assert c(x).is_inference()


# ---------------------------------------------------------------------- numbers
SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-42, 3e38, -1.0]


@pytest.mark.parametrize("f", some([
    lambda x: x.exp() + x.tanh(), lambda x: torch.softmax(x, 0), lambda x: torch.logsumexp(x, 0),
    lambda x: torch.maximum(x, x * 0) + torch.relu(x) + torch.clamp(x, -1, 1), lambda x: (x * x).sqrt() / x,
    lambda x: torch.log_softmax(x[1:4], 0), lambda x: x.abs().log() + x.sign() + x**2 + x**-1,
]))  # fmt: skip
def test_special_values(f):
    x = torch.tensor(SPECIAL)
    np.testing.assert_allclose(compile(f)(x).numpy(), f(x).numpy(), rtol=1e-5)


@pytest.mark.parametrize("text", [
    "1.5**x", "x**0.3", "torch.lerp(x, w, 0.3)", "torch.xlogy(x, 0.3)", "torch.atan2(x * 0 + 0.3, w)", "k**x + x**k",
    "torch.atan2(x, torch.tensor(0.3, dtype=x.dtype)) / 0.3", "F.hardtanh(x / 0.7, -0.3, 0.3)", "F.elu(-x, 0.3) / k",
])  # fmt: skip
def test_gradients_of_float64_know_constants_in_float64(text, either):
    f = function_of(f"lambda x, w, k: {text}", {"torch": torch, "F": F})
    x, w = (torch.linspace(a, a + 1, 9, dtype=torch.float64, requires_grad=True) for a in (0.1, 0.3))
    found = [torch.autograd.grad(run(x, w, 0.7).sum(), (x, w), allow_unused=True) for run in (compile(f), f)]
    for a, b in zip(*found):
        assert a is b is None or bool(((a - b).abs() <= 1e-14 * b.abs()).all())


def test_sums_are_accurate():
    x = torch.rand(1000, 300) + 1
    exact = x.double()
    made = compile(lambda x: ((x * 1.0).sum(), x.sum(0), x.mean(1)))(x)
    for a, b in zip(made, (exact.sum(), exact.sum(0), exact.mean(1))):
        assert ((a.double() - b) / b).abs().max().item() < 1e-6


@pytest.mark.parametrize("x", [T(4, 3).T, T(6, 8)[::2, ::2], T(3, 4).flip(0), T(1, 4).expand(3, 4)])
def test_layouts(x):
    y = T(4, 2)
    f = lambda x, y: ((x * 2) @ y).sum(0) + x.sum() + x.reshape(-1)[0]  # noqa: E731
    same(compile(f)(x, y), f(x, y))


def test_an_argument_may_be_called_as_a_gradient_is():
    made = compile(lambda grad_x: (grad_x * 2 + 1).sin())
    x = T(3, 4).T
    same(made(x), (x * 2 + 1).sin())
    assert "eagerly" not in made.explain()


def test_a_second_process_is_served_from_the_cache(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import minigrad as torch\nfrom minigrad.compile.api import compile\nfrom numba.core import event\n"
        "c = compile(lambda x: (x.sin() * 2).sum())\n"
        "with event.install_recorder('numba:compile') as r: c(torch.ones(3))\nprint(len(r.buffer))\n"
    )
    run = [python(program, cwd=tmp_path, MINIGRAD_CACHE=str(tmp_path / "cache")) for _ in range(2)]
    assert int(run[0].stdout) > 0 and int(run[1].stdout) == 0


@pytest.mark.cpu("the text of a program for the processor")
def test_results_take_the_memory_of_what_is_not_needed_any_more():
    def f(x, w):
        hidden = (x @ w).tanh()
        other = (hidden @ w) * 2 + 1
        return hidden.sin() @ w, other.cos() * other

    c, args = compile(f), (T(4, 4), T(4, 4))
    for _ in range(3):
        for a, b in zip(c(*args), f(*args)):
            same(a, b)
    assert re.search(r"^    hidden = dot_\w+$", c.source(), re.M)


def products(c):
    """Return the arguments of each product in a compiled function's source, in order."""
    return re.findall(r"^ +product\((.+)\)$", c.source(), re.M)


@pytest.mark.cpu("the text of a program for the processor")
def test_of_products_the_one_after_which_least_is_in_memory_comes_first():
    def gradients(x, w1, w2):
        h = (x @ w1).tanh()
        y = h @ w2
        return torch.autograd.grad((y * y).sum(), (w1, w2))

    args = T(6, 3), T(3, 5).requires_grad_(), T(5, 2).requires_grad_()
    for a, b in zip((c := compile(gradients))(*args), gradients(*args)):
        same(a, b)
    assert ["h.T," in given or "w2.T," in given for given in products(c)] == [False, False, True, True, False]
    assert "h.T," in products(c)[2]


@pytest.mark.cpu("the text of a program for the processor")
def test_a_product_waits_for_the_loop_that_makes_what_another_one_needs():
    def gradients(x, w1, w2):
        h = torch.nn.functional.gelu(x @ w1)
        y = (h @ w2).mean(1)
        return torch.autograd.grad((y * y).sum(), (x, w1, w2))

    args = T(4, 5, 3).requires_grad_(), T(3, 7).requires_grad_(), T(7, 2).requires_grad_()
    for a, b in zip((c := compile(gradients))(*args), gradients(*args)):
        same(a, b, 1e-5)
    assert ["w2.T," in given for given in products(c)] == [False, False, False, True, False, False]


@pytest.mark.cpu("the text of a program for the processor")
def test_what_can_be_made_of_an_array_and_numbers_of_its_rows_is_not_kept():
    def f(x, w):
        y = x.sin()
        scaled = y * y.sum(1, keepdim=True)
        return ((y.cos() @ w) * scaled + y).sum(0)

    args = T(6, 5), T(5, 5)
    same((c := compile(f))(*args), f(*args), 1e-5)
    assert "scaled = empty(" not in c.source() and "scaled_i" in c.source()


@pytest.mark.cpu("the text of a program for the processor")
def test_a_difference_is_computed_again_in_place_of_an_array():
    def f(x):
        centred = x - x.mean((0, 2), keepdim=True)
        return centred * (centred * centred).sum((0, 2), keepdim=True).rsqrt(), centred.sin().cos().sum((0, 2))

    x = T(4, 3, 5)
    for a, b in zip((c := compile(f))(x), f(x)):
        same(a, b, 1e-5)
    assert "centred = empty(" not in c.source()


@pytest.mark.parametrize("step", [
    lambda x, y: ((x - y).sin(), (x - y).cos().sum((0, 1)), x.sub_(y)),
    lambda x, y: ((d := x - y).sum(0) * d.sum(0).sin(), x.mul_(2) + 0, d.sum((0, 2)), d * d.mean((0, 2), True)),
    lambda x, y: ((d := (x - y) * 2).sum((0, 2)), (d.T.sin().T + d), d.amax((0, 2)), x.add_(d.mean((0, 2), True))),
])  # fmt: skip
def test_what_is_computed_again_is_what_it_was_before_a_write(step, either):
    x, y = T(4, 3, 5), T(3, 1)
    z, c = x.clone(), compile(step)
    for _ in range(2):
        for a, b in zip(c(x, y), step(z, y)):
            same(a, b, 1e-5)
        same(x, z, 1e-5)


@pytest.mark.cpu("the text of a program for the processor")
def test_the_innermost_loops_add_to_a_number_and_read_before_them_what_stays():
    c = compile(lambda x, w: ((x * w).sum((0, 2)), x.amax((0, 2))))
    x, w = T(4, 3, 5), T(3, 1)
    for a, b in zip(c(x, w), (lambda: ((x * w).sum((0, 2)), x.amax((0, 2))))()):
        same(a, b, 1e-5)
    loops = c.source().split("for i0")[1]
    assert "w_i = w[i1, 0]" in loops.split("for i2")[0] and "w[" not in loops.split("for i2")[1]
    assert "sum_1_part = plus(sum_1_part" in loops and "[0, i1" not in loops.split("for i2")[1].split("sum_1_part)")[0]


@pytest.mark.parametrize("dims", [(), (0,), (1,), (0, 1)], ids=str)
@pytest.mark.parametrize("dtype", [torch.int64, torch.float32])
def test_sums_of_what_a_condition_chooses(dtype, dims, either):
    """The condition stands beside the running sum, and does not take it in."""
    f = lambda x: (torch.where(x > 0, x, 7).sum(dims), (x > 0).sum(dims), torch.where(x > 2, x, 1).sum(0))  # noqa: E731
    x = torch.tensor([[3, -1, 2], [4, 5, -6]], dtype=dtype)
    for a, b in zip(compile(f)(x), f(x)):
        same(a, b)


def test_a_value_from_before_a_write_is_read_before_it():
    def f(p, g):
        return (p * 2).sin() + p.sub_(g) * 0, p

    for run in (c := compile(f), c, c, f):
        p = torch.arange(4.0)
        same(run(p, torch.ones(4))[0], torch.sin(torch.arange(4.0) * 2))
        same(p, torch.arange(4.0) - 1)


def test_a_reshaped_argument_is_read_before_a_write_to_it(either):
    def f(p, w):
        flat = p.reshape(6)
        s = flat @ w.sin().reshape(6)
        p.sub_(w.sin())
        return s, p

    c, w, p = compile(f), T(2, 3), T(2, 3)
    q = p.clone()
    for _ in range(2):
        same(c(p, w)[0], f(q, w)[0])
        same(p, q)


def test_results_that_are_equal_have_memory_of_their_own():
    f = compile(lambda x: (x * 2, (x * 2).T, x * 2))
    a, b, c = f(T(3, 4))
    a.zero_()
    assert b.abs().sum().item() and c.abs().sum().item()


def test_a_row_is_summed_before_a_write_to_it(either):
    def step(p):
        s = p.sum(1)
        p.sub_(1.0)
        return s

    c, p = compile(step), T(4, 5)
    q = p.clone()
    for _ in range(2):
        same(c(p), step(q))
        same(p, q)


def test_a_row_is_summed_before_its_memory_is_taken(either):
    f = lambda x, w: (x * 2, (x @ w).sum(1))  # noqa: E731
    args = T(4, 4), T(4, 4)
    for a, b in zip(compile(f)(*args), f(*args)):
        same(a, b)


@pytest.mark.filterwarnings("error")  # [compile-eager] says that the generated code failed
@pytest.mark.parametrize("name", ["exp", "abs", "sum", "np", "njit", "call", "statics", "<lambda>", "__call__"])
def test_a_program_may_have_the_name_of_what_it_computes(name, either):
    def program(x):
        return (x.exp() + x.abs() * x.sum()).exp()

    program.__name__ = name
    x = torch.tensor([0.5, -1.0])
    assert torch.equal(compile(program)(x).round(decimals=4), program(x).round(decimals=4))
