"""The slides for the course plans: read from the teachers' page, made from lessons, and large enough to read."""

import doctest
import html
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import jupytext
import pytest
from nbformat.v4 import new_output

from docs.build import DOCS, decks, execute, large, plans, slide_parts, slides
from lessons import lessons, predict

PAGE = (DOCS / "teachers.md").read_text(encoding="utf-8")
PLANS = plans.decks(PAGE)
ALL = [deck for several in PLANS.values() for deck in several]


@pytest.fixture(scope="module")
def lesson_slides():
    """Return all lessons without outputs, by name."""
    return {one.name: decks.LessonSlides(one, jupytext.read(one.path).cells) for one in lessons()}


@pytest.mark.parametrize("module", [plans, decks, slide_parts], ids=lambda module: module.__name__)
def test_the_examples_run(module):
    done = doctest.testmod(module)
    assert done.attempted and not done.failed


def test_the_plans_are_those_of_the_page():
    assert list(PLANS) == ["lecture", "afternoon", "weekend", "semester"]
    assert [len(PLANS[name]) for name in ("lecture", "weekend", "semester")] == [1, 8, 14]
    assert len({deck.name for deck in ALL}) == len(ALL)


def test_the_decks_have_the_lessons_of_the_page_in_its_order():
    courses = PAGE.split("\n## Grading")[0]
    linked = re.findall(r"^\|.*", courses, re.MULTILINE)
    named = [name for row in linked for name in re.findall(r"\(lessons/(\w+)\.md\)", row)]
    steps = [step for deck in ALL for block in deck.blocks for step in block.steps]
    shown = [name for kind, name in steps if kind in ("lesson", "opening", "homework")]
    assert shown == named and {name for name in shown} <= {one.name for one in lessons()}
    assert {name for kind, name in steps if kind == "picture"} <= set(slides.SLIDES)
    assert {name for kind, name in steps if kind == "exercises"} <= {one.name for one in lessons()}


UNITS = {
    "Hour": 60,
    "Saturday": 75,
    "Sunday": 75,
    "Week": 120,
}  # minutes for lessons: a block of 90 has 15 for questions


@pytest.mark.parametrize("deck", ALL, ids=lambda deck: deck.name)
def test_the_lessons_of_a_plan_fit_their_time(deck):
    for block in deck.blocks:
        unit, _, number = block.place.partition(" ")
        assert block.minutes <= (int(unit) if number == "minutes" else UNITS[unit]), block.place


def test_the_rows_of_the_lecture_fill_it():
    (lecture,) = PLANS["lecture"]
    times = [int(block.place.removesuffix(" minutes")) for block in lecture.blocks]
    assert f"({sum(times)} minutes)" in lecture.plan


def test_the_minutes_of_a_row_are_those_of_its_lessons_in_class():
    one, two = lessons()[:2]
    row = plans.Block("Hour 1", {"lessons": f"[1](lessons/{one.name}.md), [2](lessons/{two.name}.md) as homework"})
    assert row.minutes == one.minutes
    row = plans.Block("9 minutes", {"topic": "up to the exercises", "material": f"[1](lessons/{one.name}.md)"})
    assert 0 < row.minutes == plans.opening_minutes(one) < one.minutes - 10


def test_the_links_to_slides_say_the_minutes_of_the_lessons():
    hour = PLANS["afternoon"][0]
    assert f"[Hour 1](slides/{hour.name}.html) ({hour.blocks[0].minutes} min)" in plans.links(PAGE, "afternoon")
    assert "min)" not in plans.links(PAGE, "lecture") and "Sunday 4](slides/weekend-sunday-4.html)" in plans.links(
        PAGE, "weekend"
    )


def test_a_row_says_how_much_of_a_lesson_to_show():
    row = plans.Block("20 minutes", {"topic": "lesson 1, up to the exercises", "material": "[1](lessons/01_a.md)"})
    assert row.steps == [("opening", "01_a")] and row.goal == ("", "")
    row = plans.Block(
        "5 minutes",
        {"topic": "end", "material": "*film*, `minigrad lessons check 1`, [2](lessons/02_b.md) as homework"},
    )
    assert row.steps == [("picture", "film"), ("exercises", lessons()[0].name), ("homework", "02_b")]


