"""The viewer for everyone: by keyboard, read aloud, on a phone, in both themes."""

import pytest

from tests.contrast import faint

from .. import records
from . import programs

pytestmark = pytest.mark.browser


def test_the_arrows_up_and_down_walk_through_the_graph(viewer):
    page = viewer(records.two_uses())
    page.page.locator("#op-1").focus()
    page.press("ArrowDown")
    assert page.page.evaluate("document.activeElement.id") == "op-2"
    page.press("ArrowUp", "ArrowUp")
    assert page.page.evaluate("document.activeElement.id") == "op-0"
    assert page.text("#details h2").startswith("mul")


def test_the_tabulator_leads_into_the_graph_and_out_of_it(viewer):
    page = viewer(records.two_uses())
    page.page.locator("#more > summary").focus()
    page.press("Tab")
    assert page.page.evaluate("document.activeElement.classList.contains('card')")
    page.press("Tab")
    assert page.page.evaluate("document.activeElement.id") == "larger"


def test_everything_that_can_be_pressed_has_a_name(viewer):
    page = viewer(records.mlp()).press("End")
    nameless = page.page.evaluate(
        """() => { const named = one => one.getAttribute('aria-label') || one.textContent.trim()
                                  || one.labels?.[0]?.textContent.trim();
            const all = document.querySelectorAll('button, input, select, [role=button], [tabindex]');
            return [...all].filter(one => !named(one)).map(one => one.outerHTML); }"""
    )
    assert nameless == []


def test_each_step_is_read_aloud_as_a_sentence(viewer):
    page = viewer(records.two_uses()).press("ArrowRight")
    assert page.page.locator("#status").get_attribute("role") == "status"
    assert page.text("#status").startswith("Forward 1 of 4")
    page.press("b", "ArrowRight", "ArrowRight")
    assert page.text("#status") == (
        "Backward 2 of 7: incoming gradient g 1, rule of mul g * h = 1 * 0.6044 equals contribution 0.6044 to the "
        "gradient of w, together grad w 0.6044 + … 1 of 2 contributions"
    )


def test_of_steps_that_play_faster_than_speech_only_the_last_is_read_aloud(viewer):
    page = viewer(records.two_uses())
    page.page.evaluate(
        """() => { window.announced = []; const status = document.querySelector('#status');
            new MutationObserver(() => window.announced.push(status.textContent)).observe(status, {childList: true}); }"""
    )
    page.press("]", "]", "]", "]", "Space")
    page.page.locator("#where", has_text="JVP 4 of 4").wait_for()
    page.page.locator("#play", has_text="Play").wait_for()
    announced = page.page.evaluate("window.announced")
    assert len(announced) == 1 and announced[0].startswith("JVP 4 of 4")


def test_the_card_of_the_step_says_so(viewer):
    page = viewer(records.two_uses()).press("ArrowRight", "ArrowRight")
    assert page.page.locator(".card[aria-current=step]").evaluate_all("all => all.map(one => one.id)") == ["op-1"]


def test_the_tabulator_goes_through_the_page_in_the_order_of_reading(viewer):
    page, order = viewer(records.two_uses()).press("ArrowRight"), []
    for _ in range(30):
        page.press("Tab")
        order.append(
            page.page.evaluate("document.activeElement.closest('header, #stage, aside, footer, body').localName")
        )
    regions = [name for name, before in zip(order, [None, *order]) if name != before]
    assert regions[:4] == ["header", "section", "aside", "footer"]
    assert page.page.evaluate("[...document.querySelectorAll('[tabindex]')].every(one => one.tabIndex <= 0)")


