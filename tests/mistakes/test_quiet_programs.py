"""Correct gradients, losses and Functions that resemble a mistake: no check warns about them."""

import copy
from contextlib import nullcontext

import pytest

import minigrad as torch
from minigrad import nn
from minigrad.nn import functional as F

from .quiet import X, Y, programs, run_quietly, trained


# ---------------------------------------------------------------------- gradients of 0 (zero-gradient)
def zero_straight_through_estimator():
    trained(nn.Linear(3, 1), lambda out: (out + (out.round() - out).detach() - Y).pow(2).mean())


def zero_rounding_of_data():
    model = nn.Linear(3, 1)
    trained(model, lambda out: (out - (Y * 1.3).round()).pow(2).mean())


def zero_fractional_part():
    w = torch.tensor([1.3, 2.6], requires_grad=True)
    (w - w.floor()).sum().backward()


def zero_absolute_value_by_hand():
    w = torch.tensor([1.3, -2.6], requires_grad=True)
    (w * w.sign()).sum().backward()


def zero_rounding_beside_a_smooth_loss():
    trained(nn.Linear(3, 1), lambda out: out.pow(2).mean() + 0.1 * (out.round() - out).pow(2).mean())


def zero_step_of_fixed_size():
    model, x = nn.Linear(3, 1), X.clone().requires_grad_()
    (g,) = torch.autograd.grad(model(x).sum(), x)
    model(x + 0.1 * g.sign()).sum().backward()


def zero_initial_weights():
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
    nn.init.zeros_(model[1].weight)
    trained(model)


def zero_dead_relu():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    nn.init.constant_(model[0].bias, -100.0)
    trained(model)


def zero_index_from_a_floor():
    table, t = torch.ones(5, requires_grad=True), torch.tensor([1.3, 2.6], requires_grad=True)
    i = t.detach().floor().long()
    share = t - t.floor()
    ((1 - share) * table[i] + share * table[i + 1]).sum().backward()


def zero_softmax_over_the_examples():
    trained(nn.Linear(3, 1), lambda out: (out.softmax(0) * Y).sum())


