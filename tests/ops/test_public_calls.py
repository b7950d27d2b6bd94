"""Public functions on plain tensors: results and errors are those of the definitions, whatever runs."""

import numpy as np
import pytest

import minigrad
from minigrad.nn.functional import avg_pool2d, cross_entropy, layer_norm, linear, max_pool2d, nll_loss
from minigrad.ops.base.registry import TABLE

ROWS, COLUMNS = minigrad.tensor([3, 0, 5, 1]), minigrad.tensor([[0, 5], [1, 1], [2, 0], [4, 3]])

VIEWS = [
    lambda t: t.view(6, 4), lambda t: t.view(-1), lambda t: t.view((3, 8)), lambda t: t.view(size=(3, -1)),
    lambda t: t.view(np.int64(4), 6), lambda t: t.view(minigrad.float64), lambda t: t.reshape(t.shape),
    lambda t: t.reshape([2, -1]), lambda t: t.reshape(-1, 1), lambda t: minigrad.reshape(t, (4, 3, 2)),
    lambda t: t.T.reshape(3, 8), lambda t: t.flatten(), lambda t: t[None].flatten(1), lambda t: t.view(2, 2, 6).flatten(0, 1),
    lambda t: t.flatten(1), lambda t: minigrad.flatten(t), lambda t: t.T.flatten(), lambda t: t.sum().flatten(-1),
    lambda t: t.T, lambda t: t.mT, lambda t: t.view(2, 2, 6).T, lambda t: t.view(2, 2, 6).mT,
    lambda t: t.transpose(0, 1), lambda t: t.transpose(-1, 0), lambda t: t.transpose(1, 1),
    lambda t: t.swapaxes(axis0=0, axis1=1),
    lambda t: t.permute(1, 0), lambda t: t.permute((1, 0)), lambda t: t.permute(-1, 0), lambda t: t.permute(dims=(0, 1)),
    lambda t: t.unsqueeze(0), lambda t: t.unsqueeze(-1), lambda t: t.unsqueeze(2), lambda t: t.unsqueeze(-3),
    lambda t: t[:, None].expand(4, 3, 6), lambda t: t[:1].expand(5, -1), lambda t: t.expand((2, 4, 6)),
    lambda t: t.expand(4, 6),
    lambda t: t[:, :1].expand(4, 3), lambda t: t[:1].expand(0, 6), lambda t: t[0, 0].expand(2, 3),
    lambda t: t[None].squeeze(0), lambda t: t[:, None].squeeze(1), lambda t: t.squeeze(0), lambda t: t[None].squeeze(),
    lambda t: t[0], lambda t: t[-1], lambda t: t[1:3], lambda t: t[:-1], lambda t: t[::2], lambda t: t[0, 1],
    lambda t: t[:, 1:3],
    lambda t: t[..., 0], lambda t: t[None], lambda t: t[:, None], lambda t: t[2:100], lambda t: t[()], lambda t: t[np.int64(1)],
    lambda t: t[minigrad.tensor(1)], lambda t: t[minigrad.tensor(1):3],
    lambda t: t.chunk(2)[1], lambda t: t.chunk(4, -1)[2], lambda t: t.chunk(3)[1], lambda t: t[:, 1:].chunk(2, dim=1)[1],
    lambda t: t.split(3)[1], lambda t: t.split(4, 1)[1], lambda t: t.split([1, 3])[1], lambda t: t.split(100, -2)[0],
    lambda t: t.unbind()[3], lambda t: t.unbind(1)[2], lambda t: t[0].unbind()[1], lambda t: t.split(split_size=2)[0],
]  # fmt: skip
OTHERS = [
    lambda t: t.sum(), lambda t: t.sum(1), lambda t: t.sum(-2, True), lambda t: t.sum((0, 1)),
    lambda t: t.sum([0], keepdim=True),
    lambda t: t.sum(()), lambda t: t.sum(axis=0), lambda t: t.T.sum(0), lambda t: t.sum(dtype=minigrad.float64),
    lambda t: t.sum(np.int64(0)), lambda t: minigrad.sum(t, 1), lambda t: t[0, 0].sum(), lambda t: t[0, 0].sum(0),
    lambda t: t[:0].sum(0),
    lambda t: t.mean(), lambda t: t.mean(-1, True), lambda t: t.mean((1, 0)), lambda t: t.view(2, 2, 6).mean((0, 2)),
    lambda t: t[:0].mean(), lambda t: t.mean(0, dtype=minigrad.float64), lambda t: t.double().mean(), lambda t: t.half().mean(),
    lambda t: t.norm(), lambda t: t.norm(dim=1), lambda t: t.norm(2), lambda t: t.norm(1, 0), lambda t: t[:, :1].norm(dim=1),
    lambda t: t.var(), lambda t: t.std(1), lambda t: t.std(0, keepdim=True), lambda t: t.var(False),
    lambda t: t.std(correction=0),
    lambda t: t[:1].repeat(2, 1).var(0), lambda t: t.std(0, unbiased=False), lambda t: t.double().var((0, 1)),
    lambda t: t.max(), lambda t: minigrad.max(t), lambda t: t.max(t.flip(0)), lambda t: t[0, 0].max(), lambda t: t.T.max(),
    lambda t: t.min(), lambda t: (t + np.nan).max(), lambda t: t[0, 0].min(), lambda t: t.long().max(), lambda t: (t > 3).max(),
    lambda t: t.half().max(),
    lambda t: t.clamp(3, 7), lambda t: t.clamp(7, 3), lambda t: t.clamp(-1.5, np.inf), lambda t: t.clamp(2, np.nan),
    lambda t: t.clamp(min=0.5, max=4.5), lambda t: t.T.clamp(1, 9),
    lambda t: t.long().clamp(3, 7), lambda t: t.half().clamp(1, 2),
    lambda t: t.clamp(t[0], t[1]), lambda t: (t + np.nan).clamp(0, 1), lambda t: t.clip(1, 5), lambda t: (t - 5).relu(),
    lambda t: t.long().clamp(0.5, 7), lambda t: t.clamp(True, 5),
    lambda t: t.cumsum(0), lambda t: t.cumsum(-1), lambda t: t.T.cumsum(0), lambda t: t.cumsum(axis=1),
    lambda t: t.cumsum(0, dtype=minigrad.float64), lambda t: t[0, 0].cumsum(0), lambda t: t.repeat(40, 10).cumsum(1),
    lambda t: t.cumprod(1), lambda t: (t - 12.5).cumprod(-2), lambda t: t.T.cumprod(0), lambda t: t.long().cumprod(1),
    lambda t: t.prod(), lambda t: t.prod(1), lambda t: (t - 12).prod(-1, True), lambda t: t[0, 1].prod(),
    lambda t: t[:0].prod(0),
    lambda t: t.T.prod(), lambda t: t.long().prod(0), lambda t: t.prod(dtype=minigrad.float64), lambda t: t.half().prod(1),
    lambda t: (t > 3).all().float() * t, lambda t: (t[:0] > 3).all() * t, lambda t: (t > 3).any(keepdim=True) * t,
    lambda t: (t > 3).T.any() * t, lambda t: (t > 3).any(1) * t.T[0], lambda t: t.all() * t, lambda t: (t > 3).all(()) * t,
    lambda t: t.byte().any() * t, lambda t: (t[0, 0] > 3).any() * t,
    lambda t: max_pool2d(t[None], 2), lambda t: max_pool2d(t[None], 2, return_indices=True)[0],
    lambda t: max_pool2d(t[None], [2, 3]),
    lambda t: max_pool2d(t[None], 3, 1, 1), lambda t: max_pool2d(t.T[None], 2),
    lambda t: max_pool2d(t[None], (2, 1), ceil_mode=True),
    lambda t: avg_pool2d(t[None], 2), lambda t: avg_pool2d(t[None], 3, 1, 1, False, False),
    lambda t: avg_pool2d(t.T[None], 2, 1), lambda t: avg_pool2d(t[None], 3, 1, 1),
    lambda t: avg_pool2d(t[None], [2, 3], divisor_override=3),
    lambda t: max_pool2d(t.repeat(8, 4)[None], 2), lambda t: max_pool2d(t.repeat(8, 4)[None].contiguous(), 2, stride=(1, 3)),
    lambda t: t @ t.T, lambda t: minigrad.matmul(t, t.T), lambda t: t @ t[0], lambda t: t.half() @ t.half().T,
    lambda t: linear(t, t, t[:, 0]), lambda t: linear(t[0], t, t[:, 0]), lambda t: linear(t.view(2, 2, 6), t, t[:, 0]),
    lambda t: linear(t, t), lambda t: linear(t.half(), t.half(), t[:, 0].half()), lambda t: linear(t, t[:1], t[0, :1]),
    lambda t: t.softmax(1), lambda t: t.softmax(-2), lambda t: t.T.softmax(0), lambda t: t.softmax(0, dtype=minigrad.float64),
    lambda t: t.log_softmax(dim=1), lambda t: t[0, 0].softmax(0),
    lambda t: t.gather(1, COLUMNS), lambda t: t.gather(-1, COLUMNS), lambda t: t.gather(0, ROWS[None, :3, None][0].T % 4),
    lambda t: t.half().gather(1, COLUMNS), lambda t: t.gather(1, COLUMNS[:2]), lambda t: t.T.gather(dim=0, index=COLUMNS.T),
    lambda t: cross_entropy(t, ROWS), lambda t: cross_entropy(t, ROWS, ignore_index=5), lambda t: cross_entropy(t.T.T, ROWS),
    lambda t: cross_entropy(t, ROWS, reduction="sum"), lambda t: cross_entropy(t, ROWS, label_smoothing=0.1),
    lambda t: cross_entropy(t[0], ROWS[0]), lambda t: cross_entropy(t, ROWS.int()), lambda t: cross_entropy(t.double(), ROWS),
    lambda t: nll_loss(t, ROWS), lambda t: nll_loss(t, ROWS, minigrad.ones(6)), lambda t: nll_loss(t, ROWS, reduction="none"),
    lambda t: nll_loss(t, ROWS, size_average=False),
    lambda t: nll_loss(t.view(2, 2, 6), ROWS.view(2, 2)[:, :1].repeat(1, 6) % 2),
    lambda t: layer_norm(t, (6,), t[0], t[1]), lambda t: layer_norm(t, [6], t[0], t[1]), lambda t: layer_norm(t, (6,), t[0]),
    lambda t: layer_norm(t, t.shape, t.cos(), t), lambda t: layer_norm(t.half(), (6,), t[0], t[1]),
]  # fmt: skip


