"""Boards of cells on cards: a cell is a thread or an element, in the tint of its block or of the block that accesses it."""

from dataclasses import dataclass, field

from ..layout.shapes import Group, Path, Text, outline
from ..layout.style import TEXTS, measure

WIDTH, SIDE, GAP = 720.0, 14.0, 22.0  # least width of a card; space around its boards, and between them
HIGH, ROW = 20.0, 11.0  # height of a cell, and of a second line of text
HEAD, TITLE = 30.0, 20.0  # height of a card's head, and of a board's title


@dataclass
class Cell:
    """A thread or an element on a board: the text in it and over it, its tint and its marks."""

    lines: list[str]
    over: str
    tint: str = ""  # "" if there is no access
    red: bool = False
    tip: str = ""

    def drawn(self, x: float, y: float, wide: float, high: float) -> Group:
        """Draw the cell: tinted if there is an access, else dashed."""
        items: list = [Path(around(x, y, wide, high), f"band-{self.tint}" if self.tint else "paper-constant")]
        low = y + high / 2 + 3.5 - ROW / 2 * (len(self.lines) - 1)
        items += [Text(x + wide / 2, low + i * ROW, line, "code", "middle") for i, line in enumerate(self.lines)]
        return Group("", "cell" + " idle" * (not self.tint) + " red" * self.red, items, tip=self.tip)


@dataclass
class Board:
    """Cells in lines, under a title; `left` names the lines."""

    title: str
    lines: list[list[Cell]]
    left: list[str] = field(default_factory=list)

    @property
    def size(self) -> tuple[float, float]:
        """The size of a cell: large enough for the texts of any of them."""
        cells = [cell for row in self.lines for cell in row]
        wide = max([26.0, *(measure(line, "code") + 8 for cell in cells for line in cell.lines)])
        return wide, HIGH + ROW * (max((len(cell.lines) for cell in cells), default=1) > 1)

    def drawn(self) -> tuple[Group, float, float]:
        """Draw the board; return it with its width and height."""
        (wide, high), y = self.size, TITLE
        left = max((measure(text, "code") + 6 for text in self.left), default=0.0)
        items: list = [Text(0, 11, self.title, "tag")]
        for i, row in enumerate(self.lines):
            if any(cell.over for cell in row):
                items += [
                    Text(left + (j + 0.5) * wide, y + 8, cell.over, "code", "middle") for j, cell in enumerate(row)
                ]
                y += 12
            if i < len(self.left):
                items.append(Text(left - 5, y + high / 2 + 3.5, self.left[i], "code", "end"))
            boxes = [(cell, (left + j * wide, y, wide, high)) for j, cell in enumerate(row)]
            items += [cell.drawn(*box) for cell, box in boxes]
            items += [Path(around(*box), "pulse-backward") for cell, box in boxes if cell.red]  # over the neighbours
            y += high + 3 * (not self.left)
        across = left + wide * max((len(row) for row in self.lines), default=0)
        return Group("", "board", items), max(across, measure(self.title, "tag")), y


class Card:
    """A card with boards side by side, wrapped to its width, and sentences below."""

    def __init__(self, key: str, title: str, kind: str, look: str, boards: list[Board], notes: list[str]):
        self.key, self.title, self.kind, self.look = key, title, kind, look
        self.items: list = []
        self.width = WIDTH
        x, y, tall = SIDE, HEAD + 8, 0.0
        for board in boards:
            group, wide, high = board.drawn()
            if x > SIDE and x + wide > WIDTH - SIDE:
                x, y, tall = SIDE, y + tall + 10, 0.0
            group.shift = (x, y)
            self.items.append(group)
            self.width = max(self.width, x + wide + SIDE)
            x, tall = x + wide + GAP, max(tall, high)
        y += tall + 4
        for line in notes:
            y += TEXTS["note"].height
            self.items.append(Group("", "notes", [Text(SIDE, y, line, "note")]))
        self.height = y + 12

    def drawn(self, width: float) -> tuple[Group, float]:
        """Draw the card at a width that all cards share; return it with its height."""
        paper = Path(outline(0, 0, width, self.height, [6] * 4, "round"), f"paper-{self.look}")
        band = Path(outline(0.7, 0.7, width - 1.4, HEAD - 4, [5, 5, 0, 0], "round"), f"band-{self.look}")
        words = [Text(SIDE, 18, self.title, "name"), Text(width - SIDE, 18, self.kind, "tag", "end")]
        return Group(self.key, "card", [paper, band, *words, *self.items]), self.height


def around(x: float, y: float, wide: float, high: float) -> list[tuple]:
    """Return the outline of a cell."""
    return outline(x + 1, y + 1, wide - 2, high - 2, [2] * 4, "round")
