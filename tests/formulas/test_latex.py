"""LaTeX: how each construct of a formula is set."""

import ast

import pytest

from minigrad.formulas.expression import number, parsed
from minigrad.formulas.latex import latex, symbol

SET = {
    "g * (1 - h ** 2)": r"g \odot \left(1 - h^{2}\right)",
    "2 * x": r"2 \, x",
    "x.T @ g": r"x^{\top} \, g",
    "g / (2 * y)": r"\frac{g}{2 \, y}",
    "-g * x / y": r"-\frac{g \odot x}{y}",
    "exp(-x ** 2) / pi ** 0.5": r"\frac{e^{-x^{2}}}{\sqrt{\pi}}",
    "g.sum(0)": r"\sum_{0} g",
    "where(x > 0, g, 0)": r"\begin{cases} g & x > 0 \\ 0 & \text{else} \end{cases}",
    "abs(x)": r"\left\lvert x \right\rvert",
    "x[1:, 0]": r"{x}_{[1{:}, 0]}",
    "0.6931471805599453 * g": r"\ln 2 \, g",
    "1e-05 + x": r"10^{-5} + x",
    "softmax(x, 1)": r"\operatorname{softmax}\left(x, 1\right)",
}  # fmt: skip


@pytest.mark.parametrize("text", SET)
def test_an_expression_is_set_as_a_textbook_sets_it(text):
    assert latex(parsed(text)) == SET[text]


def test_names_are_symbols():
    assert [symbol(n) for n in ("x", "v3", "scores", "W_hh")] == ["x", "v_{3}", r"\mathrm{scores}", r"\mathrm{W\_hh}"]


def test_gradients_have_bars_and_single_numbers_no_sign_between():
    assert latex(parsed("g * x"), {"g": r"\bar{y}"}) == r"\bar{y} \odot x"
    assert latex(parsed("g * x"), {"g": r"\bar{y}"}, {"x"}) == r"\bar{y} \, x"


@pytest.mark.parametrize(
    "value, text",
    [
        (-1e9, "-1000000000"),
        (1e16, "1e+16"),
        (1 / 3, "1 / 3"),
        (0.1, "0.1"),
        (-2.0, "-2"),
        (1e-9, "1e-09"),
        (1234567.5, "1234567.5"),
    ],
)
def test_a_number_is_a_fraction_only_if_it_is_one(value, text):
    tree = number(value)
    assert ast.unparse(tree) == text and eval(text) == value
