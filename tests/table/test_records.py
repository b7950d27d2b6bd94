"""The record of each operation: its call, the formulas of its gradients and tangents can be evaluated and typeset."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import minigrad
from minigrad.ops.base.registry import TABLE
from tests.browser import launched
from tests.floats import some
from tests.formulas.evaluated import check, check_all_tangents, read
from tests.latex import typeset
from tests.table import SMOOTH, each_operation, run, tracked

KATEX = Path(__file__).parent.parent.parent / "docs" / "katex" / "katex.min.js"


def recorded(name, sample):
    """Return the record of a sample, with another gradient for each result and another tangent for each leaf.

    The leaves are multiplied by powers of two, which changes none of the operation's numbers: so no factor of a formula is 1.
    """
    random = np.random.default_rng(0)
    factors = [minigrad.tensor(random.choice([-2.0, -0.5, 0.5, 4.0], tuple(x.shape))) for x in run(name, sample)[1]]

    def program(*given):
        result, _ = run(name, sample, leaves=[x * c for x, c in zip(given, factors)])
        return [t * minigrad.tensor(random.uniform(0.5, 1.5, tuple(t.shape)), dtype=t.dtype) for t in tracked(result)]

    leaves = [(x / c).requires_grad_() for x, c in zip(run(name, sample)[1], factors)]
    return minigrad.record(program, *leaves)


@each_operation(some(SMOOTH))
def test_the_texts_of_a_record_evaluate_to_its_numbers(name, sample):
    rec = recorded(name, sample)
    made, arrays = read(rec)
    assert check(made, arrays) or not made.ops
    check_all_tangents(rec)


@cache
def all_latex():
    """Return the LaTeX of all edges and pushes of the samples of the table."""
    ops = [op for name in SMOOTH for sample in TABLE[name].samples for op in read(recorded(name, sample))[0].ops]
    return sorted(
        {edge.latex for op in ops for edge in op.edges} | {p["latex"] for op in ops for p in op.pushes} - {""}
    )


@pytest.mark.slow
def test_katex_sets_all_formulas():
    with launched() as browser:
        page = browser.new_page()
        page.add_script_tag(path=str(KATEX))
        texts = all_latex()
        wrong = page.evaluate(
            """texts => texts.flatMap(text => {
                try { katex.renderToString(text, {throwOnError: true, strict: "error"}); return []; }
                catch (e) { return [`${text}: ${e.message}`]; }
            })""",
            texts,
        )
    assert len(texts) > 2000 and not wrong, wrong[:5]


@pytest.mark.slow
def test_latex_sets_all_formulas(tmp_path):
    head = r"\documentclass{article}\usepackage{amsmath,amssymb}\hbadness=10000 \begin{document}"
    formulas = "\n\n".join(f"${text}$" for text in all_latex())
    typeset("\n".join([head, formulas, r"\end{document}"]), tmp_path)