def described(call, x):
    """Return everything about the result of a call that a program can see."""
    t = call(x)
    kept = None if t._view is None else t._view.args
    node = None if t.grad_fn is None else t.grad_fn.name()
    gradient = None
    if t.requires_grad:
        (gradient,) = minigrad.autograd.grad(t, x, minigrad.arange(t.numel(), dtype=t.dtype).reshape(t.shape))
        gradient = gradient.tolist()
    return t.tolist(), t._base is x, kept, repr(kept), node, t.stride(), gradient


@pytest.mark.parametrize("tracked", (True, False))
@pytest.mark.parametrize("call", VIEWS + OTHERS)
def test_a_result_is_the_one_of_the_definition(call, tracked):
    x = minigrad.arange(24, dtype=minigrad.float32).reshape(4, 6).clone().requires_grad_(tracked)
    *found, gradient = described(call, x)
    with minigrad.autograd.detect_anomaly(check_nan=False):  # where nothing is written out
        *expected, formulas = described(call, x)
    assert repr(found) == repr(expected)  # NaN is equal there
    assert (gradient is None) is (formulas is None)
    if gradient is not None:  # a kernel adds up in another order
        np.testing.assert_allclose(gradient, formulas, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("view", (lambda t: t[1], lambda t: t.view(-1), lambda t: t.T, lambda t: t.unsqueeze(0)))
def test_a_view_follows_writes_and_a_view_of_no_grad_stays_out(view):
    x = minigrad.zeros(4, 6, requires_grad=True)
    y = x * 2
    v = view(y)
    y.add_(1)
    assert v.grad_fn is not None and v.tolist() == view(y).tolist()
    with minigrad.no_grad():
        v = view(x)
    with pytest.raises(RuntimeError, match="no_grad"):
        v.add_(1)


@pytest.mark.parametrize("call", (
    lambda t: t.view(5), lambda t: t.view(-2, 12), lambda t: t.view(2.0, 12), lambda t: t.view(), lambda t: t.view((6, 4), 1),
    lambda t: t.view(True), lambda t: t.T.view(24), lambda t: t.reshape(-1, -1), lambda t: t.reshape(-2, -2, 6),
    lambda t: t[7], lambda t: t[0, 0, 0], lambda t: t[1.5], lambda t: t[::-1], lambda t: t["a"], lambda t: t[:"a"],
    lambda t: t.expand(4, 5), lambda t: t.expand(6), lambda t: t.expand(-1, 4, 6), lambda t: t[:1].expand(-2, 6),
    lambda t: t.expand(4.0, 6), lambda t: t[:1].expand(2.0, 6), lambda t: t.expand(), lambda t: t[:1].expand((2, 6), 1),
    lambda t: t.sum()[0], lambda t: t.transpose(0, 2), lambda t: t.transpose(0, 1.0), lambda t: t.transpose(0),
    lambda t: t.transpose(0, 1, 2), lambda t: t.transpose(0, 1, axis0=0), lambda t: t.unsqueeze(4), lambda t: t.unsqueeze(-4),
    lambda t: t.sum(2), lambda t: t.sum(1.0), lambda t: t.sum((0, 0)), lambda t: t.sum(0, 2), lambda t: t.mean("a"),
    lambda t: t @ t, lambda t: t @ t.T.double(), lambda t: linear(t, t.T, t[0]), lambda t: linear(t, t, t[0]), lambda t: t @ 2,
    lambda t: t.prod((0, 1)), lambda t: t.prod(2), lambda t: t.cumprod(2), lambda t: t.cumprod(),
    lambda t: (t > 3).all(None, 2),
    lambda t: t.norm(dim=3), lambda t: t.long().mean(), lambda t: t[:0].max(), lambda t: t.max(2), lambda t: t.softmax(2),
    lambda t: t.softmax(0.5), lambda t: t.long().softmax(0), lambda t: t.sum(None, "yes"),
    lambda t: t.gather(1, COLUMNS + 1), lambda t: t.gather(2, COLUMNS), lambda t: t.gather(1, ROWS),
    lambda t: t.gather(0, COLUMNS - 1), lambda t: cross_entropy(t, ROWS + 1), lambda t: cross_entropy(t, ROWS[:3]),
    lambda t: nll_loss(t, -ROWS), lambda t: nll_loss(t, ROWS, reduction="all"),
    lambda t: cross_entropy(t, ROWS, ignore_index=0.5),
    lambda t: layer_norm(t, (4,), t[0], t[1]), lambda t: layer_norm(t, (), t[0], t[1]), lambda t: layer_norm(t, (6,), t, t[1]),
    lambda t: t.flatten(1, 0), lambda t: t.flatten(1.0),
    lambda t: t.unsqueeze(0.0), lambda t: t.permute(0, 0), lambda t: t.permute(0), lambda t: t.permute((1, 0), 2),
    lambda t: t.clamp(), lambda t: t.clamp(0, 1e39), lambda t: t.clamp("a", 1), lambda t: t.clamp(0, 10**400),
    lambda t: t.cumsum(2), lambda t: t.cumsum(1.0), lambda t: t.cumsum(), lambda t: t[:0].min(),
    lambda t: t.chunk(0), lambda t: t.chunk(2, 2), lambda t: t.chunk(2.0), lambda t: t.chunk(), lambda t: t.split(0),
    lambda t: t.split(-1), lambda t: t.split(2, 2), lambda t: t.split("a"), lambda t: t.unbind(2), lambda t: t.unbind(0.5),
    lambda t: t.sum().unbind(), lambda t: t.sum().chunk(2),
    lambda t: max_pool2d(t[None], 0), lambda t: max_pool2d(t, 2), lambda t: max_pool2d(t[None], 2.0),
    lambda t: avg_pool2d(t[None], 2, divisor_override=0), lambda t: avg_pool2d(t[None], 0), lambda t: avg_pool2d(t[None], 2.0),
    lambda t: max_pool2d(t[None], (2.0, 2)), lambda t: max_pool2d(t[None], 2, padding=2), lambda t: max_pool2d(t[None] > 0, 2),
    lambda t: t.permute(0.0, 1), lambda t: t.flatten(3), lambda t: t.flatten(-3), lambda t: t.squeeze(5), lambda t: t[0].mT,
))  # fmt: skip
def test_an_error_is_the_one_of_the_definition(call):
    x = minigrad.zeros(4, 6)
    with pytest.raises(Exception) as found:
        call(x)
    with minigrad.autograd.detect_anomaly(), pytest.raises(Exception) as expected:
        call(x)
    assert type(found.value) is type(expected.value) and str(found.value) == str(expected.value)


@pytest.mark.parametrize("join", (minigrad.cat, minigrad.stack))
def test_a_join_of_plain_tensors_is_the_one_of_the_definition(join):
    a, b = minigrad.randn(2, 3), minigrad.randn(2, 3)
    for xs, dim in (
        ([a, b], 0),
        ((a, b, a), -1),
        ([a], 1),
        ([a.T, b.T], 0),
        ([a.half(), b.half()], 0),
        ([a, b.double()], 0),
    ):
        found = join(xs, dim)
        with minigrad.autograd.detect_anomaly():
            expected = join(xs, dim)
        assert found.dtype == expected.dtype and found.stride() == expected.stride()
        assert found.tolist() == expected.tolist() and not found.requires_grad
    assert join([a, b.requires_grad_()]).requires_grad and join([a, b[:]]).requires_grad
    with minigrad.no_grad():
        assert not join([a, b]).requires_grad
    found.zero_()
    assert a.any() and b.any()


@pytest.mark.parametrize("join", (minigrad.cat, minigrad.stack))
@pytest.mark.parametrize("dim", (0, 1, -1))
@pytest.mark.parametrize("n", (1, 3, 12))
def test_a_join_of_tracked_tensors_is_the_one_of_the_definition(join, dim, n):
    xs = [minigrad.randn(2, 3, requires_grad=i != 1) for i in range(n)]

    def found():
        out = join([x[:] for x in xs], dim)
        tracked = [x for x in xs if x.requires_grad]
        grads = minigrad.autograd.grad((out * out).sum(), tracked)
        return out.tolist(), out.grad_fn.name(), [g.tolist() for g in grads]

    with minigrad.autograd.detect_anomaly():
        expected = found()
    assert found() == found() == expected  # from the second call on with code generated for this number of tensors


WRITES = [
    (0, 1.5), (-1, 2), (slice(1, 3), 0.0), ((slice(None), 2), 3.0), ((), 1.0), (..., 2.0), (None, 1.0), ((0, 1), 7),
    (1, minigrad.arange(6.0)), (slice(0, 2), minigrad.ones(2, 6)), (0, minigrad.ones(1, 6)), (0, minigrad.ones(6).double()),
    (slice(None), minigrad.ones(6, requires_grad=True)), (ROWS % 4, 1.0), ([0, 1], 2.0), (9, 1.0), ((0, 0, 0), 1.0),
    (0, minigrad.ones(5)), (0, "a"), (0, 1e300), (slice(None, None, -1), 0.0), (0, True),
]  # fmt: skip


@pytest.mark.parametrize("tracked", (False, True))
@pytest.mark.parametrize("index, value", WRITES)
@pytest.mark.parametrize("dtype", (minigrad.float32, minigrad.int64, minigrad.bool))
@pytest.mark.filterwarnings("ignore")
def test_a_write_by_index_is_the_one_of_the_definition(index, value, dtype, tracked):
    def outcome():
        x = minigrad.zeros(4, 6, dtype=dtype)
        x = x * minigrad.ones(1, requires_grad=True) if tracked else x
        view, saved = x[0], x.exp() * x
        try:
            x[index] = value
        except Exception as e:
            return type(e), str(e)
        try:
            if saved.requires_grad:
                saved.sum().backward()
            reused = ""
        except RuntimeError as e:  # x was saved, and has changed
            reused = str(e).partition("\n")[0]
        return x.tolist(), view.tolist(), x.requires_grad, x._version, x.grad_fn and x.grad_fn.name(), reused

    found = outcome()
    with minigrad.autograd.detect_anomaly(check_nan=False):
        expected = outcome()
    assert found == expected


def test_a_write_by_index_does_not_pass_a_leaf_or_expanded_memory():
    x = minigrad.zeros(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf"):
        x[0] = 1.0
    with minigrad.no_grad():
        x[0] = 1.0
    assert x.tolist() == [1.0, 0.0, 0.0] and x._version == 1
    with pytest.raises(RuntimeError, match="several elements"):
        minigrad.zeros(1).expand(3)[0:2] = 1.0
    with minigrad.inference_mode():
        y = minigrad.zeros(3)
    with pytest.raises(RuntimeError, match="inference"):
        y[0] = 1.0


def test_transforms_see_the_calls():
    x = minigrad.randn(3, 2, 4)
    assert minigrad.func.vmap(lambda t: t.view(-1)[2:].unsqueeze(0))(x).tolist() == x.view(3, 1, -1)[..., 2:].tolist()
    found = minigrad.func.grad(lambda t: (minigrad.cat([t[0], t[1].T.T]) * t.flatten(0, 1)[:4]).sum())(x)
    assert found.tolist() == minigrad.func.grad(lambda t: (t[:2].reshape(4, 4) * t.reshape(6, 4)[:4]).sum())(x).tolist()


@pytest.mark.parametrize("view, name", (
    (lambda x: x.T, "permute"), (lambda x: x.mT, "transpose"), (lambda x: x[0], "getitem"), (lambda x: x.view(-1), "view"),
    (lambda x: minigrad.transpose(x, 0, 1), "transpose"), (lambda x: x.swapaxes(0, 1), "transpose"),
    (lambda x: x.split(2), "split"), (lambda x: x.chunk(1), "chunk"), (lambda x: x.clamp(0, 1), "clamp"),
    (lambda x: x.cumsum(0), "cumsum"),
))  # fmt: skip
def test_a_recording_names_the_call_from_the_second_on_too(view, name):
    x = minigrad.eye(2)
    view(x)
    with minigrad.record() as rec:
        view(x)
    (op,) = rec.to_dict()["ops"]
    assert op["name"] == name


@pytest.mark.parametrize("write", (
    lambda t: t.mul_(2), lambda t: t.add_(1), lambda t: t.__iadd__(1), lambda t: t.__setitem__(0, 1.0), lambda t: t.zero_(),
    lambda t: t.copy_(minigrad.ones(3)), lambda t: t.clamp_(0, 1), lambda t: list(map(minigrad.Tensor.exp_, [t])),
    lambda t: minigrad.relu_(t), lambda t: t.masked_fill_(t > 0, 1.0), lambda t: minigrad.nn.init.zeros_(t),
))  # fmt: skip
def test_a_write_remembers_the_innermost_of_the_users_lines(write):
    t = minigrad.ones(3)
    write(t)
    assert (t._ver.place.file, t._ver.place.line) == (__file__, write.__code__.co_firstlineno)


# names here, and NumPy's where they differ
OF_BOOLS = {name: name for name in "logical_and logical_or logical_xor logical_not isnan isfinite".split()}
OF_BOOLS |= {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}


@pytest.mark.parametrize("size", [3, 1000])
@pytest.mark.parametrize("name", OF_BOOLS)
def test_bools_are_compared_without_the_definition(name, size, monkeypatch):
    monkeypatch.setattr(TABLE[name].cls, "eager", lambda *args: pytest.fail("the definition computes"))
    rng = np.random.default_rng(0)
    x, y = rng.random(size) < 0.5, rng.random(size) < 0.5
    n, f = len(TABLE[name].cls.names), getattr(np, OF_BOOLS[name])
    out = getattr(minigrad, name)(*map(minigrad.tensor, (x, y)[:n]))
    assert out.dtype is minigrad.bool and np.array_equal(out.numpy(), f(*(x, y)[:n]))
    if n == 2:
        row = minigrad.tensor(x)[:, None]
        assert np.array_equal(getattr(minigrad, name)(row, minigrad.tensor(y[:2])).numpy(), f(x[:, None], y[:2]))


@pytest.mark.parametrize("n", [0, 5, 20_000])
def test_a_selection_by_a_mask_is_the_same_with_and_without_a_history(n):
    x = minigrad.randn(n)
    tracked = x.clone().requires_grad_()
    mask = x > 0
    found, expected = x[mask], tracked[mask]
    assert found.equal(expected.detach()) and found.grad_fn is None
    assert expected.grad_fn is not None and tracked.detach()[mask].equal(found)
    with minigrad.no_grad():
        assert tracked[mask].equal(found) and tracked[mask].grad_fn is None
    before = x.clone()
    found.zero_()
    assert x.equal(before)  # a copy
    with pytest.raises(IndexError, match="mask"):
        x[minigrad.ones(n + 1, dtype=minigrad.bool)]


def test_a_recording_has_selections_and_comparisons():
    x = minigrad.tensor([1.0, -2.0])
    recorded = minigrad.record(lambda x: (x[x > 0], minigrad.equal(x, x)), x).to_dict()
    assert {"getitem", "equal"} <= {step["name"] for step in recorded["ops"]}


@pytest.mark.parametrize("other", [[1, 2], [1.0, 2.0], [1.0, 3.0], [1.0], [float("nan"), 2.0]])
def test_equal_compares_shapes_and_elements(other):
    x, y = minigrad.tensor([1.0, 2.0]), minigrad.tensor(other)
    expected = len(other) == 2 and list(other) == [1, 2]
    assert minigrad.equal(x, y) is minigrad.equal(y, x) is expected
    with minigrad.autograd.detect_anomaly():
        assert minigrad.equal(x, y) is expected
    assert minigrad.equal(y, y) is not any(a != a for a in other)
