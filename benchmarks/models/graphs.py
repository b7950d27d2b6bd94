"""Define graph networks and other models: Q learning, an ordinary differential equation."""

import numpy as np

from .model import classes, data, model

NODES, EDGES = 200, 1000


def graph(lib):
    """Return sources and targets of edges, features of nodes, and their classes."""
    edges = classes(lib, NODES, 2, EDGES)
    return edges[0], edges[1], data(lib, NODES, 64), classes(lib, 7, NODES, seed=3)


@model("Adam", lr=1e-4, weight_decay=5e-4)
def gcn(lib):
    """A graph convolution network of two layers, 64-16-7, on 200 nodes with 1,000 edges, by Adam."""
    nn, F = lib.nn, lib.nn.functional
    source, target, features, labels = graph(lib)
    degrees = lib.zeros(NODES).index_add(0, target, lib.ones(EDGES)) + 1

    class Convolution(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.linear = nn.Linear(i, o)

        def forward(self, x):
            x = self.linear(x)
            return lib.zeros_like(x).index_add(0, target, x[source]) / degrees[:, None]

    net = nn.Sequential(Convolution(64, 16), nn.ReLU(), Convolution(16, 7))
    return net, lambda: F.cross_entropy(net(features), labels)


@model("Adam", lr=1e-4)
def gat(lib):
    """Graph attention: one layer by edges, one by a dense mask, 4 heads of 8, on 200 nodes with 1,000 edges, by Adam."""
    nn, F = lib.nn, lib.nn.functional
    source, target, features, labels = graph(lib)
    linked = np.eye(NODES, dtype=bool)
    linked[target.numpy(), source.numpy()] = True
    linked = lib.tensor(linked)

    class Attention(nn.Module):
        def __init__(self, i, heads, o):
            super().__init__()
            self.linear, self.heads, self.o = nn.Linear(i, heads * o, bias=False), heads, o
            self.left, self.right = nn.Parameter(lib.zeros(heads, o)), nn.Parameter(lib.zeros(heads, o))

        def parts(self, x):
            x = self.linear(x).view(-1, self.heads, self.o)
            return x, (x * self.left).sum(-1), (x * self.right).sum(-1)

    class ByEdges(Attention):
        def forward(self, x):
            x, left, right = self.parts(x)
            scores = F.leaky_relu(left[source] + right[target], 0.2)
            weights = lib.exp(scores - scores.max())
            places = target[:, None].expand(-1, self.heads)
            sums = lib.zeros(NODES, self.heads).scatter_add(0, places, weights)
            weights = weights / (sums[target] + 1e-16)
            out = lib.zeros(NODES, self.heads, self.o).index_add(0, target, x[source] * weights[..., None])
            return F.elu(out.flatten(1))

    class Dense(Attention):
        def forward(self, x):
            x, left, right = self.parts(x)
            scores = F.leaky_relu(left[None] + right[:, None], 0.2)
            scores = scores.masked_fill(~linked[..., None], float("-inf"))
            return lib.einsum("ijh,jhf->ihf", F.softmax(scores, 1), x).mean(1)

    net = nn.Sequential(ByEdges(64, 4, 8), Dense(32, 4, 7))
    return net, lambda: F.cross_entropy(net(features), labels)


@model("RMSprop", lr=1e-4)
def dqn(lib):
    """Q learning: a network 4-64-64-2 on 64 transitions, Huber loss, by RMSprop."""
    nn, F = lib.nn, lib.nn.functional
    net = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    now, then, rewards = data(lib, 64, 4), data(lib, 64, 4, seed=3), data(lib, 64, seed=4)
    actions, alive = classes(lib, 2, 64, 1), classes(lib, 2, 64, seed=3).float()

    def loss():
        with lib.no_grad():
            wanted = rewards + 0.99 * alive * net(then).max(1)[0]
        return F.smooth_l1_loss(net(now).gather(1, actions).squeeze(1), wanted)

    return net, loss


@model("Adam", lr=1e-4)
def neural_ode(lib):
    """A neural differential equation 2-32-2: 10 steps of Runge-Kutta from 32 points, by Adam."""
    nn, start, end, h = lib.nn, data(lib, 32, 2), data(lib, 32, 2, seed=3), 0.1
    net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))

    def loss():
        y = start
        for _ in range(10):
            k1 = net(y)
            k2 = net(y + h / 2 * k1)
            k3 = net(y + h / 2 * k2)
            k4 = net(y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return ((y - end) ** 2).mean()

    return net, loss
