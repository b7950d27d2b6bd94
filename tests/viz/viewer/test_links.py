"""The page play.html, "Copy link", and the messages between a frame and the page around it."""

import json
from pathlib import Path

import pytest

from viz.graph.drawn_graph import Graph
from viz.viewer import page as page_of
from viz.viewer.links import shared_data, text_of

from . import programs
from .conftest import Viewer
from .linked import data, linked, text, written

pytestmark = pytest.mark.browser


class Opened(Viewer):
    """The page of a file, at a fragment."""

    file: Path

    def play(self, fragment=""):
        return self.open(self.file, fragment)

    def wait(self, selector, words):
        """Wait until an element has these words; the page's policy forbids to wait for an expression."""
        self.page.locator(selector).filter(has_text=words).wait_for()


@pytest.fixture
def opened(chromium, tmp_path):
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    made = Opened(context.new_page())
    made.file = written(tmp_path)
    yield made
    context.close()
    assert not made.problems and all(url.startswith("file:") for url in made.requests)


def parts(address):
    """Return the record and the step in an address."""
    record, _, step = address.split("#r=")[1].partition("&at=")
    return json.loads(text_of(record)), step


def test_a_link_is_drawn_from_the_disk_and_its_step_stands_beside_the_record(opened):
    opened.play(f"{linked(text())}&at=backward-2")
    assert opened.step().startswith("Backward 2 of")
    opened.page.keyboard.press("ArrowRight")
    record, step = parts(opened.page.url)
    assert step == "backward-3" and record == data()
    opened.page.reload()
    opened.page.wait_for_selector("html[data-ready]")
    assert opened.step().startswith("Backward 3 of")


def test_the_page_of_a_link_computes(opened):
    opened.play(linked(text("branches")))
    assert opened.page.evaluate("minigrad.frozen()") == []
    assert opened.page.evaluate("(minigrad.set('w', 2), minigrad.get('w').value)") == 2
    assert opened.page.evaluate("minigrad.get('x').grad") != data("branches")["values"][1]["all"]


def test_another_record_in_the_address_is_drawn_and_another_step_is_gone_to(opened):
    opened.play(linked(text()))
    opened.page.evaluate("location.hash = location.hash.replace(/&at=.*/, '&at=backward-1')")
    opened.wait("#where", "Backward 1")
    opened.page.evaluate("(hash) => { location.hash = hash; }", linked(text("loop")))
    opened.wait("#name", "loop")


def test_a_page_without_a_record_says_what_it_is_and_opens_a_page_from_the_disk(opened, tmp_path):
    opened.play()
    assert "minigrad share net.py:loss" in opened.text("#intro")
    page = tmp_path / "branches.html"
    page.write_text(page_of(programs.branches_record()).replace("<script>", "<script>window.hacked = 1;"))
    opened.page.set_input_files("#intro-file", page)
    opened.wait("#name", "branches")
    assert not opened.page.evaluate("'hacked' in window")


def test_a_record_for_python_is_told_from_a_page(opened, tmp_path):
    opened.play()
    (tmp_path / "x.json").write_text('{"schema": "minigrad.record/1"}')
    opened.page.set_input_files("#intro-file", tmp_path / "x.json")
    opened.wait("#intro-words", "minigrad share x.json")


def copied(opened):
    """Press Link; return the text of the link and of the sentence below it."""
    opened.page.keyboard.press("l")
    opened.wait("#link p", "characters")
    return opened.page.locator("#link textarea").input_value(), opened.page.locator("#link p").text_content()


def test_a_page_copies_a_link_to_its_step_without_the_programs_text(opened, tmp_path, monkeypatch):
    monkeypatch.setenv("MINIGRAD_SITE", "https://example.org")
    opened.file = tmp_path / "page.html"
    made = Graph(programs.loop_record())
    opened.file.write_text(page_of(made))
    assert "tanh(h @ w)" in json.dumps(json.loads(opened.play().page.locator("#record").text_content())["files"])
    opened.page.keyboard.press("b")
    link, told = copied(opened)
    assert link.startswith("https://example.org/play.html#r=") and f"{len(link):,} characters" in told
    record, step = parts(link)
    assert step == "backward-0" and record["files"][0]["lines"] == {} and record == json.loads(shared_data(made))
    opened.file = written(tmp_path)
    assert opened.play(link[link.index("#") :]).step().startswith("Backward 0 of")


