"""The styles of texts, boxes and lines, and the width of a text.

Kinds differ in shape and lightness, so pictures survive a grey printer.  Cards have their own paper and everything beside
them is mid grey, so pictures work on light and dark pages.  All formats use these two tables, or their variants in themes.py.
"""

import unicodedata
from dataclasses import dataclass, replace

INK, SOFT, LINE = "#18202b", "#4f5968", "#79828f"


@dataclass(frozen=True)
class TextStyle:
    """A font and a colour."""

    family: str  # sans | mono
    size: float
    colour: str = INK
    bold: bool = False

    @property
    def height(self) -> float:
        """The height of a line of this text."""
        return round(self.size * 1.42, 1)


@dataclass(frozen=True)
class Look:
    """Fill and outline of a shape; `hatch` is the direction of hatching lines, / or \\."""

    fill: str = "none"
    stroke: str = "none"
    width: float = 1.0
    dash: tuple[float, ...] = ()
    hatch: str = ""

    @property
    def seen(self) -> bool:
        """True if there is anything to draw."""
        return (self.fill, self.stroke) != ("none", "none")


TEXTS = {
    "title": TextStyle("sans", 16, "#6a7480", True),  # mid grey: it is on the page itself, light or dark
    "note": TextStyle("sans", 11, "#6a7480"),
    "name": TextStyle("sans", 13, INK, True),
    "call": TextStyle("mono", 11.5, INK),
    "formula": TextStyle("mono", 11.5, "#1f4e8c"),
    "tag": TextStyle("sans", 9.5, SOFT),
    "value": TextStyle("mono", 11.5, INK),
    "type": TextStyle("sans", 9.5, SOFT),
    "code": TextStyle("mono", 9.5, SOFT),
    "cell": TextStyle("mono", 9.5, INK),
    "cell-on-dark": TextStyle("mono", 9.5, "#ffffff"),
    "saved": TextStyle("sans", 10.5, "#0d5546"),
    "waited": TextStyle("sans", 10.5, "#0b4a6b"),
    "lane": TextStyle("sans", 13, "#6a7480", True),
    "module": TextStyle("sans", 11.5, "#49546a", True),
    "gradient": TextStyle("mono", 11.5, "#8f1d1d", True),
    "tangent": TextStyle("mono", 11.5, "#55209c", True),
    "rule": TextStyle("mono", 10.5, "#55209c"),
    "sum": TextStyle("sans", 10.5, "#8f1d1d"),
    "failed": TextStyle("sans", 11.5, "#9b1c1c", True),
    "wrong": TextStyle("mono", 11.5, "#c01818", True),  # a size that does not fit
    "remedy": TextStyle("sans", 11.5, "#0d5546"),
    "badge": TextStyle("sans", 10.5, "#b5008a", True),
    "special": TextStyle("mono", 11.5, "#b5008a", True),  # NaN and infinities
    "special-small": TextStyle("mono", 10.5, "#b5008a", True),
    "flow": TextStyle("mono", 10.5, INK),
    "gives": TextStyle("mono", 10.5, "#8f1d1d", True),
    "plus": TextStyle("sans", 13, "#8f1d1d", True),
}

# several backward passes in one picture differ in colour and in the dashes of their lines; the first has the usual ones
PASSES: tuple[tuple[str, str, tuple[float, ...]], ...] = (
    ("#1668b0", "#0d4a80", (7, 5)),
    ("#0b7f6a", "#085a4b", (2, 4)),
    ("#8a6d00", "#665000", (9, 3, 2, 3)),
)
STYLES = len(PASSES) + 1
for turn, (_, ink, _) in enumerate(PASSES, 2):
    TEXTS |= {f"{name}-{turn}": replace(TEXTS[name], colour=ink) for name in ("gradient", "sum", "gives")}

