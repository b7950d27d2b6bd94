"""Make the parts of slides: HTML from a lesson's Markdown, code and pictures, with an estimate of its height.

A slide is a page of 1280 by 720 (deck.html), and the size of its type follows from the amount on it.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil

import markdown
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from .markup import svg

WIDTH, HEIGHT, GAP = 1152, 505, 18  # of a slide below its title, and between its parts, in pixels
LARGEST, SMALLEST, QUESTION = 42, 25, 54  # sizes of the type; the largest for a question that stands alone
CODE, NARROWEST, WRAPPED = 32, 17, 22  # the largest and the smallest size of code, and of output, whose lines may wrap
LETTER = 0.633  # width of a letter of code, in sizes of the type
LONG = 52  # letters: longer titles are smaller
WORDS, LINES, COLUMNS, PRINTED = 60, 14, 86, 9  # most words of a text, lines and columns of code, lines of output
SMALLER = 0.7  # the type of a picture may become smaller by this factor
SIZE, NUMBER = "\x01", "\x02"  # stand for the size of code and the slide's number until both are known
EXTENSIONS = ["attr_list", "md_in_html", "tables", "pymdownx.arithmatex", "pymdownx.superfences"]
SENTENCE = re.compile(r"(?<=[.?!:])\s+(?=[A-Z`$*(\"\[0-9])")
LINK = re.compile(r"\]\((?!https?:)(\.\./)?([\w/-]+)\.md(#[\w-]+)?\)")
VIEWBOX = re.compile(r'viewBox="\S+ \S+ (\S+) (\S+)"')
UNSEEN = re.compile(r"\\[a-zA-Z]+|[${}`]|</?\w[^>]*>|\]\([^)]*\)")  # parts of Markdown and TeX that take no room


@dataclass
class Part:
    """Part of a slide: its HTML, its kind (text, math, code, output or figure), and its lines, for the estimate."""

    html: str
    kind: str
    lines: Sequence[str] = ()
    scale: float = 1  # of its type

    def height(self, size: float) -> float:
        """Return the height in pixels for a size of the slide's type."""
        size *= self.scale
        if self.kind in ("code", "output"):
            letter = self.code(size)
            wide = int((WIDTH - 2 * letter) / (LETTER * letter))
            return (1.4 * sum(max(1, ceil(len(line) / wide)) for line in self.lines) + 1.2) * letter
        if self.kind == "math":
            return len(self.lines) * 2.9 * size
        wide = WIDTH / (0.47 * size) - (3 if len(self.lines) > 1 else 0)
        return sum(ceil(len(line) / wide) * 1.38 * size for line in self.lines) + 0.45 * size * (len(self.lines) - 1)

    def code(self, size: float) -> int:
        """Return the size of code beside text of this size: the longest line fits if possible."""
        longest = max(map(len, self.lines), default=1)
        least = NARROWEST if self.kind == "code" else WRAPPED
        return max(least, min(CODE, round(0.82 * size), int(WIDTH / (LETTER * longest + 2))))


@dataclass
class Slide:
    """A slide: classes for its look, its title, its parts, a label beside the title as HTML, and words above it."""

    kind: str
    title: str
    parts: list[Part] = field(default_factory=list)
    label: str = ""
    above: str = ""

    def size(self) -> int | None:
        """Return the largest size of the type at which all parts fit, or None."""
        letters = len(plain(self.title))
        room = HEIGHT - (60 + 70 * ceil(letters / 34) if self.kind == "title" else 50 * (letters > LONG))
        for size in range(QUESTION if self.kind == "center" else LARGEST, SMALLEST - 1, -1):
            if sum(part.height(size) for part in self.parts) + GAP * (len(self.parts) - 1) <= room:
                return size
        return None

    def html(self, foot: str, number: int, of: int) -> str:
        """Return the slide as a section of a page."""
        size, title = self.size() or SMALLEST, inline(self.title)
        above = f'<p class="above">{inline(self.above)}</p>\n<h1>{title}</h1>'
        head = above if self.kind == "title" else f"<h2>{title}{self.label}</h2>"
        smaller = "--head:38;" if len(plain(self.title)) > (38 if self.label else LONG) else ""
        body = "\n".join(part.html.replace(SIZE, str(part.code(size))) for part in self.parts)
        return (
            f'<section class="{self.kind}" id="{number}"><div class="page" style="{smaller}--size:{size}">\n{head}\n'
            f'<div class="body">\n{body}\n</div>\n'
            f"<footer><span>{inline(foot)}</span><span>{number} / {of}</span></footer></div></section>\n"
        ).replace(NUMBER, str(number))


