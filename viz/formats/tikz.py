r"""A picture as a standalone LaTeX file, drawn by TikZ: a page per pass, with typeset formulas.

Boxes and edges are where all formats have them.  LaTeX determines the width of texts; \fittext and \formula shrink those
that do not fit.  The file needs only TikZ and amsmath, and compiles with any engine.
"""

import unicodedata
from collections.abc import Iterator

from .. import text
from ..layout.picture import Picture, looks_of
from ..layout.shapes import Group, Path, Text
from ..layout.style import Look, TextStyle
from ..layout.themes import LIGHT, WHITE, Theme
from .export import SLIDE

FAMILIES = {"sans": r"\sffamily", "mono": r"\ttfamily"}
ANCHORS = {"start": "base west", "middle": "base", "end": "base east"}
LEANS = {"/": "north east lines", "\\": "north west lines"}
SIGNS = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
         ">": r"\textgreater{}", "|": r"\textbar{}", "\u00a0": "~", "×": r"$\times$", "·": r"$\cdot$", "∂": r"$\partial$",
         "…": r"\ldots{}", "›": r"$\rangle$", "−": "$-$", "✂": r"\ding{34}"}  # fmt: skip
SIGNS |= {c: "\\" + c for c in "{}$&#%_"} | {c: f"$_{i}$" for i, c in enumerate("₀₁₂₃₄₅₆₇₈₉")}
HEAD = r"""\documentclass{article}
\usepackage[paperwidth=%(width)sbp,paperheight=%(height)sbp,margin=0pt]{geometry}
\usepackage{amsmath,amssymb,tikz}
\IfFileExists{lmodern.sty}{\usepackage{lmodern}\usepackage[T1]{fontenc}}{\usepackage{fix-cm}}
\IfFileExists{pifont.sty}{\usepackage{pifont}}{\newcommand\ding[1]{$\times$}}
\usetikzlibrary{patterns}
\pagestyle{empty}
\parindent=0pt \topskip=0pt
\newsavebox\room
%% \fittext{width}{text}, \formula{width}{height}{mathematics}: made smaller where they are larger
\newcommand\fittext[2]{\sbox\room{#2}\ifdim\wd\room>#1\resizebox{#1}{\height}{\usebox\room}\else\usebox\room\fi}
\newcommand\formula[3]{\sbox\room{$#3$}\ifdim\wd\room>#1\sbox\room{\resizebox{#1}{!}{$#3$}}\fi
  \ifdim\dimexpr\ht\room+\dp\room>#2\resizebox*{!}{#2}{\usebox\room}\else\usebox\room\fi}
%% a letter that pdfTeX's fonts have not: LuaTeX and XeTeX set it, pdfTeX its number
\newcommand\letter[2]{\ifdefined\directlua #1\else\ifdefined\XeTeXrevision #1\else\text{\tiny #2}\fi\fi}"""


def tikz(pictures: dict[str, Picture], alt: str, theme: Theme = LIGHT) -> str:
    """Write pictures as a LaTeX file; `alt` becomes a comment."""
    pages = list(pictures.values())
    unit = SLIDE if pages[0].slide else 1.0
    size = {"width": n(unit * pages[0].width), "height": n(unit * pages[0].height)}
    out = [f"% {text.clean(alt)}", HEAD % size, *styles(theme, looks_of(pictures.values())), r"\begin{document}"]
    for i, page in enumerate(pages):
        out += [r"\newpage"] * bool(i)
        out += [
            r"\begin{tikzpicture}[x=1bp,y=-1bp]",
            rf"\useasboundingbox (0,0) rectangle ({size['width']},{size['height']});",
        ]
        if theme.page or page.slide:
            out.append(rf"\fill[{coloured(theme.page or WHITE)}] (0,0) rectangle ({size['width']},{size['height']});")
        whole = Group("", "", page.items, scale=unit)
        out += [*drawn(whole, theme), r"\end{tikzpicture}%"]
    return "\n".join([*out, r"\end{document}", ""])


def styles(theme: Theme, used: set[str]) -> Iterator[str]:
    """Yield the definitions of a theme's colours and styles; those of heat maps only if they are used."""
    is_used = lambda name: name in used or not name.startswith(("heat", "tint"))
    seen = {name: look for name, look in theme.looks.items() if look.seen and is_used(name)}
    colours = {t.colour for t in theme.texts.values()} | {c for look in seen.values() for c in (look.fill, look.stroke)}
    for colour in sorted((colours | {theme.page or WHITE}) - {"none"}):
        yield rf"\definecolor{{{coloured(colour)}}}{{HTML}}{{{colour[1:].upper()}}}"
    yield r"\tikzset{every node/.style={inner sep=0pt,outer sep=0pt},"
    yield from (f"  t-{name}/.style={{{lettering(style)}}}," for name, style in theme.texts.items())
    yield from (f"  l-{name}/.style={{{painting(look)}}}," for name, look in seen.items())
    yield "}"


