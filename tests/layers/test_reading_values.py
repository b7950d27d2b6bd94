"""Reading a value changes no derivative, wherever, however and in whichever mode the program reads it.

Random programs (views, in-place writes, transposed layouts, linear algebra, norms, custom Functions, parts under no_grad) run
with a look at all their tensors at one place, for each place in turn.  Their second derivatives must be those of the program
without a look, to the last bit, for every order of forward and reverse mode.
"""

import random
from contextlib import ExitStack
from functools import partial

import numpy as np
import pytest

import minigrad as torch
from minigrad.autograd import forward_ad
from minigrad.autograd.graph import saved_tensors_hooks
from minigrad.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vmap
from minigrad.nn.functional import layer_norm
from tests.floats import some
from tests.functions import custom

ONE = torch.ones((), dtype=torch.float64)
C = torch.tensor(np.random.default_rng(0).normal(size=(3, 3)))


# saves its result
Exponential = custom(
    "Exponential",
    generate_vmap_rule=True,
    forward=lambda x: (0.3 * x).exp(),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output) or ctx.save_for_forward(output),
    backward=lambda ctx, g: 0.3 * g * ctx.saved_tensors[0],
    jvp=lambda ctx, t: 0.3 * t * ctx.saved_tensors[0],
)


# ---------------------------------------------------------------------- random programs
def positive(m):
    return 0.1 * m @ m.T + torch.eye(3, dtype=m.dtype)


VIEWS = [
    lambda x: x.T,
    lambda x: x[1:],
    lambda x: x[0],
    lambda x: x.reshape(-1),
    lambda x: x.diagonal(),
    lambda x: x.unsqueeze(0),
    lambda x: x.view(x.shape),
    lambda x: x.mT[:2],
    lambda x: x.unbind(0)[-1],
]
MAPS = [
    lambda x: x.sin(),
    lambda x: Exponential.apply(x),
    lambda x: x.softmax(0),
    lambda x: x.cumsum(0),
    lambda x: x / (x.norm() + 1),
    lambda x: layer_norm(x, [x.shape[-1]], eps=0.1),
    lambda x: (x * x + 1).sqrt(),
]
SQUARE = [
    lambda m: torch.linalg.inv(positive(m)),
    lambda m: torch.linalg.cholesky(positive(m)),
    lambda m: torch.linalg.qr(positive(m))[1],
    lambda m: torch.linalg.solve(positive(m), C),
    lambda m: torch.linalg.eigh(positive(m))[0] * C,
    lambda m: layer_norm(m.T, [3], eps=0.1) @ C,
]
BUFFERS = [
    lambda t: torch.zeros(3, 3, dtype=t.dtype),
    lambda t: torch.zeros(3, 3, dtype=t.dtype).T,
    lambda t: torch.zeros(2, 3, 3, dtype=t.dtype)[1],
    lambda t: (C * t).T,
]


def add_square(x, s):
    x.add_(s * s)


def set_first(x, s):
    x[0] = 2 * s


def set_end(x, s):
    x[1:] = x[1:].clone() * s


def scale_end(x, s):
    x[-1:] *= s


WRITES = [add_square, set_first, set_end, scale_end, lambda x, s: x.mul_(s), lambda x, s: x.sin_()]


def program(seed):
    """Return a function of a number and of a look, which it calls on its tensors at place `at`."""

    def run(t, look=None, at=-1):
        r = random.Random(seed)
        pool = [C * t, r.choice(BUFFERS)(t)]
        for place in range(7):
            if place == at:
                for x in list(pool):
                    look(x)
            x, kind = r.choice(pool), r.randrange(10)
            cut = r.random() < 0.1
            with ExitStack() as around:
                if cut and kind < 7:
                    around.enter_context(torch.no_grad())
                if kind < 3 and x.ndim:
                    pool.append(r.choice(VIEWS if x.ndim == 2 else VIEWS[1:4])(x))
                elif kind < 7 and x.ndim:
                    r.choice(WRITES)(x, t + 0.1 * r.choice(pool).sum())
                elif kind == 7 and x.ndim:
                    pool.append(r.choice(MAPS)(x))
                elif kind == 8:
                    pool.append(r.choice(SQUARE)(r.choice([p for p in pool if p.shape == (3, 3)])))
                else:
                    pool.append(r.choice(BUFFERS)(t))
        return sum([((i + 1) * p).tanh().sum() for i, p in enumerate(pool)])

    return run


# ---------------------------------------------------------------------- second derivatives
def forward(f):
    return lambda t: jvp(f, (t,), (torch.ones_like(t),))[1]


def reverse_of_dual(f, t):
    t = t.clone().requires_grad_()
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(f(forward_ad.make_dual(t, ONE))).tangent
        return torch.autograd.grad(tangent, t)[0]


def dual_of_reverse(f, t):
    with forward_ad.dual_level():
        x = forward_ad.make_dual(t.clone().requires_grad_(), ONE)
        return forward_ad.unpack_dual(torch.autograd.grad(f(x), x, create_graph=True)[0]).tangent


def reverse_twice(f, t):
    t = t.clone().requires_grad_()
    return torch.autograd.grad(torch.autograd.grad(f(t), t, create_graph=True)[0], t)[0]


WAYS = {
    "grad of jvp": lambda f, t: grad(forward(f))(t),
    "jvp of grad": lambda f, t: forward(grad(f))(t),
    "jvp of jvp": lambda f, t: forward(forward(f))(t),
    "grad of jvp of jvp": lambda f, t: grad(forward(forward(f)))(t),
    "reverse of dual": reverse_of_dual,
    "dual of reverse": dual_of_reverse,
    "reverse twice": reverse_twice,
    "hessian": lambda f, t: hessian(f)(t),
    "jacrev of jacfwd": lambda f, t: jacrev(jacfwd(f))(t),
    "vmap of grad of jvp": lambda f, t: vmap(grad(forward(f)))(torch.stack([t, 2 * t])),
    "grad of linearize": lambda f, t: grad(lambda u: linearize(f, u)[1](ONE))(t),
}