class Seen(HTMLParser):
    """The tags that stand open at the end of a page, the resources it loads, and the numbers of its sections."""

    EMPTY = {"meta", "link", "img", "br", "hr", "path", "rect", "circle", "input"}

    def __init__(self, text):
        super().__init__()
        self.open, self.loads, self.numbers = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.open += [tag] if tag not in self.EMPTY else []
        self.loads += [given[name] for name in ("src", "srcset") if name in given]
        self.loads += [given["href"]] if tag in ("link", "use") else []
        self.numbers += [given["id"]] if tag == "section" else []

    def handle_endtag(self, tag):
        if tag not in self.EMPTY:
            assert self.open.pop() == tag


@pytest.mark.parametrize("deck", ALL, ids=lambda deck: deck.name)
def test_a_deck_is_whole_and_loads_nothing_from_another_host(lesson_slides, deck, monkeypatch):
    monkeypatch.setitem(slides.SLIDES, "film", lambda: "<svg></svg>")  # it takes longest
    text = decks.page(deck, lesson_slides)
    seen = Seen(text)
    assert not seen.open and seen.numbers == [str(i + 1) for i in range(len(seen.numbers))]
    assert {load for load in seen.loads if not load.startswith(("data:", "#"))} <= {
        "../katex/katex.min.css",
        "../katex/katex.min.js",
        "../katex/init.js",
    }
    assert not re.search(r"url\([\"']?(?:https?:)?//|@import", text)
    names = [
        lesson_slides[name].lesson.title for block in deck.blocks for kind, name in block.steps if kind == "lesson"
    ]
    places = [text.index(f"<h1>{slide_parts.inline(name)}</h1>") for name in names]
    assert places == sorted(places) and not set("\0\1\2") & set(text)


def test_a_lesson_begins_with_its_question_and_ends_with_answers(lesson_slides):
    made = list(lesson_slides[lessons()[0].name].all())
    titles = [slide.title for slide in made]
    text = "\n".join(slide.html("", 1, 1) for slide in made)
    assert (
        made[0].kind == "title"
        and slide_parts.inline(lesson_slides[lessons()[0].name].question) in made[0].parts[0].html
    )
    assert titles.index("After this lesson you can") < titles.index("Summary")
    assert titles[-6:] == ["Question"] * 6 and "minigrad lessons open" not in text
    for heading in re.findall(r"^# ## (.*)", lessons()[0].path.read_text(encoding="utf-8"), re.MULTILINE):
        assert heading in titles or heading in ("Exercises", "Questions")


@pytest.mark.parametrize("one", lessons(), ids=lambda one: one.name)
def test_the_slides_of_a_lesson_fit_by_their_estimate(lesson_slides, one):
    """If they do not, shorten the first paragraphs, the summary or an answer of this lesson."""
    for slide in lesson_slides[one.name].all():
        assert slide.size() is not None or slide.parts[0].kind == "code", slide
        assert not slide.parts or {part.kind for part in slide.parts} != {"code"}, "a slide of nothing but code"


def asked(source=""):
    """Return a cell with a prediction, executed."""
    made = predict("Is a < b * c * d?", {"1 < 2": "It is & stays.", "no": "Look `again`."}, "1 < 2")
    outputs = [{"data": {"text/html": made._repr_html_()}}]
    return SimpleNamespace(source=source, outputs=outputs, metadata={})


def test_a_prediction_becomes_a_question_and_its_answer():
    question, answer = decks.predictions(asked())
    before, after = question.html("", 1, 2), answer.html("", 2, 2)
    assert "<p>Is a < b * c * d?</p>" in html.unescape(before) and "a <" not in before
    assert "<code>1 &lt; 2</code>" in before and "stays" not in before and "right" not in before
    assert "<li class=right><code>1 &lt; 2</code><small>It is &amp; stays.</small>" in after
    assert "<li><code>no</code><small>Look `again`.</small>" in after