LOOKS = {
    "paper-op": Look("#ffffff", "#3d4757", 1.2),
    "paper-function": Look("#ffffff", "#3d4757", 1.2),
    "paper-fold": Look("#ffffff", "#3d4757", 1.2),
    "paper-transfer": Look("#ffffff", "#0b4a6b", 1.6),
    "paper-cut": Look("#ffffff", "#8f1d1d", 1.2, (6, 3)),
    "paper-error": Look("#ffffff", "#c01818", 2.2),
    "paper-input": Look("#ffffff", "#2b5c97", 1.4),
    "paper-parameter": Look("#ffffff", "#8a5a00", 1.4),
    "paper-constant": Look("#f6f7f9", LINE, 1.2, (2, 2)),
    "paper-computed": Look("#f6f7f9", LINE, 1.2, (2, 2)),
    "paper-copy": Look("#fffaf0", "#8a5a00", 1.1, (4, 3)),
    "paper-port": Look("#ffffff", LINE, 1.0),
    "paper-saved": Look("#dff1ec", "#0d5546", 1.0),
    "frame": Look("#f4f3fb", "#5c55a0", 1.6),
    "band-op": Look("#e6eaf1"),
    "band-function": Look("#d3d0ea"),
    "band-fold": Look("#dcebe6"),
    "band-transfer": Look("#bfe3ef"),
    "band-cut": Look("#f6eceb"),
    "band-error": Look("#f7c5c0"),
    "band-input": Look("#cfe2f8"),
    "band-parameter": Look("#fbd998"),
    "band-constant": Look("#e3e6ea"),
    "band-computed": Look("#e3e6ea"),
    "head-text": Look(),
    "bar": Look("#5c55a0"),
    "ring": Look("none", "#6b7583", 2.4),
    "saved": Look("#dff1ec"),
    "gradient": Look("#fbe9e7"),
    "error": Look("#fdf3f1"),
    "tangent": Look("#efe8fb"),
    "waited": Look("#e4f3f8"),
    "lane": Look("none", "#b4bac3", 1.0, (6, 4)),
    "paper-title": Look("#ffffff"),
    "module": Look("#f5f7fa", "#a3adba", 1.0),
    "paper-module": Look("#f5f7fa"),
    "edge": Look("none", LINE, 1.5),
    "edge-quiet": Look("none", "#a9b0ba", 1.1, (3, 4)),
    "edge-backward": Look("none", "#b2443c", 1.6),
    "edge-saved": Look("none", "#2f8672", 1.5),
    "edge-jvp": Look("none", "#7d4fc4", 1.6),
    "pulse-forward": Look("none", "#2b6fcb", 3.0),
    "pulse-backward": Look("none", "#b2443c", 3.0),
    "pulse-jvp": Look("none", "#7d4fc4", 3.0),
    "tip": Look(LINE),
    "tip-quiet": Look("#a9b0ba"),
    "tip-backward": Look("#b2443c"),
    "tip-saved": Look("#2f8672"),
    "tip-jvp": Look("#7d4fc4"),
    "label": Look("#ffffff", "#d9a8a3", 0.9),
    "plus": Look("#ffffff", "#8f1d1d", 1.5),
}

for turn, (line, _, dash) in enumerate(PASSES, 2):
    LOOKS |= {f"edge-backward-{turn}": Look("none", line, 1.6, dash), f"tip-backward-{turn}": Look(line)}

# heat maps: shades for positive numbers, and for negative ones
LEVELS = 7
ORANGES = "#f8d8cb #edbfab #e1a68c #d48d6e #c67550 #b85c30 #a84300".split()
BLUES = "#cbdcf2 #abc4e4 #8bacd5 #6d95c6 #4f7db6 #3166a5 #0b4f94".split()
LOOKS |= {
    f"heat-{sign}{i}": Look(fill) for sign, row in (("p", ORANGES), ("n", BLUES)) for i, fill in enumerate(row, 1)
}
TINTS = "#fff5ef #ffe3d1 #ffd1b3 #ffbe94 #fdab75".split()  # of cards by size, light enough for dark letters
LOOKS |= {f"tint-{i}": Look(fill) for i, fill in enumerate(TINTS, 1)}
LOOKS |= {
    "heat-0": Look("#ffffff"),
    "heat-nan": Look("#d81b8c"),
    "heat-inf": Look("#101418"),
    "heat-zero": Look("#79828f"),
    "heat-beyond": Look("#ffffff"),
    "heat-frame": Look("none", "#9aa2ad", 0.6),
    "heat-pixel": Look("#808080"),
}

# advance widths of the characters 32 to 126 in hundredths of the font size (DejaVu Sans, regular and bold)
_REGULAR = """
32 40 46 84 64 95 78 27 39 39 50 84 32 36 32 34 64 64 64 64 64 64 64 64 64 64 34 34 84 84 84 53 100 68 69 70 77 63
58 77 75 29 29 66 56 86 75 79 60 79 69 63 61 73 68 99 69 61 69 39 34 39 84 50 50 61 63 55 63 62 35 63 63 28 28 58 28
97 63 61 63 63 41 52 39 63 59 82 59 59 52 64 34 64 84
"""
_BOLD = """
35 46 52 84 70 100 87 31 46 46 52 84 38 42 38 37 70 70 70 70 70 70 70 70 70 70 40 40 84 84 84 58 100 77 76 73 83 68
68 82 84 37 37 77 64 100 84 85 73 85 77 72 68 81 77 110 77 72 73 46 37 46 84 50 50 67 72 59 72 68 44 72 71 34 34 67
34 104 71 69 72 72 49 60 48 71 65 92 65 65 58 71 37 71 84
"""
_WIDTHS = {
    bold: dict(zip(map(chr, range(32, 127)), (int(w) / 100 for w in table.split())))
    for bold, table in ((False, _REGULAR), (True, _BOLD))
}


def measure(text: str, style: str) -> float:
    """Return the width of a text; SVG and LaTeX fit the text to it, whichever font a machine has.

    >>> measure("abc", "value") == round(3 * 0.602 * 11.5, 1)
    True
    """
    font = TEXTS[style]
    if font.family == "mono":
        ems = 0.602 * len(text) if text.isascii() else sum(_other(c, 0.602) for c in text)
    else:
        table = _WIDTHS[font.bold]
        ems = sum(table.get(c) or _other(c, 0.7) for c in text)
    return round(ems * font.size, 1)


def _other(char: str, usual: float) -> float:
    """Return the ems of a non-ASCII character: 1.2 if it is wide in East Asian fonts, 0 if it combines, else `usual`."""
    if unicodedata.combining(char):
        return 0.0
    return 1.2 if unicodedata.east_asian_width(char) in "WF" else usual
