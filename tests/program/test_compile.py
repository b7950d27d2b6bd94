"""minigrad.compile: compiled functions give what eager code gives, and run eagerly where they could not.

Every program here is run both ways: values, gradients, and what it does to its arguments.
"""

import math
import random
import re
import subprocess
import sys
import threading
import types
import warnings

import numpy as np
import pytest

import minigrad as torch
from minigrad.errors import MinigradWarning
from minigrad.func.tree import flatten
from minigrad.program.compile import compile

F = torch.nn.functional
RANDOM = np.random.default_rng(0)


def T(*shape, dtype="f4"):
    return torch.tensor(RANDOM.standard_normal(shape).astype(dtype))


def same(a, b, tolerance=2e-5):
    a, b = a.detach().numpy(), b.detach().numpy()
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def quietly(f, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MinigradWarning)
        return f(*args, **kwargs)


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
}


@pytest.mark.parametrize("text", PROGRAMS)
def test_values_and_gradients_are_those_of_eager_code(text):
    names = ("x", "w", "b")[: len(args := PROGRAMS[text]())]
    f = eval(f"lambda {', '.join(names)}: {text}", {"torch": torch, "F": F, "relu": F.relu})
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
    assert text.count("def ") == 2 and "one loop over" in compiled.explain()  # the entry and the sum's helper
    assert compiled.graph().to_dict()["schema"] == "minigrad.record/1"


def test_the_loss_of_a_step_cannot_be_differentiated_again():
    loss = compile(step)(*network(24), 0.5)
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


# ---------------------------------------------------------------------- guards
SCALE, WEIGHT, CONFIG = 2.0, torch.tensor([1.0, 2.0, 3.0], requires_grad=True), {"k": 3, "list": [1, 2]}


def test_changed_globals_are_seen():
    global SCALE, WEIGHT
    c, x = compile(lambda x: (x * WEIGHT).sin() * SCALE + CONFIG["list"][0]), T(3)
    for change in ("SCALE = 5.0", "WEIGHT = torch.tensor([[1.0], [2.0]])", "CONFIG['list'][0] = 7",
                   "WEIGHT = torch.tensor([4.0, 5.0, 6.0], requires_grad=True)"):  # fmt: skip
        same(c(x), (x * WEIGHT).sin() * SCALE + CONFIG["list"][0])
        exec(change, globals())
    same(c(x), (x * WEIGHT).sin() * SCALE + CONFIG["list"][0])
    c(x).sum().backward()
    same(WEIGHT.grad, (x * WEIGHT.detach()).cos() * x * SCALE)


def test_a_module_trains_and_its_mode_counts():
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(8, 2))
    c, x, optimiser = compile(model), T(5, 4), torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        found = []
        for run in (c, model):
            torch.manual_seed(1)
            optimiser.zero_grad()
            (run(x) ** 2).sum().backward()
            found.append([p.grad.clone() for p in model.parameters()])
        for a, b in zip(*found):
            same(a, b)
        optimiser.step()
    model.eval()
    same(c(x), model(x))
    assert "eagerly" not in c.explain()


def test_random_numbers_are_drawn_anew_from_the_same_stream():
    c, x = compile(lambda x: F.dropout(x, 0.5)), torch.ones(100)
    torch.manual_seed(0)
    first, second = c(x), c(x)
    assert not (first == second).all()
    torch.manual_seed(0)
    same(first, F.dropout(x, 0.5))
    same(second, F.dropout(x, 0.5))


@pytest.mark.parametrize(
    "f",
    [lambda x, s: x * s, lambda x, s: x * math.exp(s), lambda x, s: x * (1 if s > 1 else 2), lambda x, s: torch.clamp(x, -s, s),
     lambda x, s: x * s**2, lambda x, s: (x * s, s)],
)  # fmt: skip
def test_numbers_are_parameters_or_guarded(f):
    c, x = compile(f), T(3)
    for s in (1.5, 0.5, 2.5, 0.25, 0.0, -0.0, 3, True):
        for a, b in zip(flatten(c(x, s))[0], flatten(f(x, s))[0]):
            same(a, b) if isinstance(a, torch.Tensor) else None
            assert isinstance(a, torch.Tensor) or a == b and type(a) is type(b)