def test_a_question_has_the_code_that_defines_names_and_not_the_program_that_answers():
    source = "def g(x):\n    return x\n\n\ndef run():\n    return g(1)\n\n\n"
    source += 'lessons.predict("?", {1: "g"}, run)\nassert run() == 1'
    (question, _) = decks.predictions(asked(source=source))
    assert [part.kind for part in question.parts] == ["text", "code", "text"]
    assert list(question.parts[1].lines) == ["def g(x):", "    return x"]
    (question, _) = decks.predictions(asked(source=source), ["def g(x):\n    return x"])
    assert len(question.parts) == 2, "the section has shown it"


def test_every_prediction_of_a_lesson_is_a_literal_call():
    """The build reads predictions from the outputs: each is the last expression of its cell."""
    for one in lessons():
        cells = [cell.source for cell in jupytext.read(one.path).cells if "lessons.predict(" in cell.source]
        assert all(cell.count("lessons.predict(") == 1 and cell.rstrip().endswith(")") for cell in cells), one.name


def test_a_short_text_is_above_the_question_that_follows_it():
    question = next(decks.predictions(asked()))
    text = decks.Slide("", "Kinks", [slide_parts.words("At a corner there is no derivative.")])
    made = slide_parts.above(text, question)
    assert made.title == "Kinks" and made.kind == "ask" and made.parts == [*text.parts, *question.parts]
    assert slide_parts.above(decks.Slide("", "Long", [slide_parts.words("Many words. " * 20)]), question) is None
    assert slide_parts.above(decks.Slide("", "Code", [slide_parts.code("x = 1")]), question) is None


def test_code_that_does_not_fit_with_its_output_stays_with_its_text():
    text, program = slide_parts.words("Two lines of words. " * 6), slide_parts.code("x = 1\n" * 6)
    slides_of = lambda *run: [[part.kind for part in one.parts] for one in slide_parts.fitting("A", [text], run)]
    assert slides_of(program, slide_parts.output("7")) == [["text", "code", "output"]]
    assert slides_of(program, slide_parts.output("7\n" * 8)) == [["text"], ["code", "output"]]
    assert slides_of(program, slide_parts.output("long " * 200)) == [["text", "code"], ["output"]]


def test_a_picture_in_small_type_is_left_out_with_the_text_about_it():
    one = lessons()[0]
    cells = jupytext.read(one.path).cells
    drawn = next(cell for cell in cells if cell.cell_type == "code")
    shown = []
    for height in (600, 1200):
        drawn.outputs = [{"data": {"image/svg+xml": f'<svg viewBox="0 0 800 {height}"></svg>'}}]
        made = decks.LessonSlides(one, cells)
        shown.append([slide.kind for slide in made.opening()][1])
    assert shown == ["picture", ""]


def test_a_long_section_is_cut_at_a_sentence():
    text = "This is a sentence of words. " * 20
    assert slide_parts.cut(text) == ("This is a sentence of words. " * 10).strip()
    assert slide_parts.cut("It uses `a. b` of f. And then:", goes_on=True).endswith("then:")
    assert slide_parts.cut("word " * 200).split() == ["word"] * 200, "one sentence stays whole"


def test_math_and_code_are_escaped():
    assert slide_parts.formula("a < b \\qquad c").html == (
        '<div class="arithmatex">\\[a &lt; b\\]</div><div class="arithmatex">\\[c\\]</div>'
    )
    assert "x\\_1" not in slide_parts.inline("$x_1 * y_1 * z$") and "<em>" not in slide_parts.inline("$x_1 * y_1 * z$")
    assert "&lt;b&gt;" in slide_parts.code("'<b>'").html and "<b>" not in slide_parts.output("<b>").html
    assert slide_parts.inline("`1 < 2`") == "<code>1 &lt; 2</code>"
    assert slide_parts.inline(slide_parts.escaped("<script> $x$")).count("<") == 0


