"""Formulas without what their numbers decide mean what they meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minigrad.kernels.folding import folded

NUMBERS = st.integers(-9, 9).map(lambda n: f"({n})" if n < 0 else str(n))
TEXTS = st.recursive(
    st.one_of(NUMBERS, st.just("x")),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        st.tuples(inner, st.sampled_from(["==", "<", ">="]), inner, inner, inner).map(
            lambda p: f"where({p[0]} {p[1]} {p[2]}, {p[3]}, {p[4]})"
        ),
    ),
    max_leaves=12,
)


@given(TEXTS, st.integers(-5, 5))
def test_a_folded_formula_gives_the_same_number(text, x):
    scope = {"x": x, "where": lambda condition, a, b: a if condition else b}
    assert eval(folded(text), scope) == eval(text, scope)


@pytest.mark.parametrize(
    "text, short",
    [
        ("x ** (1 - 3)", "x ** (-2)"),
        ("(1 - 3) ** x", "(-2) ** x"),
        ("where(-1 < 0, a, b)", "a"),
        ("where(y == 0, a, b)", "where(y == 0, a, b)"),
        ("1/x  +  3", "1/x  +  3"),  # as it was written, where nothing is decided
    ],
)
def test_only_what_numbers_decide_goes(text, short):
    assert folded(text) == short
