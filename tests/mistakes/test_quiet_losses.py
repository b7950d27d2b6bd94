"""Correct losses, Functions and updates that resemble a mistake of silent_losses.py: no check warns about them."""

from contextlib import nullcontext

import pytest

import minigrad as torch
from minigrad import nn
from minigrad.distributions import Categorical, Normal
from minigrad.nn import functional as F

from .quiet import X, programs, run_quietly

Y = torch.tensor([[0.0], [1.0], [1.0], [0.0]])


# ---------------------------------------------------------------------- numbers in a loss (penalty-without-gradient)
def term_that_is_printed():
    model = nn.Linear(3, 1)
    loss = F.mse_loss(model(X), Y)
    norm = sum(p.data.pow(2).sum() for p in model.parameters())
    loss.backward()
    return f"{loss.item() + 0.1 * norm}"


def term_straight_through():
    w = torch.tensor([0.4, -1.2], requires_grad=True)
    hard = w + (w.sign() - w).detach()
    (hard.sum() + (w.round() - w.sum()).detach().sum()).backward()


def term_of_a_target():
    model, following = nn.Linear(3, 1), X.flip(0)
    value, ahead = model(X).mean(), model(following).mean()
    (value - 0.9 * ahead.item() - 1.0).backward()  # semi-gradient of a temporal difference


def term_scaled_by_a_number():
    model = nn.Linear(3, 1)
    fit, extra = F.mse_loss(model(X), Y), model.weight.pow(2).sum()
    (fit + fit.item() / extra.item() * extra).backward()


def term_with_its_own_backward():
    model = nn.Linear(3, 1)
    fit, decay = F.mse_loss(model(X), Y), model.weight.pow(2).sum()
    decay.backward()
    total = fit + decay.item()
    total.backward()


def term_with_a_later_backward():
    model = nn.Linear(3, 1)
    fit, decay = F.mse_loss(model(X), Y), model.weight.pow(2).sum()
    total = fit + decay.item()
    total.backward()
    decay.backward()


def term_towards_frozen_weights():
    model, teacher = nn.Linear(3, 1), nn.Linear(3, 1)
    apart = sum((p - q.detach()).pow(2).sum() for p, q in zip(model.parameters(), teacher.parameters()))
    (F.mse_loss(model(X), Y) + 0.1 * apart).backward()


def term_in_a_branch():
    model, warm = nn.Linear(3, 1), False
    loss = F.mse_loss(model(X), Y)
    if warm:
        loss = loss + model.weight.data.pow(2).sum()
    loss.backward()


# ---------------------------------------------------------------------- random numbers in backward (mask-drawn-again)
def applied(cls):
    x = torch.ones(6, requires_grad=True)
    cls.apply(x).sum().backward()


