"""Numbers of a page that a reader changes: by pointer, keys, typing, in heat maps; and all that follows."""

import re

import numpy as np
import pytest

import minigrad
from minigrad import tensor
from tests.formulas.test_programs import PROGRAMS
from tests.functions import custom
from viz.graph.drawn_graph import Graph
from viz.viewer import shared

from . import programs

pytestmark = pytest.mark.browser


def loss(w, x, t):
    h = minigrad.tanh(w * x)
    return (h - t) ** 2


def large(x, w):
    return minigrad.softmax(x @ w, 1).log().mean()


@pytest.fixture
def live(viewer):
    """Opens the page of a loss of three numbers, at its last step and with all of it in the window."""

    def opened(record=None, keys=("End", "0"), **options):
        page = viewer(record or programs.recorded(loss, tensor(0.7), tensor(-1.3), tensor(0.5)), **options)
        return page.press(*keys)

    return opened


def number(text):
    return float(re.findall(r"-?\d[\d.]*(?:e-?\d+)?", text)[-1])


def slider(page, name):
    return page.page.get_by_role("slider", name=name, exact=True).first


def drag(page, element, by, up=True):
    box = element.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.page.mouse.move(x, y)
    page.page.mouse.down()
    page.page.mouse.move(x + by, y, steps=3)
    frame(page)
    if up:
        page.page.mouse.up()


def swipe(page, element, by):
    box = element.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    touch = page.page.context.new_cdp_session(page.page)
    for kind, at in (("Start", 0), ("Move", by / 3), ("Move", by), ("End", None)):
        points = [] if at is None else [{"x": x + at, "y": y}]
        touch.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})
    frame(page)


def frame(page):
    page.page.evaluate("() => new Promise((f) => requestAnimationFrame(() => setTimeout(f)))")


def said(w, x, t):
    """Return what minigrad says of the loss: its value, the gradients of w and x, and its tangent along ones."""
    leaves = [tensor(a, requires_grad=True) for a in (w, x, t)]
    y = loss(*leaves)
    y.backward()
    _, moved = minigrad.func.jvp(loss, tuple(tensor(a) for a in (w, x, t)), (tensor(1.0),) * 3)
    return [y.item(), *(leaf.grad.item() for leaf in leaves[:2]), moved.item()]


def shown(page):
    """Return the same numbers from the cards."""
    ends = [".ring ~ .r-value", "#value-0 .r-grad", "#value-1 .r-grad", ".ring ~ .r-tangent"]
    return [number(re.sub(r"float32.*", "", page.text(selector))) for selector in ends]


def test_a_number_is_dragged_and_all_passes_follow(live):
    page = live()
    assert shown(page) == pytest.approx(said(0.7, -1.3, 0.5), rel=1e-3)
    drag(page, slider(page, "w"), 60)
    assert page.text("#value-0 .r-value").startswith("1float32")
    assert shown(page) == pytest.approx(said(1.0, -1.3, 0.5), rel=1e-3)
    assert "changed" in page.classes("#value-0 .r-value") and "changed" not in page.classes("#value-1 .r-value")


def test_arrow_keys_change_the_number_in_focus(live):
    page = live()
    step = page.step()
    slider(page, "w").focus()
    page.press("ArrowRight", "ArrowUp", "Shift+ArrowRight")
    frame(page)
    assert slider(page, "w").get_attribute("aria-valuetext") == "0.742"
    assert page.step() == step
    page.press("ArrowLeft", "Home")  # Home goes to the first step, as everywhere
    assert page.step().startswith("Forward 0")


def test_a_number_is_typed_into_a_field(live):
    page = live()
    slider(page, "w").dblclick()
    page.page.keyboard.type("-2")
    page.press("Enter")
    frame(page)
    assert shown(page) == pytest.approx(said(-2.0, -1.3, 0.5), rel=1e-3)
    page.press("Enter")
    page.page.keyboard.type("7")
    page.press("Escape")
    frame(page)
    assert page.text("#value-0 .r-value").startswith("-2float32") and not page.page.locator("input.typed").count()
    page.press("Enter")
    page.page.keyboard.type("two")
    page.press("Enter")
    assert page.page.locator("input.typed[aria-invalid]").count() == 1


def test_reset_brings_the_recorded_run_back(live):
    page = live()
    before = page.page.locator("#cards").text_content()
    assert not page.page.locator("#reset").is_visible()
    drag(page, slider(page, "x"), -80)
    assert page.page.locator("#cards").text_content() != before
    page.page.click("#reset")
    frame(page)
    assert page.page.locator("#cards").text_content() == before
    assert not page.page.locator("#reset").is_visible() and not page.page.locator(".changed").count()


