"""A dual level holds for all threads: operations there give tangents as they do in the thread that opened it."""

import contextvars
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

import pytest

import minigrad as torch
from minigrad.autograd.forward_ad import dual_level, make_dual, unpack_dual
from minigrad.autograd.graph import saved_tensors_hooks
from minigrad.core.frames import OFF, ON
from minigrad.events import intercept, unheard
from minigrad.func import grad, jvp, vmap
from tests.functions import custom


def in_new_thread(f, x):
    found = []
    thread = Thread(target=lambda: found.append(f(x)))
    thread.start()
    thread.join()
    return found[0]


def in_old_thread(f, x):
    return in_old_thread.pool.submit(f, x).result()


def with_the_context(f, x):
    return in_old_thread.pool.submit(contextvars.copy_context().run, f, x).result()


@pytest.fixture(autouse=True)
def old_thread():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        in_old_thread.pool = pool
        yield


# it writes in place in forward, where tangents must not be pushed
Cube = custom(
    "Cube",
    forward=lambda ctx, x: ctx.save_for_backward(x) or ctx.save_for_forward(x) or x.clone().mul_(x).mul_(x),
    backward=lambda ctx, g: 3 * g * ctx.saved_tensors[0] ** 2,
    jvp=lambda ctx, t: 3 * t * ctx.saved_tensors[0] ** 2,
)


def written(x):
    y = x * 1
    y.mul_(x)
    y[0] *= x[0]
    return y


@torch.no_grad()
def written_without_gradients(x):
    return written(x)


def packed(x):
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        return x.exp() * x


def gradient(x):
    w = x.detach().clone().requires_grad_()
    return torch.autograd.grad(((x * w).exp() * w).sum(), w)[0]


PROGRAMS = {
    "product": lambda x: x * x * x,
    "matrix product": lambda x: x.reshape(1, 1) @ x.reshape(1, 1),
    "softmax": lambda x: torch.stack([x, x * 2]).softmax(0),
    "view": lambda x: x.view(1, 1)[0] * x,
    "several results": lambda x: torch.cat([x, x * x]).sort()[0],
    "Function": Cube.apply,
    "in place": written,
    "in place without gradients": written_without_gradients,
    "hooks": packed,
    "backward": gradient,
    "func.grad": lambda x: grad(lambda z: (z * x).exp().sum())(torch.ones(1, device=x.device)),
    "func.jvp": lambda x: jvp(lambda z: z * x * z, (x,), (x,))[1],
    "vmap": lambda x: vmap(lambda row: row * row)(x),
    "compile": torch.compile(lambda x: x.sin() * x),
    "make_dual": lambda x: make_dual(x.detach() * 2, torch.ones(1, device=x.device)) * x,
    "unpack_dual": lambda x: unpack_dual(x).tangent * 3,
}


def run(f, where):
    """Return the value and the tangent of f."""
    with dual_level():
        y = where(f, make_dual(torch.tensor([2.0]), torch.tensor([1.0])))
        tangent = unpack_dual(y).tangent
    return y.detach().tolist(), tangent if tangent is None else tangent.tolist()


@pytest.mark.parametrize("where", [in_new_thread, in_old_thread, with_the_context])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_thread_computes_tangents(name, where):
    assert run(PROGRAMS[name], where) == run(PROGRAMS[name], lambda f, x: f(x))


@pytest.mark.parametrize("where", [in_new_thread, in_old_thread])
def test_backward_in_a_thread_uses_saved_tangents(where):
    def tangent(where):
        w = torch.tensor([2.0], requires_grad=True)
        with dual_level():
            x = make_dual(w, torch.ones(1))
            y = (x.exp() * x).sum()
            where(lambda _: y.backward(), x)
            return unpack_dual(w.grad).tangent.tolist()

    assert tangent(where) == tangent(lambda f, x: f(x))


def test_a_thread_with_a_dual_level_cannot_use_a_tensor_of_another():
    def inside(x):
        with dual_level():
            z = make_dual(torch.tensor([3.0]), torch.ones(1))
            assert unpack_dual(z * z).tangent.item() == 6.0
            return z * x

    with dual_level():
        x = make_dual(torch.tensor([2.0]), torch.ones(1))
        with pytest.raises(RuntimeError, match="another thread's dual level(?s:.*)return z \\* x(?s:.*)open one level"):
            in_old_thread(inside, x)
        assert unpack_dual(x * x).tangent.item() == 4.0


def test_levels_of_two_threads_are_separate():
    def level(_):
        with dual_level():
            return unpack_dual(make_dual(torch.tensor([3.0]), torch.ones(1)) ** 2).tangent.tolist()

    with dual_level():
        x = make_dual(torch.tensor([2.0]), torch.ones(1))
        assert in_old_thread(level, x) == [6.0]
        assert unpack_dual(x**2).tangent.tolist() == [4.0]


def test_a_transforms_tensor_needs_its_context_in_another_thread():
    def push(where):
        return jvp(lambda x: where(lambda x: x * x, x), (torch.ones(1),), (torch.ones(1),))[1].item()

    with pytest.raises(RuntimeError, match="does not run here(?s:.*)lambda x: x \\* x(?s:.*)copy_context"):
        push(in_old_thread)
    assert push(with_the_context) == 2.0


def test_operations_are_not_watched_after_the_last_level():
    with pytest.raises(ZeroDivisionError), dual_level():
        assert intercept.dual_level_of is not unheard and not ON.eager_ok
        1 / 0
    assert intercept.dual_level_of is unheard and ON.eager_ok and OFF.eager_ok