def inline(text: str) -> str:
    """Return a line of a lesson's Markdown as HTML without a paragraph; its links lead from slides/ to the site's pages.

    >>> inline("`a < b` and $x^2$")
    '<code>a &lt; b</code> and <span class="arithmatex">\\\\(x^2\\\\)</span>'
    """
    linked = LINK.sub(lambda to: f"]({'../' if to[1] else '../lessons/'}{to[2]}.html{to[3] or ''})", text)
    settings = {"pymdownx.arithmatex": {"generic": True}}
    made = markdown.markdown(linked, extensions=EXTENSIONS, extension_configs=settings)
    made = made.removeprefix("<p>").removesuffix("</p>")
    return re.sub(r"\b[\d.]+e-\d+\b", r'<span class="whole">\g<0></span>', made)  # no line ends within 1e-8


def plain(text: str) -> str:
    """Return about the letters of Markdown that a reader sees.

    >>> plain("`a` is $x^2$")
    'a is x^2'
    """
    return html.unescape(UNSEEN.sub("", re.sub(r"\\frac|\\mathbf", "", text)))


def escaped(text: str) -> str:
    """Return plain text as Markdown that shows it unchanged.

    >>> html.unescape(inline(escaped("a * b * c < `d` $x$")))
    'a * b * c < `d` $x$'
    """
    return re.sub(r"([\\`*_{}\[\]()#+!|<>$-])", lambda sign: f"&#{ord(sign[0])};", text)


def cut(text: str, words: int = WORDS, goes_on: bool = False) -> str:
    """Return the first sentences of a text, at least one; only with `goes_on` may the last of several end with a colon.

    >>> cut("One two. Three four. Five six.", 4)
    'One two. Three four.'
    >>> cut("One two. Count them:")
    'One two.'
    """
    kept: list[str] = []
    for sentence in SENTENCE.split(" ".join(text.split())):
        if kept and len(" ".join([*kept, sentence]).split()) > words:
            break
        kept.append(sentence)
    if not goes_on and len(kept) > 1 and kept[-1].endswith(":"):
        kept.pop()
    return " ".join(kept)


def words(text: str, small: bool = False) -> Part:
    """Return a paragraph; a small one is in a quiet colour."""
    return Part(f"<p{' class=again' * small}>{inline(text)}</p>", "text", [plain(text)], 0.75 if small else 1)


def listed(items: Iterable[str], tag: str = "ul") -> Part:
    """Return a list."""
    items = list(items)
    made = "".join(f"<li>{inline(item)}</li>" for item in items)
    return Part(f"<{tag}>{made}</{tag}>", "text", [plain(item) for item in items])


def formula(tex: str) -> Part:
    """Return a formula; parts that \\qquad separates are below each other.

    >>> formula("a < b \\\\qquad c").lines
    ['a < b', 'c']
    """
    rows = [tex] if "\\begin" in tex else [row.strip() for row in tex.split("\\qquad") if row.strip()]
    made = "".join(f'<div class="arithmatex">\\[{html.escape(row)}\\]</div>' for row in rows)
    return Part(made, "math", [line for row in rows for line in row.split("\\\\")])


