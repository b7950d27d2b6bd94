"""The site as a reader sees it: ten pages in both themes and on a phone, the search, the formulas, the film."""

import io

import pytest
from PIL import Image, ImageStat

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PAGES = """index.html start.html lessons/index.html lessons/01_numbers_that_remember.html drawing.html viewer.html
operations.html explain.html performance.html mistakes/index.html reference/minigrad.html""".split()
SCREENS = {
    "light": {"viewport": {"width": 1300, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1300, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark", "has_touch": True},
}


@pytest.fixture
def visit(chromium, address):
    """Opens pages; fails the test for what a page complains of, or asks of another host."""
    problems, contexts = [], []

    def opened(path, **screen):
        contexts.append(chromium.new_context(reduced_motion="reduce", **screen))
        page = contexts[-1].new_page()
        page.set_default_timeout(15_000)
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "request",
            lambda request: (
                problems.append(request.url) if not request.url.startswith((address, "data:", "blob:")) else 0
            ),
        )
        page.on(
            "response", lambda answer: problems.append(f"{answer.status} {answer.url}") if answer.status >= 400 else 0
        )
        page.goto(f"{address}/{path}", wait_until="networkidle")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not problems


def lightness(page):
    """The median of a screenshot's lightness, from 0 to 255."""
    return ImageStat.Stat(Image.open(io.BytesIO(page.screenshot())).convert("L")).median[0]


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("path", PAGES)
def test_a_page_fits_its_screen_and_theme(visit, path, screen):
    page = visit(path, **SCREENS[screen])
    wide, tall = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    assert wide <= SCREENS[screen]["viewport"]["width"] and tall > 500
    assert lightness(page) > 200 if screen == "light" else lightness(page) < 80


def test_search_finds_a_name(visit):
    page = visit("index.html", **SCREENS["light"])
    page.locator("input.md-search__input").click()
    page.keyboard.type("save_for_backward")
    found = page.locator(".md-search-result__link")
    found.first.wait_for()
    assert "save_for_backward" in page.locator(".md-search-result__list").inner_text()
    found.first.click()
    page.wait_for_load_state()
    assert "save_for_backward" in page.locator("article").inner_text()


def test_formulas_are_set_without_asking_another_host(visit):
    page = visit("maths.html", **SCREENS["light"])
    assert page.locator(".katex").count() == 3 and page.locator(".katex-display").count() == 1
    assert page.locator("article code").inner_text() == r"\(code\)"
    assert page.evaluate("document.fonts.check('12px KaTeX_Main')")


@pytest.mark.parametrize(("screen", "shown", "hidden"), [("light", "wide", "tall"), ("phone", "tall", "wide")])
def test_the_front_page_shows_the_film_that_fits(visit, screen, shown, hidden):
    page = visit("index.html", **SCREENS[screen])
    assert page.locator(f".film.{shown} svg").is_visible() and not page.locator(f".film.{hidden} svg").is_visible()
    assert "tangents" in page.locator(f".film.{shown} svg").get_attribute("aria-label")


def test_a_solution_opens_at_a_click(visit):
    page = visit("lessons/01_numbers_that_remember.html", **SCREENS["phone"])
    solution = page.locator("details.success").first
    assert not solution.locator("code").is_visible()
    solution.locator("summary").click()
    assert solution.locator("code").is_visible()
