"""The site as a reader sees it: ten pages in both themes and on a phone, the search, the formulas, the film."""

import io
import re

import pytest
from PIL import Image, ImageStat

from tests.contrast import faint

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
        contexts.append(chromium.new_context(**{"reduced_motion": "reduce", **screen}))
        page = contexts[-1].new_page()
        page.set_default_timeout(60_000)  # on a busy machine a page takes its time
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
    """Return the median of a screenshot's lightness, from 0 to 255."""
    return ImageStat.Stat(Image.open(io.BytesIO(page.screenshot())).convert("L")).median[0]


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("path", PAGES)
def test_a_page_fits_its_screen_and_theme(visit, path, screen):
    page = visit(path, **SCREENS[screen])
    wide, tall = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    assert wide <= SCREENS[screen]["viewport"]["width"] and tall > 500
    assert lightness(page) > 200 if screen == "light" else lightness(page) < 80
    assert faint(page) == []


def test_words_that_are_too_faint_are_found(visit):
    page = visit("index.html", **SCREENS["light"])
    page.evaluate("document.querySelector('h1').style.color = '#ccc'")
    page.evaluate("document.querySelector('.film.wide .t-value').style.fill = '#999'")
    found = dict(faint(page))
    assert any(key.startswith("h1") for key in found) and any(key.startswith("text.t-value") for key in found)
    assert len(found) == 2


def test_the_film_runs_in_a_loop_until_it_is_paused(visit):
    page = visit("index.html", **SCREENS["light"], reduced_motion="no-preference")
    film = page.locator(".film.wide")
    step = "Number(getComputedStyle(document.querySelector('.film.wide svg')).getPropertyValue('--t'))"
    begun = page.evaluate(step)
    page.wait_for_function(f"{step} > {begun} + 0.3")
    page.evaluate("document.querySelector('.film.wide svg').getAnimations()[0].currentTime = 1e7")
    assert (
        page.evaluate(step) < 9999
        and page.evaluate("document.querySelector('.film.wide svg').getAnimations()[0].playState") == "running"
    )
    film.get_by_role("button", name="Pause").click()
    page.evaluate("document.querySelector('.film.wide svg').getAnimations()[0].ready")  # it pauses at the next frame
    halted = page.evaluate(step)
    page.wait_for_timeout(300)
    assert page.evaluate(step) == halted
    film.get_by_role("button", name="Play").click()
    page.wait_for_function(f"{step} != {halted}")


def test_a_reader_who_wants_no_motion_sees_the_end_of_the_film_and_may_start_it(visit):
    page = visit("index.html", **SCREENS["light"])
    shown = "[...document.querySelectorAll('.film.wide .at:not(.until, .pulse)')].map(e => Number(getComputedStyle(e).opacity))"
    assert set(page.evaluate(shown)) == {1}
    page.locator(".film.wide").get_by_role("button", name="Play").click()
    page.wait_for_function(f"{shown}.includes(0)")


@pytest.mark.parametrize("screen", SCREENS)
def test_pictures_fit_their_column_and_open_large_at_a_click(visit, screen):
    page = visit("howto/paper.html", **SCREENS[screen])
    figure = page.locator(".figure").last
    column, at = page.locator("article").bounding_box(), figure.locator("svg").bounding_box()
    assert column["x"] <= at["x"] and at["x"] + at["width"] <= column["x"] + column["width"]
    figure.get_by_role("button", name="Larger").click()
    dialog = page.get_by_role("dialog", name="The picture, large")
    assert dialog.locator("svg").bounding_box()["width"] > at["width"]
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")


@pytest.mark.parametrize("screen", SCREENS)
def test_without_scripts_a_live_picture_has_a_tab_for_each_pass(visit, screen):
    page = visit("start.html", **SCREENS[screen], java_script_enabled=False)
    figure = page.locator(".figure.passes").first
    for name in ("Backward", "JVP", "Forward"):
        figure.get_by_text(name, exact=True).click()
        shown = figure.locator("svg:visible")
        assert shown.count() == 1 and name in shown.get_attribute("aria-label")
    page.locator(".figure.passes input").first.focus()
    page.keyboard.press("ArrowRight")
    assert "Backward" in page.locator(".figure.passes").first.locator("svg:visible").get_attribute("aria-label")


def test_pictures_are_dark_in_the_dark_also_when_the_reader_changes_the_theme(visit):
    page = visit("howto/paper.html", **SCREENS["light"])
    paper = "getComputedStyle(document.querySelector('.figure .l-paper-op')).fill"
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    page.locator("label[title=Dark]").click()
    assert max(map(int, re.findall(r"\d+", page.evaluate(paper)))) < 80


