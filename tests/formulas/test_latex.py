"""LaTeX: what each construct becomes, and that KaTeX, as the pages have it, and LaTeX can set all that records say."""

from functools import cache
from pathlib import Path

import pytest

from minigrad.formulas.expression import parsed
from minigrad.formulas.latex import latex, symbol
from minigrad.ops.base.registry import TABLE
from tests import table
from tests.browser import launched
from tests.latex import typeset

from .test_documents import document
from .test_formulas import leaves

KATEX = Path(__file__).parent.parent.parent / "docs" / "katex" / "katex.min.js"
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


@cache
def all_that_records_say():
    """Return the LaTeX of all edges and pushes of the samples of the table."""
    found = set()
    for name in table.SMOOTH:
        for sample in TABLE[name].samples:

            def run(*given, name=name, sample=sample):
                result, _ = table.run(name, sample, leaves=list(given))
                return [t for t in table.floats(result) if t.requires_grad]

            made, _ = document(run, *leaves(TABLE[name], sample))
            for op in made.ops:
                found |= {edge.latex for edge in op.edges} | {push["latex"] for push in op.pushes}
    return sorted(found - {""})


@pytest.mark.slow
def test_katex_sets_all_of_it():
    with launched() as browser:
        page = browser.new_page()
        page.add_script_tag(path=str(KATEX))
        texts = all_that_records_say()
        wrong = page.evaluate(
            """texts => texts.flatMap(text => {
                try { katex.renderToString(text, {throwOnError: true, strict: "error"}); return []; }
                catch (e) { return [`${text}: ${e.message}`]; }
            })""",
            texts,
        )
    assert len(texts) > 2000 and not wrong, wrong[:5]


@pytest.mark.slow
def test_latex_sets_all_of_it(tmp_path):
    head = r"\documentclass{article}\usepackage{amsmath,amssymb}\hbadness=10000 \begin{document}"
    formulas = "\n\n".join(f"${text}$" for text in all_that_records_say())
    typeset("\n".join([head, formulas, r"\end{document}"]), tmp_path)
