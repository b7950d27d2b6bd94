"""The viewer driven as a reader drives it, in a headless browser."""

import itertools
import re

import numpy as np
import pytest

import minigrad
from minigrad import tensor
from tests.floats import some
from viz.viewer import frame as framed
from viz.viewer import page as page_of

from .. import records
from ..test_hostile_records import HOSTILE
from . import programs

pytestmark = pytest.mark.browser


def number(text):
    return float(re.findall(r"-?\d[\d.]*(?:e-?\d+)?", text)[-1])


def test_arrow_keys_step_as_soon_as_the_page_is_open(viewer):
    page = viewer(records.two_uses())
    assert page.step().startswith("Forward 0 of 4")
    page.press("ArrowRight", "ArrowRight")
    assert page.step().startswith("Forward 2 of 4")
    page.press("ArrowLeft")
    assert page.step().startswith("Forward 1 of 4")


def test_nothing_moves_until_it_is_asked_to(viewer):
    page = viewer(records.two_uses())
    before = page.page.content()
    page.page.wait_for_timeout(400)
    assert page.page.content() == before


def test_values_appear_one_operation_at_a_time(viewer):
    page = viewer(records.two_uses())
    assert page.text("#op-2 .r-value").startswith("h = –")
    page.press("ArrowRight", "ArrowRight", "ArrowRight")
    assert page.text("#op-2 .r-value").startswith("h = 0.6044")
    assert "todo" in page.classes("#op-3")


def test_backward_says_upstream_formula_and_contribution(viewer):
    page = viewer(records.two_uses())
    page.press("b")
    assert page.text("#value-0 .r-grad") == "grad = –"  # not 0
    page.press("ArrowRight", "ArrowRight")  # through the last product to w
    assert page.page.locator("#caption .term b").all_text_contents()[:3] == ["1", "g * h", "0.6044"]
    assert page.text("#value-0 .r-grad") == "grad = 0.6044 + …"
    assert {"now", "passed"} <= set(page.classes("#edge-0-3-1"))
    page.press("End", "b")
    for _ in range(7):
        page.press("ArrowRight")
    assert page.text("#value-0 .r-grad") in ("grad = 0.6044 + 0.6347 = 1.239", "grad = 0.6347 + 0.6044 = 1.239")


def test_the_formula_is_shown_with_its_numbers(viewer):
    page = viewer(records.two_uses())
    page.press("b", "ArrowRight", "ArrowRight", "ArrowRight")
    assert "= 0.5 * (1 - 0.6044 ** 2)" in page.text("#caption")


def test_after_the_last_step_all_gradients_and_tangents_are_text_and_the_engines(viewer):
    w, x = tensor(0.7, requires_grad=True), tensor(-1.3, requires_grad=True)
    programs.branches(w, x).backward()
    _, moved = minigrad.func.jvp(programs.branches, (tensor(0.7), tensor(-1.3)), (tensor(1.0), tensor(1.0)))
    page = viewer(programs.branches_record()).press("End")
    shown = page.page.locator("#cards").text_content().replace("\u2212", "-")
    assert "–" not in shown
    assert number(page.text("#value-0 .r-grad")) == pytest.approx(w.grad.item(), rel=1e-3)
    assert number(page.text("#value-1 .r-grad")) == pytest.approx(x.grad.item(), rel=1e-3)
    assert number(page.text(".ring ~ .r-tangent")) == pytest.approx(moved.item(), rel=1e-3)


def test_contributions_of_all_backward_steps_add_up_to_the_engines_gradients(viewer):
    w, x = tensor(0.7, requires_grad=True), tensor(-1.3, requires_grad=True)
    programs.branches(w, x).backward()
    page, sums = viewer(programs.branches_record()).press("b"), {}
    while page.press("ArrowRight").step().startswith("Backward"):
        given = page.page.locator("#caption > .term.grad")
        if not given.count():  # inside Cube.backward
            continue
        name = given.locator("small").text_content().split()[-1]
        sums[name] = sums.get(name, 0.0) + float(given.locator("b").text_content().replace("\u2212", "-"))
    assert sums["w"] == pytest.approx(w.grad.item(), rel=2e-3)
    assert sums["x"] == pytest.approx(x.grad.item(), rel=2e-3)


