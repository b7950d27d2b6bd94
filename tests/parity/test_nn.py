"""Modules, training runs and schedules against PyTorch, from the same initial weights."""

import inspect

import numpy as np
import pytest
import torch

import minigrad
from tests.parity.in_both import same_in_both


def data(*shape, seed=0, high=None):
    """Return the same numbers for both libraries."""
    random = np.random.default_rng(seed)
    return random.standard_normal(shape) if high is None else random.integers(0, high, shape)


def twins(build):
    """Return the module that `build` makes, from each library, with the same weights in float64."""
    theirs, ours = build(torch.nn).double(), build(minigrad.nn).double()
    ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    return theirs, ours


def perceptron(nn):
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))


def convolutional(nn):
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 6, 3, stride=2, padding=1),
        nn.GroupNorm(2, 6),
        nn.GELU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(6, 3),
    )


class Transformer:
    """One block of a transformer over tokens, and a classifier."""

    def __new__(cls, nn):
        library = torch if nn is torch.nn else minigrad

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = nn.Embedding(11, 8, padding_idx=0)
                self.norms = nn.ModuleList([nn.LayerNorm(8), nn.RMSNorm(8, eps=1e-6)])
                self.qkv = nn.Linear(8, 24, bias=False)
                self.feed = nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 8))
                self.head = nn.Linear(8, 3)
                self.shift = nn.Parameter(library.zeros(6, 8))

            def forward(self, tokens):
                x = self.embed(tokens) + self.shift
                q, k, v = (t.unflatten(-1, (2, 4)).transpose(1, 2) for t in self.qkv(self.norms[0](x)).chunk(3, -1))
                out = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
                x = x + out.transpose(1, 2).flatten(2)
                x = x + self.feed(self.norms[1](x))
                return self.head(x.mean(1))

        return Block()


CASES = {
    "perceptron": (perceptron, data(16, 5)),
    "convolutional": (convolutional, data(6, 2, 8, 8)),
    "transformer": (Transformer, data(4, 6, high=11)),
}
OPTIMIZERS = {  # test_optim.py has all, with every setting
    "momentum": ("SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01}),
    "adam": ("Adam", {"lr": 0.02}),
    "rmsprop": ("RMSprop", {"lr": 0.01, "momentum": 0.5, "centered": True}),
}


def train(library, module, optimizer, x, target, steps=8):
    """Return the losses of a training run, and the norm of each clipped gradient."""
    losses = []
    for _ in range(steps):
        loss = library.nn.functional.cross_entropy(module(x), target, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        norm = library.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimizer.step()
        losses += [loss.item(), norm.item()]
    return losses


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("case", CASES)
def test_training_takes_the_same_steps(case, optimizer):
    build, x = CASES[case]
    target, (name, settings) = data(len(x), high=3), OPTIMIZERS[optimizer]
    pair = twins(build)
    runs = [train(lib, m, getattr(lib.optim, name)(m.parameters(), **settings), lib.tensor(x), lib.tensor(target))
            for lib, m in zip((torch, minigrad), pair)]  # fmt: skip
    assert np.allclose(runs[1], runs[0], rtol=1e-6, atol=1e-9)
    theirs, ours = (m.state_dict() for m in pair)
    assert list(ours) == list(theirs)
    for key, value in theirs.items():
        assert np.allclose(ours[key].numpy(), value.numpy(), rtol=1e-5, atol=1e-7), key


def test_evaluation_uses_running_statistics():
    theirs, ours = twins(convolutional)
    x = data(6, 2, 8, 8)
    for m, lib in ((theirs, torch), (ours, minigrad)):
        m(lib.tensor(x))
        m.eval()
    assert np.allclose(ours(minigrad.tensor(x)).detach().numpy(), theirs(torch.tensor(x)).detach().numpy())


def test_float32_training_stays_float32_and_near():
    theirs, ours = (m.float() for m in twins(perceptron))
    x, target = data(16, 5).astype("f4"), data(16, high=3)
    runs = [train(lib, m, lib.optim.Adam(m.parameters(), lr=0.01), lib.tensor(x), lib.tensor(target))
            for lib, m in ((torch, theirs), (minigrad, ours))]  # fmt: skip
    assert np.allclose(runs[1], runs[0], rtol=1e-4)
    assert {p.dtype for p in ours.parameters()} == {minigrad.float32}


@pytest.mark.parametrize(
    "name", "kaiming_uniform_ kaiming_normal_ xavier_uniform_ xavier_normal_ normal_ uniform_ trunc_normal_".split()
)
def test_initial_values_have_the_same_moments(name):
    stats = []
    for lib in (torch, minigrad):
        lib.manual_seed(0)
        w = getattr(lib.nn.init, name)(lib.empty(200, 50, 3))
        stats.append((float(w.mean()), float(w.std()), float(abs(w).max())))
    spread = stats[0][1]
    assert abs(stats[1][0] - stats[0][0]) < 0.05 * spread
    assert abs(stats[1][1] - spread) < 0.03 * spread
    assert abs(stats[1][2] - stats[0][2]) < 0.35 * stats[0][2]


def test_attention_of_a_position_that_may_see_nothing_is_zero():
    q, k, v = (data(2, 3, 4, seed=s) for s in range(3))
    mask = np.array([[True, False, True], [False, False, False], [True, True, True]])
    found = [
        lib.nn.functional.scaled_dot_product_attention(*map(lib.tensor, (q, k, v)), lib.tensor(mask)).numpy()
        for lib in (torch, minigrad)
    ]
    assert np.allclose(*found)
    assert not found[1][:, 1].any()


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("average", [False, True])
def test_attention_with_several_heads(batch_first, average):
    theirs, ours = twins(lambda nn: nn.MultiheadAttention(6, 2, batch_first=batch_first))
    causal, padding = (
        ~np.tri(4, dtype=bool),
        np.array([[False] * 4, [False, False, True, True], [False, True, False, True]]),
    )
    found = []
    for lib, m in ((torch, theirs), (minigrad, ours)):
        x = lib.tensor(data(3, 4, 6) if batch_first else data(4, 3, 6)).requires_grad_()
        masks = {"attn_mask": lib.tensor(causal), "key_padding_mask": lib.tensor(padding)}
        out, weights = m(x, x, x, average_attn_weights=average, **masks)
        (out.pow(2).sum() + weights.pow(3).sum()).backward()
        alone = m(x.detach()[0], x.detach()[1], x.detach()[0], need_weights=False)[0]
        found.append([t.detach().numpy() for t in (out, weights, alone, x.grad, *(p.grad for p in m.parameters()))])
    assert all(np.allclose(a, b) for a, b in zip(*found, strict=True))


def critics(nn):
    """Return a critic whose gradient does not depend on its biases, though PyTorch's penalty gives them zeros."""
    return nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 1))


