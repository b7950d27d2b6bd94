"""Cases for a GPU, each written once for both libraries: they have the same names.

A case is a function of the library that returns the function to time. Its docstring is its title.
"""

import functools

import numpy as np

COMPILED = set()  # cases timed through compile as well


def compiled(case):
    """Mark a case that is also timed through the library's `compile`."""
    COMPILED.add(case)
    return case


@functools.lru_cache(4)
def drawn(shape, seed):
    """Return numbers in main memory, kept because both libraries, and both ways of each, start from the same ones."""
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def numbers(torch, *shape, seed=0):
    """Return the same numbers for both libraries, on the GPU."""
    return torch.tensor(drawn(shape, seed), device="cuda")


def tracked(torch, *shape, seed=0):
    """Return numbers that require a gradient."""
    return numbers(torch, *shape, seed=seed).requires_grad_()


def integers(torch, most, *shape):
    """Return the same integers from 0 to most - 1 for both libraries, on the GPU."""
    return torch.tensor(np.random.default_rng(most).integers(0, most, shape), device="cuda")


# ---------------------------------------------------------------------- bound by memory
def copy(torch):
    """a copy of 1e8 numbers"""
    x = numbers(torch, 100_000_000)
    return lambda: x.clone()


@compiled
def pointwise(torch):
    """tanh(x) * sigmoid(y) + exp(-x * x), 1e8 numbers"""
    x, y = numbers(torch, 100_000_000), numbers(torch, 100_000_000, seed=1)
    return lambda: torch.tanh(x) * torch.sigmoid(y) + torch.exp(-x * x)


@compiled
def softmax(torch):
    """softmax of (4096, 4096)"""
    x = numbers(torch, 4096, 4096)
    return lambda: torch.softmax(x, 1)


def softmax_backward(torch):
    """softmax of (8192, 4096), forward and backward"""
    x, g = tracked(torch, 8192, 4096), numbers(torch, 8192, 4096)
    return lambda: torch.autograd.grad(torch.softmax(x, 1), x, g)[0]


@compiled
def layer_norm(torch):
    """layer norm of (4096, 4096)"""
    x, w, b = numbers(torch, 4096, 4096), numbers(torch, 4096), numbers(torch, 4096)
    return lambda: torch.nn.functional.layer_norm(x, (x.shape[-1],), w, b)


def layer_norm_backward(torch):
    """layer norm of (8192, 4096), forward and backward"""
    x, w, b, g = tracked(torch, 8192, 4096), tracked(torch, 4096), tracked(torch, 4096), numbers(torch, 8192, 4096)
    return lambda: torch.autograd.grad(torch.nn.functional.layer_norm(x, (x.shape[-1],), w, b), (x, w, b), g)[0]


@compiled
def cross_entropy(torch):
    """cross entropy of (8192, 4096), forward and backward"""
    x, classes = tracked(torch, 8192, 4096), integers(torch, 4096, 8192)
    return lambda: torch.autograd.grad(torch.nn.functional.cross_entropy(x, classes), x)[0]


def row_sums(torch):
    """sums of the rows of (10000, 10000)"""
    x = numbers(torch, 10_000, 10_000)
    return lambda: x.sum(1)


def column_sums(torch):
    """sums of the columns of (10000, 10000)"""
    x = numbers(torch, 10_000, 10_000)
    return lambda: x.sum(0)


def cumsum(torch):
    """running sums of 1e7 numbers"""
    x = numbers(torch, 10_000_000)
    return lambda: x.cumsum(0)


def sort(torch):
    """1e7 numbers sorted, with their places"""
    x = numbers(torch, 10_000_000)
    return lambda: torch.sort(x)[0]


def scatter(torch):
    """1e7 numbers added at 1000 places"""
    x, index = numbers(torch, 10_000_000), integers(torch, 1000, 10_000_000)
    return lambda: torch.zeros(1000, device="cuda").scatter_add(0, index, x)


