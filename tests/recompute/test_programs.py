"""Programs of the kinds that pictures show, in pages: networks, transforms, training."""

import numpy as np
import pytest

import minigrad
from tests.formulas.evaluated import read
from tests.formulas.test_programs import PROGRAMS
from viz.recompute.library import script

from .node import LiveError, Page
from .sayings import compare, sayings

WITHOUT_JVP = ("sort", "nested", "mark_dirty", "adam")
OTHER_VIEW = {
    "hessian": "inside jvp, a call is that of one result, without its tangents",
    "dual numbers": "make_dual needs a dual level",
}


LONG = ("chain", "transformer", "lstm")  # hundreds of expressions


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n in LONG)) for n in PROGRAMS if n not in OTHER_VIEW]
)
def test_a_page_computes_the_numbers_of_a_program(name):
    program, x = PROGRAMS[name]
    passes = ("forward", "backward") if name in WITHOUT_JVP else ("forward", "backward", "jvp")
    made, arrays = read(minigrad.record(program, x.clone(), passes=passes))
    made.ops = [op for op in made.ops if not op.function]  # a Function's rules are the author's code
    found = list(sayings(made, arrays))
    with Page({text for text, _, _ in found}) as page:  # only what these expressions need
        for text, names, expected in found:
            compare(page.evaluate(text, names), expected, text)
    assert found


def test_a_page_gets_only_what_its_expressions_need():
    cube, loss = script({"x ** 3", "3 * x ** 2 * g"}), script({"cross_entropy(softmax(x, 1), t)"})
    assert "interpolate" not in loss and "cross_entropy" not in cube and len(cube) < len(loss) < len(script()) / 2
    with Page({"x ** 3"}) as page:
        assert page.evaluate("x ** 3", {"x": np.array([2.0])})[0] == 8
        with pytest.raises(LiveError, match="median is not live"):
            page.evaluate("x.median()", {"x": np.array([2.0])})
