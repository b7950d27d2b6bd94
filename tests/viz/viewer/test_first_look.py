"""The first ten seconds: what the page says it is, what is in sight when it opens, and the answers to first questions."""

import re

import pytest

import minigrad
from minigrad import nn, tensor

from .. import records
from . import programs
from .test_access import PHONE
from .test_frames import model
from .test_whatif import PROGRAMS as WHAT_IF

pytestmark = pytest.mark.browser

DESKTOP = {"viewport": {"width": 1280, "height": 800}}
NOTEBOOK = {"viewport": {"width": 800, "height": 576}}  # the frame of an output
SCREENS = {"desktop": DESKTOP, "phone": PHONE, "notebook": NOTEBOOK}


def neuron(w, x, b):
    h = (w * x + b).tanh()
    return h * w


def cubes(x):
    return programs.Cube.apply(x).sum()


minigrad.manual_seed(0)  # with other weights, the output may not depend on x
NET = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))


def network(x, y):
    return nn.functional.mse_loss(NET(x), y)


ARGUMENTS = {
    neuron: (tensor(0.5), tensor(2.0), tensor(-0.3)),
    cubes: (tensor([1.0, 2.0, 3.0]),),
    network: (tensor([[0.0, 1.0], [1.0, 1.0]]), tensor([[1.0], [0.0]])),
}
PROGRAMS = pytest.mark.parametrize("program", ARGUMENTS, ids=lambda program: program.__name__)


def recorded(program, live=True):
    """Return a record with which a page can compute, or only show its numbers."""
    record = programs.recorded(program, *ARGUMENTS[program])
    return record if live else {**record, "contents": None}


def in_sight(page, words):
    """Return True if an element with this text is on the screen, as a whole and with nothing above it."""
    return page.page.evaluate(
        """(words) => [...document.querySelectorAll('header *, #sentence *, aside *, footer *')].some((one) => {
            const at = one.getBoundingClientRect();
            const inside = at.width && at.left >= 0 && at.top >= 0 && at.right <= innerWidth && at.bottom <= innerHeight;
            if (!inside || !one.checkVisibility() || !new RegExp(words).test(one.innerText)) return false;
            const above = document.elementFromPoint(at.left + Math.min(10, at.width / 2), at.top + at.height / 2);
            return one.contains(above) || Boolean(above?.contains(one)); })""",
        words,
    )


@PROGRAMS
@pytest.mark.parametrize("screen", ["desktop", "phone"])
@pytest.mark.parametrize("live", [True, False], ids=["live", "static"])
def test_five_questions_have_their_answers_in_sight(viewer, program, screen, live):
    page = viewer(recorded(program, live), "", **SCREENS[screen])
    assert page.page.evaluate("minigrad.labels().length > 0") == live
    assert in_sight(page, r"[\d.]+\s*\n[^\n]*, the output")  # what is the output?
    assert in_sight(page, "red: gradients")  # what is red?
    assert in_sight(page, "g: the gradient that comes in")  # what is g?
    assert in_sight(page, r"\.py:\d+")  # which line is this card?
    assert in_sight(page, r"[Ii]f \S+.* grows by 0.01, .* (grows|falls) by about [\d.]+")  # what happens if x grows?
    page.page.locator(".card .band").first.click()
    page.page.locator(".card.k-op .band, .card.k-function .band").first.click()
    assert page.page.locator("#details h2", has_text=".py:").is_visible()


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize(
    "name", ["neuron", "cubes", "network", "branches", "loop", "chain", "ResNet18", "transformer layer"]
)
def test_it_opens_at_the_finished_forward_pass_with_inputs_and_output_in_sight(viewer, screen, name):
    made = {
        **{program.__name__: lambda program=program: recorded(program) for program in ARGUMENTS},
        "branches": programs.branches_record,
        "loop": programs.loop_record,
        "chain": lambda: programs.chain(60),
    }
    record = made[name]() if name in made else model(name)
    page = viewer(record, "", **SCREENS[screen])
    first, done, _, everything = re.match(r"(\w+) (\d+) (of) (\d+)", page.step()).groups()
    assert first == "Forward" and done == everything
    outside = page.page.evaluate(
        """() => { const stage = document.querySelector('#stage').getBoundingClientRect();
            const ends = [...document.querySelectorAll('.card:is([data-value], :has(.ring)) .paper')];
            const out = ends.map((one) => one.getBoundingClientRect()).filter((at) => at.left < stage.left
                || at.right > stage.right || at.top < stage.top || at.bottom > stage.bottom);
            return [ends.length < 2, out.length]; }"""
    )
    assert outside == [False, 0]
    assert page.page.locator(".card").count() >= 3  # never one box for the whole


def titles(page):
    return page.text("#name"), page.text("#place"), page.page.title()