def embedding(torch):
    """65536 rows of an embedding (50000, 512), forward and backward"""
    w, index, g = tracked(torch, 50_000, 512), integers(torch, 50_000, 65_536), numbers(torch, 65_536, 512)
    return lambda: torch.autograd.grad(torch.nn.functional.embedding(index, w), w, g)[0]


# ---------------------------------------------------------------------- products
def matmul(torch):
    """a product of two (4096, 4096) matrices"""
    x, y = numbers(torch, 4096, 4096), numbers(torch, 4096, 4096, seed=1)
    return lambda: x @ y


@compiled
def attention(torch):
    """attention of (8, 16, 1024, 64), forward and backward"""
    q, k, v = [tracked(torch, 8, 16, 1024, 64, seed=seed) for seed in (1, 2, 3)]
    g = numbers(torch, 8, 16, 1024, 64)
    return lambda: torch.autograd.grad(torch.nn.functional.scaled_dot_product_attention(q, k, v), (q, k, v), g)[0]


def conv2d(torch):
    """a convolution: (32, 64, 56, 56) with (64, 64, 3, 3), forward and backward"""
    x, w = tracked(torch, 32, 64, 56, 56), tracked(torch, 64, 64, 3, 3)
    g = numbers(torch, 32, 64, 56, 56)
    return lambda: torch.autograd.grad(torch.nn.functional.conv2d(x, w, padding=1), (x, w), g)[0]


# ---------------------------------------------------------------------- bound by launches and transfers
@compiled
def mlp_step(torch):
    """a training step of an MLP 784-256-10 at batch 32"""
    x, classes = numbers(torch, 32, 784), integers(torch, 10, 32)
    weights = [(numbers(torch, *s) * 0.05).requires_grad_() for s in ((784, 256), (256,), (256, 10), (10,))]

    def step():
        a, b, c, d = weights
        loss = torch.nn.functional.cross_entropy(torch.relu(x @ a + b) @ c + d, classes)
        with torch.no_grad():
            for w, g in zip(weights, torch.autograd.grad(loss, weights)):
                w -= 0.01 * g
        return loss

    return step


def to_device(torch):
    """1e8 numbers from pinned memory to the GPU"""
    x = torch.ones(100_000_000).pin_memory()
    return lambda: x.cuda()


def from_pageable(torch):
    """1e8 numbers from pageable memory to the GPU"""
    x = torch.ones(100_000_000)
    return lambda: x.cuda()


def to_host(torch):
    """1e8 numbers from the GPU to main memory"""
    x = numbers(torch, 100_000_000)
    return lambda: x.cpu()


CASES = (mlp_step, to_device, from_pageable, to_host, copy, pointwise, softmax, softmax_backward, layer_norm,
         layer_norm_backward, cross_entropy, row_sums, column_sums, cumsum, sort, scatter, embedding, matmul, attention,
         conv2d)  # fmt: skip
CLOCKED = {mlp_step: 200, to_device: 3, from_pageable: 3, to_host: 3}  # calls of those that the clock measures
MOVED = {
    copy: 2 * 4e8,
    pointwise: 3 * 4e8,
    softmax: 8 * 2**24,
    layer_norm: 8 * 2**24,
}  # bytes read and written at least


def added(torch):
    """one addition of single numbers"""
    x = numbers(torch, 1)
    return lambda: x + x


def added_tracked(torch):
    """one addition of single numbers that require gradients"""
    x = tracked(torch, 1)
    return lambda: x + x


def product(torch):
    """one product of (32, 32) matrices"""
    x = numbers(torch, 32, 32)
    return lambda: x @ x


LAUNCHES = (added, added_tracked, product)


def training_step(torch):
    """a training step of four layers of 4096 at batch 8192"""
    layers = [torch.nn.Linear(4096, 4096, device="cuda") for _ in range(4)]
    x = numbers(torch, 8192, 4096)

    def step():
        h = x
        for layer in layers:
            h = torch.relu(layer(h))
        h.sum().backward()
        for layer in layers:
            layer.zero_grad()

    return step
