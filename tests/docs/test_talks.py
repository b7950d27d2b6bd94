"""Decks written by hand: each slide fits, has notes, and its programs run; the page works in a browser."""

import doctest
import re
import shutil

import pytest

from docs.build import DOCS, slide_parts, slides, talks
from tests.browser import launched

NAMES = [path.stem for path in sorted(slides.TALKS.glob("*.md"))]


@pytest.fixture(scope="module", params=NAMES)
def talk(request):
    """Return the slides of a talk with their notes."""
    return list(talks.talk_slides((slides.TALKS / f"{request.param}.md").read_text(encoding="utf-8"), request.param))


def test_each_slide_fits_and_has_words_and_notes(talk):
    assert len(talk) >= 30 and talk[0][0].kind == "title"
    for slide, notes in talk:
        assert len(notes.split()) >= 8, slide.title
        assert slide.size() is not None and {part.kind for part in slide.parts} - {"code", "output"}, slide.title


WORDS = (
    "parameters", "loss", "finite difference", "local derivative", "operations", "edge", "leaf", "forward pass",
    "gradient", "incoming gradient", "tensor", "saves", "parents", "learning rate", "gradient descent",
)  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_a_word_stands_in_bold_where_it_is_explained_and_nowhere_before(talk, word):
    texts = [" ".join(part.html for part in slide.parts if part.kind != "code").lower() for slide, _ in talk]
    first = next(i for i, text in enumerate(texts) if f"<strong>{word}</strong>" in text)
    early = [i + 1 for i, text in enumerate(texts[2:first], 2) if re.search(rf"\b{word}\b", html_text(text))]
    assert not early, f"{word} is explained on slide {first + 1}, and used on {early}; the second slide is the plan"


def html_text(text):
    return re.sub(r"<[^>]+>", "", text)


def test_mistakes_in_a_talk_are_named():
    with pytest.raises(ValueError, match="x: a slide has no notes: '# A'"):
        list(talks.talk_slides("# A\n", "x"))
    with pytest.raises(ValueError, match="x: a slide begins with its title, got 'A'"):
        list(talks.talk_slides("A\n<!-- n -->", "x"))
    with pytest.raises(ValueError, match="x: the slide 'A' has more than fits"):
        list(talks.talk_slides("## A\n" + "\n\nMany words stand here.\n" * 40 + "<!-- n -->", "x"))


def test_the_teachers_page_links_to_the_talks():
    page = (DOCS / "teachers.md").read_text(encoding="utf-8")
    assert "<!-- talks -->" in page
    assert slides.talks(page) == "- [Backprop in 90 minutes](slides/backprop_in_90_minutes.html)"


@pytest.mark.slow
def test_the_notes_open_in_a_window_and_below_the_slides(tmp_path):
    from viz.viewer.links import play

    (tmp_path / "slides").mkdir()
    shutil.copytree(DOCS / "katex", tmp_path / "katex")  # formulas take less room than their source
    (tmp_path / "play.html").write_text(play(), encoding="utf-8")
    talks.write(tmp_path / "slides")
    with launched() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.goto((tmp_path / "slides" / f"{NAMES[0]}.html").as_uri())
        cut = "[...document.querySelectorAll('.body')].filter(b => b.scrollHeight > b.clientHeight + 1).length"
        assert page.evaluate(cut) == 0 and page.locator(".notes").first.is_hidden()
        with page.expect_popup() as opened:
            page.keyboard.press("s")
        notes = opened.value
        assert "Before the class" in notes.inner_text("body") and "Next: The plan" in notes.inner_text("body")
        page.keyboard.press("ArrowRight")
        notes.wait_for_function("document.body.innerText.includes('no history')")
        page.keyboard.press("n")
        assert page.locator(".notes").first.is_visible()
        assert page.locator("iframe").count() == 1
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_examples_run():
    assert not doctest.testmod(talks).failed and not doctest.testmod(slide_parts).failed