def changed(page, label, number):
    """Change a number in the first live picture of a page; return the gradient of its value."""
    frame = page.frames[1]
    page.locator(".live iframe").first.scroll_into_view_if_needed()
    frame.wait_for_selector("[role=slider]")
    return frame.evaluate("([label, x]) => (minigrad.set(label, x), minigrad.get(label).grad)", [label, number])


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize(
    ("path", "label", "number", "gradient"),
    [("index.html", "w", 0.0, 0.0), ("lessons/01_numbers_that_remember.html", "a", -2.5, -5.0)],
)
def test_pictures_follow_a_changed_number(visit, path, screen, label, number, gradient):
    page = visit(path, **SCREENS[screen])
    assert changed(page, label, number) == pytest.approx(gradient)
    frame = page.locator(".live iframe").first.bounding_box()
    assert 300 < frame["height"] <= 720 and frame["width"] <= SCREENS[screen]["viewport"]["width"]


def test_the_first_picture_is_dragged_with_the_mouse(visit):
    page = visit("index.html", **SCREENS["light"])
    before = changed(page, "w", 0.5)
    at = page.frames[1].locator("[role=slider]", has_text="").first.bounding_box()
    page.mouse.move(at["x"] + 3, at["y"] + 3)
    page.mouse.down()
    page.mouse.move(at["x"] + 60, at["y"] + 3, steps=5)
    page.mouse.up()
    assert page.frames[1].evaluate("minigrad.get('w').grad") != before


@pytest.mark.parametrize("path", ["viewer.html", "index.html"])
def test_a_viewer_in_a_page_has_the_theme_of_the_page(visit, path):
    page = visit(path, **SCREENS["light"])
    (frame,) = page.frames[1:]
    frame.wait_for_function("document.documentElement.dataset.theme === 'light'")
    page.locator("label[title=Dark]").click()
    frame.wait_for_function("document.documentElement.dataset.theme === 'dark'")


def test_a_wide_table_stands_as_blocks_on_a_phone_each_cell_under_the_name_of_its_column(visit):
    page = visit("operations.html", **SCREENS["phone"])
    row = page.locator("article tbody tr").first
    heads = page.locator("article thead").first.locator("th").all_text_contents()
    assert row.locator("td").evaluate_all("all => all.map(one => one.dataset.label)") == heads
    places = row.locator("td").evaluate_all("all => all.map(one => one.getBoundingClientRect().right)")
    assert max(places) <= 390


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_wide_code_on_a_phone_is_shaded_at_the_edge_where_it_goes_on(visit, scheme):
    page = visit("lessons/02_combined_form.html", **{**SCREENS["phone"], "color_scheme": scheme})
    every = page.locator("article pre > code")
    wide = every.evaluate_all("all => all.map((code) => code.scrollWidth - code.clientWidth > 20)")
    code = every.nth(wide.index(True))

    def edges():
        """Return the lightness of the first column, the middle and the last column of the code's empty lines."""
        picture = Image.open(io.BytesIO(code.screenshot())).convert("L")
        columns = 1, picture.width // 2, picture.width - 2
        return [ImageStat.Stat(picture.crop((x, 0, x + 1, picture.height))).median[0] for x in columns]

    left, plain, right = edges()
    assert abs(left - plain) < 3 and abs(right - plain) > 15
    code.evaluate("code => (code.scrollLeft = code.scrollWidth)")
    left, plain, right = edges()
    assert abs(left - plain) > 15 and abs(right - plain) < 3


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


SEARCH = """async ([worker, query]) => {
  const index = await (await fetch("search/search_index.json")).json();
  const made = new Worker(worker);
  const answer = (message) => new Promise((done) => {
    made.onmessage = ({ data }) => data.type === message.type + 1 && done(data.data);
    made.postMessage(message);
  });
  await answer({ type: 0, data: { ...index, options: { suggest: false } } });
  const { items } = await answer({ type: 2, data: `${query.split(" ").join("* ")}*` }); // as the page asks while one types
  return items.map(([first]) => first.location.split("#")[0]);
}"""
SYMPTOMS = "errors.html", "mistakes/", "howto/"


@pytest.mark.parametrize(
    "query", ["backward a second time", "trying to backward through the graph a second time", "gradient is None",
              "grad is None", "DDP", "a leaf Variable is used in an inplace operation"]
)  # fmt: skip
def test_a_symptom_leads_to_its_page_among_the_first_three(visit, site, query):
    (worker,) = site.glob("assets/javascripts/workers/search*.js")
    page = visit("index.html", **SCREENS["light"])
    found = page.evaluate(SEARCH, [worker.relative_to(site).as_posix(), query])
    assert any(one.startswith(SYMPTOMS) for one in found[:3]), found[:6]


@pytest.mark.parametrize("query", ["grad", "is_tensor"])
def test_names_still_lead_to_the_reference(visit, site, query):
    (worker,) = site.glob("assets/javascripts/workers/search*.js")
    page = visit("index.html", **SCREENS["light"])
    found = page.evaluate(SEARCH, [worker.relative_to(site).as_posix(), query])
    assert any(one.startswith("reference/") for one in found[:3]), found[:6]


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
