"""Outputs of Functions in other tensors' memory: a write to that memory never leaves them with an old derivative."""

from functools import partial
from itertools import permutations

import pytest

import minigrad as torch
from minigrad import nn
from minigrad.autograd import forward_ad
from minigrad.autograd.function import Function, NestedIOFunction
from minigrad.func import grad, jacfwd, jacrev, linearize, vjp, vmap
from minigrad.record.from_graph import record_of
from tests.functions import custom

X = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
WEIGHTS = torch.tensor([3.0, 5.0, 7.0], dtype=torch.float64)


def linear(forward):
    """Return a linear forward as a Function; its derivative is found by its own program on the identity."""
    matrices = [torch.stack([as_tuple(forward(e.clone()))[k].reshape(-1) for e in torch.eye(3, dtype=torch.float64)], 1)
                for k in range(len(as_tuple(forward(X.clone()))))]  # fmt: skip

    class Linear(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return forward(x)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.shapes = [o.shape for o in as_tuple(output)]

        @staticmethod
        def backward(ctx, *grads):
            return sum(m.T @ g.reshape(-1) for m, g in zip(matrices, grads))

        @staticmethod
        def jvp(ctx, t):
            outs = tuple([(m @ t).reshape(s) for m, s in zip(matrices, ctx.shapes)])
            return outs if len(outs) > 1 else outs[0]

    return Linear.apply


def as_tuple(x):
    return x if isinstance(x, tuple) else (x,)


class Nested(NestedIOFunction):
    def forward_extended(self, given):
        return {"out": given["in"]}

    def backward_extended(self, grads):
        return {"in": grads["out"]}


class Hooked(nn.Module):
    def __init__(self, forward):
        super().__init__()
        self.f = forward
        self.register_full_backward_hook(lambda module, grad_input, grad_output: None)

    def forward(self, x):
        return self.f(x)


same, first_two, twice = linear(lambda x: x), linear(lambda x: x[:2]), linear(lambda x: (x, x))
THROUGH = {  # each returns the memory of its argument, or a part of it
    "the input": same,
    "view_as": linear(lambda x: x.view_as(x)),
    "view": linear(lambda x: x.view(3, 1)),
    "part": linear(lambda x: x[1:]),
    "part of a view": linear(lambda x: x.view(3, 1)[:2].view(-1)),
    "detach": linear(lambda x: x.detach()),
    "data": linear(lambda x: x.data),
    "the input twice": lambda z: twice(z)[1],
    "one Function after another": lambda z: first_two(same(z)),
    "module with a backward hook": Hooked(lambda x: x),
    "module with a backward hook that returns a view": Hooked(lambda x: x.view(3, 1)),
}
EAGER_ONLY = {
    "NumPy": linear(lambda x: torch.from_numpy(x.detach().numpy()).to(x.device)),
    "nested": lambda z: Nested.apply({"in": z})["out"],
}


def weighted(y):
    return (y.reshape(-1) * WEIGHTS[: y.numel()]).sum()


Doubled = custom(
    "Doubled",
    generate_vmap_rule=True,
    forward=lambda x: x.mul_(2),
    setup_context=lambda ctx, inputs, output: ctx.mark_dirty(*inputs),
    backward=lambda ctx, g: g * 2,
    jvp=lambda ctx, t: t * 2,
)


def element(z, y):
    z[1] = z[2] * 5


WRITES = {  # a write to the memory of z or of y = through(z), and the tensors that are read after it
    "tripled": (lambda z, y: z.mul_(3), "y"),
    "element": (element, "y"),
    "squared": (lambda z, y: z.copy_(z * z), "y"),
    "marked dirty": (lambda z, y: Doubled.apply(z), "y"),
    "element of output": (lambda z, y: y[0].mul_(3), "zy"),
    "output marked dirty": (lambda z, y: Doubled.apply(y), "zy"),
    "part of output marked dirty": (lambda z, y: Doubled.apply(y[:1]), "zy"),
}


def read_after(write, read, through):
    """Return the program that writes, and then reads z or y or both."""

    def program(x):
        z = x * 1
        y = through(z)
        write(z, y)
        return sum(weighted({"z": z, "y": y}[name]) for name in read)

    return program


def sibling(through, x):
    z = x * 1
    y = through(z.view(3))
    z[1] *= 10
    return weighted(y)


def part_of_output(through, x):
    z = x * 1
    part = through(z).reshape(-1)[1:]
    before = weighted(part)
    z.mul_(3)
    return before + weighted(part)


def output(through, x):
    z = x * 1
    through(z).mul_(3)
    return weighted(z)


def constant(through, x):
    z = X * 1
    y = through(z)
    z.mul_(x)
    return weighted(y)


def writes(through):
    """Return programs that write to the memory of z or of y = through(z), by name."""
    others = {f.__name__: partial(f, through) for f in (sibling, part_of_output, output, constant)}
    return {name: read_after(*how, through) for name, how in WRITES.items()} | others


SEVERAL = {
    "one tensor twice": linear(lambda x: (t := x * 2, t)),
    "a tensor and its part": linear(lambda x: (t := x * 2, t[1:])),
    "a part and its tensor": linear(lambda x: ((t := x * 2)[1:], t)),
    "overlapping parts": linear(lambda x: ((t := x * 2)[:2], t[1:])),
    "a tensor and its detached alias": linear(lambda x: (t := x * 2, t.detach())),
    "nested parts": linear(lambda x: ((t := x * 2)[1:][1:], t[1:], t.detach(), t)),
}


def other_output_written(apply, i, j, part):
    def program(x):
        outs = apply(x * 1)
        (outs[i][:1] if part else outs[i]).mul_(10)
        return weighted(outs[j])

    return program


PROGRAMS = {
    f"{name}, {write}": program
    for name, through in (THROUGH | EAGER_ONLY).items()
    for write, program in writes(through).items()
}
PROGRAMS |= {
    f"{name}, {i} written{' in part' * part}, {j} read": other_output_written(apply, i, j, part)
    for name, apply in SEVERAL.items()
    for i, j in permutations(range(4 if name == "nested parts" else 2), 2)
    for part in (False, True)
}
READERS = THROUGH | EAGER_ONLY | {name: lambda z, f=f: f(z)[0] * 1 + f(z)[1].sum() for name, f in SEVERAL.items()}


# ---------------------------------------------------------------------- ways to differentiate
def backward(f):
    def slope(x):
        x = x.clone().requires_grad_()
        f(x).backward()
        return x.grad

    return slope


def dual(f):
    def slope(x):
        found = []
        for e in torch.eye(3, dtype=torch.float64):
            with forward_ad.dual_level():
                t = forward_ad.unpack_dual(f(forward_ad.make_dual(x.clone(), e))).tangent
                found.append(torch.zeros((), dtype=torch.float64) if t is None else t.clone())
        return torch.stack(found)

    return slope


def batch(x):
    return torch.stack([x, x * 2])


def without_grad(way):
    def run(f):
        def slope(x):
            with torch.no_grad():
                return way(f)(x)

        return slope

    return run


WAYS = {
    "backward": backward,
    "dual": dual,
    "grad": grad,
    "vjp": lambda f: lambda x: vjp(f, x)[1](torch.ones((), dtype=torch.float64))[0],
    "jacrev": jacrev,
    "jacfwd": jacfwd,
    "grad under no_grad": without_grad(grad),
    "linearize": lambda f: lambda x: torch.stack([linearize(f, x)[1](e) for e in torch.eye(3, dtype=torch.float64)]),
    "vmap of grad": lambda f: lambda x: vmap(grad(f))(batch(x))[0],
    "grad of vmap": lambda f: grad(lambda x: vmap(f)(batch(x))[0]),
    "backward of vmap": lambda f: backward(lambda x: vmap(f)(batch(x))[0]),
}


def by_differences(f):
    with torch.no_grad():
        steps = 1e-4 * torch.eye(3, dtype=torch.float64)
        return torch.stack([(f(X + e) - f(X - e)) / 2e-4 for e in steps])


def right_or_refused(way, f):
    try:
        got = WAYS[way](f)(X)
    except (RuntimeError, NotImplementedError):
        return True
    return torch.allclose(got, by_differences(f), atol=1e-5)


@pytest.mark.parametrize("way", WAYS)
def test_the_derivative_after_a_write_is_right_or_refused(way):
    wrong = [name for name, f in PROGRAMS.items() if not right_or_refused(way, f)]
    assert not wrong


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", READERS)
def test_a_program_that_only_reads_is_differentiated(name, way):
    if name in EAGER_ONLY and "vmap" in way or name == "nested" and way not in ("backward",):
        pytest.skip("its forward needs plain memory, or its Function has no separate form")

    def f(x):
        z = x * 1
        y = READERS[name](z)
        return weighted(y) + weighted(z) * y.sum()

    assert torch.allclose(WAYS[way](f)(X), by_differences(f), atol=1e-5)


# ---------------------------------------------------------------------- the error, and what needs none
def reversal():
    return THROUGH["view_as"]


def test_the_error_names_the_write_the_function_and_a_remedy():
    x = X.clone().requires_grad_()
    z = x * 1
    y = reversal()(z)
    z.mul_(3)
    loss = y.sum()
    with pytest.raises(
        RuntimeError, match=r"(?s)mul_: a view of shape \(3,\) has new values.*made inside Linear.*clone"
    ) as e:
        loss.backward()
    assert "modified at" in str(e.value) and "z.mul_(3)" in str(e.value)


def test_the_error_of_a_module_with_hooks_names_the_module():
    x = X.clone().requires_grad_()
    z = x * 1
    y = THROUGH["module with a backward hook"](z)
    z.mul_(3)
    with pytest.raises(RuntimeError, match="it passes the backward hooks of Hooked"):
        y.sum().backward()


def test_looking_at_an_output_with_new_values_is_allowed():
    x = X.clone().requires_grad_()
    z = x * 1
    y = reversal()(z)
    z.mul_(3)
    assert y.requires_grad and not y.is_leaf and y.tolist() == [3, 6, 9] and "3., 6., 9." in repr(y)
    with torch.no_grad():
        assert (y + 1).tolist() == [4, 7, 10]
    (z.sum() + y.detach().sum()).backward()
    assert x.grad.tolist() == [3, 3, 3]


def test_a_result_computed_before_the_write_keeps_its_derivative():
    x = X.clone().requires_grad_()
    z = x * 1
    y = reversal()(z)
    before = (y + 1).sum()
    z.mul_(3)
    before.backward()
    assert x.grad.tolist() == [1, 1, 1]


def test_an_update_of_a_parameter_under_no_grad_changes_no_history():
    w = X.clone().requires_grad_()
    y = reversal()(w)
    with torch.no_grad():
        w.sub_(1)
    y.sum().backward()
    assert w.grad.tolist() == [1, 1, 1]


def test_an_output_made_under_no_grad_is_a_constant():
    x = X.clone().requires_grad_()
    z = x * 1
    with torch.no_grad():
        y = reversal()(z)
    z.mul_(3)
    assert not y.requires_grad
    (y.sum() * z.sum()).backward()
    assert x.grad.tolist() == [54, 54, 54]


def test_a_captured_tensor_that_is_returned_keeps_its_own_history():
    w = X.clone().requires_grad_()
    kept = w * 1

    Constant = custom("Constant", forward=lambda ctx, x: kept, backward=lambda ctx, g: g * 7)
    x = X.clone().requires_grad_()
    (Constant.apply(x) + Constant.apply(x * 2) + kept).sum().backward()
    assert x.grad.tolist() == [21, 21, 21] and w.grad.tolist() == [1, 1, 1]


@pytest.mark.parametrize("part", [lambda t: t[:2], lambda t: t.view_as(t)])
def test_a_later_write_to_a_view_of_a_captured_tensor_is_refused(part):
    kept = X.clone()

    Constant = custom("Constant", forward=lambda ctx, x: part(kept), backward=lambda ctx, g: g.sum().expand(3))
    x = X.clone().requires_grad_()
    y = Constant.apply(x)
    kept.mul_(2)
    with pytest.raises(RuntimeError, match="made inside Constant"):
        y.sum().backward()


def test_a_leaf_made_from_an_untracked_output_remains_a_leaf():
    z = X.clone()
    y = reversal()(z).requires_grad_()
    z.mul_(2)
    y.sum().backward()
    assert y.is_leaf and y.grad.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "read", [lambda y: y * 2, lambda y: y[1:] * 2, lambda y: y.detach() * 2], ids=["all", "part", "values"]
)
def test_a_recording_shows_an_output_with_new_values(read):
    x = X.clone().requires_grad_()
    with torch.record(passes=("forward", "backward")) as rec:
        z = x * 1
        y = reversal()(z)
        z.mul_(3)
        kept = read(y)
        z.sum().backward()
    names = [op["name"] for op in rec.to_dict()["ops"]]
    assert names[:3] == ["mul", "Linear", "mul"] and kept is not None


def test_the_record_of_the_graph_notes_why_there_is_no_derivative():
    x = X.clone().requires_grad_()
    z = x * 1
    y = reversal()(z)
    z.mul_(3)
    (note,) = record_of(y * 2).notes
    assert "it has no derivative: mul_: a view of shape (3,) has new values" in note