def lettering(style: TextStyle) -> str:
    bold = r"\bfseries" * style.bold
    size = rf"\fontsize{{{n(style.size)}bp}}{{{n(style.height)}bp}}\selectfont"
    return f"text={coloured(style.colour)},font={FAMILIES[style.family]}{bold}{size}"


def painting(look: Look) -> str:
    parts = []
    if look.fill != "none":
        parts.append(f"fill={coloured(look.fill)}")
    if look.hatch:
        parts = [f"preaction={{fill={coloured(look.fill)}}}", f"pattern={LEANS[look.hatch]}"]
    if look.stroke != "none":
        parts += [f"draw={coloured(look.stroke)}", f"line width={n(look.width)}bp"]
    if look.dash:
        lengths = [f"{word} {n(length)}bp" for word, length in zip(("on", "off") * len(look.dash), look.dash)]
        parts.append(f"dash pattern={' '.join(lengths)}")
    return ",".join(parts)


def drawn(group: Group, theme: Theme) -> Iterator[str]:
    """Yield the commands of a group, in a scope if it is shifted or scaled."""
    if group.id:
        yield f"% {group.id}"
    scoped = group.shift != (0.0, 0.0) or group.scale != 1
    if scoped:
        x, y = map(n, group.shift)
        yield rf"\begin{{scope}}[transform canvas={{shift={{({x},{y})}},scale={group.scale:.4g}}}]"
    before = None
    for item in group.items:
        if isinstance(item, Group):
            yield from drawn(item, theme)
        elif isinstance(item, Text):
            for part in item.parts() if item.text.strip() else ():
                yield lettered(part, before)
                before = part
            before = item
        elif theme.looks[item.look].seen:
            fill = f",fill={inline(item.fill)}" if item.fill else ""
            yield rf"\path[l-{item.look}{fill}] {steps(item)};"
    if scoped:
        yield r"\end{scope}"


def steps(path: Path) -> str:
    """Write the steps of a path in TikZ syntax."""
    out = []
    for letter, *places in path.steps:
        points = [f"({n(x)},{n(y)})" for x, y in zip(places[::2], places[1::2])]
        if letter == "C":
            out.append(f".. controls {points[0]} and {points[1]} .. {points[2]}")
        else:
            out.append({"M": "", "L": "-- ", "Z": "-- cycle"}[letter] + "".join(points))
    return " ".join(out)


def lettered(item: Text, before: Text | None) -> str:
    """Write a text on its baseline, directly after the one `before` if it continues that, or a formula fitted to its room."""
    if item.latex:
        wide, tall = item.room
        set_in = rf"\formula{{{n(wide)}bp}}{{{n(tall)}bp}}{{{for_all_engines(item.latex)}}}"
        return rf"\node[t-{item.style},anchor=west] at ({n(item.x)},{n(item.y - 0.25 * tall)}) {{{set_in}}};"
    follows = before is not None and (before.x + before.width, before.y, before.anchor) == (item.x, item.y, item.anchor)
    place = "(a.base east)" if follows else f"({n(item.x)},{n(item.y)})"
    set_in = rf"\fittext{{{n(item.width)}bp}}{{{plain(item.text)}}}"
    return rf"\node[t-{item.style},anchor={ANCHORS[item.anchor]}] (a) at {place} {{{set_in}}};"


def plain(words: str) -> str:
    r"""Escape a text for LaTeX.

    >>> print(plain("a_1 <= 50%  θ"))
    a\_1 \textless{}= 50\%~~$\theta$
    """
    sign = lambda c: SIGNS.get(c) or (c if c.isascii() or c in "äöüßéèêàçñ" else f"${letter(c)}$")
    out = "".join(map(sign, text.clean(words)))
    return out.replace("  ", "~~")


def for_all_engines(latex: str) -> str:
    r"""Return mathematics without characters that only some engines accept, and with bars as wide as their argument.

    >>> print(for_all_engines(r"\bar{θ} \, x"))
    \bar{{\theta}} \, x
    """
    wide = latex.replace(r"\bar{\mathrm{", r"\overline{\mathrm{")
    return "".join(c if c.isascii() else f"{{{letter(c)}}}" for c in wide)


def letter(c: str) -> str:
    """Return a non-ASCII letter as LaTeX mathematics."""
    alphabet, _, name = unicodedata.name(c, "").lower().rpartition(" letter ")
    name = name.replace("lamda", "lambda")
    command = name.capitalize() if alphabet == "greek capital" else name if alphabet == "greek small" else ""
    return rf"\{command}" if command in GREEK else rf"\letter{{{c}}}{{U+{ord(c):04X}}}"


GREEK = set(
    """alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi omega
Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega""".split()
)


def inline(colour: str) -> str:
    """Return a colour that is used once, as a pixel's.

    >>> inline("#ff8000")
    '{rgb,255:red,255;green,128;blue,0}'
    """
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"{{rgb,255:red,{red};green,{green};blue,{blue}}}"


def coloured(colour: str) -> str:
    """Return the name of a colour in the file."""
    return "c" + colour.removeprefix("#")


def n(x: float) -> str:
    """Format a length to a hundredth."""
    return f"{x:.2f}".rstrip("0").rstrip(".")
