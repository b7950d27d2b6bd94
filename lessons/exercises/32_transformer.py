"""The exercises of lesson 32."""

import minigrad as torch
from lessons import expect
from lessons.exercise import Wrong, exercise
from minigrad.nn import functional as F


@exercise(
    "softmax: exp of each, divided by their sum. exp(0) is 1, and exp(log 3) is 3.",
    "The weights are 1/4 and 3/4; the result is the mean of the values with these weights.",
)
def attention_by_hand(answer):
    """4 / 4 + 3 * 8 / 4 = 7: a quarter of 4 and three quarters of 8."""
    mistakes = {
        6.0: "that is the plain mean; the second key fits better",
        5.0: "the weights are swapped: the larger product gets the larger weight",
        8.0: "the smaller product has a weight, too",
        28.0: "the weights have to be divided by their sum",
        0.75: "that is the weight of the second value",
    }
    expect.number(answer, 7.0, mistakes)


def _positions(*shape):
    """Return queries, keys and values of a shape, all of which require grad."""
    torch.manual_seed(2)
    return tuple(torch.randn(*shape).requires_grad_() for _ in range(3))


@exercise(
    "Print the weights. Which sum should each row have?",
    "The larger the width, the larger the products. Does this program compensate for that?",
    "Divide by the root of the width, and take the softmax along the last dimension: -1, the keys.",
)
def attention_repaired(answer):
    """Each row of weights adds up to one, and the products are divided by the root of the width."""
    q, k, v = _positions(3, 4, 16)
    given = answer(q, k, v)
    if isinstance(given, torch.Tensor) and given.shape == v.shape:
        if not answer(q, k, torch.ones_like(v)).allclose(torch.ones_like(v), atol=1e-4):
            raise Wrong(
                "if all values are 1, the result must be 1, but here it is not: the weights of a query have to add up to one"
            )
        factors = {4.0: "the products are multiplied by the root of the width", 1.0: "the products are not divided"}
        factors[1 / 16] = "the products are divided by the width, not by its root"
        for factor, why in factors.items():
            if given.allclose((q @ k.mT * factor).softmax(-1) @ v, atol=1e-5):
                raise Wrong(why)
    expect.computes(answer, F.scaled_dot_product_attention, (q, k, v), _positions(2, 5))


@exercise(
    "Before softmax, make the products with later positions so small that their exp is 0.",
    "torch.ones(n, n).triu(1) has ones above the diagonal: there key j is later than query i.",
    'scores.masked_fill(torch.ones(n, n).triu(1).bool(), -float("inf")).softmax(-1) @ v',
)
def attention_causal(answer):
    """-inf before softmax becomes 0 after it, and the rest of the row adds up to one."""
    q, k, v = _positions(5, 4)
    given = answer(q, k, v)
    if isinstance(given, torch.Tensor) and given.shape == v.shape:
        if given[0].isnan().any():
            raise Wrong("the first position gets NaN because it looks at nothing: it may look at itself")
        later = answer(q, k, torch.cat([v[:2], v[2:] + 1]))
        if not later[:2].allclose(given[:2], atol=1e-5):
            raise Wrong("the first two positions change when the third value changes: they look ahead")
        if not answer(q, k, torch.ones_like(v)).allclose(torch.ones_like(v), atol=1e-4):
            raise Wrong("the weights do not add up to one: hide the later positions before softmax, not after it")
        if not given[0].allclose(v[0], atol=1e-5):
            raise Wrong("the first position can only look at itself, so it gets the first value")
        later_ones = torch.ones(5, 5).triu(1).bool()
        if given.allclose((q @ k.mT).masked_fill(later_ones, -float("inf")).softmax(-1) @ v, atol=1e-5):
            raise Wrong("it looks back only, but the products are not divided by the root of the width")
    causal = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)
    expect.computes(answer, causal, (q, k, v), _positions(2, 3, 6, 8))


@exercise(
    "Head h has the columns from h * size to (h + 1) * size, where size is the width divided by the number of heads.",
    "A loop over the heads with q[..., columns], and torch.cat of the results along the last dimension, is enough.",
    "Without a loop: q.unflatten(-1, (heads, -1)).transpose(1, 2), then attention, then back again.",
)
def attention_heads(answer):
    """Each head divides by the root of the head's own width, and sees only its own columns."""

    def expected(q, k, v, heads):
        q, k, v = (t.unflatten(-1, (heads, -1)).transpose(1, 2) for t in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)

    q, k, v = _positions(2, 5, 8)
    for heads in (1, 2, 4):
        given = answer(q, k, v, heads)
        if not isinstance(given, torch.Tensor) or given.shape != v.shape:
            continue  # expect says what it is instead
        if heads > 1 and given.allclose(F.scaled_dot_product_attention(q, k, v), atol=1e-5):
            raise Wrong(f"for {heads} heads it gives what one head gives")
        slices = [t.unflatten(-1, (heads, -1)).transpose(1, 2) for t in (q, k, v)]
        whole = ((slices[0] @ slices[1].mT / 8**0.5).softmax(-1) @ slices[2]).transpose(1, 2).flatten(2)
        if heads > 1 and given.allclose(whole, atol=1e-5):
            raise Wrong("divide by the root of each head's own width, not of the whole")
    expect.computes(answer, expected, *[(q, k, v, heads) for heads in (1, 2, 4)], (*_positions(3, 4, 6), 3))
