"""Every label evaluates, in programs of the kinds that pictures show: networks, custom Functions, transforms, training.

The labels of vmap, which are those of one example, are evaluated in test_transformed.py.
"""

import re

import numpy as np
import pytest

import minigrad as torch
import minigrad.autograd.forward_ad as forward_ad
from minigrad import nn
from minigrad.core.tensor import wrap
from minigrad.nn import functional as F
from minigrad.record.build import numbered
from minigrad.utils.checkpoint import checkpoint
from tests.functions import Exp, custom
from tests.viz.viewer.programs import MyCube

from .evaluated import NAMES, check, held, same


class TwiceExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return Exp.apply(Exp.apply(x))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * Exp.apply(Exp.apply(x)) * Exp.apply(x)


class Sort(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        order = torch.tensor(np.argsort(x.numpy()))
        ctx.save_for_backward(order)
        return x[order]

    @staticmethod
    def backward(ctx, g):
        (order,) = ctx.saved_tensors
        return torch.zeros_like(g).scatter(0, order, g)


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Take(torch.autograd.Function):
    @staticmethod
    def forward(x, order, inverse):
        return torch.tensor(np.take_along_axis(x.detach().numpy(), order.numpy(), 0))

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, order, inverse = inputs
        ctx.save_for_backward(order, inverse)

    @staticmethod
    def backward(ctx, grad_output):
        order, inverse = ctx.saved_tensors
        return torch.take_along_dim(grad_output, inverse, 0), None, None


class Affine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, weight, bias):
        ctx.save_for_backward(input, weight)
        output = input.mm(weight.t())
        output += bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        input, weight = ctx.saved_tensors
        return grad_output.mm(weight), grad_output.t().mm(input), grad_output.sum(0)


Round = custom("Round", forward=lambda ctx, x: torch.round(x), backward=lambda ctx, grad_output: grad_output)


def two_outputs(x):
    result, dx = MyCube.apply(x)
    return (result + 2 * dx).sum()


def attention(x):
    q, k, v = x @ x.mT, x * 2, x + 1
    return ((q @ k / 2**0.5).softmax(-1) @ v).sum()


def dual_numbers(x):
    with forward_ad.dual_level():
        y = forward_ad.make_dual(x * 2, torch.ones_like(x)).sin()
        return y.sum()


def adam(x):
    w = nn.Parameter(torch.ones(3, dtype=torch.float64))
    optimizer = torch.optim.Adam([w])
    loss = ((w * x) ** 2).sum()
    loss.backward()
    optimizer.step()
    return loss


def hooks(x):
    y = x * 2
    y.register_hook(lambda g: g.clamp(-1, 1))
    return (y * x).sum()


def chain(x):
    for _ in range(300):
        x = (x * 1.01).sin() + 0.1
    return x.sum()


def steps(x):
    h = c = torch.zeros(1, 3, dtype=torch.float64)
    cell = nn.LSTMCell(2, 3, dtype=torch.float64)
    for _ in range(3):
        h, c = cell(x, (h, c))
    return h.sum()


def residual(x):
    layer, norm = nn.Linear(2, 2, dtype=torch.float64), nn.LayerNorm(2, dtype=torch.float64)
    return (x + F.relu(norm(layer(x)))).sum()


def softmax_with_cross_entropy(x):
    return F.cross_entropy(x, torch.tensor([1, 0]))


def transformer_layer(x):
    layer = nn.TransformerEncoderLayer(2, 1, 3, batch_first=True, dropout=0.0, dtype=torch.float64)
    return layer(x[None]).sum()