def test_the_interface_reads_and_sets_numbers(live):
    page = live()
    ask = page.page.evaluate
    ask("minigrad.ready")
    assert set(ask("minigrad.labels()")) == {"w", "x", "t", "v0", "h", "v1", "v2"}
    y, w, *_ = said(0.7, -1.3, 0.5)
    assert ask("minigrad.get('w')") == {"value": pytest.approx(0.7), "grad": pytest.approx(w), "tangent": 1}
    ask("minigrad.set('w', 2)")
    y, w, _, moved = said(2.0, -1.3, 0.5)
    assert ask("minigrad.get('v2')") == {"value": pytest.approx(y), "grad": 1, "tangent": pytest.approx(moved)}
    ask("minigrad.setGrad('v2', 3)")
    assert ask("minigrad.get('w').grad") == pytest.approx(3 * w, rel=1e-5)
    ask("(minigrad.setTangent('w', 0), minigrad.setTangent('x', 0), minigrad.setTangent('t', 0))")
    assert ask("minigrad.get('v2').tangent") == 0
    ask("minigrad.step(0.1)")
    assert ask("minigrad.get('w').value") == pytest.approx(2 - 0.1 * 3 * w, rel=1e-5)
    ask("minigrad.reset()")
    assert ask("minigrad.get('v2').value") == pytest.approx(said(0.7, -1.3, 0.5)[0])
    assert ask("minigrad.frozen()") == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("set('w', [1])", r"w has shape \(\) \(a number\), the lists \(1,\): give nested lists of shape \(\)"),
        ("set('w', [[1], [2, 3]])", "w has shape .*, the lists no single shape"),
        ("set('w', 'a')", "an element for w is no number: give numbers"),
        ("set('h', 1)", "h is the result of an operation; w, x, t can be set"),
        ("get('q')", r'no value has the label "q"; labels\(\) lists those of this page'),
        ("setGrad('w', 1)", "w does not start backward; v2 can be set"),
        ("setTangent('h', 1)", "h has no tangent that can be set; w, x, t can be set"),
        ("step()", r"step\(undefined\): lr is no number: give one, as in step\(0.1\)"),
    ],
)
@pytest.mark.slow
def test_an_error_of_the_interface_says_what_to_do(live, call, message):
    page = live()
    text = page.page.evaluate(f"(() => {{ try {{ minigrad.{call} }} catch (error) {{ return error.message }} }})()")
    assert re.search(message, text), text


@pytest.mark.slow
def test_an_edge_the_caption_and_its_figures_follow(live):
    page = live(keys=("b", *["ArrowRight"] * 4, "0"))
    assert "= " in page.text("#caption small")
    page.page.evaluate("minigrad.set('w', 2)")
    frame(page)
    h = minigrad.tanh(tensor(2.0) * -1.3).item()
    texts = [text.replace("\u2212", "-") for text in page.page.locator("#caption .term").all_text_contents()]
    assert f"({h:.4g}) ** 2" in texts[1], texts
    assert number(texts[2].split("contribution")[0]) == pytest.approx(2 * (h - 0.5) * (1 - h * h), rel=1e-3)
    assert page.text("#labels .flow.now").endswith(f"{2 * (h - 0.5) * (1 - h * h):.4g}")


@pytest.mark.slow
def test_what_is_unknown_at_a_step_stays_unknown(live):
    page = live(keys=("0",))
    drag(page, slider(page, "w"), 60)
    assert page.text("#value-0 .r-value").startswith("1float32")
    assert page.text("#op-0 .r-value").startswith("v0 = –") and page.text("#value-0 .r-grad") == "grad = –"
    page.press("ArrowRight")
    assert page.text("#op-0 .r-value").startswith("v0 = -1.3")


@pytest.mark.slow
def test_tangents_and_the_first_gradient_are_dragged_too(live):
    page = live()
    drag(page, slider(page, "tangent of w"), 50)
    moved = page.page.evaluate("minigrad.get('w').tangent")
    assert moved > 1 and number(page.text("#value-0 .r-tangent")) == pytest.approx(moved, rel=1e-3)
    drag(page, page.page.locator(".ring ~ .r-grad g.live"), 100)
    assert number(page.text("#value-0 .r-grad")) == pytest.approx(2 * said(0.7, -1.3, 0.5)[1], rel=1e-3)
    assert not page.page.locator(".paths").count()  # a drag on a gradient does not show its paths


