"""A picture as SVG text: one group for each operation, value and edge, classes instead of repeated attributes.

Every text states its width on the card (textLength), so nothing is cut off on a machine with other fonts.
"""

import re
from html import escape

from ..layout.picture import MARGIN, Picture, arranged, looks_of
from ..layout.shapes import Group, Path, Text, shapes
from ..layout.themes import LIGHT, WHITE, Theme

FAMILIES = {
    "sans": "'DejaVu Sans',Verdana,Helvetica,Arial,sans-serif",
    "mono": "'DejaVu Sans Mono',Menlo,Consolas,'Liberation Mono',monospace",
}

HATCHES = {"/": "minigrad-hatch-up", "\\": "minigrad-hatch-down"}  # ids of patterns

# a film animates one variable, the step t: parts appear and stay, pulses disappear again, and a heading disappears when the
# next one appears; with reduced motion and in print, t is past the end
MOVING = """
@property --t{syntax:"&lt;number>";inherits:true;initial-value:9999}
.minigrad.moving{animation:minigrad-film calc(var(--end)*var(--beat)) linear both}
@keyframes minigrad-film{from{--t:0}to{--t:var(--end)}}
.minigrad .at{opacity:clamp(0,3*(var(--t) - var(--at)),1)}
.minigrad .until{opacity:clamp(0,5*min(var(--t) - var(--at),var(--until) - var(--t)),1)}
.minigrad .pulse{opacity:clamp(0,5*min(var(--t) - var(--at),var(--at) + 1.15 - var(--t)),1)}
@media (prefers-reduced-motion:reduce){.minigrad.moving{animation:none}}
@media print{.minigrad.moving{animation:none}}
"""


def svg(pictures: dict[str, Picture], alt: str, theme: Theme = LIGHT, remark: str = "") -> str:
    """Write pictures by pass as one SVG, described by `alt`, with a remark below; with several, ids begin with the pass."""
    pages, width, height = arranged(pictures)
    below = [Text(MARGIN, height + 12, remark, "note")] if remark else []
    width, height = max(width, *[2 * MARGIN + line.width for line in below], 0), height + 24 * len(below)
    looks = looks_of(pictures.values())
    texts = [one for page in pictures.values() for one in shapes(page.items) if isinstance(one, Text)]
    styles = {part.style for one in (*texts, *below) for part in one.parts()}
    beat, end = max((page.beat, page.end) for page in pictures.values())
    # inline, since each picture has its own times, but CSS rules apply to all pictures on a page
    time = f' style="--beat:{beat:.2f}s;--end:{end}"' if beat else ""
    moving = " moving" if beat else ""
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{_class(theme, " ")}{moving}" '
        f'width="{_n(width)}" height="{_n(height)}" viewBox="0 0 {_n(width)} {_n(height)}" '
        f'role="img" aria-label="{escape(alt)}"{time}>',
        f"<style>{_css(theme, looks, styles)}{MOVING if beat else ''}</style>",
    ]
    hatches = (look.hatch for name, look in theme.looks.items() if look.hatch and name in looks)
    out += [_hatching(lean) for lean in dict.fromkeys(hatches)]
    if ground := theme.page or (WHITE if all(page.slide for page in pictures.values()) else ""):
        out.append(f'<rect width="100%" height="100%" fill="{ground}"/>')
    for name, page, x, y in pages:
        prefix = f"{name}-" if len(pictures) > 1 else ""
        out.append(f'<g id="pass-{name}" class="pass" transform="translate({_n(x)} {_n(y)})">')
        for group in page.items:
            _group(group, prefix, theme, out)
        out.append("</g>")
    return "\n".join([*out, *map(_text, below), "</svg>", ""])


def _class(theme: Theme, joint: str) -> str:
    """Return the classes of a picture: the rules of a theme apply only to its own pictures on a page."""
    return "minigrad" + (joint + theme.name if theme is not LIGHT else "")