def test_only_the_passes_of_the_record_can_be_stepped(viewer):
    page = viewer(records.recurrent(5))
    assert page.page.locator("#passes strong").all_text_contents() == ["Forward"]
    page.press("b", "j")
    assert page.step().startswith("Forward 0")


def test_home_end_slider_and_buttons_go_to_steps(viewer):
    page = viewer(records.two_uses()).press("End")
    assert page.step().startswith("JVP 4 of 4")
    page.press("Home")
    page.page.click("#forth")
    assert page.step().startswith("Forward 1")
    page.page.locator("#slider").fill("6")
    assert page.step().startswith("Backward 1")
    page.page.click("#passes [data-pass=jvp]")
    assert page.step().startswith("JVP 0")


def test_play_runs_to_the_end_and_pauses(viewer):
    page = viewer(records.two_uses())
    page.press("]", "]", "]", "]", "Space")
    page.page.locator("#where", has_text="JVP 4 of 4").wait_for()
    page.page.locator("#play", has_text="Play").wait_for()


def test_a_link_leads_to_its_step(viewer):
    page = viewer(records.two_uses(), "#backward-3")
    assert page.step().startswith("Backward 3")
    page.press("ArrowRight").page.wait_for_url("**#backward-4")  # the browser tells of it later


@pytest.mark.parametrize(
    "fragment, step",
    [("#2", "Forward 2 of 4"), ("#6", "Backward 1 of"), ("#999", "JVP 4 of 4"), ("#notes", "Forward 4 of 4")],
)
def test_a_number_in_the_address_is_a_step_of_all_and_without_one_forward_is_finished(viewer, fragment, step):
    assert viewer(records.two_uses(), fragment).step().startswith(step)


def test_a_frame_that_gets_its_size_later_is_fitted_again(viewer):
    page = viewer(programs.branches_record()).page
    within = """() => {
        const stage = document.querySelector("#stage").getBoundingClientRect();
        const cards = [...document.querySelectorAll("#stage .card")].map(card => card.getBoundingClientRect());
        const seen = cards.filter(card => card.width);
        return seen.length && seen.every(card => stage.left <= card.left && card.right <= stage.right); }"""
    page.set_viewport_size({"width": 420, "height": 300})
    page.wait_for_timeout(100)
    page.set_viewport_size({"width": 1300, "height": 800})
    page.wait_for_function(within)


def test_it_runs_inside_a_notebooks_frame(viewer, chromium):
    page = chromium.new_page()
    page.set_content(framed(page_of(records.two_uses())))
    frame = page.frame_locator("iframe")
    frame.locator("#forth").click()
    frame.locator("#forth").click()
    assert "1 of 7" in frame.locator("#where").text_content()  # of backward: forward is finished when it opens
    page.close()


def test_saved_tensors_stand_at_their_node_with_bytes_and_the_step_that_frees_them(viewer):
    page = viewer(programs.branches_record())
    row = "[id^=op]:has(.name:text('tanh')) .r-kept"
    assert re.search(r"saved h \(4 B\), freed in backward step \d", page.text(row))
    page.press("ArrowRight", "ArrowRight")
    assert "known" in page.classes(row)
    assert "saved for backward: 12 B" in page.text("#amount") or "B of at most" in page.text("#amount")
    page.press("End")
    assert "freed" in page.classes(row)
    assert page.text("#amount").startswith("saved for backward: 0 B")