@pytest.mark.slow
def test_shift_drags_in_finer_steps_and_escape_takes_a_drag_back(live):
    page = live()
    page.page.keyboard.down("Shift")
    drag(page, slider(page, "w"), 60)
    page.page.keyboard.up("Shift")
    assert page.page.evaluate("minigrad.get('w').value") == pytest.approx(0.73)
    drag(page, slider(page, "w"), 60, up=False)
    page.press("Escape")
    page.page.mouse.up()
    assert page.page.evaluate("minigrad.get('w').value") == pytest.approx(0.73)


@pytest.mark.slow
def test_a_finger_drags_a_number_and_not_the_drawing(live):
    page = live(keys=("Home", "0"), viewport={"width": 390, "height": 844}, has_touch=True)
    place = page.page.locator("#world").get_attribute("transform")
    swipe(page, slider(page, "w"), 60)
    assert page.page.evaluate("minigrad.get('w').value") == pytest.approx(1.0)
    assert page.page.locator("#world").get_attribute("transform") == place
    assert page.page.locator("aside").get_attribute("data-pane") == ""  # the pane stays closed
    assert page.page.evaluate("document.documentElement.scrollWidth") == 390  # also with the button Reset
    page.page.wait_for_timeout(1500)  # Chromium makes no click of a tap soon after a fast swipe
    page.page.locator("#value-0 .band").tap()
    swipe(page, page.page.locator("#details").get_by_role("slider", name="w", exact=True), 60)
    assert page.page.evaluate("minigrad.get('w').value") == pytest.approx(1.6)


@pytest.mark.slow
def test_a_drag_is_one_change_a_frame_and_said_once(live):
    page = live()
    page.page.evaluate("""
        window.heard = [];
        const region = document.getElementById("status");
        const all = { childList: true, characterData: true, subtree: true };
        new MutationObserver(() => heard.push(region.textContent)).observe(region, all);
    """)
    drag(page, slider(page, "w"), 60)
    assert page.page.evaluate("heard") == ["w is 1. v2 1.854."]


@pytest.mark.slow
def test_cells_of_a_heat_map_are_dragged_and_fields_change_all(live):
    minigrad.manual_seed(0)
    x, w = minigrad.randn(4, 8), minigrad.randn(8, 5)
    page = live(programs.recorded(large, x, w))
    page.page.locator("#value-1 .band").click()
    drag(page, page.page.locator("#details .heat.live [data-live]").nth(7), 90)
    ask = page.page.evaluate
    value = ask("minigrad.get('w').value")
    assert value[1][2] > w[1, 2].item() and value[0] == pytest.approx(w[0].tolist())
    assert ask("minigrad.get('v3').value") == pytest.approx(large(x, tensor(value)).item(), rel=1e-5)
    assert number(page.text("#details .cell")) == pytest.approx(value[1][2], abs=2e-3)
    field = page.page.get_by_label("multiply all elements of w", exact=True)
    field.fill("2")
    field.press("Enter")
    assert ask("minigrad.get('w').value")[0] == pytest.approx((w[0] * 2).tolist())
    assert "changed; in the recorded run" in page.text("#details")


@pytest.mark.slow
def test_elements_of_a_small_matrix_are_in_the_pane(live):
    page = live(programs.recorded(large, minigrad.ones(4, 8) / 7, minigrad.ones(8, 3) / 9))
    page.page.locator("#value-1 .band").click()
    drag(page, page.page.locator("#details").get_by_role("slider", name="w[2, 1]", exact=True), 50)
    assert page.page.evaluate("minigrad.get('w').value[2][1]") > 1 / 9
    assert page.page.locator("#details").get_by_role("slider").count() == 24 + 24  # and the tangent


@pytest.mark.slow
def test_a_value_that_cannot_be_computed_says_why(live):
    Sort = custom(
        "Sort",
        forward=lambda x: minigrad.from_numpy(np.sort(x.numpy())),
        setup_context=lambda ctx, inputs, output: None,
        backward=lambda ctx, g: g,
    )
    record = programs.recorded(lambda x: (Sort.apply(x) * x).sum(), tensor([2.0, 1.0]), passes=("forward", "backward"))
    page = live(record)
    assert not page.page.locator(".row.recorded").count()
    assert any("NumPy" in one["reason"] for one in page.page.evaluate("minigrad.frozen()"))
    page.page.evaluate("minigrad.set('x', [5, 3])")
    frame(page)
    page.page.locator("#op-0 .band").click()
    assert "from the recorded run: " in page.text("#details .recorded")
    assert "recorded" in page.classes("#op-1 .r-value")  # it follows the value that stayed


