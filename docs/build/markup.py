"""Pieces of Markdown: blocks of code, blocks that open at a click, HTML and pictures within a page."""

import re
from textwrap import indent


def fence(language: str, text: object) -> str:
    """A block of code, in more backticks than it has itself."""
    longest = max(map(len, re.findall("`+", str(text))), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{str(text).strip(chr(10)).rstrip()}\n{ticks}\n"


def folded(kind: str, title: str, text: str) -> str:
    """A block that opens at a click."""
    return f'??? {kind} "{title}"\n\n{indent(text.strip(), "    ")}\n'


def raw(attributes: str, html: str) -> str:
    """HTML in a box, as it is; a blank line would end it."""
    html = re.sub(r"\n\s*\n", "\n", html.strip())
    return f'<div {attributes} markdown="0">\n{html}\n</div>\n'


def svg(text: str, prefix: str) -> str:
    """A picture without what a file begins with, its ids under a prefix, so that several can stand on one page."""
    text = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>", "", text, flags=re.DOTALL)
    return re.sub(r'((?<=\s)id="|url\(#|href="#)', rf"\g<1>{prefix}-", text)
