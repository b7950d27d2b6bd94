"""Make the decks that are written by hand: talks/NAME.md becomes slides/NAME.html.

A line `---` separates slides.  A slide begins with `# ` (a title slide) or `## `, and ends with the notes for the speaker in
`<!-- ... -->`.  Blocks of the language "run" are Python; they run when the site is built, one after another in one namespace,
and their output follows them.  A line `![pass](name)` is a picture of slides.py: one pass, or "live", in which the class can
change numbers.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path

from viz import Drawing

from . import dark, large, live, slides
from .decks import TEMPLATE, blocks, items, passed
from .programs import printed_by
from .slide_parts import Part, Slide, code, drawing, formula, image, inline, listed, output, words

NOTES = re.compile(r"<!--\s*(.*?)\s*-->", re.DOTALL)
RUN = re.compile(r"^```run\n(.*?)\n```", re.DOTALL)  # not "python", whose blocks ruff makes longer
PICTURE = re.compile(r"^!\[([\w ]+)\]\(([\w-]+)\)$")


def talk_slides(text: str, name: str) -> Iterator[tuple[Slide, str]]:
    """Yield each slide of a talk, and the notes for it as Markdown."""
    scope: dict = {"__name__": "__main__"}
    for source in re.split(r"^---\n", text, flags=re.MULTILINE):
        notes = NOTES.search(source)
        if notes is None:
            raise ValueError(f"{name}: a slide has no notes: {source.strip()[:60]!r}")
        yield slide_of(NOTES.sub("", source).strip(), name, scope), notes[1]


def slide_of(source: str, name: str, scope: dict) -> Slide:
    """Return a slide; raise ValueError if it has no title or does not fit."""
    head, _, body = source.partition("\n")
    level, _, title = head.partition(" ")
    if level not in ("#", "##"):
        raise ValueError(f"{name}: a slide begins with its title, got {head!r}")
    kind, label, parts = ("title" if level == "#" else ""), "", []
    for sort, block in blocks(body):
        if found := PICTURE.match(block):
            kind, label = "picture", passed(found[1]) if found[1] in ("forward", "backward", "jvp") else ""
            parts.append(pictured(found[2], found[1]))
        else:
            parts += part(sort, block, f"{name}.py", scope)
    made = Slide(kind, title, parts, label)
    if kind != "picture" and made.size() is None:
        raise ValueError(f"{name}: the slide {title!r} has more than fits")
    return made


def part(sort: str, block: str, file: str, scope: dict) -> list[Part]:
    """Return the parts of a slide for a block: a program has two, itself and its output."""
    if run := RUN.match(block):
        printed = printed_by(run[1], file, scope).rstrip()
        return [code(run[1]), *([output(printed)] if printed else [])]
    if sort == "fence":
        language, _, text = block.strip("`").partition("\n")
        return [code(text, language or "text")]
    if sort == "math":
        return [formula(block.strip("$").strip())]
    if sort == "list":
        return [listed(items(block), "ol" if block[0].isdigit() else "ul")]
    if sort == "table":
        rows = [row for row in block.splitlines() if not set(row) <= set("|-: ")]
        longest = [max(re.split(r"\s*\|\s*", row), key=len) for row in rows]
        return [Part(inline(block), "text", [*longest, *[" "] * (len(rows) // 2)])]  # half a line more for the rules
    return [words(block)]


def pictured(name: str, shown: str) -> Part:
    """Return a picture of slides.py as a part of a slide: a pass, the film, or live."""
    made = slides.SLIDES[name]()
    if not isinstance(made, Drawing):
        return drawing(made)
    pages = large.drawn(made) or {}
    if shown != "live":
        return drawing(pages[shown] if shown in pages else next(iter(pages.values()), made.svg()))
    data = live.without_program(json.loads(live.DATA.search(made.html())[1]))  # type: ignore[index]
    still = image(next(iter(pages.values()), made.svg()).encode(), "svg+xml", name).html.replace("plot", "still")
    return Part(f"<figure>{live.framed(data, '', name, '../')}</figure>{still}", "figure")


def page(name: str) -> str:
    """Return a talk as the text of an HTML file."""
    made = list(talk_slides((slides.TALKS / f"{name}.md").read_text(encoding="utf-8"), name))
    title, written = made[0][0].title, ""
    for number, (slide, notes) in enumerate(made, 1):
        section = slide.html(title, number, len(made))
        paragraphs = "".join(f"<p>{inline(text)}</p>" for text in notes.split("\n\n"))
        written += section.replace("</section>\n", f'<aside class="notes">{paragraphs}</aside></section>\n')
    return TEMPLATE.substitute(title=html.escape(title), dark=dark.rules(":root "), slides=written)


def write(folder: Path) -> None:
    """Write all talks."""
    for path in slides.TALKS.glob("*.md"):
        (folder / f"{path.stem}.html").write_text(page(path.stem), encoding="utf-8")