def test_a_page_without_a_site_copies_the_part_from_the_sign_on_and_says_so(opened, tmp_path):
    opened.file = tmp_path / "page.html"
    opened.file.write_text(page_of(programs.branches_record()))
    link, told = copied(opened.play())
    assert link.startswith("#r=") and "does not know the address of the site" in told


def test_a_copied_link_has_the_changed_numbers_and_reset_brings_the_recorded_ones_back(opened):
    opened.play(linked(text("branches")))
    opened.page.evaluate("minigrad.set('w', 2.5)")
    changed = opened.page.evaluate("[minigrad.get('w'), minigrad.get('x')]")
    link, _ = copied(opened)
    opened.play("")
    opened.play(link[link.index("#") :])
    opened.page.reload()  # the address differs from the one before only behind the sign
    opened.page.wait_for_selector("html[data-ready]")
    assert opened.page.evaluate("[minigrad.get('w'), minigrad.get('x')]") == changed and changed[0]["value"] == 2.5
    assert opened.page.locator("#reset").is_visible()
    again, _ = copied(opened)
    assert parts(again)[0]["now"] == parts(link)[0]["now"]
    opened.page.keyboard.press("Escape")
    opened.page.locator("#link").wait_for(state="hidden")  # a key pressed before belongs to the text in it
    opened.page.evaluate("minigrad.reset()")
    assert opened.page.evaluate("minigrad.get('w').value") == pytest.approx(data("branches")["values"][0]["all"])
    assert "now" not in parts(copied(opened)[0])[0]


def test_a_copied_link_has_what_is_tried(opened):
    opened.play(linked(text()))
    opened.page.click("#tries button[data-name=whatif]")
    for title, index in (("Forget a saved tensor", 1), ("Make a mistake in a backward", 1)):
        opened.page.get_by_label(title).select_option(index=index)
    chosen = opened.page.locator("#try li").all_text_contents()
    link, _ = copied(opened)
    assert len(chosen) == 2 and len(parts(link)[0]["choices"]["mistakes"]) == 1
    opened.play("")
    opened.play(link[link.index("#") :])
    opened.page.reload()
    opened.page.wait_for_selector("html[data-ready]")
    opened.page.click("#tries button[data-name=whatif]")
    assert opened.page.locator("#try li").all_text_contents() == chosen
    record = parts(link)[0]
    record["choices"] = {"forgotten": ["0:999"], "mistakes": [["999:0", "no"], ["0:99", "no"]]}
    opened.play(linked(json.dumps(record)))
    opened.page.reload()
    opened.page.wait_for_selector("html[data-ready]")
    opened.page.click("#tries button[data-name=whatif]")
    assert opened.page.locator("#try li").count() == 0


def test_a_page_too_large_for_a_link_says_how_to_make_one(opened, tmp_path):
    opened.file = tmp_path / "page.html"
    opened.file.write_text(page_of(programs.chain(1900)))
    link, told = copied(opened.play())
    assert not link and "32,000" in told and "--no-contents" in told


PARENT = """<!DOCTYPE html><title>Course</title>
<iframe sandbox="allow-scripts" style="width: 700px; height: 400px" src="{address}"></iframe>
<script>
const heights = [];
addEventListener("message", ({{ source, data }}) => {{
  const [frame] = document.querySelectorAll("iframe");
  if (source === frame.contentWindow && data?.minigrad === "height") heights.push(data.height);
}});
</script>"""


def test_a_frame_tells_its_height_when_it_opens_and_when_asked(opened, tmp_path):
    course = tmp_path / "course.html"
    course.write_text(PARENT.format(address=f"play.html{linked(text('loop'))}"))
    opened.page.goto(course.as_uri())
    opened.page.wait_for_function("heights.length === 1")
    opened.page.evaluate("frames[0].postMessage({minigrad: 'height'}, '*')")
    opened.page.wait_for_function("heights.length === 2")
    first, second = opened.page.evaluate("heights")
    assert first == second > 400
    opened.page.evaluate("(h) => { document.querySelector('iframe').style.height = `${h}px`; }", first)
    frame = opened.page.frames[1]
    frame.locator("#fit").click()
    box = "(id) => document.querySelector(id).getBoundingClientRect().toJSON()"  # in the frame's own coordinates
    stage, world = (frame.evaluate(box, part) for part in ("#stage", "#world"))
    assert world["y"] >= stage["y"] and world["y"] + world["height"] <= stage["y"] + stage["height"]
    assert world["height"] > 0.7 * stage["height"]  # not much taller than the drawing either
