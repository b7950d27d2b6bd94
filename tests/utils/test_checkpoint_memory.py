"""A checkpoint keeps its inputs alone until backward, which holds one segment at a time."""

import gc
import weakref

import pytest

import minigrad as torch
from minigrad.utils.checkpoint import checkpoint

from .checkpoints import leaf


def test_what_is_computed_inside_is_freed_before_backward_and_after():
    alive = []

    def run(x):
        for _ in range(5):
            x = x.exp().tanh()
            alive.append(weakref.ref(x))
        return x.sum()

    gc.disable()  # it is not left to the collector
    try:
        x = leaf(3)
        y = checkpoint(run, x, use_reentrant=False)
        assert [ref() for ref in alive] == [None] * 5
        y.backward()
        assert len(alive) > 5
        assert all(ref() is None for ref in alive)
    finally:
        gc.enable()


def arrays_of(shape):
    """Count the living tensors of a shape."""
    tensors = [
        o for o in gc.get_objects() if issubclass(type(o), torch.Tensor)
    ]  # isinstance fails at a dead weak proxy
    return sum(1 for t in tensors if t._layer is None and t._a.shape == shape)


@pytest.mark.parametrize("retain_graph", [False, True])
def test_backward_holds_one_segment_at_a_time(retain_graph):
    shape, most = (3, 1, 41), []

    class Counted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            most.append(arrays_of(shape))
            return g

    step = lambda h: h.exp().tanh().sin().cos()
    segment = lambda h: Counted.apply(step(Counted.apply(step(step(Counted.apply(h))))))
    x = leaf(*shape)
    for _ in range(4):
        x = checkpoint(segment, x, use_reentrant=False)
    gc.collect()
    assert arrays_of(shape) == 4 + 1  # the inputs of four segments and the result, not what their 60 operations gave
    x.sum().backward(retain_graph=retain_graph)
    assert max(most) < 4 + 15  # and then what the operations of one segment gave


def test_the_inputs_are_let_go_with_the_graph():
    x = leaf(3)
    h = x * 2
    kept = weakref.ref(h)
    y = checkpoint(torch.exp, h, use_reentrant=False)
    gc.disable()
    try:
        del h
        assert kept() is not None
        y.sum().backward()
        assert kept() is None
    finally:
        gc.enable()


def test_under_autocast_nothing_more_is_kept():
    alive = []

    def run(x):
        h = (x @ x).tanh()
        alive.append(weakref.ref(h))
        return h @ h

    with torch.autocast("cpu"):
        y = checkpoint(run, leaf(3, 3), use_reentrant=False)
    assert alive[0]() is None
    y.sum().backward()


@pytest.mark.parametrize("size", [3, 1 << 12, 1 << 16])
@pytest.mark.parametrize(
    "f",
    [
        torch.exp,
        torch.sin,
        torch.tanh,
        lambda h: h * h,
        lambda h: h / (2 + h),
        lambda h: h.softmax(0),
        lambda h: h.sum() * h,
    ],
)
def test_hooks_unpack_each_saved_tensor_once(size, f):
    packed, unpacked = [], []

    def pack(t):
        packed.append(t)
        return len(packed) - 1

    x = torch.linspace(-1, 1, size).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda k: unpacked.append(k) or packed[k]):
        y = f(x).sum()
    y.backward()
    assert sorted(unpacked) == list(range(len(packed)))