def mask_that_is_saved():
    class Drop(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            keep = torch.rand_like(x) > 0.5
            ctx.save_for_backward(keep)
            return x * keep

        @staticmethod
        def backward(ctx, g):
            (keep,) = ctx.saved_tensors
            noisy = torch.rand_like(g) > 0.9
            return g * keep * noisy

    applied(Drop)


def mask_from_one_seed():
    class Drop(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.seed = 3
            torch.manual_seed(ctx.seed)
            return x * (torch.rand_like(x) > 0.5)

        @staticmethod
        def backward(ctx, g):
            torch.manual_seed(ctx.seed)
            return g * (torch.rand_like(g) > 0.5)

    applied(Drop)


def mask_of_shake_shake():
    class Shake(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            alpha = torch.rand(1)
            return alpha * x + (1 - alpha) * x

        @staticmethod
        def backward(ctx, g):
            beta = torch.rand(1)
            return beta * g + (1 - beta) * g

    applied(Shake)


def mask_of_rounding():
    class Rounded(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return (x + torch.rand_like(x)).floor()

        @staticmethod
        def backward(ctx, g):
            return (g + torch.rand_like(g)).floor()

    applied(Rounded)


def mask_that_setup_context_saves():
    class Drop(torch.autograd.Function):
        @staticmethod
        def forward(x):
            keep = (torch.rand_like(x) > 0.5).float()
            return x * keep, keep

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output[1])
            ctx.mark_non_differentiable(output[1])

        @staticmethod
        def backward(ctx, g, _):
            return g * ctx.saved_tensors[0] * (torch.rand_like(g) > 0.9)

    x = torch.ones(6, requires_grad=True)
    Drop.apply(x)[0].sum().backward()


# ---------------------------------------------------------------------- updates by hand (gradients-not-cleared)
def update_that_clears_first():
    x = X.clone().requires_grad_()
    for _ in range(3):
        if x.grad is not None:
            x.grad.zero_()
        x.pow(2).sum().backward()
        x.data -= 0.1 * x.grad


def update_of_a_new_leaf():
    x = X.clone().requires_grad_()
    for _ in range(3):
        x.pow(2).sum().backward()
        with torch.no_grad():
            x -= 0.1 * x.grad
        x = x.detach().requires_grad_()


def update_after_several_batches():
    x = torch.ones(3, requires_grad=True)
    for _ in range(2):
        for row in X:
            (x * row).sum().backward()
        with torch.no_grad():
            x -= 0.1 * x.grad
        x.grad = None


def update_cleared_by_a_function():
    def forget(tensors):
        for t in tensors:
            t.grad = None

    x = X.clone().requires_grad_()
    for _ in range(3):
        x.pow(2).sum().backward()
        x.data.sub_(0.1 * x.grad)
        forget([x])


def update_with_momentum():
    x = X.clone().requires_grad_()
    for _ in range(3):
        x.pow(2).sum().backward()
        with torch.no_grad():
            x -= 0.1 * x.grad
            x.grad *= 0.9


def update_with_autograd_grad():
    x = X.clone().requires_grad_()
    for _ in range(3):
        (g,) = torch.autograd.grad(x.pow(2).sum(), x)
        x.data -= 0.1 * g


def update_every_other_round():
    x = X.clone().requires_grad_()
    for i in range(4):
        x.pow(2).sum().backward()
        if i % 2:
            x.data -= 0.1 * x.grad


# ---------------------------------------------------------------------- clamps (zero-gradient)
def clamp_of_some():
    w = torch.tensor([5.0, 0.3], requires_grad=True)
    w.clamp(0, 1).sum().backward()


def clamp_of_satisfied_margins():
    w = torch.tensor([5.0, 3.0], requires_grad=True)
    (1 - w).clamp(min=0).sum().backward()


def clamp_of_a_ratio():
    old, w = torch.tensor([0.1, 0.2]), torch.tensor([1.1, 1.2], requires_grad=True)
    ratio = (w - old).exp()
    (-torch.minimum(ratio * 2, ratio.clamp(0.8, 1.2) * 2)).mean().backward()


def clamp_in_a_penalty():
    w = torch.tensor([5.0, 3.0], requires_grad=True)
    (w - w.clamp(0, 1)).pow(2).sum().backward()


def clamp_reached_later():
    w = torch.tensor([0.5, 0.6], requires_grad=True)
    for _ in range(3):
        w.clamp(0, 1).sum().backward()
        w.data += 5
        w.grad = None


def clamp_of_weights_at_their_bounds():
    w = torch.tensor([0.0, 1.0], requires_grad=True)
    w.clamp(0, 1).sum().backward()


# ---------------------------------------------------------------------- batches (data-changed)
def batch_that_is_a_copy():
    data, model = X * 255, nn.Linear(3, 1)
    for _ in range(2):
        for i in range(0, 4, 2):
            batch = data[i : i + 2].clone()
            batch /= 255
            model(batch).sum().backward()


def batch_chosen_by_indices():
    data, model = X * 255, nn.Linear(3, 1)
    for _ in range(2):
        for order in torch.randperm(4).split(2):
            batch = data[order]
            batch.div_(255).sub_(0.5)
            model(batch).sum().backward()


def batch_of_data_loaded_in_each_round():
    model = nn.Linear(3, 1)
    for _ in range(2):
        data = X * 255
        for i in range(0, 4, 2):
            batch = data[i : i + 2]
            batch /= 255
            model(batch).sum().backward()


def batch_of_one_pass():
    data, model = X * 255, nn.Linear(3, 1)
    for i in range(0, 4, 2):
        batch = data[i : i + 2]
        batch /= 255
        model(batch).sum().backward()


def batch_of_states():
    states, model = X.clone(), nn.Linear(3, 1)
    for _ in range(2):
        for i in range(0, 4, 2):
            trace = states[i : i + 2]
            trace *= 0.9
            trace += 1
            model(trace).sum().backward()


def batch_of_directions():
    directions, model = X + 1, nn.Linear(3, 1)
    for _ in range(2):
        for i in range(0, 4, 2):
            v = directions[i : i + 2]
            v /= v.norm()
            model(v).sum().backward()


# ---------------------------------------------------------------------- arguments of losses (exchanged-arguments)
def arguments_of_a_trained_target():
    prior, q = torch.full((4, 3), 1 / 3).log(), nn.Linear(3, 3)(X).softmax(1)
    F.kl_div(prior, q, reduction="batchmean").backward()


def arguments_of_logarithms():
    p, q = nn.Linear(3, 3)(X).log_softmax(1), nn.Linear(3, 3)(X).log_softmax(1)
    F.kl_div(p, q.exp(), reduction="sum").backward()
    F.kl_div(p.detach(), q.detach(), log_target=True)


def arguments_of_fixed_predictions():
    fixed, q = torch.full((4, 1), 0.3), nn.Linear(3, 1)(X).sigmoid()
    F.binary_cross_entropy(fixed, q).backward()


def arguments_of_an_evaluation():
    F.binary_cross_entropy(Y, Y)


def arguments_of_two_networks():
    p, q = nn.Linear(3, 1)(X).sigmoid(), nn.Linear(3, 1)(X).sigmoid()
    F.binary_cross_entropy(p, q).backward()


# ---------------------------------------------------------------------- draws (parameter-cut-off)
def draw_of_a_policy():
    policy = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
    pi = Categorical(logits=policy(X))
    action = pi.sample()
    (-pi.log_prob(action) * action).mean().backward()
    optimizer.step()


def draw_that_can_be_differentiated():
    encoder, decoder = nn.Linear(3, 2), nn.Linear(2, 3)
    optimizer = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
    (decoder(Normal(encoder(X), 1.0).rsample()) - X).pow(2).mean().backward()
    optimizer.step()


def draw_for_a_critic():
    actor, critic = nn.Linear(3, 2), nn.Linear(2, 1)
    of_actor, of_critic = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (actor, critic))
    critic(Normal(actor(X), 1.0).sample()).pow(2).mean().backward()
    of_critic.step()
    critic(Normal(actor(X), 1.0).rsample()).mean().backward()
    of_actor.step()


def draw_from_a_prior():
    decoder = nn.Linear(2, 3)
    optimizer = torch.optim.SGD(decoder.parameters(), lr=0.1)
    decoder(Normal(torch.zeros(4, 2), 1.0).sample()).pow(2).mean().backward()
    optimizer.step()


def draw_of_a_buffer():
    class Buffer:
        def __init__(self, items):
            self.items = items

        def sample(self):
            return self.items[:2]

    model, buffer = nn.Linear(3, 1), Buffer(X)
    model(buffer.sample()).sum().backward()


# ---------------------------------------------------------------------- states (own-state)
def state_averaged_into_the_model():
    model, average = nn.Linear(3, 1), nn.Linear(3, 1)
    state = {k: 0.9 * v + 0.1 * model.state_dict()[k] for k, v in average.state_dict().items()}
    average.load_state_dict(state)


def state_of_a_model_without_parameters():
    model = nn.Sequential(nn.ReLU(), nn.Flatten())
    model.load_state_dict(model.state_dict())


# ---------------------------------------------------------------------- methods called backward (backward-of-module)
def method_that_the_program_calls():
    class Net(nn.Module):
        def forward(self, x):
            return x * x

        def backward(self, grad):
            return grad

    net, x = Net(), torch.ones(3, requires_grad=True)
    net(x).sum().backward()
    return net.backward(torch.ones(3))


@pytest.mark.parametrize("program", programs(__name__), ids=lambda f: f.__name__)
@pytest.mark.parametrize("mode", [nullcontext, torch.debug], ids=["plain", "debug"])
def test_a_correct_program_is_quiet(program, mode):
    run_quietly(program, mode)