def code(text: str, language: str = "python") -> Part:
    """Return highlighted code."""
    made = highlight(text.strip("\n"), get_lexer_by_name(language), HtmlFormatter(nowrap=True)).rstrip()
    return Part(f'<pre style="--code:{SIZE}"><code>{made}</code></pre>', "code", text.strip("\n").splitlines())


def short(text: str) -> bool:
    """Return True if code fits on a slide beside other parts, in letters of a good size."""
    lines = text.splitlines()
    return 0 < len(lines) <= LINES and max(map(len, lines)) <= COLUMNS


def pieces(text: str, most: int = LINES + 4) -> list[str]:
    """Divide code at empty lines so that no piece has more lines than `most`, if possible.

    >>> pieces("a\\n\\nb\\nc", 3)
    ['a', 'b\\nc']
    """
    found: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        joined = f"{found[-1]}\n\n{paragraph}" if found else paragraph
        if found and len(joined.splitlines()) <= most:
            found[-1] = joined
        else:
            found.append(paragraph)
    return found


def output(text: str) -> Part:
    """Return the output of a program, at most PRINTED lines."""
    lines = text.strip("\n").splitlines()
    lines = lines if len(lines) <= PRINTED else [*lines[: PRINTED - 1], "…"]
    made = html.escape("\n".join(lines))
    return Part(f'<pre class="output" style="--code:{SIZE}">{made}</pre>', "output", lines)


def drawing(text: str, alt: str = "") -> Part:
    """Return a drawing, which fills the slide; of a page of 1280 by 720, all but its title."""
    text = re.sub(r'<rect width="100%" height="100%" fill="#ffffff"/>', "", text, flags=re.IGNORECASE)
    text = text.replace('width="1280" height="720" viewBox="0 0 1280 720"', 'viewBox="0 72 1280 648"')
    if alt:
        text = re.sub(r'role="img"( aria-label="[^"]*")?', f'role="img" aria-label="{html.escape(alt)}"', text, count=1)
    return Part(f"<figure>{svg(text, f's{NUMBER}')}</figure>", "figure")


def readable(text: str) -> bool:
    """Return True if the type of an SVG picture is not made much smaller by a slide, as that of a large graph is.

    >>> readable('<svg viewBox="0 0 800 600">'), readable('<svg viewBox="0 0 1600 1200">')
    (True, False)
    """
    found = VIEWBOX.search(text)
    width, height = (float(found[1]), float(found[2])) if found else (0, 0)
    return width <= WIDTH / SMALLER and height <= HEIGHT / SMALLER


def image(content: bytes, kind: str, alt: str) -> Part:
    """Return a figure of Matplotlib, embedded in the page."""
    source = f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
    return Part(f'<figure class="plot"><img alt="{html.escape(alt)}" src="{source}"></figure>', "figure")


def fitting(title: str, text: list[Part], run: Sequence[Part] = (), label: str = "") -> Iterator[Slide]:
    """Yield a slide with all parts; or, if they do not fit, divide them where the reader loses least.

    A program stays with its output if possible, or else its code with the text; output may be a little smaller than code.
    """
    good = SMALLEST + 3 if text and any(part.kind == "code" for part in run) else SMALLEST
    divisions = [[*text, *run]], [text, [*run]], [[*text, *run[:1]], run[1:]], [[part] for part in (*text, *run)]
    for division, least in zip(divisions, (good, SMALLEST, good, 0)):
        made = [Slide("", title, [*parts], label) for parts in division if parts]
        if all((slide.size() or 0) >= least for slide in made):
            yield from made
            return


def above(text: Slide, question: Slide) -> Slide | None:
    """Return a question with the short text that precedes it above, or None if the text is long or has code."""
    count = sum(len(line.split()) for part in text.parts for line in part.lines)
    if text.kind or question.kind != "ask" or count > WORDS / 2 or any(part.kind != "text" for part in text.parts):
        return None
    both = Slide("ask", text.title, [*text.parts, *question.parts], '<span class="pass">predict</span>')
    return both if both.size() else None