def test_links_lead_from_the_slides_to_the_pages():
    assert 'href="../lessons/02_b.html"' in slide_parts.inline("[two](02_b.md)")
    assert 'href="../check.html#rows"' in slide_parts.inline("[rows](../check.md#rows)")


def test_assertions_are_not_shown_and_long_code_leaves_its_output():
    stream = new_output("stream", name="stdout", text="7\n")
    made = SimpleNamespace(source="x = 7\nprint(x)\nassert x == 7\n", outputs=[stream])
    assert [list(part.lines) for part in decks.program(made)] == [["x = 7", "print(x)"], ["7"]]
    made.source = "print(7)\n" * 40
    assert [list(part.lines) for part in decks.program(made)] == [["7"]]


def test_a_drawing_has_a_page_for_each_pass():
    import minigrad as torch
    from viz import draw

    x = torch.tensor(1.0, requires_grad=True)
    pages = large.drawn(draw(lambda x: x * x + x, x, passes=("forward", "backward")))
    assert list(pages) == ["forward", "backward"] and all('viewBox="0 0 1280 720"' in page for page in pages.values())
    assert large.drawn(draw(lambda x: x * x, x, size="slide")) is None
    many = large.drawn(draw(lambda x: sum((x.sin() for _ in range(20)), x), x))
    assert many is None or len(many) == 1, "folded, or left out"


@pytest.mark.slow
def test_a_kernel_adds_the_pages_to_pictures_and_no_names(tmp_path):
    path = tmp_path / "01_figures.py"
    path.write_text(
        "# %%\nprint('large' in dir(), 'build' in dir())\nimport matplotlib.pyplot as plt\n_ = plt.plot([1, 2])\n\n"
        "# %%\nimport minigrad as torch\nfrom viz import draw\n"
        "draw(torch.exp, torch.tensor(1.0, requires_grad=True), passes=('forward', 'backward'))\n"
    )
    first, second = execute.run(path).cells
    assert first.outputs[0].text == "False False\n" and list(first.outputs[1].data[large.PAGES]) == ["figure"]
    made = decks.pictures(second, "exp")
    assert [re.sub("<.*?>", "", slide.label) for slide in made] == ["forward pass", "backward pass"]


FITS = """[...document.querySelectorAll("section")].filter((section) => {
  const page = section.querySelector(".page"), body = section.querySelector(".body"), edge = page.getBoundingClientRect().right;
  const parts = [...body.querySelectorAll("p, pre, li, .katex-html .base")];
  const wide = parts.some((part) => part.getBoundingClientRect().right > edge);
  return wide || [page, body].some((e) => e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1);
}).map((section) => section.id)"""


@pytest.mark.slow
@pytest.mark.browser
def test_no_slide_overflows_and_the_arrow_keys_move(chromium, site):
    page = chromium.new_page(viewport={"width": 1280, "height": 720}, reduced_motion="reduce")
    for name in ("lecture", "semester-week-04"):
        page.goto(f"{(site / 'slides' / name).as_uri()}.html", wait_until="networkidle")
        page.evaluate("document.fonts.ready")
        assert page.evaluate(FITS) == [] and page.locator(".katex-error").count() == 0
    assert page.locator(".arithmatex .katex").count() == page.locator(".arithmatex").count() > 0
    at = "document.elementFromPoint(640, 360).closest('section').id"
    for key, place in (("ArrowRight", "2"), ("Space", "3"), ("PageDown", "4"), ("ArrowLeft", "3"), ("End", None)):
        page.keyboard.press(key)
        page.wait_for_function(f"{at} === {place!r}" if place else f"Number({at}) > 20")
    page.pdf(path=site / "deck.pdf", prefer_css_page_size=True)
    assert (site / "deck.pdf").read_bytes().count(b"/Type /Page\n") == page.locator("section").count()
    page.close()
