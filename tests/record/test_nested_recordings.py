"""A program that records a part of itself: each recording shows what it would show without the other one."""

import warnings
from contextlib import nullcontext

import pytest

import minigrad
from minigrad.autograd import forward_ad
from minigrad.profiler import profile
from minigrad.utils.checkpoint import checkpoint
from minigrad.utils.data import DataLoader, TensorDataset
from tests.functions import custom

from .recorded import Square

FIELDS = ("ops", "values", "gradients", "outputs", "reads", "backwards")


Product = custom(  # has no jvp
    "Product",
    forward=lambda ctx, a, b: ctx.save_for_backward(a, b) or a * b,
    backward=lambda ctx, g: (g * ctx.saved_tensors[1], g * ctx.saved_tensors[0]),
)


def values_of_both_sides(x, w, part):
    h = x * w
    with part():
        y = (h * w).tanh()
    return (y * x).sum()


def runs_backward(x, w, part):
    with part():
        y = (x * w).exp().sum()
        y.backward()
    return y


def runs_backward_afterwards(x, w, part):
    with part():
        h = x * w
    y = (h * w).sum()
    y.backward()
    return y


def only_backward(x, w, part):
    y = (x * w).pow(2).sum()
    with part():
        y.backward()
    return y


def second_derivative(x, w, part):
    with part():
        y = (x * w).pow(3).sum()
        (g,) = minigrad.autograd.grad(y, x, create_graph=True)
        z = (g * g).sum()
    return z


def writes(x, w, part):
    h = x * w
    v = h[1:]
    with part():
        h.mul_(x)
        h[0] = 5.0
        v.add_(w[1:])
    return (h * x).sum() + v.sum()


def custom_functions(x, w, part):
    h = x * w
    with part():
        y = (Square.apply(h) + Product.apply(h, x)).sum()
        y.backward()
    return y


def transforms(x, w, part):
    h = x * w
    with part():
        y = minigrad.func.grad(lambda a: (a**3).sum())(x) * w
        z = minigrad.func.vmap(lambda a: a.sin() * a)(h)
    return (y + z).sum()


def in_a_transform(x, w, part):
    def f(a):
        with part():
            return (a**3).sum()

    return minigrad.func.grad(f)(x).sum()


def training(x, w, part):
    optimizer = minigrad.optim.SGD([w], 0.1)
    for (batch,) in DataLoader(TensorDataset(minigrad.arange(4.0).reshape(2, 2)), batch_size=1):
        with part():
            optimizer.zero_grad()
            loss = ((batch @ w) ** 2).mean()
            loss.backward()
            optimizer.step()
            assert loss.item()
    return loss


def in_a_profiler(x, w, part):
    with profile(), part():
        y = (x * w).sum()
        y.backward()
        assert y != 0
    return y


def a_profiler_inside(x, w, part):
    with part(), profile():
        y = (x * w).sum()
        y.backward()
        assert y != 0
    return y


def a_checkpoint(x, w, part):
    with part():
        y = checkpoint(lambda a: (a * a).sin(), x * w, use_reentrant=False).sum()
        y.backward()
    return y


def duals(x, w, part):
    with forward_ad.dual_level():
        d = forward_ad.make_dual(x, minigrad.ones(2))
        with part():
            y = (d * w).sum()
    return y


def three_levels(x, w, part):
    with part():
        h = x * w
        with part():
            y = (h * h).sum()
            y.backward()
    return y


def compiled(x, w, part):
    f = minigrad.compile(lambda a: (a * a).sin().sum())
    with part():
        y = f(x * w)
    return y


PROGRAMS = [
    values_of_both_sides, runs_backward, runs_backward_afterwards, only_backward, second_derivative, writes, custom_functions,
    transforms, in_a_transform, training, in_a_profiler, a_profiler_inside, a_checkpoint, duals, three_levels, compiled,
]  # fmt: skip
ALL, GRADIENTS = ("forward", "backward", "jvp"), ("forward", "backward")


def content(rec):
    document = rec.to_dict()
    for inner in [one for op in document["ops"] for method in op["inside"] for one in method["ops"]]:
        inner["layer"] = []  # the first calls of a forward are checked, in a layer
    for edge in [edge for op in document["ops"] for edge in op["edges"]]:
        edge["partial"] = ""  # an operand may be called x or self, by the function that runs the operation
    return {field: document[field] for field in FIELDS} | {"passes": document["program"]["passes"], "notes": rec.notes}


def run(program, outer, passes):
    """Return the record of a program, or None, and those of its parts, if there are any."""
    parts = []

    def part():
        if passes is None:
            return nullcontext()
        parts.append(minigrad.record(passes=passes, inside=True))
        return parts[-1]

    x, w = minigrad.tensor([1.0, 2.0], requires_grad=True), minigrad.tensor([3.0, -1.0], requires_grad=True)
    call = lambda: program(x, w, part)
    whole = None if outer is None else content(minigrad.record(call, passes=outer, inside=True))
    if outer is None:
        call()
    return whole, [content(rec) for rec in parts]


@pytest.mark.parametrize("passes", [ALL, GRADIENTS, ("jvp",)], ids="-".join)
@pytest.mark.parametrize("outer", [ALL, GRADIENTS], ids="-".join)
@pytest.mark.parametrize("program", PROGRAMS)
def test_nested_recordings_do_not_change_each_other(program, outer, passes):
    whole, parts = run(program, outer, passes)
    assert whole == run(program, outer, None)[0]
    assert parts == run(program, None, passes)[1]


def test_other_tangents_inside_stay_inside():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    inner = []

    def program():
        h = x * 3
        inner.append(minigrad.record(lambda q: q * h, x, passes="jvp", tangent={"q": [1.0, 0.0]}).to_dict())
        return (h * x).sum()

    document = minigrad.record(program, passes=ALL).to_dict()
    tangent_of_result = lambda one: one["values"][one["ops"][-1]["outputs"][0]]["summary"]["values"]
    assert tangent_of_result(inner[0]) == [3.0, 0.0]  # h does not move there
    assert tangent_of_result(document) == 18.0  # 2 * 3 * x, summed


def test_the_backward_of_a_recording_is_no_backward_of_the_program_around_it():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)

    def program():
        y = (x * 3).sum()
        minigrad.record(lambda q: (q * q).sum(), x)
        minigrad.explain(lambda q: (q * q).sum(), x)
        return y

    (backward,) = minigrad.record(program).to_dict()["backwards"]
    assert len(backward["roots"]) == 1


def test_a_recording_is_no_dual_level_of_the_program():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)

    def program():
        y = x * 2
        assert forward_ad.unpack_dual(y).tangent is None
        return y

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        minigrad.record(program)