def test_the_title_is_what_the_program_computes(viewer):
    page = viewer(recorded(neuron), "")
    line = neuron.__code__.co_firstlineno
    assert titles(page) == ("neuron(w, x, b)", f"test_first_look.py:{line}", "neuron(w, x, b) · minigrad")
    assert page.text("#about") == (
        "The program’s forward pass from w, x and b to v2, how its gradient flows back, and how a small change flows through."
    )


def test_what_the_page_cannot_compute_grows_by_its_gradient(viewer):
    program, arguments = WHAT_IF["sort"]  # in NumPy
    page = viewer(programs.recorded(program, *arguments(), passes=("forward", "backward")), "")
    assert "By its gradient: if x[0] grows by 0.01, v5 grows by about 1." in page.text("#details")
    twice = programs.recorded(program, *arguments(), passes=("forward", "backward"), grad=tensor(2.0))
    assert "grows by 0.01" not in viewer(twice, "").text("#details")  # its gradient is of 2 * v5


def test_of_two_outputs_both_are_named_and_a_leaf_behind_a_cut_comes_last(viewer):
    def program(w, d):
        fake = w * 5
        return (fake.detach() * d).sum(), (d * d).sum()

    page = viewer(programs.recorded(program, tensor([2.0], requires_grad=True), tensor([3.0], requires_grad=True)), "")
    said = page.text("#details")
    assert re.search(r"v\d+ = 30.*v\d+ = 9 ", said)
    assert re.search(
        r"If d\[0\] grows by 0.01, the sum of v\d+ and v\d+ grows by about 0.16\..*If w\[0\] grows by 0.01.* 0.15\.",
        said,
    )


def test_titles_of_records_without_a_text(viewer):
    unknown = records.two_uses()
    unknown["program"] = {**unknown["program"], "name": ""}
    assert titles(viewer(unknown, ""))[0].startswith("y = ")
    two = programs.recorded(lambda x: (x.sin(), x.cos()), tensor(0.5), passes=("forward",))
    page = viewer(two, "")
    assert page.text("#about") == "The program’s forward pass from x to v0 and v1."
    assert page.page.locator("#passes button").count() == 1


def test_what_people_do_is_one_row_and_a_menu_has_the_rest(viewer):
    page = viewer(recorded(neuron), "", **PHONE)
    row = page.page.locator("#tools > button, #tries > button, #more > summary")
    assert row.all_text_contents() == ["Step", "Drag", "Tangent", "Downhill", "What if", "Share", "⋯"]
    assert len({round(one["y"]) for one in (row.nth(i).bounding_box() for i in range(7))}) == 1
    assert page.page.evaluate("document.documentElement.scrollWidth") == 390
    assert not page.page.locator("#search").is_visible()
    assert page.press("/").page.locator("#search").is_visible()
    page.press("Escape")
    page.page.click("#stage", position={"x": 5, "y": 5})
    assert not page.page.locator("#fold").is_visible()
    static = viewer(recorded(neuron, live=False), "")
    assert static.page.locator("#tools > button, #tries > button").all_text_contents() == ["Step", "Share"]


def test_one_player_does_the_steps_of_what_is_open(viewer):
    page = viewer(recorded(neuron), "")
    page.page.click("#tries [data-name=downhill]")
    assert page.page.locator("#source li.now").is_visible()  # the program stays in sight
    page.press("ArrowRight", "ArrowRight")
    page.page.locator("#try", has_text="2 steps:").wait_for()
    assert page.step().startswith("Forward 4 of 4")
    page.press("ArrowLeft", "ArrowLeft")
    page.page.locator("#try", has_text="start:").wait_for()
    assert page.page.evaluate("minigrad.get('w').value") == 0.5 and page.page.locator("#back").is_disabled()
    page.page.click("#step")
    assert page.step().startswith("Backward 0") and not page.page.locator("#try").is_visible()


@pytest.mark.parametrize("fragment", ["#0", "#backward-1", "#jvp-1"])
def test_a_first_change_is_seen_in_every_pass(viewer, fragment):
    page = viewer(recorded(neuron), fragment)
    page.page.evaluate("minigrad.set('w', 0.6)")
    page.page.locator("#changes", has_text="→").wait_for()
    words = page.text("#changes")
    assert words.startswith("v2: 0.3022 → ")
    assert ("grad w: 1.239 → " in words) == ("backward" in fragment) and ("tangent of v2: " in words) == (
        "jvp" in fragment
    )
    page.page.click("#reset")
    page.page.locator("#changes").wait_for(state="hidden")


def test_numbers_to_drag_are_large_enough_for_a_finger(viewer):
    page = viewer(recorded(neuron), "", **PHONE)
    page.page.click("#tries [data-name=drag]")
    sliders = page.page.get_by_role("slider", name=re.compile("^[wxb]$"))
    heights = [sliders.nth(i).bounding_box()["height"] for i in range(sliders.count())]
    assert len(heights) >= 6 and min(heights) >= 24  # on the cards, and in the panel