@pytest.mark.slow
def test_a_program_that_would_take_another_way_says_at_which_line(live):
    def branch(x):
        y = x * 2
        return y * y if y > 0 else -y

    page = live(programs.recorded(branch, tensor(1.0)))
    assert not page.page.locator("#notice").is_visible()
    page.page.evaluate("minigrad.set('x', -1)")
    frame(page)
    assert re.match("With these numbers the program would take another way at line \\d+", page.text("#notice"))


@pytest.mark.slow
def test_a_page_without_live_numbers_says_why_and_has_no_sliders(viewer):
    page = viewer(programs.chain(3)).press("End")
    assert page.page.evaluate("minigrad.labels()") == []
    assert not page.page.get_by_role("slider", name="x").count()
    page.page.locator("#value-0 .band").click()
    assert "Its numbers cannot be changed: the record has" in page.text("#details")
    with pytest.raises(Exception, match="the numbers of this page cannot be changed"):
        page.page.evaluate("minigrad.set('x', 1)")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["attention", "conv net", "mlp", "newton", "two outputs"])
def test_a_page_has_the_recorded_numbers_under_their_labels(live, name):
    program, x = PROGRAMS[name]
    record = programs.recorded(program, x.clone(), passes=("forward", "backward", "jvp"))
    page = live(record)
    kept = {value["id"]: value["summary"].get("values") for value in record["values"]}
    tangents = {int(i): t for op in record["ops"] for i, t in op["tangents"].items()}
    compared = 0
    for value in record["values"]:
        if value["kind"] in ("gradient", "tangent"):
            continue
        found = page.page.evaluate("(label) => minigrad.get(label)", value["label"])
        own = {
            "value": value["id"],
            "grad": record["gradients"].get(str(value["id"])),
            "tangent": tangents.get(value["id"]),
        }
        for kind in [kind for kind, i in own.items() if kept.get(i) is not None]:
            assert np.array(found[kind]) == pytest.approx(np.array(kept[own[kind]]), rel=1e-5, abs=2e-6), value["label"]
            compared += 1
    assert compared > 5


@pytest.mark.slow
def test_the_inside_of_a_custom_function_follows(live):
    page = live(programs.branches_record(), keys=("b", *["ArrowRight"] * 6, "0"))
    page.page.evaluate("minigrad.set('w', 1.5)")
    page.page.wait_for_timeout(300)
    h = minigrad.tanh(tensor(1.5) * -1.3).item()
    (room,) = [room for room in page.page.locator(".room.shown").all_text_contents()]
    assert f"saved x = {h:.4g}" in room.replace("\u2212", "-") and f"v5 = {3 * h * h:.4g}" in room
    assert f"x = {h:.4g}" in page.text("#caption") and f"{3 * h * h:.4g}" in page.text("#caption")
    page.page.locator("#op-3 .bar").click()
    assert f"(1) * x= {h**3:.4g}" in page.text("#details")


@pytest.mark.slow
def test_the_viewers_of_a_notebook_share_one_script_and_compute(viewer, tmp_path, monkeypatch):
    monkeypatch.setattr(shared, "carried", [])
    records = [programs.recorded(loss, tensor(0.7), tensor(-1.3), tensor(0.5)), programs.branches_record()]
    outputs = []
    for cell, record in enumerate(records):
        monkeypatch.setattr(shared, "running_cell", lambda cell=cell: (cell, 1))
        outputs.append(shared.output(Graph(record), None))
    page = viewer(records[0])
    (tmp_path / "notebook.html").write_text(f"<!DOCTYPE html><title>notebook</title>{''.join(outputs)}")
    page.page.goto((tmp_path / "notebook.html").as_uri())
    for k in range(2):
        inner = page.page.frame_locator("iframe").nth(k)
        inner.locator("html[data-ready]").wait_for()
        before = inner.locator(".card:has(.ring)").text_content()
        number = inner.get_by_role("slider", name="w", exact=True).first
        number.focus()
        page.press("ArrowRight")
        inner.locator(".row.changed, .brief.changed").first.wait_for()
        page.page.wait_for_timeout(400)  # cards outside of the window follow when the numbers rest
        assert inner.locator(".card:has(.ring)").text_content() != before


@pytest.mark.slow
def test_colours_and_paths_follow(live):
    page = live(programs.branches_record())
    page.page.locator("#value-0 .r-grad text").click()
    before = page.text(".paths")
    page.page.evaluate("minigrad.set('w', 3)")
    frame(page)
    assert page.text(".paths") != before
    page.press("Escape")
    page.menu().page.locator("#colour").select_option("grad")
    scale = page.text("#scale")
    page.page.evaluate("minigrad.set('w', 0.01)")
    frame(page)
    assert page.text("#scale") != scale
