"""The experiments of a live page, driven in a headless browser: the tangent, downhill, what if."""

import pytest

from minigrad import tensor

from . import programs

pytestmark = pytest.mark.browser


def valley(w, x):
    return ((w * x - 2) ** 2).sum()


def cubes(x, w):
    return (programs.Cube.apply(x) * w).sum()


def valley_record(**options):
    return programs.recorded(valley, tensor([0.5, 1.5], requires_grad=True), tensor([2.0, 1.0]), **options)


def cubes_record():
    return programs.recorded(cubes, tensor([1.0, -2.0]), tensor([0.5, 3.0]))


def opened(viewer, record, name):
    page = viewer(record)
    page.page.click(f"#tries [data-name={name}]")
    return page


def slide(page, k):
    """Move the slider of the panel to 10 ** (k / 3)."""
    page.page.locator("#try input[type=range]").fill(str(k))


def cells(page):
    return [
        float(text.replace("\u2212", "-")) for text in page.page.locator("#try tr:not(.names) td").all_text_contents()
    ]


def shown(page, *texts):
    """Wait until the panel has these texts."""
    for text in texts:
        page.page.locator("#try", has_text=text).wait_for()


def test_a_finite_difference_stands_beside_the_tangent_and_loses_its_digits_for_small_h(viewer):
    page = opened(viewer, valley_record(), "tangent")
    tangent, ratio, difference = cells(page)
    assert tangent == pytest.approx(-5) and ratio == pytest.approx(-5, abs=0.02)
    assert difference == pytest.approx(abs(tangent - ratio), abs=1e-4)
    slide(page, -24)
    assert cells(page)[1:] == [0, 5]
    shown(page, "in float32")
    assert page.page.locator("#try input").get_attribute("aria-valuetext") == "h = 1e\u22128"
    slide(page, 0)
    assert cells(page)[2] == 5  # the square of x
    shown(page, "the function bends")


class Doubled(programs.Cube):
    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return 6 * x**2 * t


def test_a_tangent_that_is_not_the_derivative_is_told_from_a_large_h(viewer):
    page = opened(viewer, programs.recorded(lambda x: Doubled.apply(x).sum(), tensor([1.0, -2.0])), "tangent")
    shown(page, "A smaller h does not bring them together: the tangent is not the derivative")
    slide(page, -24)
    shown(page, "in float32")


def test_steps_lead_downhill_and_reset_leads_back(viewer):
    page = opened(viewer, valley_record(), "downhill")
    slide(page, -3)
    page.page.click("#forth")
    w, x = tensor([0.5, 1.5], requires_grad=True), tensor([2.0, 1.0])
    valley(w, x).backward()
    value = page.page.evaluate("minigrad.get('w').value")
    assert value == pytest.approx((w - 0.1 * w.grad).tolist(), rel=1e-6)
    shown(page, "1 step:")
    page.page.evaluate("minigrad.step(0.1)")
    shown(page, "2 steps:")
    page.page.evaluate("minigrad.reset()")
    shown(page, "start: 1.25")
    assert page.page.evaluate("minigrad.get('w').value") == [0.5, 1.5]


@pytest.mark.slow
def test_play_overshoots_until_the_output_is_infinite_and_says_so(viewer):
    page = opened(viewer, valley_record(), "downhill")
    slide(page, 3)
    page.page.click("#play")
    shown(page, "is inf: each step overshot the one before. Reset, and choose a smaller lr.")
    assert page.text("#play") == "Replay" and page.page.locator("#play").get_attribute("aria-pressed") == "false"


@pytest.mark.slow
def test_play_ends_where_the_gradient_is_0_and_pauses_when_asked(viewer):
    page = opened(viewer, programs.recorded(valley, tensor([0.5], requires_grad=True), tensor([1.0])), "downhill")
    page.page.click("#play")
    shown(page, "4 steps:")
    page.page.click("#play")
    before = page.page.evaluate("minigrad.get('w').value")
    page.page.wait_for_timeout(400)
    assert page.page.evaluate("minigrad.get('w').value") == before
    slide(page, -1)  # 0.5: one step to the lowest point
    page.page.click("#play")
    shown(page, "The gradient is 0")


@pytest.mark.slow
def test_an_output_with_several_elements_goes_downhill_by_its_sum(viewer):
    page = opened(viewer, programs.recorded(lambda w: w * w, tensor([1.0, 2.0], requires_grad=True)), "downhill")
    shown(page, "Backward starts from the sum of v0: this number goes downhill.", "the sum of v0 = 5")


@pytest.mark.slow
def test_panels_say_what_a_record_lacks(viewer):
    page = opened(viewer, valley_record(passes=("forward",)), "tangent")
    shown(page, "no jvp pass")
    page.page.click("#tries [data-name=downhill]")
    shown(page, "no backward pass")


