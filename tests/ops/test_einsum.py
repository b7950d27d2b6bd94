"""einsum and its relatives against NumPy's."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import minigrad as torch
from minigrad.autograd import grad
from minigrad.layers.batch import batched
from tests.ops.linear import leaf, random, tensor

SIZES = {"a": 2, "b": 3, "c": 1, "d": 4, "e": 2}


@st.composite
def contractions(draw):
    """(equation, shapes): up to four operands over five letters, repeated ones too; a given or implied result."""
    terms = draw(st.lists(st.text("abcde", max_size=3), min_size=1, max_size=4))
    shapes = [[SIZES[c] for c in t] for t in terms]
    dots = draw(st.booleans())
    if dots:
        k = draw(st.integers(0, len(terms) - 1))
        terms[k], shapes[k] = "..." + terms[k], [2, 3, *shapes[k]]
    equation = ",".join(terms)
    if draw(st.booleans()):
        used = sorted(set(equation) - set(".,"))
        out = draw(st.permutations(used))[: draw(st.integers(0, len(used)))]
        equation += "->" + ("..." if dots else "") + "".join(out)
    return equation, shapes


@given(contractions())
def test_einsum_is_numpys(contraction):
    equation, shapes = contraction
    xs = [random(*s, seed=i) for i, s in enumerate(shapes)]
    assert np.allclose(torch.einsum(equation, *map(tensor, xs)).numpy(), np.einsum(equation, *xs))


@given(contractions())
def test_gradients_of_einsum_follow_its_linearity_in_each_operand(contraction):
    equation, shapes = contraction
    xs, vs = [[random(*s, seed=10 * k + i) for i, s in enumerate(shapes)] for k in range(2)]
    leaves = [leaf(x) for x in xs]
    out = torch.einsum(equation, *leaves)
    w = random(*out.shape, seed=99)
    found = grad((out * tensor(w)).sum(), leaves)
    for i, g in enumerate(found):
        moved = np.einsum(equation, *xs[:i], vs[i], *xs[i + 1 :])
        assert np.allclose((g.numpy() * vs[i]).sum(), (moved * w).sum())


@given(contractions(), st.integers(1, 15))
def test_vmap_of_einsum_is_a_loop(contraction, mask):
    equation, shapes = contraction
    batch = [bool(mask >> i & 1) for i in range(len(shapes))]
    if not any(batch):
        return
    xs = [random(*((2,) if b else ()), *s, seed=i) for i, (s, b) in enumerate(zip(shapes, batch))]
    dims = tuple(0 if b else None for b in batch)
    found = batched(lambda *ops: torch.einsum(equation, *ops), tuple(map(tensor, xs)), dims, 2)
    for k in range(2):
        assert np.allclose(found.numpy()[k], np.einsum(equation, *[x[k] if b else x for x, b in zip(xs, batch)]))


def test_ellipsis_that_the_result_leaves_away_is_summed():
    x = random(2, 3, 4)
    assert np.allclose(torch.einsum("...i->i", tensor(x)).numpy(), x.sum((0, 1)))


def test_ellipses_of_different_lengths_are_broadcast():
    x, y = random(5, 1, 2, 3), random(4, 3, 2)
    assert np.allclose(torch.einsum("...ij,...jk->...ik", tensor(x), tensor(y)).numpy(), x @ y)


def test_implied_result_is_in_alphabetical_order_capitals_first():
    x = random(2, 3)
    assert np.allclose(torch.einsum("bA", tensor(x)).numpy(), x.T)


def test_sublists_and_lists_of_operands():
    x, y = random(2, 3), random(3, 4)
    assert np.allclose(torch.einsum(tensor(x), [0, 1], tensor(y), [1, 2], [0, 2]).numpy(), x @ y)
    assert np.allclose(torch.einsum(tensor(x), [..., 0], tensor(y), [0, 5]).numpy(), x @ y)
    assert np.allclose(torch.einsum("ij,jk", [tensor(x), tensor(y)]).numpy(), x @ y)


def test_many_operands_are_contracted_in_a_cheap_order():
    n = 40  # left to right would hold an array of n**4 elements
    xs = [random(n, seed=0), random(n, seed=1), *[random(n, n, seed=i) for i in range(2, 6)]]
    out = torch.einsum("a,d,ab,bc,cd,de->e", *map(tensor, xs))
    a, d, ab, bc, cd, de = xs
    assert np.allclose(out.numpy(), ((a @ ab @ bc @ cd) * d) @ de)


def test_integers_are_multiplied_as_integers():
    x = np.arange(6).reshape(2, 3)
    out = torch.einsum("ij,kj->ik", tensor(x), tensor(x))
    assert out.dtype == torch.int64 and out.tolist() == (x @ x.T).tolist()
