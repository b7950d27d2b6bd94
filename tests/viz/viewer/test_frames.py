"""Modules and custom Functions as frames in the page: one screen holds a whole model, and each frame opens and closes."""

from functools import cache

import minigrad
import viz
from minigrad import nn
from minigrad.autograd import Function
from tools.picture_sizes import MODELS

from . import programs


@cache
def model(name):
    make, shape, _ = MODELS[name]
    minigrad.manual_seed(0)
    return viz.draw(make(), minigrad.randn(*shape), passes="all").record


def inside(outer, inner):
    """Return True if one rectangle of the screen is inside another."""
    right, low = (inner[side] + inner[size] for side, size in (("x", "width"), ("y", "height")))
    return (
        outer["x"] <= inner["x"]
        and outer["y"] <= inner["y"]
        and (right <= outer["x"] + outer["width"] + 1 and low <= outer["y"] + outer["height"] + 1)
    )


def names(page, selector):
    return [text.removeprefix("▾ ") for text in page.page.locator(f"{selector} .name").all_text_contents()]


def test_resnet18_opens_whole_on_one_screen_at_a_readable_size(viewer):
    page = viewer(model("ResNet18"), viewport={"width": 1440, "height": 900})
    stage = page.page.locator("#stage").bounding_box()
    cards = page.page.locator(".card")
    assert all(inside(stage, cards.nth(i).bounding_box()) for i in range(cards.count()))
    heights = page.page.locator(".card .paper").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().height)"
    )
    assert min(heights) >= 0.78 * 30
    assert names(page, ".k-fold")[0] == "Sequential[4] · Sequential  14 operations"


def test_a_module_opens_and_closes_in_place_by_click_and_by_key(viewer):
    page = viewer(model("ResNet18"))
    layer = "#fold-4-18"
    assert page.page.locator(layer).get_attribute("aria-expanded") == "false"
    page.page.click(f"{layer} .band")
    assert names(page, ".tab") == ["Sequential", "Sequential[4] · Sequential"]
    assert page.page.locator(layer).count() == 0
    assert (
        page.page.evaluate("document.querySelector('#op-4 .name').getBoundingClientRect().height") > 10
    )  # closer to it
    page.press("Enter")  # the frame has the focus
    assert page.page.locator(layer).count() == 1 and names(page, ".tab") == ["Sequential"]
    assert page.page.evaluate("document.activeElement.id") == "fold-4-18"
    page.press(" ")
    assert page.page.locator("#frame-4-18").get_attribute("aria-expanded") == "true"
    page.page.click("#frame-4-18")
    stage, after = (page.page.locator(one).bounding_box() for one in ("#stage", f"{layer} .paper"))
    assert inside(stage, after)
    assert page.step().startswith("Forward 0")  # Space did not play


def test_nested_frames_hold_their_cards(viewer):
    page = viewer(model("ResNet18"), reduced_motion="reduce")
    page.page.click("#fold-4-18 .band")
    page.page.click("#fold-4-11 .band")
    frames = [page.page.locator(".frame").nth(i).bounding_box() for i in range(3)]
    assert inside(frames[0], frames[1]) and inside(frames[1], frames[2])
    for op in range(5, 14):
        if page.page.locator(f"#op-{op}").count():
            assert inside(frames[2], page.page.locator(f"#op-{op} .paper").bounding_box())
    assert not inside(frames[0], page.page.locator("#value-0 .paper").bounding_box())  # the input


def test_equal_neighbours_are_one_box_that_opens(viewer):
    page = viewer(model("MLP of 12 layers"))
    assert names(page, ".k-fold") == ["Sequential[2] to Sequential[21] × 10"]
    before = page.page.locator(".card").count()
    page.page.click(".k-fold .band")
    assert page.page.locator(".card").count() == before + 19


def test_a_short_card_shows_the_value_of_the_pass(viewer):
    page = viewer(model("ResNet18"))
    assert page.text("#op-0 .brief .mono") == ""
    page.press("ArrowRight")
    assert "…" in page.text("#op-0 .brief .mono")
    page.press("b")
    assert page.text("#op-0 .brief .mono") == "grad –"
    page.press("End")
    assert page.text("#op-0 .brief .mono").startswith("tangent ")
    page.menu().page.uncheck("#short")
    assert "grad = " in page.text("#op-0")


def test_a_parameter_stands_on_the_card_that_uses_it_with_its_gradient(viewer):
    minigrad.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh())
    record = viz.draw(net, minigrad.randn(4, 2), passes=("forward", "backward")).record
    page = viewer(record).press("End")
    grads = [text for text in page.page.locator("#op-0 .held.r-grad").all_text_contents()]
    bias = next(value for value in record["values"] if value["shape"] == [3] and value["kind"] == "parameter")
    found = next(value for value in record["values"] if value["id"] == record["gradients"][str(bias["id"])])
    assert len(grads) == 2 and page.page.locator(".k-parameter").count() == 0
    assert f"{found['summary']['values'][0]:.4g}".replace("-", "\u2212") in grads[1]