@pytest.mark.slow
def test_arrow_keys_move_the_slider_and_not_the_steps(viewer):
    page = opened(viewer, valley_record(), "tangent")
    page.page.focus("#try input[type=range]")
    before = page.step()
    page.press("ArrowRight")
    assert page.page.locator("#try input").get_attribute("aria-valuetext") == "h = 0.002" and page.step() == before


def choose(page, menu, label):
    page.page.locator(f"#try select[aria-label='{menu}']").select_option(label=label)


def marked(page):
    """Return the values whose gradient is marked on their cards, with the mark."""
    rows = page.page.locator("#world .row:is(.differs, .impossible)")
    rows.first.wait_for()
    return {row.get_attribute("data-gradient"): row.get_attribute("class").split()[-1] for row in rows.all()}


def test_a_forgotten_tensor_makes_gradients_impossible_until_it_is_back(viewer):
    page = opened(viewer, cubes_record(), "whatif").press("End")
    choose(page, "Forget a saved tensor", "x")
    shown(page, "Cube forgets x", "1 gradient is impossible: x. The other one agrees.")
    assert marked(page) == {"0": "impossible"}
    assert page.text("#value-0 .r-grad") == "grad = \u2717 impossible"
    assert page.text("#amount").endswith("of at most 16 B")
    page.page.focus("#op-0")
    page.page.click("#details [data-forget]")  # brings it back
    page.page.locator("#world .impossible").first.wait_for(state="detached")
    assert "forgets" not in page.text("#try") and page.text("#amount").endswith("of at most 24 B")


def test_a_mistake_in_a_backward_turns_gradients_red(viewer):
    page = opened(viewer, cubes_record(), "whatif").press("End")
    page.page.focus("#op-0")
    page.page.locator("#details [data-mistake]").select_option(label="without a factor")
    shown(
        page,
        "Cube.backward to x: without a factor",
        "1 gradient differs from finite differences: x by a factor of 0.333.",
    )
    assert marked(page) == {"0": "differs"} and page.text("#details .wrong") == "x * x * g"
    page.page.click("#try button:text('undo')")
    page.page.locator("#world .differs").first.wait_for(state="detached")
    assert page.page.locator("#details [data-mistake]").input_value() == ""


@pytest.mark.slow
def test_reset_undoes_what_was_tried(viewer):
    page = opened(viewer, cubes_record(), "whatif").press("End")
    choose(page, "Forget a saved tensor", "x")
    choose(page, "Make a mistake in a backward", "with the wrong sign")
    marked(page)
    page.page.click("#reset")
    page.page.locator("#world .impossible").first.wait_for(state="detached")
    assert page.page.locator("#try button").count() == 0 and page.page.evaluate("minigrad.get('x').grad") == [1.5, 36]


@pytest.mark.slow
def test_numbers_that_hide_a_mistake_are_named_and_others_show_it(viewer):
    record = programs.recorded(lambda x: programs.Cube.apply(x).sum(), tensor([1.0, -2.0]))
    page = opened(viewer, record, "whatif")
    choose(page, "Make a mistake in a backward", "without g")
    shown(page, "1 gradient agrees with finite differences: these numbers hide the mistake.")
    label = next(v["label"] for v in record["values"] if v["id"] == record["outputs"][0])
    page.page.evaluate("label => minigrad.setGrad(label, 2)", label)
    shown(page, "1 gradient differs from finite differences: x by a factor of 0.5.")


@pytest.mark.slow
def test_a_correct_program_agrees_with_finite_differences(viewer):
    page = opened(viewer, cubes_record(), "whatif")
    page.page.check("#try input[type=checkbox]")
    shown(page, "2 gradients agree with finite differences.")
    page.page.evaluate("minigrad.set('x', [0.5, 4])")
    page.page.wait_for_timeout(300)
    shown(page, "2 gradients agree with finite differences.")
    page.page.uncheck("#try input[type=checkbox]")
    page.page.locator("#try", has_not_text="agree with finite differences.").wait_for()


class Zero(programs.Cube):
    @staticmethod
    def backward(ctx, g):
        return 0 * g


@pytest.mark.slow
def test_a_gradient_that_is_0_differs(viewer):
    page = opened(viewer, programs.recorded(lambda x: Zero.apply(x).sum(), tensor([1.0, -2.0])), "whatif")
    page.page.check("#try input[type=checkbox]")
    shown(page, "1 gradient differs from finite differences: x, which is 0.")


def test_the_interface_takes_the_names_that_the_picture_shows(viewer):
    def program(ws):
        h = ws[0] * 2
        for _ in range(2):
            h = h.tanh()
        return h.sum()

    page = opened(viewer, programs.recorded(program, [tensor([0.5, 1.5], requires_grad=True)]), "downhill")
    assert (
        page.page.evaluate("minigrad.get('ws[0]').value")
        == page.page.evaluate("minigrad.get('ws_0').value")
        == [0.5, 1.5]
    )
    page.page.evaluate("minigrad.set('ws[0]', [0, 0])")
    assert page.page.evaluate("minigrad.get('h[2]').value") == [0, 0]