def test_a_number_that_only_scales_is_captured_once():
    c = compile(lambda x, s: x * s)
    for s in (1.5, 2.5, 3.5):
        c(T(3), s)
    assert "1 specialisations" in repr(c)


def test_the_default_dtype_and_modules_of_the_user_are_watched():
    settings = types.ModuleType("settings")
    settings.__file__, settings.inner = "settings.py", types.ModuleType("inner")
    settings.inner.__file__, settings.inner.k = "inner.py", 2.0
    namespace = {"settings": settings, "torch": torch}
    exec("def f(x):\n    return x * torch.tensor([0.1]) * settings.inner.k", namespace)
    c, x = compile(namespace["f"]), T(3)
    for k, dtype in ((2.0, torch.float32), (3.0, torch.float64)):
        settings.inner.k = k
        torch.set_default_dtype(dtype)
        try:
            same(c(x), namespace["f"](x))
        finally:
            torch.set_default_dtype(torch.float32)


def test_control_flow_on_shapes():
    c = compile(lambda x: x * 2 if x.shape[0] > 3 else x * 3)
    for n in (2, 5, 3, 4, 1, 0):
        same(c(torch.ones(n, 2)), torch.ones(n, 2) * (2 if n > 3 else 3))


def test_trees_keywords_and_defaults():
    def f(d, *, k=None, scale=1.0):
        return {"y": d["a"] * scale + d["b"][0], "n": len(d), "k": k}

    c, d = compile(f), {"a": T(3), "b": (T(3),)}
    for options in ({}, {"k": 3, "scale": 2.0}):
        made, expected = c(d, **options), f(d, **options)
        same(made["y"], expected["y"])
        assert (made["n"], made["k"]) == (expected["n"], expected["k"])


def test_methods_see_their_object():
    class Model:
        def __init__(self):
            self.w, self.k = T(3), 2

        @compile
        def f(self, x):
            return x * self.w * self.k

    m, other, x = Model(), Model(), T(3)
    same(m.f(x), x * m.w * 2)
    m.k = other.k = 3
    m.w = torch.ones(1)
    same(m.f(x), x * 3)
    same(other.f(x), x * other.w * 3)


# ---------------------------------------------------------------------- what runs eagerly
def test_data_dependent_control_flow_warns_once_with_the_line():
    c = compile(lambda x: x * 2 if x.sum() > 0 else x * 3)
    with pytest.warns(MinigradWarning, match="needs the value of a tensor") as told:
        same(c(torch.ones(3)), torch.ones(3) * 2)
        same(c(-torch.ones(3)), -torch.ones(3) * 3)
        same(c(-torch.ones(4)), -torch.ones(4) * 3)
    assert len(told) == 1 and "if x.sum() > 0" in str(told[0].message)
    with pytest.raises(RuntimeError, match="(?s)needs the value.*fullgraph"):
        compile(lambda x: x.item() * x, fullgraph=True)(torch.ones(1))


def test_values_read_from_captured_tensors_are_not_baked_in():
    g = torch.tensor(2.0)
    c = compile(lambda x: x * float(g))
    same(quietly(c, torch.ones(3)), torch.ones(3) * 2)
    g.mul_(2)
    same(quietly(c, torch.ones(3)), torch.ones(3) * 4)


def test_effects_on_python_objects_happen_in_each_call():
    seen, x = [], torch.ones(3)

    def f(x):
        seen.append(len(seen))
        return x * len(seen)

    c = compile(f)
    same(quietly(c, x), x)
    same(c(x), x * 2)
    assert seen == [0, 1]
    d = {"a": x}
    same(quietly(compile(lambda d: d.setdefault("z", d["a"] * 2)), d), x * 2)
    assert "z" in d


def test_python_random_numbers_differ():
    c = compile(lambda x: x * random.random())
    assert quietly(c, torch.ones(1)).item() != c(torch.ones(1)).item()


