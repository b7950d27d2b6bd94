"""The sources of the pages are sound before a generator reads them."""

import re
import xml.etree.ElementTree as ET

import pytest

import viz
from docs.build import DOCS, logo, markup, pages
from tests.viz import records


def test_a_page_without_its_marker_is_an_error():
    with pytest.raises(ValueError, match="# Operations: the page has no line <!-- operations -->"):
        pages.filled("operations.md", "# Operations\n\nno marker\n")


def test_every_marker_has_something_that_comes_in_its_place():
    known = {marker for texts in pages.FILLED.values() for marker in texts} | {"lessons", "databases", "end"}
    asked = {
        marker
        for path in DOCS.rglob("*.md")
        if "gen" not in path.parts
        for marker in re.findall(r"^<!-- ([\w ]+) -->$", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert asked == known


COMPILED = pytest.param("compile.md", marks=pytest.mark.slow)  # tests/test_pages.py runs its programs


@pytest.mark.parametrize("name", [*sorted(set(pages.FILLED) - {"check.md", "compile.md"}), COMPILED])
def test_a_page_is_filled(name):
    markdown = (DOCS / name).read_text(encoding="utf-8")
    filled = pages.filled(name, markdown)
    assert len(filled) > len(markdown) and not any(f"<!-- {marker} -->" in filled for marker in pages.FILLED[name])


def test_pictures_that_share_a_page_share_no_id():
    one = '<?xml version="1.0"?>\n<svg id="a"><use href="#a"/><g fill="url(#a)" data-id="a"/></svg>'
    assert markup.svg(one, "p").strip() == ('<svg id="p-a"><use href="#p-a"/><g fill="url(#p-a)" data-id="a"/></svg>')


def test_a_block_of_code_may_hold_backticks():
    assert markup.fence("text", "```python\n```") == "````text\n```python\n```\n````\n"


def test_the_passes_of_a_picture_stand_behind_tabs_each_in_its_own_size():
    text = viz.draw(records.two_uses(), passes="all").svg()
    width, height = (float(re.search(rf' {side}="([\d.]+)"', text)[1]) for side in ("width", "height"))
    passes = markup.apart(text)
    assert list(passes) == ["forward", "backward", "jvp"]
    for (name, one), title in zip(passes.items(), ["Forward", "Backward", "JVP"]):
        root = ET.fromstring(one)
        x, y, wide, tall = map(float, root.get("viewBox").split())
        assert (wide, tall) in ((width / 3, height), (width, height / 3)) and (x + wide, y + tall) <= (width, height)
        assert [g.get("id") for g in root if "pass" in (g.get("class") or "").split()] == [f"pass-{name}"]
        assert root.get("aria-label").startswith(f"{title}: Graph of")
    shown = markup.picture(text, "p")
    assert shown.count("<svg") == shown.count('type="radio"') == 3 and shown.count(" checked") == 1


def test_a_picture_of_one_pass_has_no_tabs_and_says_what_it_is_told_to_say():
    shown = markup.picture(viz.draw(records.two_uses()).svg(), "p", "A < neuron")
    assert "radio" not in shown and shown.count("aria-label=") == 1 and 'aria-label="A &lt; neuron"' in shown


def test_a_picture_of_docs_stands_in_the_page_and_a_figure_of_matplotlib_beside_it():
    start, performance = (pages.drawn(DOCS / name) for name in ("start.md", "performance.md"))
    assert "pictures/passes.svg" not in start and 'id="picture-passes-backward-op-0"' in start
    assert '<div class="figure" markdown="1">\n\n![Ratios' in performance


def test_the_logo_is_what_the_tool_draws():
    assert logo.FILE.read_text(encoding="utf-8") == logo.drawn()