def zero_remainder():
    w = torch.tensor([5.3, 7.1], requires_grad=True)
    (w - (w // 2) * 2).sum().backward()


def zero_own_gradient_for_round():
    class Round(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.round()

        @staticmethod
        def backward(ctx, g):
            return g

    trained(nn.Linear(3, 1), lambda out: (Round.apply(out) - Y).pow(2).mean())


# ---------------------------------------------------------------------- writes through .data (data-write)
def data_update_by_hand():
    w = torch.ones(3, requires_grad=True)
    for _ in range(5):
        (w**2).sum().backward()
        w.data.sub_(0.1 * w.grad)
        w.grad = None


def data_weights_clipped_after_the_step():
    model = nn.Linear(3, 1)
    for _ in range(3):
        trained(model, steps=1)
        for p in model.parameters():
            p.data.clamp_(-0.1, 0.1)


def data_initial_values():
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    for p in model.parameters():
        p.data.normal_(0, 0.1)
    trained(model)


def data_average_of_the_weights():
    model = nn.Linear(3, 1)
    average = copy.deepcopy(model)
    for _ in range(3):
        trained(model, steps=1)
        for a, p in zip(average.parameters(), model.parameters()):
            a.data.mul_(0.9).add_(p.data, alpha=0.1)


def data_gradient_clipped():
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        model(X).pow(2).mean().backward()
        for p in model.parameters():
            p.grad.data.clamp_(-1, 1)
        optimizer.step()


def data_of_a_tensor_that_no_graph_saves():
    x = torch.ones(3, requires_grad=True)
    y = x + 1
    y.data.mul_(2)
    y.sum().backward()


def data_written_before_it_is_saved():
    w = torch.ones(3, requires_grad=True)
    y = w + 0
    y.data.mul_(2)
    y.exp().sum().backward()


def data_of_a_column_that_no_graph_saves():
    h = torch.rand(4, 3, requires_grad=True) * 1
    y = h[:, 1] ** 3
    h.data[:, 0] = 5.0
    h.data[:, 2].mul_(3)
    y.sum().backward()


def data_written_with_the_same_values():
    h = torch.rand(4, 3, requires_grad=True) * 1
    y = h**3
    h.data.clamp_(-10, 10)
    h.data[:, 1] = h.detach()[:, 1].clone()
    y.sum().backward()


def data_of_another_tensor():
    a, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    loss = (a**2).sum()
    b.data.mul_(2)
    loss.backward()


def data_of_a_detached_target():
    net, target = nn.Linear(3, 3), nn.Linear(3, 3)
    with torch.no_grad():
        y = target(X)
    loss = (net(X) - y).pow(2).mean()
    for p in target.parameters():
        p.data.mul_(0.5)
    loss.backward()


def data_read_only():
    w = torch.ones(3, requires_grad=True)
    loss = (w**2).sum()
    print(w.data.sum(), w.data.abs())
    loss.backward()


def data_running_statistics():
    norm, model = nn.BatchNorm1d(3), nn.Linear(3, 1)
    loss = model(norm(X)).pow(2).mean()
    norm.running_mean.data.zero_()
    loss.backward()


# ---------------------------------------------------------------------- methods that are named (method-not-called)
class Machine:
    """An object of the user with properties named like methods."""

    def __init__(self):
        self.model, self.n = nn.Linear(3, 1), 0

    @property
    def step(self):
        self.n += 1
        return self.n

    eval = train = backward = zero_grad = step


def named_properties_of_the_user():
    machine = Machine()
    machine.step  # noqa: B018
    machine.eval  # noqa: B018
    machine.backward  # noqa: B018
    trained(machine.model)


def named_and_stored():
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    step, clear = optimizer.step, optimizer.zero_grad
    for _ in range(2):
        clear()
        model(X).pow(2).mean().backward()
        step()


def named_in_a_list():
    model = nn.Linear(3, 1)
    calls = [model.train, model.eval, model.train]
    for call in calls:
        call()
    trained(model)


def loop_variable_that_is_used():
    w, new = [torch.ones(2, requires_grad=True)], []
    w[0].sum().backward()
    with torch.no_grad():
        for p in w:
            p = p - 0.1 * p.grad
            new.append(p)


def loop_variable_updated_in_place():
    model = nn.Linear(3, 1)
    model(X).sum().backward()
    with torch.no_grad():
        for p in model.parameters():
            p -= 0.1 * p.grad


def loop_variable_of_numbers():
    w = torch.ones(3, requires_grad=True)
    (w * 2).sum().backward()
    for x in [1.0, 2.0]:
        x = x - 0.1 * 2


# ---------------------------------------------------------------------- shapes and targets of losses
def shape_of_kernel_distances():
    centers, points = torch.ones(4, requires_grad=True), torch.arange(4.0)
    ((centers[:, None] - points) ** 2).mean().backward()
    column = points[:, None]
    ((centers - column) ** 2).mean().backward()
    other = points.unsqueeze(1)
    (centers - other).abs().mean().backward()


def shape_of_outer_products():
    u, v = torch.ones(4, requires_grad=True), torch.arange(4.0)
    (u[:, None] * v).sum().backward()
    (u.unsqueeze(1) * v).mean().backward()
    column = torch.ones(4, 1, requires_grad=True)
    (column * v).sum().backward()


def shape_of_weighted_losses():
    model, weights = nn.Linear(3, 1), torch.arange(4.0)
    ((model(X) - Y) ** 2 * weights.reshape(4, 1)).mean().backward()
    ((model(X) - Y).squeeze(1) ** 2 * weights).sum().backward()
    (model(X) * 0.5).mean().backward()


def shape_of_square_outputs():
    model = nn.Linear(3, 4)
    ((model(X) - torch.ones(4)) ** 2).mean().backward()  # one target for each output
    (model(X) * torch.arange(4.0)).sum().backward()
    (model(X) * torch.arange(4.0).reshape(4, 1)).mean().backward()


def target_between_0_and_1():
    out = nn.Linear(3, 1)(X)
    F.binary_cross_entropy_with_logits(out, torch.full((4, 1), 0.3)).backward()


def target_that_a_mask_leaves_out():
    y = torch.tensor([[0.0], [1.0], [-1.0], [1.0]])
    losses = F.binary_cross_entropy_with_logits(nn.Linear(3, 1)(X), y, reduction="none")
    (losses * (y >= 0)).sum().backward()


def zero_attention_to_one_token():
    query, key = nn.Linear(3, 2), nn.Linear(3, 2)
    scores = query(X) @ key(torch.ones(1, 3)).T
    (scores.softmax(1) * Y).sum().backward()


def target_of_labels():
    F.binary_cross_entropy_with_logits(nn.Linear(3, 1)(X), torch.tensor([[0.0], [1.0], [1.0], [0.0]])).backward()


def target_of_signs_in_a_margin_loss():
    F.soft_margin_loss(nn.Linear(3, 1)(X), torch.tensor([[-1.0], [1.0], [1.0], [-1.0]])).backward()


def logarithms_in_nll_loss():
    F.nll_loss(nn.Linear(3, 2)(X).log_softmax(1), torch.tensor([0, 1, 1, 0])).backward()


def logarithms_of_a_certain_class():
    logits = torch.tensor([[100.0, -100.0]], requires_grad=True)
    F.nll_loss(logits.log_softmax(1), torch.tensor([0])).backward()


# ---------------------------------------------------------------------- Functions (none-for-needed)
class Scaled(torch.autograd.Function):
    """A product with a number, which has no gradient."""

    @staticmethod
    def forward(ctx, x, factor, mask):
        ctx.factor = factor
        ctx.save_for_backward(mask)
        return x * factor * mask

    @staticmethod
    def backward(ctx, g):
        (mask,) = ctx.saved_tensors
        return g * ctx.factor * mask if ctx.needs_input_grad[0] else None, None, None


class Gate(torch.autograd.Function):
    """The identity, whose gradient can be switched off."""

    @staticmethod
    def forward(ctx, x, on):
        ctx.on = on
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return (g if ctx.on else None), None


class Sum(torch.autograd.Function):
    """Has the name of an operation, and a first argument that is not a tensor."""

    @staticmethod
    def forward(ctx, dim, x):
        ctx.shape = x.shape
        return x.sum(dim)

    @staticmethod
    def backward(ctx, grad_output):
        return None, grad_output.expand(ctx.shape)


def function_with_the_name_of_an_operation():
    Sum.apply(0, torch.ones(3, requires_grad=True)).backward()


def none_for_a_number():
    Scaled.apply(torch.ones(3, requires_grad=True), 2.0, torch.ones(3)).sum().backward()


class Lookup(torch.autograd.Function):
    """A product whose first argument is meant to have no gradient."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x)
        return x * w

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return None, g * x


def none_for_an_argument_without_a_gradient():
    Lookup.apply(torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)).sum().backward()


def none_of_a_gate():
    Gate.apply(torch.ones(3, requires_grad=True), False).sum().backward()


@pytest.mark.parametrize("mode", [nullcontext, torch.debug], ids=["plain", "debug"])
@pytest.mark.parametrize("program", programs(__name__), ids=lambda f: f.__name__)
def test_a_correct_program_is_quiet(program, mode):
    run_quietly(program, mode)