def test_writes_through_views_and_aliased_arguments():
    def first_row(x, y):
        x[0] = y
        return x * 2

    def stale(x):
        b = x * 1
        v = b[1:]
        b.mul_(2)
        return v * 1

    def add(x, y):
        x.add_(y)
        return y * 2

    a, b = T(3), None
    b = a.clone()
    same(quietly(compile(first_row), a, 1.5), first_row(b, 1.5))
    same(a, b)
    same(quietly(compile(stale), a), stale(a))
    c, z = compile(add), T(4)
    c(T(3), T(3))
    z2 = z.clone()
    same(c(z[:3], z[1:]), add(z2[:3], z2[1:]))
    same(z, z2)
    same(c(a, a), add(b, b))
    same(a, b)


def test_returned_views_are_views():
    x = T(2, 3)
    compile(lambda x: x.T)(x)[0, 0] = 9.0
    assert x[0, 0].item() == 9
    assert compile(lambda x: x)(x) is x


def test_custom_functions():
    class Traceable(torch.autograd.Function):
        is_traceable = True

        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * y * 10

    class Opaque(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return torch.tensor(x.detach().numpy() * 2)

        @staticmethod
        def backward(ctx, g):
            return g * 5

    for function, fused in ((Traceable, True), (Opaque, False)):
        f = lambda x: function.apply(x * 2) + 1  # noqa: B023, E731
        c, x = compile(f), T(3).requires_grad_()
        found = [torch.autograd.grad(quietly(run, x).sum(), x)[0] for run in (c, f)]
        same(*found)
        assert ("eagerly" not in c.explain()) == fused


def test_errors_are_those_of_eager_code_and_name_the_line():
    c, x = compile(lambda x, y: x @ y + 1), T(3, 4)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=re.escape("x @ y + 1")):
            c(x, x)
    loss, target = compile(F.cross_entropy), torch.tensor([0, 1, 2])
    same(loss(x, target), F.cross_entropy(x, target))
    with pytest.raises(IndexError, match="out of bounds"):
        loss(x, torch.tensor([0, 1, 9]))
    same(loss(x, target), F.cross_entropy(x, target))


def test_a_saved_input_that_was_written_to_raises():
    x = T(3).requires_grad_()
    y = x * 1
    z = compile(lambda a: a * a)(y)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified"):
        z.sum().backward()


def test_names_that_the_text_uses_itself():
    f = lambda k, i, np, term: (k * i).exp() + np * term  # noqa: E731
    args = T(3, 2), T(2), 2.0, 1.5
    same(compile(f)(*args), f(*args))


def test_running_statistics_of_a_module_are_updated():
    models = [torch.nn.BatchNorm1d(3) for _ in range(2)]
    x, c = T(8, 3), compile(models[0])
    for _ in range(3):
        same(c(x), models[1](x))
        same(models[0].running_mean, models[1].running_mean)
        same(models[0].running_var, models[1].running_var)


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


@pytest.mark.parametrize("f", [
    lambda x: x.exp() + x.tanh(), lambda x: torch.softmax(x, 0), lambda x: torch.logsumexp(x, 0),
    lambda x: torch.maximum(x, x * 0) + torch.relu(x) + torch.clamp(x, -1, 1), lambda x: (x * x).sqrt() / x,
    lambda x: torch.log_softmax(x[1:4], 0), lambda x: x.abs().log() + x.sign() + x**2 + x**-1,
])  # fmt: skip
def test_special_values(f):
    x = torch.tensor(SPECIAL)
    np.testing.assert_allclose(compile(f)(x).numpy(), f(x).numpy(), rtol=1e-5)


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


def test_a_second_process_is_served_from_the_cache(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import minigrad as torch\nfrom minigrad.program.compile import compile\nfrom numba.core import event\n"
        "c = compile(lambda x: (x.sin() * 2).sum())\n"
        "with event.install_recorder('numba:compile') as r: c(torch.ones(3))\nprint(len(r.buffer))\n"
    )
    import os

    run = [subprocess.run([sys.executable, program], capture_output=True, text=True, check=True,
                          env={**os.environ, "MINIGRAD_CACHE": str(tmp_path / "cache")}) for _ in range(2)]  # fmt: skip
    assert int(run[0].stdout) > 0 and int(run[1].stdout) == 0