def _css(theme: Theme, looks: set[str], styles: set[str]) -> str:
    """Return the looks and text styles of a theme that pictures use, as CSS rules that apply only to these pictures."""
    here = "." + _class(theme, ".")
    rules = [
        f"{here} .t-{name}{{font:{'bold ' if t.bold else ''}{t.size}px {FAMILIES[t.family]};fill:{t.colour}}}"
        for name, t in theme.texts.items()
        if name in styles
    ]
    rules += [
        f"{here} .l-{name}{{fill:{look.fill if not look.hatch else f'url(#{HATCHES[look.hatch]})'};stroke:{look.stroke}"
        + (f";stroke-width:{look.width}" if look.stroke != "none" else "")
        + (f";stroke-dasharray:{','.join(map(_n, look.dash))}" if look.dash else "")
        + "}"
        for name, look in theme.looks.items()
        if look.seen and name in looks
    ]
    if any(name.startswith("heat") for name in looks):
        rules.append(f"{here} .heat{{shape-rendering:crispEdges}}")
    return "\n".join(rules)


def _hatching(lean: str) -> str:
    """Return a pattern of fine lines on white."""
    turn = 45 if lean == "/" else -45
    return (
        f'<pattern id="{HATCHES[lean]}" width="5" height="5" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate({turn})"><rect width="5" height="5" fill="#fff"/>'
        '<path d="M2.5 0V5" stroke="#000" stroke-width=".6"/></pattern>'
    )


def _group(group: Group, prefix: str, theme: Theme, out: list[str]) -> None:
    attributes = f' id="{prefix}{group.id}"' if group.id else ""
    times = {name: step for name, step in (("at", group.at), ("until", group.until)) if step is not None}
    classes = " ".join([*filter(None, [group.classes]), *times])
    attributes += f' class="{escape(classes)}"' if classes else ""
    attributes += f' style="{";".join(f"--{name}:{step}" for name, step in times.items())}"' if times else ""
    attributes += "".join(f' data-{key}="{value}"' for key, value in group.data.items())
    if group.shift != (0.0, 0.0) or group.scale != 1:
        larger = f" scale({group.scale:.4g})" if group.scale != 1 else ""
        attributes += f' transform="translate({_n(group.shift[0])} {_n(group.shift[1])}){larger}"'
    out.append(f"<g{attributes}>")
    if group.tip:
        out.append(f"<title>{escape(group.tip)}</title>")
    for item in group.items:
        if isinstance(item, Group):
            _group(item, prefix, theme, out)
        elif isinstance(item, Text):
            out.append(_text(item))
        elif theme.looks[item.look].seen:
            out.append(_path(item))
    out.append("</g>")


def _path(path: Path) -> str:
    if path.look.startswith("heat"):
        steps = "".join(_cell(*path.steps[i : i + 5]) for i in range(0, len(path.steps), 5))
    else:
        steps = "".join(letter + " ".join(map(_n, numbers)) for letter, *numbers in path.steps)
    look = f'fill="{path.fill}"' if path.fill else f'class="l-{path.look}"'  # a pixel has no outline
    return f'<path {look} d="{steps}"/>'


def _cell(start: tuple, _: tuple, end: tuple, *rest: tuple) -> str:
    """Return the outline of a cell, which is a rectangle, in few letters: a picture may have hundreds."""
    (_, x, y), (_, right, low) = start, end
    wide, tall = right - x, low - y
    return f"M{_n(x)} {_n(y)}h{_n(wide)}v{_n(tall)}h{_n(-wide)}z"


def _text(text: Text) -> str:
    written = lambda words: re.sub(r"^ | (?= )", "\u00a0", escape(words, quote=False))  # browsers drop these spaces
    inner = lambda part: f'<tspan class="t-{part.style}">{written(part.text)}</tspan>'
    words = "".join([written(part.text) if part.style == text.style else inner(part) for part in text.parts()])
    anchor = f' text-anchor="{text.anchor}"' if text.anchor != "start" else ""
    return (
        f'<text class="t-{text.style}" x="{_n(text.x)}" y="{_n(text.y)}"{anchor} textLength="{_n(text.width)}" '
        f'lengthAdjust="spacingAndGlyphs">{words}</text>'
    )


def _n(x: float) -> str:
    """Format a coordinate to a tenth."""
    return f"{x:.1f}".rstrip("0").rstrip(".") if isinstance(x, float) else str(x)
