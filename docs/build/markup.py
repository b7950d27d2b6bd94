"""Make pieces of Markdown: code blocks, collapsible blocks, and HTML and pictures embedded in a page."""

import re
from html import escape, unescape
from textwrap import indent

OPENING = re.compile(r"<svg\b[^>]*>")
PASS = re.compile(r'<g id="[^"]*" class="pass" transform="translate\(([\d.]+) ([\d.]+)\)">')
TITLES = {"forward": "Forward", "backward": "Backward", "jvp": "JVP"}  # of the tabs


def fence(language: str, text: object) -> str:
    """Return a code block, fenced with more backticks than it contains."""
    longest = max(map(len, re.findall("`+", str(text))), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{str(text).strip(chr(10)).rstrip()}\n{ticks}\n"


def folded(kind: str, title: str, text: str) -> str:
    """Return a block that opens on click."""
    return f'??? {kind} "{title}"\n\n{indent(text.strip(), "    ")}\n'


def raw(attributes: str, html: str) -> str:
    """Return HTML in a box, without blank lines, which would end it."""
    html = re.sub(r"\n\s*\n", "\n", html.strip())
    return f'<div {attributes} markdown="0">\n{html}\n</div>\n'


def svg(text: str, prefix: str) -> str:
    """Return an SVG without its file header and with prefixed ids, so that one page can embed several."""
    text = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>", "", text, flags=re.DOTALL)
    return re.sub(r'((?<=\s)id="|url\(#|href="#)', rf"\g<1>{prefix}-", text)


def picture(text: str, prefix: str, words: str = "") -> str:
    """Return an SVG in a frame, with prefixed ids and the description `words`; several passes become tabs."""
    text = svg(text, prefix)
    if words:
        opening = re.sub(r' (?:role|aria-label)="[^"]*"', "", OPENING.search(text)[0])
        opening = opening.replace("<svg", f'<svg role="img" aria-label="{escape(words)}"', 1)
        text = OPENING.sub(lambda _: opening, text, count=1)
    if len(pages := apart(text)) < 2:
        return raw('class="figure"', text)
    tabs = [
        f'<input type="radio" class="{name}" name="{prefix}" id="{prefix}-{name}"{" checked" * (name == next(iter(pages)))}>'
        f'<label class="{name}" for="{prefix}-{name}">{TITLES[name]}</label>'
        for name in pages
    ]
    return raw('class="figure passes"', "\n".join([*tabs, *pages.values()]))


def words_of(text: str) -> str:
    """Return the description of an SVG."""
    found = re.search(r'aria-label="([^"]*)"', text)
    return unescape(found[1]) if found else ""


def apart(text: str) -> dict[str, str]:
    """Return the passes of a drawing, all of the same size, as separate SVGs; the first contains the styles of all."""
    opening, starts = OPENING.search(text), list(PASS.finditer(text))
    if opening is None or len(starts) < 2:
        return {}
    wide, tall = (max(float(start[i]) for start in starts) for i in (1, 2))
    width, height = (float(re.search(rf' {side}="([\d.]+)"', opening[0])[1]) for side in ("width", "height"))
    width, height = width / len(starts) if wide else width, height / len(starts) if tall else height
    style = text[opening.end() : starts[0].start()]
    found = {}
    for start, end in zip(starts, [*(s.start() for s in starts[1:]), text.index("</svg>")]):
        name = re.search(r'pass-(\w+)"', start[0])[1]
        head = re.sub(r' (?:width|height|viewBox)="[^"]*"', "", opening[0])
        head = head.replace('aria-label="', f'aria-label="{TITLES[name]}: ').replace('class="', f'class="{name} ')
        size = f'width="{width:g}" height="{height:g}" viewBox="{start[1]} {start[2]} {width:g} {height:g}"'
        found[name] = f"{head[:-1]} {size}>{style if not found else ''}{text[start.start() : end]}</svg>"
    return found
