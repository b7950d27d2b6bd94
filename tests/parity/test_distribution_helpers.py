"""The helpers of torch.distributions.utils, beside PyTorch's."""

import pytest

torch = pytest.importorskip("torch")

import minigrad  # noqa: E402
from minigrad.distributions import utils as ours  # noqa: E402

theirs = torch.distributions.utils
pytestmark = pytest.mark.parity
BOTH = ((minigrad, ours), (torch, theirs))


def same(compute):
    """Compare what a function of a library and its helpers gives: lists of numbers and dtypes."""
    mine, other = [
        [(t.tolist(), str(t.dtype).rpartition(".")[2]) for t in compute(library, helpers)] for library, helpers in BOTH
    ]
    assert mine == pytest.approx(other) if not mine else [d for _, d in mine] == [d for _, d in other]
    for (a, _), (b, _) in zip(mine, other):
        torch.testing.assert_close(torch.tensor(a), torch.tensor(b))


@pytest.mark.parametrize("values", ["1, 2.0", "t([1.0, 2.0]), 3", "2, t([[1.0], [2.0]]), t([1.0, 5.0]).double()"])
def test_values_are_broadcast(values):
    same(lambda m, u: eval(f"u.broadcast_all({values})", {"u": u, "t": m.tensor}))


@pytest.mark.parametrize("is_binary", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_probabilities_and_logits_follow_from_each_other(is_binary, dtype):
    def compute(m, u):
        p = m.tensor([[0.0, 0.25, 0.75], [1.0, 0.0, 0.0]], dtype=getattr(m, dtype))
        logits = u.probs_to_logits(p, is_binary)
        return [u.clamp_probs(p), logits, u.logits_to_probs(logits, is_binary)]

    same(compute)


@pytest.mark.parametrize("diag", range(-3, 3))
def test_triangles_become_vectors_and_matrices_again(diag):
    def compute(m, u):
        vector = u.tril_matrix_to_vec(m.arange(18.0).reshape(2, 3, 3), diag)
        return [vector, u.vec_to_tril_matrix(vector, diag)] if diag > -3 else [vector]

    same(compute)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("u.broadcast_all('x')", "but got str"),
        ("u.tril_matrix_to_vec(m.ones(2, 2), 2)", "from -2 to 1"),
        ("u.vec_to_tril_matrix(m.ones(5))", "5 numbers do not fill"),
    ],
)
def test_refusals_are_of_pytorchs_type(text, words):
    with pytest.raises(ValueError, match=words):
        eval(text, {"m": minigrad, "u": ours})
    with pytest.raises(ValueError):  # noqa: PT011
        eval(text, {"m": torch, "u": theirs})


def test_a_lazy_property_is_computed_once_and_has_a_graph():
    class Scaled:
        @ours.lazy_property
        def doubled(self):
            return self.x * 2

    d = Scaled()
    d.x = minigrad.ones(2, requires_grad=True)
    with minigrad.no_grad():
        assert d.doubled is d.doubled
    assert d.doubled.requires_grad
