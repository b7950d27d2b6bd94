"""Writes to a view change the tensor and its other views in compiled code."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minigrad as torch
from minigrad import compile

from .interpreted import interpreted

__all__ = ["interpreted"]


def writes_parts(x, w):
    y = torch.zeros(4, 3)
    y[1:3] = x[1:3]
    y[:, 0] += 1
    y[0] *= w
    return y


def reads_what_it_wrote(x, w):
    y = x * w
    y[0] = y[1] * 2
    y[1:, 1:].mul_(w[1:])
    return (y**2).sum()


def writes_by_other_views(x, w):
    y = x.clone()
    y.T[0] = w[0]
    y.view(-1)[3] = x.sum()
    y.diagonal().fill_(2.0)
    first, last = y.split(2)
    first.add_(last)
    return y * w


def fills_a_buffer(x, w):
    h = torch.zeros(5, 3)
    for i in range(4):
        h[i + 1] = torch.tanh(x[i] * w + h[i])
    return h.sum(0)


def uses_a_buffer_again(x, w):
    rows, buffer = [], torch.zeros(3)
    for row in x:
        buffer[:2] = row[:2] * w[:2]
        rows.append(buffer * 1)
    return torch.stack(rows)


def views_of_views(x, w):
    y = x * w
    row = y[0]
    row.add_(1)
    part = row[1:]
    part.mul_(3)
    return row * 1, y * 1, part * 1


def another_view_is_read(x, w):
    y = x * w
    row, column, kept = y[0], y[:, 1], y.sum()
    y[0] = 1
    column.mul_(2)
    return row * column[:3] + y.T[0][:3] * kept


def by_masks_and_places(x, w):
    y = x * w
    y[y > 0] = 0.0
    y[[0, 2], 1] = 9.0
    y[1][y[1] < -1] = 5.0
    return y


def integers(x, w):
    y = (x * 10).long()
    y[0] = 3
    y[1] += 2
    return y * w


def gradients_inside(x, w):
    y = x * w
    y[0, 0] = 0
    z = y.clone()
    z[1] = z[0].tanh()
    return torch.autograd.grad((z.cos() * y).sum(), w, create_graph=True)[0]


PROGRAMS = [writes_parts, reads_what_it_wrote, writes_by_other_views, fills_a_buffer, uses_a_buffer_again, views_of_views,
            another_view_is_read, by_masks_and_places, integers, gradients_inside]  # fmt: skip


def runs_as_eager(c, f, x):
    """Compare results, what is left in the argument, and gradients."""
    outs = []
    for g in (c, f):
        given, w = x.clone(), torch.tensor([0.5, -1.0, 1.5], requires_grad=True)
        out = g(given, w)
        out = out if type(out) is tuple else (out,)
        followed = [o.sum() for o in out if o.requires_grad]
        outs.append([*out, given, *(torch.autograd.grad(sum(followed), w) if followed else ())])
    for a, b in zip(*outs, strict=True):
        assert a.dtype == b.dtype and torch.allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("f", PROGRAMS)
def test_writes_to_parts_are_part_of_the_program(f, interpreted):
    c = compile(f, fullgraph=True)
    for k in range(3):
        torch.manual_seed(k)
        runs_as_eager(c, f, torch.randn(4, 3))
    assert len(c.versions) == 1


def test_a_part_that_is_written_is_filled_in_by_loops():
    c = compile(fills_a_buffer)
    runs_as_eager(c, fills_a_buffer, torch.randn(4, 3))
    assert "fill: replace" in c.explain() and "call:" not in c.explain()


def writes_to_its_argument(x, w):
    x[0] = w.detach()
    x[:, 1].add_(5)
    return (x * w).sum().detach()


def test_an_argument_of_which_parts_are_written_has_them_afterwards(interpreted):
    c = compile(writes_to_its_argument, fullgraph=True)
    for k in range(3):
        runs_as_eager(c, writes_to_its_argument, torch.ones(4, 3) * k)


def test_a_tensor_outside_of_which_parts_are_written_has_them_afterwards(interpreted):
    outside = torch.zeros(4, 3)
    c = compile(lambda x: (outside[1].copy_(x[0]), outside[:, :2].mul_(2), outside.sum())[2], fullgraph=True)
    x, wanted = torch.ones(4, 3), torch.zeros(4, 3)
    for _ in range(3):
        wanted[1] = x[0]
        wanted[:, :2] *= 2
        assert c(x).item() == wanted.sum().item() and torch.equal(outside, wanted)


VIEWS = [lambda t: t[0], lambda t: t[:, 1], lambda t: t[1:3], lambda t: t.T[0], lambda t: t.view(2, 6)[1], lambda t: t,
         lambda t: t[::2, 1:], lambda t: t.diagonal(), lambda t: t.unsqueeze(0)[0, 3]]  # fmt: skip
WRITES = [lambda v, s: v.add_(s), lambda v, s: v.mul_(s), lambda v, s: v.copy_(v * 0.5 + 1), lambda v, s: v.fill_(s)]
STEP = st.tuples(
    st.sampled_from(["take", "write", "read"]),
    st.integers(0, len(VIEWS) - 1),
    st.integers(0, len(WRITES) - 1),
    st.integers(0, 5),
)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEP, min_size=2, max_size=8))
def test_random_writes_and_reads_of_views(interpreted, steps):
    def f(x, w):
        held, total = [x * w], w.sum() * 0
        for what, view, write, k in steps:
            t = held[k % len(held)]
            if what == "take":
                held.append(VIEWS[view](held[0]))
            elif what == "write":
                WRITES[write](t, w[1] * 0.5)
            else:
                total = total + (t * (k + 1)).sum()
        return total + sum(t.sum() for t in held)

    torch.manual_seed(0)
    runs_as_eager(compile(f, fullgraph=True), f, torch.randn(4, 3))
