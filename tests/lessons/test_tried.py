"""The questions below pictures, "Try it": the picture's own page gives the answer when the number is dragged."""

import re

import pytest

from lessons import lessons
from tests.browser import launched

from .solved import solutions

pytestmark = [pytest.mark.browser, pytest.mark.slow]
# lesson -> what a reader changes, and numbers of the picture that then are the answer
TRIED = {
    1: ("set('a', -2.5)", "[get('a').grad / 2]"),
    2: ("set('x', [Math.log(2), 1])", "[get('v0').value[0], get('x').grad[0] / 3]"),
    3: ("set('x', [0, 0])", "[get('x').grad[1]]"),
    4: ("setGrad(minigrad.labels().at(-1), 0.5)", "[get('x').grad / 2 / Math.exp(1)]"),
    5: ("set('x', 0)", "[get('v3').tangent]"),
    6: ("set('x', 0)", "[get('v1').value, 1 + get('x').grad, 1 + get('v1').tangent]"),
    7: ("set('x', [-1.7461, 1, 2, 3])", "[get('v0').value[0], 0.1745 + get('x').grad[0]]"),
    8: ("set('x', [0, 1, 2, 5])", "[get('x').grad[3] / 2]"),
    9: ("set('x', [7, 2])", "[get('y').grad[0], 20 + get('x').grad[0]]"),
    10: ("set('leaf', [0, 2])", "[get('leaf').grad[0], 15 + get('v0').value[0]]"),
}


@pytest.fixture(scope="module")
def chromium():
    with launched() as browser:
        yield browser


def drawing(one):
    """Return the first picture of a lesson."""
    text = one.path.read_text(encoding="utf-8")
    first = re.search(r"^(?:picture = )?((draw|live)\(.*)$", text, re.MULTILINE)
    names = {"__name__": "__main__"}
    exec(compile(text[: first.start()], one.path.name, "exec"), names)
    made = eval(first[1], names)
    return made.drawing if first[2] == "live" else made


@pytest.mark.parametrize("number", TRIED)
def test_the_picture_gives_the_answer(chromium, tmp_path, number):
    one = lessons()[number - 1]
    name = next(iter(one.exercises))
    assert f'lessons.check("{name}"' in one.path.read_text(encoding="utf-8").partition("**Try it.**")[2][:600]
    drawing(one).save(tmp_path / "picture.html")
    page = chromium.new_page()
    page.goto((tmp_path / "picture.html").as_uri())
    change, answer = TRIED[number]
    script = f"async () => {{ await minigrad.ready; const {{ get }} = minigrad; minigrad.{change}; return {answer}; }}"
    expected: dict = {}
    exec(solutions(one)[name], expected)
    found = page.evaluate(script)
    assert found == pytest.approx([expected[name]] * len(found), rel=1e-2)