def linear_regression(x):
    params = {"w": torch.tensor(0.5, dtype=torch.float64), "b": torch.tensor(0.0, dtype=torch.float64)}
    params = {name: p.requires_grad_() for name, p in params.items()}
    for _ in range(2):
        loss = ((params["w"] * x + params["b"] - (3 * x + 1)) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            for p in params.values():
                p -= 0.1 * p.grad
                p.grad = None
    return ((params["w"] * x + params["b"]) ** 2).mean()


def recurrent_cell(x):
    w, u = x * 0.5, x + 0.1
    h = torch.zeros(2, dtype=torch.float64)
    for t in range(2):
        h = torch.tanh(w @ x[t] + u @ h)
    return h.pow(2).sum()


def logistic_regression(x):
    weights = {"W": torch.linspace(-1, 1, 6, dtype=torch.float64).reshape(3, 2).requires_grad_()}
    logits = x @ weights["W"].T
    return F.cross_entropy(logits, torch.tensor([2, 0]))


def newton(x):
    def f(x):
        return (x**3 - 2 * x - 5).sum()

    for _ in range(2):
        x = x - f(x) / torch.func.grad(f)(x)
    return x.sum()


def straight_through(x):
    q = Round.apply(x * 4) / 4
    p = x + (torch.round(x) - x).detach()
    return ((q - 1) ** 2).sum() + (p**2).sum()


SMALL = torch.tensor([0.5, 1.5, 1.0], dtype=torch.float64)
MATRIX = torch.tensor([[0.5, 1.5], [1.0, -0.5]], dtype=torch.float64)
IMAGE = torch.linspace(-1, 1, 32, dtype=torch.float64).reshape(1, 2, 4, 4)
NET = nn.Sequential(nn.Conv2d(2, 2, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 2)).double()
MLP = nn.Sequential(*[part for _ in range(6) for part in (nn.Linear(2, 2), nn.Tanh())]).double()

PROGRAMS = {
    "cube": (lambda x: MyCube.apply(x)[0].sum(), SMALL),
    "two outputs": (two_outputs, SMALL),
    "sort": (lambda x: (Sort.apply(x) * torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)).sum(), SMALL),
    "take": (lambda x: torch.take_along_dim(x, torch.tensor([2, 0]), 0).exp().sum(), SMALL),
    "nested": (lambda x: TwiceExp.apply(x).sum(), SMALL),
    "mark_dirty": (lambda x: Double.apply(x * 1).sum(), SMALL),
    "bias": (lambda x: (x @ MATRIX + x[0]).tanh().sum(), MATRIX),
    "cross entropy": (softmax_with_cross_entropy, MATRIX),
    "layer norm": (lambda x: (F.layer_norm(x, (2,)) * x).sum(), MATRIX),
    "attention": (attention, MATRIX),
    "lstm": (steps, MATRIX[:1]),
    "conv net": (lambda x: NET(x).sum(), IMAGE),
    "residual": (residual, MATRIX),
    "mlp": (lambda x: MLP(x).sum(), MATRIX),
    "chain": (chain, SMALL),
    "jacrev": (torch.func.jacrev(lambda x: torch.stack([x[0] * x[1], x[0] + x[1]])), SMALL),
    "hessian": (torch.func.hessian(lambda x: (x**3).sum() * x[0]), SMALL),
    "dual numbers": (dual_numbers, SMALL),
    "checkpoint": (lambda x: checkpoint(lambda t: t.sin().exp(), x, use_reentrant=False).sum(), SMALL),
    "adam": (adam, SMALL),
    "hooks": (hooks, SMALL),
    "NumpyTake": (lambda x: (Take.apply(x, torch.tensor([2, 0, 1]), torch.tensor([1, 2, 0])) * x).sum(), SMALL),
    "LinearFunction": (lambda x: Affine.apply(x, x * 2, x[0]).sum(), MATRIX),
    "transformer": (transformer_layer, MATRIX),
    "linear regression": (linear_regression, SMALL),
    "recurrent cell": (recurrent_cell, MATRIX),
    "logistic regression": (logistic_regression, MATRIX),
    "newton": (newton, SMALL),
    "straight through": (straight_through, SMALL),
}


WITHOUT_JVP = ("sort", "nested", "mark_dirty", "adam", "NumpyTake", "LinearFunction", "straight through")


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_label_of_a_program_evaluates_to_the_number_beside_it(name):
    program, x = PROGRAMS[name]
    passes = ("forward", "backward") if name in WITHOUT_JVP else ("forward", "backward", "jvp")
    rec = torch.record(program, x.clone(), passes=passes, inside=True)
    made, number = numbered(rec)
    arrays = {new: held(rec.values[old]) for old, new in number.new.items()}
    arrays = {new: a for new, a in arrays.items() if a is not None}
    said = sum(check_names(op, made, arrays) for op in made.ops if op.function)
    for op in made.ops:
        if op.function:  # their formulas have the author's names
            op.edges, op.pushes, op.call = [], [], "…"
    made.ops = [op for op in made.ops if not op.function and op.name != "make_dual"]  # that needs a dual level
    calls = name != "hessian"  # inside jvp, the call is that of one result, without its tangents
    assert said + check(made, arrays, calls) > 1


def check_names(op, made, arrays):
    """Evaluate the formulas of a custom Function with the values of their names; return their number."""
    flows = [(edge.formula, edge.names, edge.gives) for edge in op.edges]
    flows += [(push["formula"], push["names"], op.tangents[push["output"]]) for push in op.pushes]
    for formula, names, result in flows:
        if names is None:  # the method is a number of operations, or NumPy's
            assert re.fullmatch(r"(backward|jvp): \d+ operations?", formula)
            continue
        given = {word: wrap(np.asarray(number_of(made.values[i], arrays))) for word, i in names.items()}
        same(eval(formula, {**NAMES, "Exp": Exp, **given}), arrays[result], formula)
    return len(flows)


def number_of(value, arrays):
    """Return the numbers of a value, which only a method may know."""
    return arrays[value.id] if value.id in arrays else np.array(value.summary["values"], value.dtype)