LOOKS = {
    "a part": lambda x: x[0],
    "a sum": lambda x: x.sum(),
    "views": lambda x: [v(x) for v in VIEWS],
    "printing": repr,
    "a comparison": lambda x: bool((x == x).all()),
    "a NaN check": lambda x: bool(x.isnan().any()),
    "detach": lambda x: x.detach()[:1].sum(),
    "its place in the graph": lambda x: (x.requires_grad, x.grad_fn, x.is_leaf, x._base, x._version),
    "unpack_dual": lambda x: forward_ad.unpack_dual(x),
    "a transform": lambda x: grad(lambda z: (z * x).sum())(ONE),
    "a copy": lambda x: x.contiguous().clone(),
    "a derivative of it": lambda x: torch.autograd.grad(x.sum(), x, retain_graph=True),
}
MODES = {
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "enable_grad": torch.enable_grad,
    "hooks": lambda: saved_tensors_hooks(lambda t: t, lambda t: t),
    "autocast": lambda: torch.autocast("cpu"),
}


def looking(seed):
    """Return a look in random ways and modes; those that a batched tensor or a mode refuses do not count."""
    r = random.Random(seed)

    def look(x):
        for look, mode in zip(r.sample(list(LOOKS.values()), 2), r.sample(list(MODES.values()), 2)):
            try:
                with mode():
                    look(x)
            except (RuntimeError, ValueError, IndexError):
                pass

    return look


def outcome(way, f, t):
    """Return the number, or the first line of the error."""
    try:
        return WAYS[way](f, t).detach().tolist()
    except RuntimeError as e:
        return str(e).splitlines()[0]


@pytest.mark.parametrize("seed", some(range(30), 10))
def test_a_look_changes_no_derivative(seed):
    f, t = program(seed), torch.tensor(0.4, dtype=torch.float64)
    for way in random.Random(seed).sample(sorted(WAYS), 4):
        wanted = outcome(way, f, t)
        for at in range(7):
            found = outcome(way, partial(f, look=looking(seed + at), at=at), t)
            assert found == wanted, f"{way}, looking at place {at}: {found} is not {wanted}"


# ---------------------------------------------------------------------- small programs
def of_written_base(look):
    def f(t):
        base = torch.zeros(3, dtype=t.dtype)
        view = base[:2]
        base[1:] = 5 * t * t
        look(view)
        return 10 * view[1] ** 2

    return f


def of_view_that_no_grad_fills(look):
    """The view is made with gradients on, and gets its tangent from a write under no_grad."""

    def f(t):
        base = torch.zeros(3, dtype=t.dtype)
        view = base[:2]
        look(base)
        with torch.no_grad():
            view[0] = t.detach() * t
        base[1:] = 5 * t * t
        return 10 * view[1] ** 2

    return f


def of_transposed_norm(look):
    def f(t):
        m = layer_norm((C * t * t + C).T, [3], eps=0.1)
        look(m)
        return (m**3 * C).sum()

    return f


def of_row(look):
    """A row of a matrix that is not contiguous, such as a result of LAPACK."""

    def f(t):
        m = torch.linalg.inv(positive(C * t))
        look(m)
        return (m[0] * m[1] ** 2).sum()

    return f


def under(mode):
    def look(x):
        with mode():
            x[:1].sum()

    return look


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("make", [of_written_base, of_view_that_no_grad_fills, of_transposed_norm, of_row])
@pytest.mark.parametrize("way", ["grad of jvp", "reverse of dual"])
def test_reading_a_part_without_gradients_keeps_the_tangents_history(make, mode, way):
    t, h = torch.tensor(0.4, dtype=torch.float64), 1e-4
    slope = [jvp(make(lambda x: None), (t + d,), (ONE,))[1].item() for d in (-h, h)]
    found = WAYS[way](make(under(mode)), t).item()
    assert np.isclose(found, (slope[1] - slope[0]) / (2 * h), rtol=1e-6)
    assert found == WAYS[way](make(lambda x: None), t).item()


def test_a_write_under_no_grad_gives_a_view_no_history_of_its_base():
    """The mode of a view counts, and of a write, but not that of a reader."""

    def f(t):
        base = torch.zeros(2, dtype=t.dtype)
        with torch.no_grad():
            view = base[:1]
        base[:] = t * t
        return (view * t).sum()

    t = torch.tensor(3.0, dtype=torch.float64)
    for make in (f, lambda t: f(t * 1)):
        assert reverse_of_dual(make, t).item() == WAYS["grad of jvp"](make, t).item()


def test_checking_a_distribution_changes_no_derivative():
    def density(t, check):
        lower = torch.linalg.cholesky(positive(C * t))
        d = torch.distributions.MultivariateNormal(torch.zeros(3, dtype=t.dtype), scale_tril=lower, validate_args=check)
        return d.log_prob(torch.ones(3, dtype=t.dtype))

    t = torch.tensor(0.4, dtype=torch.float64)
    for way in ("grad of jvp", "reverse of dual", "hessian"):
        assert WAYS[way](lambda t: density(t, True), t).item() == WAYS[way](lambda t: density(t, False), t).item()


def test_in_place_writes_to_a_dual_tensor_can_be_differentiated_again():
    def f(t):
        y = t * C
        y.mul_(t)
        return y.sin_().sum()

    t = torch.tensor(0.4, dtype=torch.float64)
    assert np.isclose(reverse_of_dual(f, t).item(), WAYS["jvp of grad"](f, t).item())
