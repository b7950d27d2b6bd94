"""Bags of embeddings are sums, means and maxima of what embedding reads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad
from minigrad import nn
from minigrad.nn import functional as F


@st.composite
def bags(draw):
    """Return bags of integers below 5, some of them empty."""
    return draw(st.lists(st.lists(st.integers(0, 4), max_size=4), min_size=1, max_size=5))


def by_hand(bag, table, mode, padding):
    rows = [table[i] for i in bag if i != padding]
    if not rows:
        return table[0] * 0
    rows = minigrad.stack(rows)
    return rows.max(0).values if mode == "max" else getattr(rows, mode)(0)


@settings(deadline=None, max_examples=60)
@given(bags(), st.sampled_from(["sum", "mean", "max"]), st.sampled_from([None, 2, -1]), st.booleans())
def test_each_bag_is_reduced_by_itself(bags, mode, padding, last):
    table = minigrad.tensor(np.random.default_rng(0).permutation(15).reshape(5, 3) / 7).requires_grad_()
    flat = minigrad.tensor([i for bag in bags for i in bag], dtype=minigrad.int64)
    lengths = [0, *[len(bag) for bag in bags]]
    offsets = minigrad.tensor(np.cumsum(lengths if last else lengths[:-1]))
    out = F.embedding_bag(flat, table, offsets, mode=mode, padding_idx=padding, include_last_offset=last)
    wanted = minigrad.stack([by_hand(bag, table, mode, None if padding is None else padding % 5) for bag in bags])
    assert minigrad.allclose(out, wanted)
    g = minigrad.tensor(np.random.default_rng(1).standard_normal(out.shape))
    ours, theirs = (minigrad.autograd.grad(y, table, g, allow_unused=True)[0] for y in (out, wanted))
    assert minigrad.allclose(ours, minigrad.zeros(5, 3, dtype=ours.dtype) if theirs is None else theirs)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 3])
def test_rows_of_a_matrix_are_bags(mode, padding):
    table, x = minigrad.randn(6, 2, requires_grad=True), minigrad.tensor([[0, 3, 3], [5, 5, 1]])
    flat = F.embedding_bag(x.flatten(), table, minigrad.tensor([0, 3]), mode=mode, padding_idx=padding)
    out = F.embedding_bag(x, table, mode=mode, padding_idx=padding)
    assert minigrad.allclose(out, flat)
    ours, theirs = (minigrad.autograd.grad((y * y).sum(), table)[0] for y in (out, flat))
    assert minigrad.allclose(ours, theirs)
    for shape in ((0, 3), (2, 0)):
        nothing = F.embedding_bag(x.new_zeros(shape), table, mode=mode, padding_idx=padding)
        assert nothing.tolist() == [[0.0, 0.0]] * shape[0]


@pytest.mark.parametrize("dtype", [minigrad.uint8, minigrad.int32])
def test_offsets_of_every_integer_dtype_must_grow(dtype):
    table, x = minigrad.ones(3, 1), minigrad.tensor([0, 1, 2])
    assert F.embedding_bag(x, table, minigrad.tensor([0, 2], dtype=dtype), mode="sum").tolist() == [[2.0], [1.0]]
    for wrong in ([0, 2, 1], [0, 4], [1, 2]):
        with pytest.raises(RuntimeError, match="offsets must begin with 0"):
            F.embedding_bag(x, table, minigrad.tensor(wrong, dtype=dtype))


def test_indices_after_the_last_offset_are_ignored():
    table = minigrad.ones(3, 1)
    x, offsets = minigrad.tensor([0, 1, 2]), minigrad.tensor([0, 2])
    assert F.embedding_bag(x, table, offsets, mode="sum", include_last_offset=True).tolist() == [[2.0]]


def test_nan_is_a_maximum():
    table = minigrad.tensor([[1.0], [float("nan")], [2.0]])
    assert F.embedding_bag(minigrad.tensor([[0, 1, 2]]), table, mode="max").isnan().all()


def test_of_equal_maxima_the_first_gets_the_gradient():
    table = minigrad.ones(3, 1, requires_grad=True)
    F.embedding_bag(minigrad.tensor([[2, 0, 1]]), table, mode="max").sum().backward()
    assert table.grad.flatten().tolist() == [0, 0, 1]


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_scale_grad_by_freq_divides_by_how_often_a_row_was_read(mode):
    """PyTorch 2.13 mixes the rows up here: it divides the gradient of row 1 by the two uses of row 4."""
    table = minigrad.ones(5, 1, requires_grad=True)
    x, offsets = minigrad.tensor([4, 1, 4, 0, 2]), minigrad.tensor([0, 2])
    F.embedding_bag(x, table, offsets, mode=mode).sum().backward()
    plain, table.grad = table.grad, None
    F.embedding_bag(x, table, offsets, mode=mode, scale_grad_by_freq=True).sum().backward()
    assert minigrad.allclose(table.grad, plain / minigrad.tensor([[1.0], [1], [1], [1], [2]]))


def test_rows_are_shortened_to_max_norm_in_place():
    table = minigrad.full((3, 4), 1.0)
    F.embedding_bag(minigrad.tensor([[0, 2]]), table, max_norm=1.0)
    assert minigrad.allclose(table.norm(dim=1), minigrad.tensor([1.0, 2.0, 1.0]))


def test_vmap_over_tables_inputs_and_offsets():
    tables, x = minigrad.randn(4, 5, 2), minigrad.randint(0, 5, (4, 6))
    offsets = minigrad.tensor([[0, 2], [0, 3], [0, 0], [0, 6]])
    for mode in ("sum", "mean", "max"):
        f = lambda i, t, o, mode=mode: F.embedding_bag(i, t, o, mode=mode, padding_idx=1)
        one_by_one = minigrad.stack([f(*each) for each in zip(x, tables, offsets)])
        assert minigrad.allclose(minigrad.vmap(f)(x, tables, offsets), one_by_one)


def test_a_module_from_a_given_table_learns_unless_frozen():
    table = minigrad.randn(4, 3)
    frozen = nn.EmbeddingBag.from_pretrained(table, mode="max", padding_idx=0)
    assert (
        not frozen.weight.requires_grad
        and frozen.padding_idx == 0
        and repr(frozen) == ("EmbeddingBag(4, 3, mode='max', padding_idx=0)")
    )
    assert nn.EmbeddingBag.from_pretrained(table, freeze=False).weight.requires_grad
    assert (nn.EmbeddingBag(4, 3, padding_idx=-1).weight[3] == 0).all()


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_many_rows_are_summed_without_a_copy_and_differentiate_twice(mode):
    rng = np.random.default_rng(0)
    x, table = (
        minigrad.tensor(rng.integers(0, 40, 900)),
        minigrad.tensor(rng.standard_normal((40, 8)), requires_grad=True),
    )
    offsets = minigrad.tensor([0, 10, 10, 700])
    rows = F.embedding(x, table)
    wanted = minigrad.stack([getattr(r, mode)(0) if len(r) else r.sum(0) for r in rows.split([10, 0, 690, 200])])
    out, found = F.embedding_bag(x, table, offsets, mode=mode), []
    for y in (out, wanted):
        (g,) = minigrad.autograd.grad((y**3).sum(), table, create_graph=True)
        found.append([y, g, *minigrad.autograd.grad((g**2).sum(), table)])
    assert all(minigrad.allclose(a, b) for a, b in zip(*found))
    tables = minigrad.stack([table, 2 * table]).detach()
    batched = minigrad.vmap(lambda t: F.embedding_bag(x, t, offsets, mode=mode))(tables)
    assert minigrad.allclose(batched, minigrad.stack([out, 2 * out]))
