"""Expressions that strangers may put into a link: each ends within the budget, with a value or a sentence.

What an expression costs is counted, not timed: the elements and the calls that it makes. Both bound the time and the memory of a page.
"""

import pytest

from .hostile_expressions import DIRECTED, expressions
from .node import Page

WORK, CALLS = 2**24, 2**18  # the limits of a link
ONCE = 2**25  # elements that one step may count before it is refused: a product of two matrices at the limit is 2 ** 22.5


@pytest.fixture(scope="module")
def page():
    with Page(evaluator="attack.mjs") as made:
        yield made


def answer(page, text):
    """Return what an expression gives or says in a page, if it stays within its budget."""
    found = page.ask(text)
    shown = f"{ascii(text)[:200]}: {ascii(found)}"
    assert "crash" not in found and " ms" not in found.get("said", ""), shown
    assert found["work"] <= ONCE and found["calls"] <= CALLS + 1, shown
    assert found.get("gave") != "undefined", shown
    return found


@pytest.mark.parametrize("text", DIRECTED, ids=lambda text: ascii(text)[:40])
def test_an_expression_made_to_hang_a_page_gives_a_value_or_says_which_limit_it_passes(page, text):
    found = answer(page, text)
    words = DIRECTED[text]
    assert ("gave" in found) == (not words) and words in found.get("said", ""), ascii(found)
    assert len(found.get("said", "")) <= 200


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 100))])
def test_random_expressions_end_within_the_budget(page, seed):
    found = [answer(page, text) for text in expressions(seed, 50)]
    assert sum("gave" in one for one in found) >= 1 and sum("said" in one for one in found) >= 1
