"""Stepping through the methods of open custom Functions, Functions inside others, and the move when a frame opens."""

import pytest

import viz
from minigrad import tensor
from minigrad.autograd import Function
from tests.functions import Exp

from . import programs

pytestmark = pytest.mark.browser


class Twice(Function):
    """A Function that applies another one, in forward and in backward."""

    @staticmethod
    def forward(ctx, x):
        inner = Exp.apply(x)
        y = Exp.apply(inner * 0.5)
        ctx.save_for_backward(inner, y)
        return y

    @staticmethod
    def backward(ctx, g):
        inner, y = ctx.saved_tensors
        return g * y * 0.5 * Exp.apply(inner.log())


def twice(x):
    return Twice.apply(x).sum()


def cube_record():
    return programs.recorded(programs.cube, tensor([1.0, 2.0, 3.0]))


def twice_record():
    return programs.recorded(twice, tensor([0.5, 1.0]))


def walk(page, key="ArrowRight"):
    """Step until nothing changes; return the address and the caption of each step."""
    found = [address(page)]
    while address(page.press(key)) != found[-1]:
        found.append(address(page))
    return found


def address(page):
    return page.page.evaluate("location.hash")


def caption(page):
    return page.page.locator("#caption b, #caption i").all_text_contents()


def now(page):
    return page.page.locator(".room.shown .inner.now").all_text_contents()


def test_steps_go_through_the_methods_of_an_open_function(viewer):
    page = viewer(cube_record())
    assert walk(page) == [
        *["#forward-0", "#forward-1.1", "#forward-1.2", "#forward-1.3", "#forward-1", "#forward-2", "#forward-3"],
        *["#backward-0", "#backward-1", "#backward-2", "#backward-3"],
        *["#backward-4.1", "#backward-4.2", "#backward-4.3", "#backward-4.4", "#backward-4"],
        *["#jvp-0", *(f"#jvp-1.{i}" for i in range(1, 6)), "#jvp-1", "#jvp-2", "#jvp-3"],
    ]


def test_going_back_is_the_inverse(viewer):
    page = viewer(twice_record()).press("f")
    there = walk(page)
    assert walk(page, "ArrowLeft") == there[::-1]
    page.press("Home", "ArrowRight", "ArrowRight")
    before = page.page.locator("#world").inner_html(), caption(page)
    page.press("ArrowRight", "ArrowLeft")
    page.page.wait_for_timeout(300)  # the view may have glided
    assert (page.page.locator("#world").inner_html(), caption(page)) == before


def test_the_caption_has_the_line_of_the_method_and_its_values(viewer):
    page = viewer(cube_record(), "#backward-4.3")
    rule, line, result, name = caption(page)
    assert (rule, result, name) == ("v4 * x", "[6, 12, 18]", "v5")
    assert now(page) == ["v4 * xv5 = [6, 12, 18]"]
    assert line.startswith("MyCube.backward, line ") and line.endswith(": return grad_output * dx + grad_dx * 6 * x")
    assert page.text("#caption small") == "v4 = [6, 6, 6], x = [1, 2, 3]"
    assert page.step() == "Backward 4 of 4operation 3 of 4"
    assert "return grad_output * dx" in page.text("#source .now")
    page.press("ArrowRight", "ArrowLeft")
    assert page.text("#status").startswith("Backward 4 of 4, operation 3 of 4: MyCube.backward, line ")


def test_values_inside_appear_step_by_step_and_the_results_after_the_last(viewer):
    page = viewer(cube_record()).press("ArrowRight")
    made = page.page.locator(".room.shown .i-op .made")
    visible = lambda: [made.nth(i).is_visible() for i in range(made.count())]
    assert visible() == [True, False, False] and now(page) == ["x ** 3y = [1, 8, 27]"]
    page.press("ArrowRight", "ArrowRight")
    assert visible() == [True, True, True]
    assert page.text("#details .unknown").startswith("–")  # the Function has not returned
    page.press("ArrowRight")
    assert now(page) == [] and page.page.locator("#details .unknown small", has_text="forward").count() == 0


def test_a_gradient_that_enters_a_method_appears_with_its_first_operation(viewer):
    page = viewer(cube_record(), "#backward-0")
    port = page.page.locator(".room.shown .i-port", has_text="grad_output")
    assert not port.locator(".made").is_visible()
    page.press(*["ArrowRight"] * 4)
    assert port.locator(".made").text_content() == " = [1, 1, 1]" and port.locator(".made").is_visible()


def test_play_enters_an_open_function(viewer):
    page = viewer(twice_record())
    page.page.evaluate(
        """() => { window.seen = []; new MutationObserver(() => window.seen.push(document.querySelector('#where').textContent))
            .observe(document.querySelector('#where'), {childList: true}); }"""
    )
    page.press("]", "]", "]", "Space")
    page.page.locator("#play", has_text="Replay").wait_for()
    seen = page.page.evaluate("window.seen")
    assert [one for one in seen if "operation" in one] == [
        *(f"Forward 1 of 2operation {i} of 5" for i in range(1, 6)),
        *(f"Backward 2 of 2operation {i} of 6" for i in range(1, 7)),
    ]


