"""NaN and infinities in the page: as Python writes them, in a colour, and with the numbers that made the first one."""

import pytest

import minigrad
from minigrad.errors import suppressed_warnings

from . import programs

pytestmark = pytest.mark.browser
INF = float("inf")


@pytest.fixture
def opened(viewer):
    def opened(f, *numbers):
        with suppressed_warnings():
            record = programs.recorded(f, minigrad.tensor(numbers, requires_grad=True))
        return viewer(record).press("End", "0")

    return opened


def texts(page, selector="#world"):
    return " ".join(page.page.locator(selector).all_text_contents())


@pytest.mark.parametrize("size", [3, 9, 20], ids=["whole", "range", "statistics"])
def test_minus_infinity_is_a_number_of_the_page(opened, size):
    page = opened(lambda x: (x.masked_fill(x > 0, -INF) * 1).exp().sum(), *[float(i) for i in range(size)])
    said = texts(page)
    assert ("[0, \u2212inf, \u2212inf]" if size == 3 else f"all 0 {size - 1} \u2212inf".replace("all ", "")) in said
    assert "Infinity" not in said and "NaN" not in said and " nan" not in said


def test_special_numbers_have_a_colour_and_the_first_nan_its_numbers(opened):
    page = opened(lambda x: (x / x).sum(), 0.0, 1.0)
    page.page.keyboard.press("Home")
    assert "grad: " not in texts(page) and page.press("End")
    assert "first NaN here: 0 / 0" in texts(page)
    assert "grad: first inf here: 1 / 0; first NaN here: -0 / 0" in texts(page)
    assert "nan" in texts(page, "#world .row .special")
    ink = page.page.eval_on_selector_all(
        "#world .row.r-value text tspan", "all => all.map(one => [one.className.baseVal, getComputedStyle(one).fill])"
    )
    assert len({fill for name, fill in ink if "special" in name}) == 1
    assert {fill for name, fill in ink if "special" in name}.isdisjoint(
        fill for name, fill in ink if "special" not in name
    )


def test_other_numbers_take_the_badge_away_and_bring_new_special_numbers(opened):
    page = opened(lambda x: (x / x).sum(), 0.0, 1.0)
    page.page.evaluate("minigrad.set('x', [2, 3])")
    page.page.locator("#world", has_not_text="first NaN").wait_for()
    assert "nan" not in texts(page, "#world .row")
    page.page.evaluate("minigrad.set('x', [Infinity, -Infinity])")
    page.page.locator("#world", has_text="[inf, \u2212inf]").wait_for()
