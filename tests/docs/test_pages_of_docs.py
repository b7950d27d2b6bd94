"""What the pages are made of before a generator sees them."""

import re

import pytest

from docs.build import DOCS, markup, pages


def test_a_page_without_its_marker_is_an_error():
    with pytest.raises(ValueError, match="# Operations: the page has no line <!-- operations -->"):
        pages.filled("operations.md", "# Operations\n\nno marker\n")


def test_every_marker_has_something_that_comes_in_its_place():
    known = {marker for texts in pages.FILLED.values() for marker in texts} | {"lessons"}
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
