"""torch.utils.checkpoint: the same gradients, numbers of calls and errors."""

import importlib
import warnings

import numpy as np
import pytest
import torch

import minigrad

BOTH = [minigrad, torch]


def names(module):
    return importlib.import_module(f"{module.__name__}.utils.checkpoint")


def leaf(module, shape=(2, 3), scale=1.0):
    return (module.arange(6.0).reshape(shape) * scale / 7 + 0.1).requires_grad_()


def counted(run):
    """Return a function that counts its calls and their ends."""

    def call(*args, **kwargs):
        call.begun += 1
        out = run(*args, **kwargs)
        call.ended += 1
        return out

    call.begun = call.ended = 0
    return call


PROGRAMS = {
    "one": lambda m, x, w: x.exp(),
    "a result is saved last": lambda m, x, w: (x * w).sin().exp(),
    "nothing is saved": lambda m, x, w: x + w,
    "something follows what is saved": lambda m, x, w: (x * w).sum() + 1,
    "views": lambda m, x, w: (x.T @ w)[0].tanh(),
    "in place": lambda m, x, w: (x * w).add_(1).exp(),
    "several results": lambda m, x, w: (x.exp(), (x * w).sin()),
    "the same twice": lambda m, x, w: m.nn.functional.softmax(x * x, 1) * x,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_and_calls_are_pytorchs(name):
    found = []
    for module in BOTH:
        x, w = leaf(module), leaf(module, scale=2.0)
        run = counted(lambda x, w, module=module: PROGRAMS[name](module, x, w))
        out = names(module).checkpoint(run, x, w, use_reentrant=False)
        outs = out if isinstance(out, tuple) else (out,)
        loss = sum(o.sum() for o in outs)
        loss.backward()
        grads = [np.zeros(1) if t.grad is None else t.grad.detach().numpy() for t in (x, w)]
        found.append((grads, [o.detach().numpy() for o in outs], run.begun, run.ended))
    (ours, values, *calls), (theirs, expected, *their_calls) = found
    for a, b in zip(ours + values, theirs + expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    assert calls == their_calls


def second_derivative(module, name):
    x, w = leaf(module), leaf(module, scale=2.0)
    run = lambda x, *, w: PROGRAMS[name](module, x, w)
    y = names(module).checkpoint(run, x, use_reentrant=False, w=w).sum()
    (g,) = module.autograd.grad(y, [x], create_graph=True)
    return module.autograd.grad((g * g).sum(), [x, w])


@pytest.mark.parametrize("name", ["a result is saved last", "views", "in place"])
def test_second_derivatives_are_pytorchs(name):
    for a, b in zip(second_derivative(minigrad, name), second_derivative(torch, name), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("segments", [1, 2, 3])
def test_segments_run_as_often_as_pytorchs(segments):
    found = []
    for module in BOTH:
        steps = [counted(f) for f in (module.exp, module.sin, module.tanh, module.cos, module.sigmoid)]
        x = leaf(module)
        names(module).checkpoint_sequential(steps, segments, x, use_reentrant=False).sum().backward()
        found.append((x.grad.numpy(), [step.begun for step in steps]))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-5)
    assert found[0][1] == found[1][1]


def twice(first, second):
    runs = iter([first, second])
    return lambda x: next(runs)(x)


def fails(call, module):
    """Return the type of the error that a call raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call(module, names(module).checkpoint, leaf(module))
        except Exception as e:
            return next(
                k.__name__ for k in type(e).__mro__ if k.__name__ == "CheckpointError" or k.__module__ == "builtins"
            )
    return None


ERRORS = {
    "fewer": lambda m, c, x: (
        c(twice(lambda x: x.exp().sin(), lambda x: x.exp()), x, use_reentrant=False).sum().backward()
    ),
    "a shape": lambda m, c, x: c(twice(m.exp, lambda x: x[:1].exp()), x, use_reentrant=False).sum().backward(),
    "a dtype": lambda m, c, x: c(twice(m.exp, lambda x: x.double().exp()), x, use_reentrant=False).sum().backward(),
    "more": lambda m, c, x: (
        c(twice(m.exp, lambda x: x.exp().sin()), x, use_reentrant=False, early_stop=False).sum().backward()
    ),
    "check": lambda m, c, x: c(m.exp, x, use_reentrant=False, determinism_check="all"),
    "written input": lambda m, c, x: (lambda h: (c(m.exp, h, use_reentrant=False), h.add_(1))[0].sum().backward())(
        x * 2
    ),
    "twice": lambda m, c, x: (lambda y: (y.backward(), y.backward()))(c(m.exp, x, use_reentrant=False).sum()),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_of_pytorchs_type(name):
    ours, theirs = fails(ERRORS[name], minigrad), fails(ERRORS[name], torch)
    assert ours == theirs
    assert ours is not None


def test_as_many_numbers_are_drawn_as_in_pytorch():
    """After backward both generators are where they were: a seeded program goes on alike with and without checkpoint."""
    for module in BOTH:
        found = []
        for checkpointed in (False, True):
            module.manual_seed(1)
            run = lambda x, module=module: (x * module.rand(2, 3)).exp()
            x = leaf(module)
            y = names(module).checkpoint(run, x, use_reentrant=False) if checkpointed else run(x)
            y.sum().backward()
            found.append((x.grad.tolist(), module.rand(2).tolist()))
        assert found[0] == found[1]