@pytest.mark.parametrize(("passes", "shown"), [("jvp", False), ("backward", True), (("backward", "jvp"), True)])
def test_memory_is_shown_only_where_a_backward_needs_it(viewer, passes, shown):
    x = minigrad.tensor(0.5, requires_grad=True)
    page = viewer(minigrad.record(lambda x: x.exp().sin(), x, passes=passes))
    assert page.page.locator("#strip").is_visible() == shown


def test_hovering_shows_formula_values_and_the_source_line(viewer):
    page = viewer(programs.loop_record()).press("End", "0")
    page.page.hover("#op-1 .band")
    assert page.text("#details h2").startswith("tanh")
    assert "float32 (2, 2) · 16 B" in page.text("#details")
    assert page.page.locator("#details table.all").count() >= 3  # the value, its gradient, its tangent
    assert page.text("#source .looked code").strip() == "h = minigrad.tanh(h @ w)"


def test_large_values_show_statistics_and_a_histogram(viewer):
    x = minigrad.randn(100)
    record = programs.recorded(lambda x: (x * float("inf")).sum(), x)
    page = viewer(record).press("End", "0")
    page.page.hover("#op-0 .band")
    assert page.page.locator("#details .histogram").count() >= 1
    counts = [
        re.fullmatch("(\u2212?inf)([0-9]+)", text)
        for text in page.page.locator("#details .statistics .odd").all_text_contents()[:2]  # of the value
    ]
    assert [one[1] for one in counts] == ["inf", "\u2212inf"] and sum(int(one[2]) for one in counts) == 100


def test_clicking_a_gradient_lights_its_paths_with_their_shares(viewer):
    page = viewer(records.two_uses()).press("End", "0")
    page.page.click("#value-0 .r-grad")
    shares = page.page.locator(".paths li strong").all_text_contents()
    assert shares == ["51 %", "49 %"]  # 0.6347 and 0.6044 of 1.239
    assert {"path"} <= set(page.classes("#edge-0-0-0")) and "dim" in page.classes("#edge-2-1-1")
    page.press("Escape")
    assert page.page.locator(".paths").count() == 0


def test_the_paths_of_a_gradient_that_is_not_known_yet_lead_to_the_step_that_makes_it_known(viewer):
    page = viewer(records.two_uses())
    page.page.click("#value-0 .r-grad")
    assert page.step().startswith("Backward")
    assert page.text("#value-0 .r-grad").endswith("= 1.239")
    assert page.page.locator(".paths li").count() == 2


def test_a_custom_function_opens_to_what_its_methods_did(viewer):
    page = viewer(programs.branches_record()).press("End", "0")
    page.page.hover(".k-function .band")
    methods = page.page.locator("#details details summary").all_text_contents()
    assert methods == ["Cube.forward", "Cube.setup_context", "Cube.jvp", "Cube.backward"]
    steps = page.page.locator("#details details").last.locator("li code:first-child").all_text_contents()
    assert steps == ["3 * x", "(1) * x", "(2) * g"]


def test_an_operation_under_transforms_shows_what_each_saw(viewer):
    def program(w, xs):
        return minigrad.func.vmap(minigrad.func.grad(lambda w, x: (w @ x).sum()), (None, 0))(w, xs)

    page = viewer(programs.recorded(program, minigrad.ones(3, 4), minigrad.ones(5, 4)))
    page.page.hover("#op-0 .band")
    rows = page.page.locator("#details .views tr").all_text_contents()
    assert rows == ["grad(3, 4) (4,)", "vmap(3, 4) (4,)", "underneath(3, 4) (5, 4)"]


def test_search_dims_the_rest_and_enter_goes_to_the_next(viewer):
    page = viewer(records.two_uses()).press("/")
    page.page.keyboard.type("mul")
    assert "found" in page.classes("#op-0") and "dim" in page.classes("#op-2")
    page.press("Enter", "Enter")
    assert page.text("#hits") == "2 of 2"
    assert "selected" in page.classes("#op-3")
    page.press("Escape")
    assert "dim" not in page.classes("#op-2")