def test_what_has_the_focus_is_seen_to_have_it(viewer):
    page = viewer(records.two_uses())
    for name in ("#step", "#share", "#larger", "#back", "#slider"):
        page.page.locator(name).focus()
        page.press("Shift+Tab", "Tab")
        assert page.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none", name


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("fragment", ["#0", "#forward-2", "#backward-3", "#jvp-2"])
def test_every_word_can_be_read_at_any_step_in_both_themes(viewer, scheme, fragment):
    page = viewer(programs.branches_record(), fragment, color_scheme=scheme)
    page.press("?")
    assert faint(page.page) == []
    page.press("Escape", "ArrowDown")
    assert faint(page.page) == []


PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


def test_on_a_phone_the_drawing_and_the_sentence_fit_the_screen(viewer):
    page = viewer(records.two_uses(), "#backward-3", **PHONE)
    wide = page.page.evaluate(
        """() => [document.documentElement, ...document.querySelectorAll('header, #sentence, #caption > *, footer')]
            .filter(one => one.getBoundingClientRect().right > 390).map(one => one.outerHTML)"""
    )
    assert wide == []
    assert page.page.evaluate("document.querySelector('#stage').clientHeight") > 300
    cards = page.page.evaluate(
        "[...document.querySelectorAll('.card')].map(one => one.getBoundingClientRect()).map(at => [at.left, at.right])"
    )
    assert min(left for left, _ in cards) >= 0 and max(right for _, right in cards) <= 390


@pytest.mark.parametrize("name", ["step", "training_step", "a_function_with_a_name_that_fills_the_whole_line"])
def test_on_a_phone_a_long_name_is_cut_and_widens_nothing(viewer, name):
    record = records.mlp()
    record["program"]["name"] = name
    page = viewer(record, **PHONE).page
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.evaluate("document.querySelector('#tools').getBoundingClientRect().right") <= 390


@pytest.mark.parametrize("width", [600, 390])
def test_a_narrow_frame_shows_all_cards_and_shades_the_edge_where_there_are_more(viewer, width):
    page = viewer(records.two_uses(), viewport={"width": width, "height": 576}).page  # the height of a notebook's frame
    whole = """() => { const stage = document.querySelector('#stage').getBoundingClientRect();
        return [...document.querySelectorAll('.card')].map(card => card.getBoundingClientRect()).filter(card => card.left >=
            stage.left && card.right <= stage.right && card.top >= stage.top && card.bottom <= stage.bottom).length }"""
    assert page.evaluate(whole) == 7
    shaded = "edge => parseInt(document.querySelector('#stage').style.getPropertyValue(`--${edge}`)) > 0"
    assert not page.evaluate(shaded, "down")
    page.keyboard.press("+")
    page.keyboard.press("+")
    assert page.evaluate(shaded, "down") and page.evaluate(shaded, "up")
    page.locator("#fit").click()
    assert page.evaluate(whole) == 7 and not page.evaluate(shaded, "down")


def test_a_pane_that_opens_in_a_narrow_frame_leaves_the_card_of_the_step_in_sight(viewer):
    page = viewer(records.two_uses(), "#forward-3", viewport={"width": 390, "height": 576}).page
    page.get_by_role("button", name="Details").click()
    page.wait_for_function("""() => { const stage = document.querySelector('#stage').getBoundingClientRect();
        const card = document.querySelector('.card.now .paper').getBoundingClientRect();
        return stage.height < 250 && card.top >= stage.top && card.bottom <= stage.bottom }""")


def test_on_a_phone_a_card_opens_the_pane_with_its_details_and_one_pane_shows_at_a_time(viewer):
    page = viewer(programs.branches_record(), "#2", **PHONE).page
    assert not page.locator("#details").is_visible() and not page.locator("#program").is_visible()
    page.locator(".card.now .band").first.tap()
    assert page.locator("#details").is_visible() and page.locator(".card.now").first.is_visible()
    page.get_by_role("button", name="Program").tap()
    assert page.locator("#program").is_visible() and not page.locator("#details").is_visible()
    assert page.locator("#source").bounding_box()["width"] > 350
    page.get_by_role("button", name="Program").tap()
    assert not page.locator("#program").is_visible()