def test_a_closed_function_is_one_step(viewer):
    page = viewer(cube_record()).press("0")
    page.page.click(".k-function .band")
    page.page.locator(".k-function").press("f")
    assert walk(page)[:3] == ["#forward-0", "#forward-1", "#forward-2"]
    assert page.page.locator("#slider").get_attribute("max") == str(4 + 5 + 4 - 1)


def test_the_reader_stays_at_the_operation_when_a_function_closes_and_opens(viewer):
    page = viewer(cube_record(), "#backward-4.2").press("0")
    page.page.click(".k-function .band")
    assert address(page) == "#backward-4"
    page.press("Enter")
    assert address(page) == "#backward-4" and page.page.locator(".k-function").get_attribute("aria-expanded") == "true"
    page.press("ArrowLeft")
    assert address(page) == "#backward-4.4"


def test_an_address_inside_a_function_opens_it(viewer):
    page = viewer(cube_record(), "#forward-1.2")
    assert now(page) == ["x ** 2v0 = [1, 4, 9]"]
    page.page.click(".k-function .band")
    page.page.evaluate("location.hash = '#backward-4.1'")
    page.page.locator(".inner.now", has_text="grad_output * dx").wait_for()
    assert page.page.locator(".k-function").get_attribute("aria-expanded") == "true"


def test_a_function_inside_another_is_a_frame_that_closes_by_click_and_opens_by_key(viewer):
    page = viewer(twice_record(), reduced_motion="reduce").press("0")
    heads = page.page.locator(".heads.shown .head")
    expanded = lambda: heads.evaluate_all("all => all.map(one => one.getAttribute('aria-expanded'))")
    assert expanded() == ["true", "true"]
    assert page.page.locator(".room.shown .open .name").all_text_contents() == ["▾ Exp.forward", "▾ Exp.forward"]
    heads.nth(0).click()
    assert expanded() == ["false", "true"] and page.page.locator(".room.shown .open").count() == 1
    assert page.page.locator(".room.shown .i-function:not(.open)").text_content().startswith("▸ Exp(x)")
    page.press("Enter")  # it has the focus
    assert expanded() == ["true", "true"]
    page.press(" ")
    assert expanded() == ["false", "true"] and page.step().startswith("Forward 0")
    assert page.page.locator(".k-function").get_attribute("aria-expanded") == "true"


def test_a_closed_function_inside_another_is_one_step_and_keeps_the_numbers(viewer):
    page = viewer(twice_record(), "#forward-1.1").press("0")
    page.page.locator(".heads.shown .head").nth(0).click()
    assert address(page) == "#forward-1.2"  # the Function itself, as its inside is closed
    page.press("Home")
    assert walk(page)[1:5] == ["#forward-1.2", "#forward-1.3", "#forward-1.4", "#forward-1.5"]


def test_the_frame_of_an_inner_function_holds_its_boxes_in_each_pass(viewer):
    page = viewer(twice_record()).press("0")
    for key, boxes in (("f", 6), ("b", 3)):
        page.press(key)
        found = page.page.evaluate(
            """() => { const sides = one => one.querySelector('rect').getBoundingClientRect();
                const inside = (a, b) => a.left < b.left && a.top < b.top && b.right < a.right && b.bottom < a.bottom;
                const all = [...document.querySelectorAll('.room.shown .inner')].map(sides);
                const frames = [...document.querySelectorAll('.room.shown .open')].map(sides);
                return frames.map(frame => all.filter(one => inside(frame, one)).length); }"""
        )
        assert sum(found) == boxes


def test_the_page_opens_an_inner_function_that_is_named(chromium, tmp_path):
    file = tmp_path / "x.html"
    for choice, opened in (("Exp", 2), ("Twice", 0)):
        viz.draw(twice, tensor([0.5, 1.0]), passes=("forward", "backward"), open=choice).save(file)
        page = chromium.new_page()
        page.goto(file.as_uri())
        assert page.get_attribute(".k-function", "aria-expanded") == "true"
        assert page.locator(".room.shown .open").count() == opened
        page.close()


def test_a_click_on_a_line_of_a_method_opens_the_function_at_its_next_operation(viewer):
    page = viewer(cube_record()).press("0")
    page.page.click(".k-function .band")
    line = page.page.locator("#source .ran", has_text="return grad_output * dx")
    for number in ("4.1", "4.2"):
        line.click()
        assert address(page) == f"#backward-{number}"
    assert page.page.locator(".k-function").get_attribute("aria-expanded") == "true"


MOVES = """() => document.getAnimations().filter(one => !(one instanceof CSSTransition)).map(one =>
    [one.effect.target.id, Number(one.effect.getTiming().duration), one.effect.getKeyframes().length])"""


def test_cards_move_to_their_new_places_when_a_function_opens(viewer):
    page = viewer(cube_record()).press("0")
    page.page.wait_for_timeout(400)
    assert page.page.evaluate(MOVES) == []
    page.page.click(".k-function .band")
    moves = page.page.evaluate(MOVES)
    assert {"op-0", "op-1", "op-2", "value-0"} <= {card for card, *_ in moves}
    assert all(duration <= 300 for _, duration, _ in moves)
    page.page.wait_for_timeout(400)
    assert page.page.evaluate(MOVES) == []


def test_nothing_moves_where_reduced_motion_is_set(viewer):
    page = viewer(cube_record(), reduced_motion="reduce").press("0")
    page.page.click(".k-function .band")
    assert page.page.evaluate(MOVES) == []