def generator(nn):
    return nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 4))


def wasserstein_with_penalty(library, critic, generator, steps=6):
    """Return the losses of training a generator against a critic with a gradient penalty.  Source: Gulrajani et al. (2017)."""
    losses = []
    adam = lambda m: library.optim.Adam(m.parameters(), lr=0.02, betas=(0.5, 0.9))
    optimizers = [adam(critic), adam(generator)]
    for step in range(steps):
        real, noise = library.tensor(data(16, 4, seed=step)), library.tensor(data(16, 3, seed=100 + step))
        fake, share = generator(noise), library.tensor(data(16, 1, seed=200 + step)).sigmoid()
        between = (share * real + (1 - share) * fake.detach()).requires_grad_()
        ones = library.ones_like(critic(between))
        (slope,) = library.autograd.grad(critic(between), between, ones, create_graph=True)
        penalty = 10 * ((slope.norm(2, dim=1) - 1) ** 2).mean()
        optimizers[0].zero_grad()
        penalty.backward()  # on its own, for biases have no other gradient then
        optimizers[0].step()
        loss = critic(fake.detach()).mean() - critic(real).mean()
        optimizers[0].zero_grad()
        loss.backward()
        optimizers[0].step()
        cost = -critic(fake).mean()
        optimizers[1].zero_grad()
        cost.backward()
        optimizers[1].step()
        losses += [penalty.item(), loss.item(), cost.item()]
    return losses


def test_a_gradient_penalty_moves_the_same_parameters():
    pairs = twins(critics), twins(generator)
    runs = [wasserstein_with_penalty(lib, *modules) for lib, *modules in zip((torch, minigrad), *pairs)]
    assert np.allclose(runs[1], runs[0], rtol=1e-9, atol=1e-12), list(zip(*runs))
    for theirs, ours in pairs:
        for a, b in zip(theirs.parameters(), ours.parameters(), strict=True):
            assert np.allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-9, atol=1e-12)


def test_modules_are_subclasses_of_each_other_as_torchs_are():
    classes = [
        n
        for n in dir(minigrad.nn)
        if inspect.isclass(getattr(minigrad.nn, n))
        and inspect.isclass(getattr(torch.nn, n, None))
        and not n.startswith("Lazy")  # norms among them are no subclasses of what they become, in PyTorch
    ]
    for a in classes:
        for b in classes:
            theirs = issubclass(getattr(torch.nn, a), getattr(torch.nn, b))
            assert issubclass(getattr(minigrad.nn, a), getattr(minigrad.nn, b)) == theirs, (a, b)


@pytest.mark.parametrize("call", ["LSTM(2, 3, 2, bidirectional=True)", "GRU(2, 3, bias=False)", "RNN(2, 3)"])
@same_in_both
def test_recurrent_layers_list_their_weights(m, call):
    layer = eval(f"m.nn.{call}", {"m": m})
    shapes = [[tuple(p.shape) for p in weights] for weights in layer.all_weights]
    return (list(layer._flat_weights_names), shapes, isinstance(layer, m.nn.RNNBase))
