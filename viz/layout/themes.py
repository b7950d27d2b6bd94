"""Themes: the styles and looks of style.py for a light page, a dark one, and in black and white.

Dark inverts the lightness of each colour and keeps its hue; print uses line styles and hatching instead of colours.  The
writers (svg.py, export.py, tikz.py, dot.py, mermaid.py) draw any picture in any theme.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from .style import LEVELS, LOOKS, TEXTS, Look, TextStyle

BLACK, WHITE = "#000000", "#ffffff"


@dataclass(frozen=True)
class Theme:
    """Texts and looks by name, and the page's colour; "" leaves the page transparent."""

    name: str
    texts: Mapping[str, TextStyle]
    looks: Mapping[str, Look]
    page: str = ""


def inverted(colour: str) -> str:
    """Invert a colour's lightness and make it a little bluer: white paper becomes dark, dark ink becomes light.

    >>> inverted("#ffffff"), inverted("#18202b"), inverted("none")
    ('#1f212a', '#e2f1ff', 'none')
    """
    if colour == "none":
        return colour
    light, a, b = oklab(colour)
    return from_oklab(1.18 - 0.93 * light, a, b - 0.016)


def oklab(colour: str) -> tuple[float, float, float]:
    """Return perceived lightness from 0 to 1, and hue as two numbers (Ottosson, A perceptual color space, 2020)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    long = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) ** (1 / 3)
    middle = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) ** (1 / 3)
    short = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def from_oklab(light: float, a: float, b: float) -> str:
    """Return the nearest colour that a screen can show.

    >>> from_oklab(*oklab("#8f1d1d"))
    '#8f1d1d'
    """
    long = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3
    middle = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (light - 0.0894841775 * a - 1.2914855480 * b) ** 3
    parts = (
        4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short,
    )
    bounded = (min(max(x, 0.0), 1.0) for x in parts)
    signals = (12.92 * x if x <= 0.0031308 else 1.055 * x ** (1 / 2.4) - 0.055 for x in bounded)
    return "#" + "".join(f"{round(255 * x):02x}" for x in signals)


def repainted(name: str, change: Callable[[str], str], page: str, own: Mapping[str, Look] | None = None) -> Theme:
    """Return the light theme with its colours changed, and some looks replaced."""
    texts = {key: replace(text, colour=change(text.colour)) for key, text in TEXTS.items()}
    looks = {key: replace(look, fill=change(look.fill), stroke=change(look.stroke)) for key, look in LOOKS.items()}
    return Theme(name, texts, looks | dict(own or {}), page)


def as_ink(colour: str) -> str:
    """Return black for a colour that is dark enough for lines and letters, else white.

    >>> as_ink("#8f1d1d"), as_ink("#fbe9e7"), as_ink("none")
    ('#000000', '#ffffff', 'none')
    """
    return colour if colour == "none" else BLACK if oklab(colour)[0] < 0.8 else WHITE


RULED = {
    f"band-{kind}": Look(WHITE, BLACK, 0.6) for kind in ("op", "fold", "cut", "error", "input", "constant", "computed")
}
IN_PRINT = RULED | {
    "band-parameter": Look(WHITE, BLACK, 0.6, hatch="/"),
    "band-function": Look(WHITE, BLACK, 0.6, hatch="\\"),
    "band-transfer": Look(WHITE, BLACK, 1.6),
    "paper-error": Look(WHITE, BLACK, 2.6),
    "waited": Look(WHITE, BLACK, 0.6, (1, 1)),
    "lane": Look("none", BLACK, 0.6, (6, 4)),
    "frame": Look(WHITE, BLACK, 1.6),
    "module": Look(WHITE, BLACK, 0.6),
    "paper-module": Look(WHITE),
    "paper-saved": Look(WHITE, BLACK, 0.8, (1, 2)),
    "head-text": Look(WHITE),  # keeps the hatching away from the text
    "saved": Look(WHITE, BLACK, 0.8, (1, 2)),
    "gradient": Look(WHITE, BLACK, 0.8),
    "tangent": Look(WHITE, BLACK, 0.8, (6, 3)),
    "edge-quiet": Look("none", BLACK, 0.8, (1, 4)),
    "edge-backward": Look("none", BLACK, 2.0),
    "edge-jvp": Look("none", BLACK, 1.6, (8, 3)),
    "label": Look(WHITE, BLACK, 0.8),
}

# heat maps: greys, and for negative numbers greys with a white border
GREYS = [from_oklab(1 - 0.8 * i / LEVELS, 0.0, 0.0) for i in range(LEVELS + 1)]
IN_PRINT |= {f"heat-p{i}": Look(GREYS[i]) for i in range(1, LEVELS + 1)}
IN_PRINT |= {f"heat-n{i}": Look(GREYS[i], WHITE, 1.4) for i in range(1, LEVELS + 1)}
IN_PRINT |= {"heat-nan": Look(WHITE, BLACK, 0.4, hatch="/"), "heat-inf": Look(WHITE, BLACK, 0.4, hatch="\\")}
IN_PRINT |= {f"tint-{i}": Look(from_oklab(1 - 0.07 * i, 0.0, 0.0), BLACK, 0.6) for i in range(1, 6)}
IN_DARK = {"heat-nan": Look("#f03fa8")}

THEMES = {
    "light": Theme("light", TEXTS, LOOKS),
    "dark": repainted("dark", inverted, "#12161c", IN_DARK),
    "print": repainted("print", as_ink, WHITE, IN_PRINT),
}
LIGHT = THEMES["light"]
