"""Public functions on plain tensors: results and errors are those of the definitions, whatever runs."""

import numpy as np
import pytest

import minigrad
from minigrad.ops.base.registry import TABLE

ROWS, COLUMNS = minigrad.tensor([3, 0, 5, 1]), minigrad.tensor([[0, 5], [1, 1], [2, 0], [4, 3]])


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