@pytest.mark.parametrize("mode, label", [("line", "chain.py:1"), ("round", "iteration 1")])
def test_folds_stand_as_one_box_with_a_count_and_open_again(viewer, mode, label):
    record = programs.chain(12, every=3)
    for op in record["ops"]:
        op["where"]["line"] = {"line": op["id"] // 3 + 1}.get(mode, op["id"] % 3 + 1)
    page = viewer(record)
    page.menu().page.select_option("#fold", mode)
    assert page.page.locator(".k-fold").count() == 4
    first = page.page.locator(".k-fold").first
    assert first.locator(".name").text_content().startswith(label)
    assert "3 operations" in first.text_content()
    page.press("ArrowRight")
    assert page.step().startswith("Forward 3 of 12")  # a closed fold is one stop
    assert page.page.locator("#caption b").first.text_content() == label
    first.focus()
    page.press("Enter")
    assert page.page.locator(".k-fold").count() == 3 and page.page.locator(".k-op").count() == 3
    page.press("c")
    assert page.page.locator(".k-fold").count() == 4


def test_pointing_at_a_fold_shows_it_and_a_click_opens_it(viewer):
    page = viewer(programs.chain(12, every=3))
    page.menu().page.select_option("#fold", "round")
    page.page.locator(".k-fold .band").first.hover()
    assert page.text("#details h2").startswith("iteration 1")
    page.page.locator(".k-fold .band").first.click()
    assert page.page.locator(".k-fold").count() == 3


def test_the_help_shows_what_the_shapes_of_this_record_mean(viewer):
    page = viewer(records.mlp()).press("?")
    signs = page.page.locator("#legend span").all_text_contents()
    assert signs == ["leaf (requires grad)", "input", "operation", "custom Function"]
    page.press("Escape", "ArrowRight")
    assert page.step().startswith("Forward 1")


def test_a_large_program_opens_folded(viewer):
    page = viewer(programs.chain(400))
    assert page.page.input_value("#fold") == "round"
    assert page.page.locator(".k-fold").count() > 10


@pytest.mark.parametrize(
    "depth, folds, operations", [(1, ["Net"], 0), (2, ["net[0]", "net[1]", "net[2]", "net[3]"], 0), (3, [], 12)]
)
def test_a_page_opens_folded_to_the_depth_that_is_asked_for(viewer, depth, folds, operations):
    record = programs.chain(12)
    for op in record["ops"]:
        op["module"] = ["Net", f"net.{op['id'] // 3}"]
    page = viewer(record, depth=depth)
    assert page.page.input_value("#fold") == "module"
    assert page.page.locator(".k-fold .name").all_text_contents() == folds
    assert page.page.locator(".k-op").count() == operations


def test_a_depth_folds_by_function_where_there_are_no_modules(viewer):
    record = programs.chain(12)
    for op in record["ops"]:
        op["where"]["function"] = "f" if op["id"] < 6 else "g"
    page = viewer(record, depth=1)
    assert page.page.locator(".k-fold .name").all_text_contents() == ["f", "g"]


def test_the_theme_follows_the_reader_and_the_button(viewer):
    page = viewer(records.two_uses(), color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.page.evaluate(ground)
    page.press("t")
    assert page.page.evaluate(ground) != dark


def test_on_paper_the_whole_graph_stands_without_controls(viewer):
    page = viewer(records.mlp())
    page.page.emulate_media(media="print")
    page.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.page.locator("footer").wait_for(state="hidden")
    page.page.locator("#graph[viewBox]").wait_for(state="attached")
    assert not page.page.locator("#world").get_attribute("transform")
    page.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.page.locator("#graph").get_attribute("viewBox") is None


def test_labels_of_cards_stay_inside_them_and_cards_do_not_overlap(viewer):
    page = viewer(records.mlp()).press("End", "0")
    found = page.page.evaluate(
        """() => { const wide = [], boxes = [...document.querySelectorAll('.card')].map(card => {
            const paper = card.querySelector('.paper').getBoundingClientRect();
            for (const text of card.querySelectorAll('text')) {
                const at = text.getBoundingClientRect();
                if (at.width && (at.left < paper.left - 1 || at.right > paper.right + 1)) wide.push(card.id + text.textContent);
            }
            return [card.id, paper];
        });
        const over = boxes.flatMap(([a, p], i) => boxes.slice(i + 1).filter(([, q]) =>
            p.left < q.right && q.left < p.right && p.top < q.bottom && q.top < p.bottom).map(([b]) => a + b));
        return [wide, over]; }"""
    )
    assert found == [[], []]


def test_lines_of_a_value_that_is_used_twice_cross_no_others(viewer):
    lines = viewer(records.two_uses()).page.locator(".edge .line")
    points = "line => [...Array(80)].map((_, i) => line.getPointAtLength(line.getTotalLength() * i / 79)).map(p => [p.x, p.y])"
    curves = [np.array(line.evaluate(points)) @ [1, 1j] for line in lines.all()]
    assert len(curves) == 7
    turn = lambda a, b, c: ((b - a).conj() * (c - a)).imag
    for one, other in itertools.combinations(curves, 2):
        a, b, c, d = one[:-1, None], one[1:, None], other[:-1], other[1:]
        assert not ((turn(a, b, c) * turn(a, b, d) < -1e-6) & (turn(c, d, a) * turn(c, d, b) < -1e-6)).any()


@pytest.mark.parametrize("name", some(list(HOSTILE.values()), 4))
def test_hostile_words_are_shown_as_words(viewer, name):
    record = records.two_uses()
    record["program"]["name"] = name
    for value in record["values"]:
        value["name"] = name
    for op in record["ops"]:
        op["name"] = op["function"] = name
        op["where"] = {"file": name, "line": 1, "code": name}
    page = viewer(record).press("End", "/")
    page.page.keyboard.type("a")
    page.press("Escape", "ArrowUp", "ArrowUp")
    assert page.page.evaluate("document.querySelectorAll('script').length") == 2
    assert page.step().startswith("JVP 4")


@pytest.mark.slow
def test_of_ten_thousand_operations_only_those_in_sight_are_drawn(viewer):
    page = viewer(programs.chain(10_000, every=1))
    page.menu().page.select_option("#fold", "none")
    assert page.press("ArrowRight").step().startswith("Forward 1 of 10000")
    assert page.page.locator(".card").count() < 500


@pytest.mark.slow
def test_a_hundred_thousand_operations_open_folded(viewer):
    page = viewer(programs.chain(100_000, every=1))
    assert page.page.locator(".k-fold").count() > 10


def test_a_large_value_is_a_picture_whose_cells_can_be_read(viewer):
    a = minigrad.eye(6) * -0.5
    a[1, 2] = float("nan")
    page = viewer(minigrad.record(lambda a: a * 2, a))
    page.press("End").page.locator("#op-0").focus()
    assert page.page.locator("#details .heat rect.negative").count() == 6
    page.page.locator("#details .heat rect.negative").nth(3).hover()
    assert page.text("#details .cell") == "[3, 3] = -1"
    page.page.locator("#details .heat rect.nan").click()
    assert page.text("#details .cell") == "[1, 2] = nan"
    assert page.page.locator("#details .heat").first.locator("text").all_text_contents() == ["0", "5", "0", "5"]


def test_a_cell_of_a_larger_value_names_the_part_it_stands_for(viewer):
    page = viewer(minigrad.record(lambda a: a * 2, minigrad.ones(64, 64).triu()))
    page.press("End").page.locator("#op-0").focus()
    page.page.locator("#details .heat rect.positive").nth(1).hover()
    assert page.text("#details .cell") == "largest of [0:4, 4:8] = 2"
