"""Correct models that resemble a silent mistake: no check warns about them."""

from contextlib import nullcontext

import pytest

import minigrad as torch
from minigrad import nn
from minigrad.nn import functional as F

from .quiet import X, programs, run_quietly, trained


# ---------------------------------------------------------------------- results as attributes (parameter-of-result)
class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3, 1) * 0.1)
        self.factor = nn.Parameter((torch.ones(1) * 2).double())
        self.twice = self.w * 2  # of a parameter that is registered
        self.last = None

    def forward(self, x):
        self.last = x @ self.w * self.factor.float()
        return self.last


def results_of_parameters_as_attributes():
    trained(Scaled())


# ---------------------------------------------------------------------- memory (shared-memory)
def parameters_of_one_buffer():
    flat = torch.zeros(6)
    torch.optim.SGD([nn.Parameter(flat[:3]), nn.Parameter(flat[3:]), nn.Parameter(flat.clone())], lr=0.1)


def empty_parameters():
    torch.optim.SGD([nn.Parameter(torch.zeros(0)), nn.Parameter(torch.zeros(0))], lr=0.1)


def tied_weights():
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight
    trained(model)


# ---------------------------------------------------------------------- zeros (all-weights-zero)
def zeros_in_the_last_layer():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    nn.init.zeros_(model[2].weight)
    trained(model, lambda out: (out - 1).pow(2).mean())


def one_layer_of_zeros():
    model = nn.Linear(3, 1)
    nn.init.zeros_(model.weight)
    trained(model, lambda out: (out - 1).pow(2).mean())


def a_product_of_small_matrices():
    model = nn.Sequential(nn.Linear(3, 2, bias=False), nn.Linear(2, 3))  # as in LoRA: one random, the other zero
    nn.init.zeros_(model[1].weight)
    trained(model, lambda out: (out - 1).pow(2).mean())


def a_loss_of_zero():
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
    for p in model.parameters():
        nn.init.zeros_(p)
    trained(model)


# ---------------------------------------------------------------------- dropout (dropout-in-eval)
class Dropping(nn.Module):
    def __init__(self, mode):
        super().__init__()
        self.mode, self.p = mode, 0.5

    def forward(self, x):
        x = F.dropout(x, self.p, self.training)
        x = F.dropout(x, self.p if self.training else 0.0)
        options = {"training": self.training}
        x = F.dropout(x, self.p, **options)
        return F.dropout(x, self.p, training=self.mode)


def dropout_that_is_meant_in_eval_mode():
    Dropping(True).eval()(X)
    Dropping(True).train()(X)


def dropout_outside_of_a_module():
    nn.Dropout(0.5).eval()(X)
    F.dropout(X, 0.5)


# ---------------------------------------------------------------------- log_softmax (softmax-dimension)
def similarities_in_both_directions():
    scores, own = torch.ones(4, 4, requires_grad=True), torch.arange(4)
    (F.nll_loss(F.log_softmax(scores, dim=1), own) + F.nll_loss(F.log_softmax(scores, dim=0), own)).backward()


def classes_first():
    scores = torch.ones(3, 4, requires_grad=True)
    F.nll_loss(F.log_softmax(scores, dim=0).T, torch.tensor([0, 2, 1, 1])).backward()


def images_and_single_examples():
    F.nll_loss(F.log_softmax(torch.ones(3, requires_grad=True), dim=0), torch.tensor(1)).backward()
    scores = torch.ones(2, 3, 4, 5, requires_grad=True)
    F.nll_loss(F.log_softmax(scores, dim=-3), torch.zeros(2, 4, 5, dtype=torch.long)).backward()


# ---------------------------------------------------------------------- iterators (iterator-used-up)
def iterators_that_are_made_anew():
    model = nn.Linear(3, 1)
    params = model.parameters()
    optimizer = torch.optim.SGD(params, lr=0.1)
    params = list(model.parameters())
    model(X).sum().backward()
    nn.utils.clip_grad_norm_(params, 1.0)
    optimizer.step()
    nn.utils.clip_grad_norm_(nn.Tanh().parameters(), 1.0)


def iterator_of_one_branch():
    model = nn.Linear(3, 1)
    params = model.parameters()
    if len(X) > 1:
        torch.optim.SGD(params, lr=0.1)
    else:
        for p in params:
            p.requires_grad_(False)


def iterator_of_a_function_that_returns():
    def made(model, plain):
        params = model.parameters()
        if plain:
            return torch.optim.SGD(params, lr=0.1)
        return [p.numel() for p in list(params)]

    made(nn.Linear(3, 1), True)


# ---------------------------------------------------------------------- draws and Functions
def noise_for_a_critic():
    mean, critic = nn.Linear(3, 3), nn.Linear(3, 1)
    critic(torch.normal(mean(X), torch.ones(4, 3))).sum().backward()


class Straight(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.grad = 0
        return x.sign()

    @staticmethod
    def backward(ctx, grad_output):
        return None


def backward_that_returns_none():
    (Straight.apply(X.clone().requires_grad_() * 2).sum()).backward()


class Manual(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3, 1))

    def forward(self, x):
        self.x = x
        return x @ self.w

    def backward(self, g):
        self.w.grad = self.x.T @ g


def backward_by_hand():
    model = Manual()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.backward(torch.ones_like(model(X)).detach())
    optimizer.step()


@pytest.mark.parametrize("mode", [nullcontext, torch.debug], ids=["plain", "debug"])
@pytest.mark.parametrize("program", programs(__name__), ids=lambda f: f.__name__)
def test_correct_models_are_quiet(program, mode):
    run_quietly(program, mode)