def shown(page, what):
    return [text for text in page.page.locator(f".room.shown {what}").all_text_contents()]


def test_a_custom_function_is_open_and_shows_the_method_of_the_pass(viewer):
    page = viewer(programs.branches_record())
    assert shown(page, ".name") == ["▾ Cube.forward"]
    assert "x * x" in shown(page, ".i-op text")
    assert [text.split()[0] for text in shown(page, ".i-saved text")] == ["saves"]
    page.press("b")
    assert shown(page, ".name") == ["▾ Cube.backward"]
    assert "3 * x" in shown(page, ".i-op text")
    assert not page.page.locator(".room.shown .i-op .made").first.is_visible()  # backward has not been there
    page.press("End")
    assert shown(page, ".name") == ["▾ Cube.jvp"] and page.page.locator(".room.shown .i-op .made").first.is_visible()


def test_a_custom_function_closes_and_opens_by_click_and_by_key(viewer):
    page = viewer(programs.branches_record()).press("0")
    card = page.page.locator(".k-function")
    assert card.get_attribute("aria-expanded") == "true"
    card.locator(".band").click()
    assert card.get_attribute("aria-expanded") == "false" and page.page.locator(".room").count() == 0
    assert card.locator(".name").text_content().startswith("▸ Cube")
    page.press("Enter")
    assert card.get_attribute("aria-expanded") == "true"
    page.press(" ")
    assert card.get_attribute("aria-expanded") == "false" and page.step().startswith("Forward 0")


def test_the_boxes_of_an_open_function_are_inside_its_card(viewer):
    page = viewer(programs.branches_record()).press("0")
    for key in ("f", "b", "j"):
        page.press(key)
        card = page.page.locator(".k-function .paper").bounding_box()
        boxes = page.page.locator(".room.shown .inner rect")
        assert boxes.count() > 4 and all(inside(card, boxes.nth(i).bounding_box()) for i in range(boxes.count()))


def test_a_function_of_many_operations_starts_closed(viewer):
    page = viewer(programs.recorded(lambda x: Long.apply(x).sum(), minigrad.tensor([1.0, 2.0])))
    assert page.page.locator(".k-function").get_attribute("aria-expanded") == "false"
    page.page.click(".k-function .band")
    assert len(shown(page, ".i-op")) == 9


class Long(Function):
    @staticmethod
    def forward(x):
        for _ in range(9):
            x = x * 2
        return x

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return g * 512


def test_cards_are_coloured_by_the_size_of_their_gradients_and_by_saved_bytes(viewer):
    record = model("ResNet18")
    page = viewer(record)
    shades = lambda: page.page.locator(".card").evaluate_all(
        "all => all.map(one => /shade-(.)/.exec(one.className.baseVal)?.[1])"
    )
    assert not any(shades()) and not page.page.locator("#scale").is_visible()
    page.menu().page.select_option("#colour", "grad")
    inputs, *others = shades()
    assert inputs == "0" and {"1", "5"} <= set(others) and "0" not in others
    assert page.text("#scale").startswith(" norm of the gradient: ")
    page.page.select_option("#colour", "memory")
    saved = max(sum(one["bytes"] for one in op["saved"]) for op in record["ops"] if op["name"] == "linear")
    assert page.text("#scale").startswith(f" saved for backward: {saved / 1024:.1f} kB to ")
    page.page.select_option("#colour", "")
    assert not any(shades())


def test_the_page_opens_in_the_colours_of_the_picture(chromium, tmp_path):
    file = tmp_path / "x.html"
    viz.draw(lambda x: (x.exp() * x).sum(), minigrad.tensor([1.0, 2.0]), passes="all", color="grad").save(file)
    page = chromium.new_page()
    page.goto(file.as_uri())
    assert page.input_value("#colour") == "grad" and page.locator(".shade-5").count() >= 1
    page.close()


def test_the_page_opens_the_functions_that_the_picture_names(chromium, tmp_path):
    file = tmp_path / "x.html"
    for choice, expanded in ((None, "false"), ("Long", "true"), ("all", "true"), ("none", "false")):
        viz.draw(
            lambda x: Long.apply(x).sum(), minigrad.tensor([1.0, 2.0]), passes=("forward", "backward"), open=choice
        ).save(file)
        page = chromium.new_page()
        page.goto(file.as_uri())
        assert page.get_attribute(".k-function", "aria-expanded") == expanded
        page.close()
