"""A picture as SVG text: one group for each operation, value and edge, classes instead of repeated attributes.

Every text states the width that its card left for it (textLength), so a machine with other fonts cuts nothing.
"""

from __future__ import annotations

from html import escape

from .picture import Picture, arranged
from .shapes import Group, Path, Text
from .style import LOOKS, TEXTS

FAMILIES = {
    "sans": "'DejaVu Sans',Verdana,Helvetica,Arial,sans-serif",
    "mono": "'DejaVu Sans Mono',Menlo,Consolas,'Liberation Mono',monospace",
}

# what appears stays, a pulse goes again, and a heading goes when the next one comes; the end stands there at once for those
# who want no motion, and on paper
MOVING = """
.minigrad .at{animation:minigrad-show .35s ease-out calc(var(--at)*var(--beat)) both}
.minigrad .until{animation:minigrad-show .2s calc(var(--at)*var(--beat)) both,
minigrad-hide .2s calc(var(--until)*var(--beat)) forwards}
.minigrad .pulse{animation:minigrad-pulse calc(1.15*var(--beat)) linear calc(var(--at)*var(--beat)) both}
@keyframes minigrad-show{from{opacity:0}to{opacity:1}}
@keyframes minigrad-hide{from{opacity:1}to{opacity:0}}
@keyframes minigrad-pulse{0%,100%{opacity:0}20%,75%{opacity:1}}
@media (prefers-reduced-motion:reduce){.minigrad .at{animation:none}.minigrad .until,.minigrad .pulse{display:none}}
@media print{.minigrad .at{animation:none}.minigrad .until,.minigrad .pulse{display:none}}
"""


def svg(pictures: dict[str, Picture], alt: str) -> str:
    """Pictures by pass as one SVG that `alt` describes; with more than one, ids begin with the pass."""
    pages, width, height = arranged(pictures)
    beat = max(page.beat for page in pictures.values())
    time = f' style="--beat:{beat:.2f}s"' if beat else ""  # of this picture: rules are those of all on a page
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="minigrad" width="{_n(width)}" height="{_n(height)}" '
        f'viewBox="0 0 {_n(width)} {_n(height)}" role="img" aria-label="{escape(alt)}"{time}>',
        f"<style>{_css()}{MOVING if beat else ''}</style>",
    ]
    for name, page, x, y in pages:
        prefix = f"{name}-" if len(pictures) > 1 else ""
        out.append(f'<g id="pass-{name}" class="pass" transform="translate({_n(x)} {_n(y)})">')
        for group in page.items:
            _group(group, prefix, out)
        out.append("</g>")
    return "\n".join([*out, "</svg>", ""])


def _css() -> str:
    """The two tables of style.py as rules that touch nothing but our own picture."""
    rules = [
        f".minigrad .t-{name}{{font:{'bold ' if t.bold else ''}{t.size}px {FAMILIES[t.family]};fill:{t.colour}}}"
        for name, t in TEXTS.items()
    ]
    rules += [
        f".minigrad .l-{name}{{fill:{look.fill};stroke:{look.stroke}"
        + (f";stroke-width:{look.width}" if look.stroke != "none" else "")
        + (f";stroke-dasharray:{','.join(map(_n, look.dash))}" if look.dash else "")
        + "}"
        for name, look in LOOKS.items()
    ]
    return "\n".join(rules)


def _group(group: Group, prefix: str, out: list[str]) -> None:
    attributes = f' id="{prefix}{group.id}"' if group.id else ""
    classes = " ".join(
        filter(None, (group.classes, "at" * (group.at is not None), "until" * (group.until is not None)))
    )
    attributes += f' class="{escape(classes)}"' if classes else ""
    times = {name: step for name, step in (("at", group.at), ("until", group.until)) if step is not None}
    attributes += f' style="{";".join(f"--{name}:{step}" for name, step in times.items())}"' if times else ""
    attributes += "".join(f' data-{key}="{value}"' for key, value in group.data.items())
    if group.shift != (0.0, 0.0):
        attributes += f' transform="translate({_n(group.shift[0])} {_n(group.shift[1])})"'
    out.append(f"<g{attributes}>")
    if group.tip:
        out.append(f"<title>{escape(group.tip)}</title>")
    for item in group.items:
        if isinstance(item, Group):
            _group(item, prefix, out)
        else:
            out.append(_path(item) if isinstance(item, Path) else _text(item))
    out.append("</g>")


def _path(path: Path) -> str:
    steps = "".join(letter + " ".join(map(_n, numbers)) for letter, *numbers in path.steps)
    return f'<path class="l-{path.look}" d="{steps}"/>'


def _text(text: Text) -> str:
    words = escape(text.text, quote=False).replace("  ", "\u00a0 ")  # two spaces would shrink to one
    anchor = f' text-anchor="{text.anchor}"' if text.anchor != "start" else ""
    return (
        f'<text class="t-{text.style}" x="{_n(text.x)}" y="{_n(text.y)}"{anchor} textLength="{_n(text.width)}" '
        f'lengthAdjust="spacingAndGlyphs">{words}</text>'
    )


def _n(x: float) -> str:
    """A coordinate to a tenth."""
    return f"{x:.1f}".rstrip("0").rstrip(".") if isinstance(x, float) else str(x)
